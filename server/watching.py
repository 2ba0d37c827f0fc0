"""Watching an answer come about, for people who want to see it (`explain_page`).

A watcher is told of three things: the prompt, the covering tree once it is read, and every choice
of a token. It may look at what it is given and changes nothing. Where nobody watches, nothing is
computed for it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from healing.exact import Leaf, Path, Scored
from server.choosing import Choice, Chooser
from server.grammar.mask import Mask
from server.prompt import Prompt


class Watcher(Protocol):
    """Whoever wants to see how an answer comes about."""

    def prompted(self, prompt: Prompt) -> None:
        """The prompt is built."""

    def healed(
        self,
        scored: Scored,
        rows: Mapping[Path, NDArray[np.floating]],
        leaf: Leaf,
        mask: Mask | None,
    ) -> None:
        """The covering tree was read, and a leaf of it was taken.

        Args:
            scored: All leaves with their probabilities.
            rows: Logits after the inner nodes that count; keep what is needed later.
            leaf: The one that was taken.
            mask: The grammar's, at the cursor; None if there is none or it was given up.
        """

    def chose(
        self, row: NDArray[np.float32], owed: bytes, choice: Choice, mask: Mask | None
    ) -> None:
        """A token was chosen, or the end of the text.

        Args:
            row: The logits that it was chosen by; a view, valid for this call.
            owed: Typed bytes that it had to write again.
            choice: The token.
            mask: The grammar's, before the token is pushed.
        """

    def went_back(self, choices: int | None) -> None:
        """The last so many choices led to a banned text and are taken back; None for all."""


@dataclass(frozen=True, kw_only=True)
class WatchedChooser(Chooser):
    """A chooser that tells what it chose."""

    watcher: Watcher

    def __call__(
        self,
        row: NDArray[np.float32],
        owed: bytes = b"",
        among: NDArray[np.int64] | None = None,
        admits: Callable[[int], bool] = lambda _: True,
    ) -> Choice | None:
        """As its base does."""
        choice = super().__call__(row, owed, among, admits)
        if choice is not None:
            self.watcher.chose(row, owed, choice, self.mask)
        return choice


def watched(chooser: Chooser, watcher: Watcher) -> WatchedChooser:
    """The same chooser, with somebody watching."""
    own = {field.name: getattr(chooser, field.name) for field in fields(chooser)}
    return WatchedChooser(**own, watcher=watcher)
