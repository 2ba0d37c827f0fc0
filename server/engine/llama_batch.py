"""One batch of tokens for llama.cpp, allocated once and filled again for every forward pass.

A token in a batch has a position and belongs to one or more sequences. It attends to the cells of
its *first* sequence at positions up to its own. A tree is therefore evaluated exactly if every leaf
has a sequence of its own and every token belongs to the sequences of all leaves below it: whichever
of them comes first, the cells seen are the token's ancestors and nothing else.

What is not here: which token gets which sequences (`llama_tree`).
"""

import ctypes
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from server.engine.llama_library import Pointer, load_library


class Entry(NamedTuple):
    """One token of a batch."""

    token: int
    position: int
    sequences: tuple[int, ...]
    wanted: bool
    """Whether its logits are asked for."""


class Batch:
    """Room for `capacity` tokens, each in up to `n_sequences` sequences."""

    def __init__(self, capacity: int, n_sequences: int, n_vocabulary: int) -> None:
        """Allocate the arrays; `n_vocabulary` is the length of a row of logits."""
        self.capacity = capacity
        """Entries that it holds."""
        self._library = load_library()
        self._row_type = ctypes.c_float * n_vocabulary
        self._tokens = (ctypes.c_int32 * capacity)()
        self._positions = (ctypes.c_int32 * capacity)()
        self._counts = (ctypes.c_int32 * capacity)()
        self._wanted = (ctypes.c_int8 * capacity)()
        self._sequences = [(ctypes.c_int32 * n_sequences)() for _ in range(capacity)]
        pointer = ctypes.POINTER(ctypes.c_int32)
        self._pointers = (pointer * capacity)(
            *(ctypes.cast(row, pointer) for row in self._sequences)
        )
        self._batch = self._library.llama_batch(
            n_tokens=0,
            token=ctypes.cast(self._tokens, pointer),
            embd=None,
            pos=ctypes.cast(self._positions, pointer),
            n_seq_id=ctypes.cast(self._counts, pointer),
            seq_id=ctypes.cast(self._pointers, ctypes.POINTER(pointer)),
            logits=ctypes.cast(self._wanted, ctypes.POINTER(ctypes.c_int8)),
        )

    def decode(self, context: Pointer, entries: list[Entry]) -> int:
        """Put the entries (at most `capacity`) through the model in one pass.

        Returns llama.cpp's answer: 0 done, 1 no free cells, 2 stopped by the abort flag, negative
        for a failure. Only after 0 are the tokens in memory for certain.
        """
        for index, (token, position, sequences, wanted) in enumerate(entries):
            self._tokens[index] = token
            self._positions[index] = position
            self._counts[index] = len(sequences)
            self._wanted[index] = wanted
            row = self._sequences[index]
            for place, sequence in enumerate(sequences):
                row[place] = sequence
        self._batch.n_tokens = len(entries)
        return int(self._library.llama_decode(context, self._batch))

    def row(self, context: Pointer, index: int) -> NDArray[np.float32]:
        """The logits of entry `index`: shape (vocabulary,), a view until the next `decode`."""
        pointer = self._library.llama_get_logits_ith(context, index)
        # from_address: numpy's own conversion of a ctypes pointer takes ten times as long.
        address = ctypes.addressof(pointer.contents)
        memory = memoryview(self._row_type.from_address(address))
        return np.frombuffer(memory, dtype=np.float32)
