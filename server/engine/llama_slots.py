"""The slots of the llama.cpp engine: which texts are in memory, and how they share it.

A slot owns one sequence of the memory. A new slot shares the longest beginning of its text with
whichever slot has it; when all sequences are taken, the slot that was used longest ago makes room,
and if that is the very one to share with, its sequence is taken over as it is. Slots that are
opened *beside* the others have sequences of their own, and nothing makes room for them.

What is not here: evaluating what is missing (`llama`), and the order of a tree (`llama_tree`).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from server.engine import Slot
from server.engine.llama_memory import Memory
from server.engine.llama_tree import Tree
from server.errors import EngineError

Row = NDArray[np.float32]


@dataclass(eq=False)
class LlamaSlot(Slot):
    """A slot with what only the engine needs to know."""

    is_beside: bool = False
    """Whether it was opened beside the others."""
    used: int = 0
    """When it was last used, in ticks of the table."""
    row: Row | None = None
    """The logits after the last token of the text, where they are known."""
    row_is_view: bool = False
    """Whether `row` is valid only until the next forward pass."""

    def set_row(self, row: Row | None, *, is_view: bool = False) -> None:
        """Note the row after the last token, or that it is not known."""
        self.row, self.row_is_view = row, is_view and row is not None


@dataclass(eq=False)
class Grown:
    """The tree that was evaluated last; one at a time is in memory."""

    slot: LlamaSlot
    tree: Tree
    n_branches: int = 1
    """How many sequences hold parts of it, the slot's own included."""
    sequences: dict[int, int] = field(default_factory=dict)
    """Node to a sequence that holds its path; nodes of earlier rounds only are missing."""
    rows: dict[int, Row] = field(default_factory=dict)


class SlotTable:
    """All slots of an engine, at most `count`, on sequences 0 to `count - 1` of the memory."""

    def __init__(self, memory: Memory, count: int, beside: Sequence[int] = ()) -> None:
        """Start with no slots; `beside` are the sequences for those beside them."""
        self._memory = memory
        self._free = list(range(count))
        self._free_beside = list(beside)
        self._slots: list[LlamaSlot] = []
        self._ticks = 0

    def own(self, slot: Slot) -> LlamaSlot:
        """The slot as one of ours. Raises EngineError if it was dropped or evicted."""
        if not isinstance(slot, LlamaSlot) or slot not in self._slots:
            raise EngineError(
                "this slot is gone: it was dropped, or newer ones needed its memory; open it again"
            )
        return slot

    def __contains__(self, slot: object) -> bool:
        return slot in self._slots

    def touch(self, slot: LlamaSlot) -> None:
        """Note that the slot is in use now."""
        self._ticks += 1
        slot.used = self._ticks

    def oldest(self, *, but: Collection[LlamaSlot] = ()) -> LlamaSlot | None:
        """The slot that was used longest ago, other than `but`; None if there is none."""
        others = [slot for slot in self._slots if slot not in but]
        return min(others, key=lambda slot: slot.used, default=None)

    @property
    def is_full(self) -> bool:
        """Whether a new slot takes an older one's place."""
        return not self._free

    def longest_prefix(self, text: Sequence[int]) -> tuple[LlamaSlot | None, int]:
        """The slot that holds the most of the beginning of `text`, and how much of it."""
        best, longest = None, 0
        for slot in sorted(self._slots, key=lambda slot: slot.used):
            length = common_length(slot.tokens, text, min(slot.resident, len(text)))
            if length and length >= longest and self._memory.can_continue(slot.sequence, length):
                best, longest = slot, length
        return best, longest

    def open(self, text: list[int]) -> LlamaSlot:
        """A new slot; what another one holds of its text is resident from the start."""
        source, shared = self.longest_prefix(text)
        row = None
        if source and source.row is not None and shared == len(text) == len(source.tokens):
            row = source.row.copy() if source.row_is_view else source.row
        if not self._memory.divisible:
            # Other texts may go on from a beginning, and it can't be had back from one that has.
            beginnings = (slot for slot in self._slots if slot.tokens == text[: len(slot.tokens)])
            for slot in {len(slot.tokens): slot for slot in beginnings}.values():
                self.touch(slot)
        beside = [slot for slot in self._slots if slot.is_beside]
        oldest = self.oldest(but=beside) if self.is_full else None
        if oldest and oldest is source:
            self.shorten(source, shared)
            self._slots.remove(source)
            sequence = source.sequence
        else:
            if oldest:
                self.drop(oldest)
            sequence = self._free.pop(0)
            if source:
                self._memory.share(source.sequence, sequence, 0, shared)
        return self._added(sequence, text, row)

    def open_beside(self, text: list[int]) -> LlamaSlot:
        """A new slot beside the others. Raises EngineError if there are too many of them."""
        if not self._free_beside:
            raise EngineError("no more texts can be written beside this one at a time")
        sequence = self._free_beside.pop(0)
        source, shared = self.longest_prefix(text)
        if source:
            self._memory.share(source.sequence, sequence, 0, shared)
        slot = self._added(sequence, text, None)
        slot.is_beside = True
        return slot

    def _added(self, sequence: int, text: list[int], row: Row | None) -> LlamaSlot:
        resident = self._memory.length(sequence)
        slot = LlamaSlot(sequence, text, resident, resident, row=row)
        self.touch(slot)
        self._slots.append(slot)
        return slot

    def shorten(self, slot: LlamaSlot, length: int) -> None:
        """Let the memory hold exactly the first `length` tokens of the slot, or nothing of it."""
        if self._memory.length(slot.sequence) > length and not self._memory.cut(
            slot.sequence, length
        ):
            length = 0
        slot.resident = length

    def drop(self, slot: LlamaSlot) -> None:
        """Free the slot and what only it holds."""
        self._memory.clear(slot.sequence)
        slot.resident = 0
        slot.set_row(None)
        self._slots.remove(slot)
        (self._free_beside if slot.is_beside else self._free).append(slot.sequence)

    def clear(self) -> None:
        """Forget all slots, the memory itself being freed."""
        self._slots.clear()


def common_length(left: Sequence[int], right: Sequence[int], limit: int) -> int:
    """How many of the first `limit` tokens are the same in both."""
    for index in range(limit):
        if left[index] != right[index]:
            return index
    return limit
