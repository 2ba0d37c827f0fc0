"""What llama.cpp's memory holds of a text, as bytes that can be kept and put back.

The bytes are llama.cpp's own (`llama_state_seq_get_data`): the cells of one sequence. They mean
something only to the same build with the same model run the same way (`state_key`), and llama.cpp
checks little of what it is given: whoever keeps them answers for them.

Layout: the number of logits as 8 bytes, low ones first; the logits after the last token, where
the memory can't be cut and asking for them again would mean to read the whole text; the cells.

What is not here: where states are kept, and for how long (`server.warm_start`).
"""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from server.engine.llama_library import Pointer, load_library
from server.engine.llama_memory import Memory
from server.engine.llama_slots import LlamaSlot, Row, SlotTable

State = NDArray[np.uint8]
"""One dimension; see the layout above."""

_COUNT_BYTES = 8


def save(
    context: Pointer, memory: Memory, slots: SlotTable, text: list[int], spare: int | None
) -> State | None:
    """The state after a text; None if no slot holds all of it.

    Args:
        context: What the memory belongs to.
        memory: Its memory.
        slots: Its slots.
        text: Token ids.
        spare: A sequence that nothing uses, for a slot that holds more than the text; None if
            there is none.
    """
    slot, length = slots.longest_prefix(text)
    if slot is None or length < len(text):
        return None
    row = None
    if not memory.divisible:
        row = slot.row if len(slot.tokens) == length else None
        if row is None:
            return None
    if memory.length(slot.sequence) == length:
        return _read(context, slot.sequence, row)
    if spare is None:
        return None
    memory.share(slot.sequence, spare, 0, length)
    try:
        return _read(context, spare, row)
    finally:
        memory.clear(spare)


def restore(
    context: Pointer, memory: Memory, slots: SlotTable, slot: LlamaSlot, state: State
) -> bool:
    """Let a slot hold its text, by its state. Other slots give cells up if there are too few.

    False, and the slot dropped, if the state is not one of this text and memory.
    """
    found = _parts(state)
    if found is not None:
        row, cells = found
        while not _write(context, slot.sequence, cells):
            memory.clear(slot.sequence)
            oldest = slots.oldest(but=[slot])
            if oldest is None:
                break
            slots.drop(oldest)
        n_tokens = len(slot.tokens)
        whole = memory.length(slot.sequence) == n_tokens
        if whole and memory.can_continue(slot.sequence, n_tokens):
            slot.resident = slot.reused = n_tokens
            slot.set_row(row)
            return True
    slots.drop(slot)
    return False


def _read(context: Pointer, sequence: int, row: Row | None) -> State | None:
    library = load_library()
    size = int(library.llama_state_seq_get_size(context, sequence))
    start = _COUNT_BYTES + (0 if row is None else row.nbytes)
    state = np.empty(start + size, np.uint8)
    state[:_COUNT_BYTES] = np.frombuffer(
        (0 if row is None else len(row)).to_bytes(_COUNT_BYTES, "little"), np.uint8
    )
    if row is not None:
        state[_COUNT_BYTES:start] = np.ascontiguousarray(row).view(np.uint8)
    cells = state[start:]
    return state if library.llama_state_seq_get_data(context, *_raw(cells), sequence) else None


def _parts(state: State) -> tuple[Row | None, State] | None:
    """The logits, if there are any, and the cells; None if the bytes are too few."""
    count = int.from_bytes(state[:_COUNT_BYTES].tobytes(), "little")
    start = _COUNT_BYTES + 4 * count
    if len(state) <= start:
        return None
    row = state[_COUNT_BYTES:start].copy().view(np.float32) if count else None
    return row, state[start:]


def _write(context: Pointer, sequence: int, cells: State) -> bool:
    return bool(load_library().llama_state_seq_set_data(context, *_raw(cells), sequence))


def _raw(cells: State) -> tuple[Any, int]:
    return cells.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8)), len(cells)
