"""An engine that asks its model once: the same text gives the same logits again, at once.

So what is measured above it is what stands above it. It owns no memory of a model: slots are lists.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from server.engine import ROOT, Slot, TokenEngine

Row = NDArray[np.float32]


class Remembering:
    """A `TokenEngine` around another one, as far as completing needs it."""

    def __init__(self, engine: TokenEngine) -> None:
        self._engine = engine
        self._rows: dict[tuple[int, ...], Row] = {}
        """Token path from the start of the text to the logits after it."""
        self._nodes: Sequence[tuple[int, int]] = ()
        """The tree that was evaluated last."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (all else is the other engine's)
        return getattr(self._engine, name)

    def held(self, tokens: Sequence[int]) -> int:
        """All of any text is in memory."""
        return len(tokens)

    def open(self, tokens: Sequence[int]) -> Slot:
        """A slot that holds all of its text."""
        return Slot(0, list(tokens), len(tokens), len(tokens))

    def open_beside(self, tokens: Sequence[int]) -> Slot:
        """The same: there is room for all of them."""
        return self.open(tokens)

    def evaluate_each(self, slots: Sequence[Slot], tokens: Sequence[int]) -> list[Row]:
        """The rows after one more token of each; each from a pass of its own if it is not known."""
        rows = []
        for slot, token in zip(slots, tokens, strict=True):
            rows += self.evaluate(slot, [(ROOT, token)], [0])
            self.keep(slot, 0)
        return rows

    def evaluate(
        self, slot: Slot, nodes: Sequence[tuple[int, int]], want: Sequence[int]
    ) -> list[Row]:
        """The rows after the wanted nodes; from the model if one of them is not known."""
        self._nodes = nodes
        texts = [(*slot.tokens, *self._path(node)) for node in want]
        if any(text not in self._rows for text in texts):
            found = self._engine.evaluate(self._engine.open(slot.tokens), nodes, want)
            self._rows.update(zip(texts, (row.copy() for row in found), strict=True))
        return [self._rows[text] for text in texts]

    def keep(self, slot: Slot, node: int) -> None:
        """Add the path to a node to the slot's text."""
        slot.tokens += self._path(node)
        slot.resident = len(slot.tokens)

    def cut(self, slot: Slot, length: int) -> None:
        """Shorten the slot's text."""
        del slot.tokens[length:]
        slot.resident = length

    def drop(self, slot: Slot) -> None:
        """There is nothing to free."""

    def _path(self, node: int) -> list[int]:
        tokens: list[int] = []
        while node != ROOT:
            node, token = self._nodes[node]
            tokens.append(token)
        return tokens[::-1]
