"""Engines for tests of what stands above them: one that is watched, one that says what it is told,
and one whose numbers are a little off.

All are wrapped around a loaded (tiny) model and answer everything else as it does.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from server.completer import Completer
from server.engine import ModelInfo, Slot, TokenEngine
from tests.server.engine.fresh import TOLERANCE, path_tokens

Row = NDArray[np.float32]


def around(completer: Completer, engine: Any) -> Completer:
    """A completer with the same model behind another engine, and nothing remembered."""
    return Completer(engine, completer.tokenization, exact=completer.exact)


class Wrapped:
    """Passes everything on."""

    def __init__(self, engine: TokenEngine) -> None:
        self.engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


class Watched(Wrapped):
    """Remembers what was put through the model."""

    def __init__(self, engine: TokenEngine) -> None:
        super().__init__(engine)
        self.slots: list[Slot] = []

    def open(self, tokens: Sequence[int]) -> Slot:
        self.slots.append(self.engine.open(tokens))
        return self.slots[-1]

    def open_beside(self, tokens: Sequence[int]) -> Slot:
        self.slots.insert(-1, self.engine.open_beside(tokens))
        return self.slots[-2]

    def forget(self) -> None:
        """Free all slots that were opened: nothing is in memory afterwards."""
        for slot in self.slots:
            self.engine.drop(slot)
        self.slots.clear()


class Scripted(Wrapped):
    """Says the tokens of a script, one after the other, and then ends the text."""

    def __init__(
        self, engine: TokenEngine, script: Sequence[int], context_tokens: int | None = None
    ) -> None:
        super().__init__(engine)
        self.script = [*script, min(engine.stops)]
        self.start = 0
        self.tempting: list[int] = []
        """Tokens that are always the most probable ones."""
        room = context_tokens or engine.info.context_tokens
        self.info: ModelInfo = replace(engine.info, context_tokens=room)

    def open(self, tokens: Sequence[int]) -> Slot:
        self.start = len(tokens)
        return self.engine.open(tokens)

    def evaluate(
        self, slot: Slot, nodes: Sequence[tuple[int, int]], want: Sequence[int]
    ) -> list[Row]:
        rows = self.engine.evaluate(slot, nodes, want)
        return [
            self.row(len(slot.tokens) + len(path_tokens(nodes, node)), len(row))
            for row, node in zip(rows, want, strict=True)
        ]

    def row(self, length: int, size: int) -> Row:
        """The logits after so many tokens."""
        row = np.zeros(size, dtype=np.float32)
        row[self.script[min(length - self.start, len(self.script) - 1)]] = 9
        row[self.tempting] = 20
        return row


class Noisy(Wrapped):
    """Its logits differ from the real ones by what the shape of a batch can make of them."""

    def __init__(self, engine: TokenEngine, seed: int, noise: float = TOLERANCE) -> None:
        super().__init__(engine)
        self.random = np.random.default_rng(seed)
        self.noise = noise

    def evaluate(
        self, slot: Slot, nodes: Sequence[tuple[int, int]], want: Sequence[int]
    ) -> list[Row]:
        return [
            row + self.random.uniform(-self.noise, self.noise, row.shape).astype(np.float32)
            for row in self.engine.evaluate(slot, nodes, want)
        ]
