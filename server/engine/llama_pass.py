"""Forward passes of the llama.cpp engine: counted, stopped when asked, and cells found for them.

A pass is one micro-batch, so that it is in memory as a whole or not at all. What is not here: which
tokens are in it (`llama`), and the arrays that carry them (`llama_batch`).
"""

from collections.abc import Collection

import numpy as np

from server.engine.llama_batch import Batch, Entry
from server.engine.llama_library import AbortFlag, Pointer, last_error, recent_log
from server.engine.llama_slots import LlamaSlot, Row, SlotTable
from server.errors import Cancelled, EngineError


class Passes:
    """The forward passes of one context."""

    def __init__(self, context: Pointer, batch: Batch, slots: SlotTable, cells: int) -> None:
        """Take a context; `cells` is how many tokens its memory holds."""
        self._context = context
        self._batch = batch
        self._slots = slots
        self._cells = cells
        self.capacity = batch.capacity
        """Entries that one pass holds."""
        self.abort = AbortFlag()
        self.abort.attach(context)
        self.count = 0
        """Calls of the model since it was loaded."""
        self.tokens = 0
        """Tokens in them."""
        self._is_sound = False
        """Whether a whole row was looked at."""

    def row(self, index: int) -> Row:
        """The logits of an entry of the last pass: shape (vocabulary,), a view until the next.

        Raises EngineError if they are no numbers. What is wrong with the last matrix shows in the
        same places of every row, so one is looked at as a whole; what is wrong before it shows
        everywhere.
        """
        row = self._batch.row(self._context, index)
        if np.isnan(row[0] if self._is_sound else row.max()):
            raise EngineError(
                "the model's answers are no numbers (NaN): its file is damaged, or its device "
                "computes wrongly; get the file anew, or try fewer GPU layers"
            )
        self._is_sound = True
        return row

    def run(self, owners: Collection[LlamaSlot], entries: list[Entry]) -> None:
        """Evaluate entries for some slots. Where cells are missing, others give theirs up.

        The slot that was used longest ago goes first.

        Raises:
            Cancelled: The flag is set. Nothing of the entries counts as being in memory.
            EngineError: There is no room, or llama.cpp failed; likewise.
        """
        while True:
            if self.abort:
                raise Cancelled("the request was cancelled")
            code = self._batch.decode(self._context, entries)
            if code == 0:
                self.count += 1
                self.tokens += len(entries)
                return
            if code == 2:
                raise Cancelled("the request was cancelled")
            oldest = self._slots.oldest(but=owners)
            if code == 1 and oldest:
                self._slots.drop(oldest)
            elif code == 1:
                raise EngineError(
                    f"the context of {self._cells:,} tokens is full; choose a larger context size "
                    "or a shorter prompt"
                )
            else:
                raise EngineError(
                    f"llama.cpp could not evaluate {len(entries)} tokens (code {code}, "
                    f"{last_error(recent_log)}); try a smaller context or fewer GPU layers"
                )
