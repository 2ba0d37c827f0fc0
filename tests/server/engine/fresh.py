"""The oracle of the engine's tests: every text evaluated from its first token, in one chain."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from server.engine import ROOT
from server.engine.llama import LlamaEngine
from server.engine.llama_library import load_library

TOLERANCE = 2e-2
"""The largest difference of logits that only the shape of a batch makes, with room.

Measured on the tiny models, the same chain in micro-batches of 1, 16 and 64: 4e-3 at most, since a
rounding to 16 bits may fall the other way; with flash attention 8e-3. One token at a wrong place
moves a row of `llama` by 0.7 at least, and one of `mamba` by 0.1.
"""


class Fresh:
    """Rows of logits from an engine that forgets everything in between."""

    def __init__(self, engine: LlamaEngine) -> None:
        self.engine = engine
        self._known: dict[tuple[int, ...], np.ndarray] = {}

    def row(self, text: Sequence[int]) -> np.ndarray:
        """The logits after `text`."""
        key = tuple(text)
        if key not in self._known:
            slot = self.engine.open(text)
            assert slot.reused == 0
            self._known[key] = self.engine.evaluate(slot, [], [ROOT])[0].copy()
            self.engine.drop(slot)
        return self._known[key]

    def agrees(self, row: np.ndarray, text: Sequence[int]) -> bool:
        """Whether `row` is what comes after `text`."""
        return bool(np.abs(row - self.row(text)).max() < TOLERANCE)


def path_tokens(nodes: Sequence[tuple[int, int]], node: int) -> list[int]:
    """The tokens from the root down to `node`."""
    found = []
    while node != ROOT:
        parent, token = nodes[node]
        found.append(token)
        node = parent
    return found[::-1]


def held(engine: LlamaEngine) -> list[int]:
    """How many tokens each sequence of the memory holds."""
    return [engine._memory.length(sequence) for sequence in range(engine._loaded.n_sequences)]


def before_pass(engine: LlamaEngine, number: int, act: Callable[[], None]) -> list[int]:
    """Call `act` just before forward pass `number` (from 0); returns llama.cpp's answers, live."""
    codes: list[int] = []
    decode = engine._passes._batch.decode

    def watched(context, entries):
        if len(codes) == number:
            act()
        codes.append(decode(context, entries))
        return codes[-1]

    engine._passes._batch.decode = watched
    return codes


def refuse_cuts(patch: pytest.MonkeyPatch) -> None:
    """Let every memory of llama.cpp refuse to forget the end of a sequence only."""
    library = load_library()
    remove = library.llama_memory_seq_rm

    def refusing(memory: int, sequence: int, start: int, stop: int) -> bool:
        if 0 < start <= library.llama_memory_seq_pos_max(memory, sequence):
            return False
        return bool(remove(memory, sequence, start, stop))

    patch.setattr(library, "llama_memory_seq_rm", refusing)
