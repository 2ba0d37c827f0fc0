"""The KV cache of a llama.cpp context as sequences that can be shared, cut and cleared.

A sequence is a list of cells, one a token; the same cell may belong to several sequences, so that
sharing a prefix costs no memory. Not every model allows everything: the state of a recurrent model
can only be cleared whole, and a sliding window forgets old tokens. `cut` hides the difference: it
says whether the memory now is what was asked for.

What is not here: what the tokens of a sequence are (`llama`).
"""

from server.engine.llama_library import Pointer, load_library


class Memory:
    """The memory of one context."""

    def __init__(self, context: Pointer, *, divisible: bool, window: int) -> None:
        """Take `context`'s memory; see `divisible` and `window` below."""
        self._library = load_library()
        self._memory = self._library.llama_get_memory(context)
        self.divisible = divisible
        """Whether a sequence can be cut anywhere; False for recurrent and hybrid models, and from
        the first time on that llama.cpp refuses a cut."""
        self._window = window
        """Tokens that a sliding-window layer looks back; 0 where all layers see everything."""

    def length(self, sequence: int) -> int:
        """How many tokens the sequence holds."""
        return int(self._library.llama_memory_seq_pos_max(self._memory, sequence)) + 1

    def can_continue(self, sequence: int, length: int) -> bool:
        """Whether everything is there to evaluate a token after the first `length` ones."""
        if not self.divisible and self.length(sequence) != length:
            return False
        if self._window == 0 or length == 0:
            return True
        first = int(self._library.llama_memory_seq_pos_min(self._memory, sequence))
        return 0 <= first <= max(0, length - self._window)

    def share(self, source: int, target: int, start: int, stop: int) -> None:
        """Let `target`, too, hold `source`'s cells at positions `start` to `stop` (excluded)."""
        self._library.llama_memory_seq_cp(self._memory, source, target, start, stop)

    def cut(self, sequence: int, length: int) -> bool:
        """Shorten a sequence to `length` tokens; where that can't be done, clear it: False."""
        if length > 0:
            removed = self._library.llama_memory_seq_rm(self._memory, sequence, length, -1)
            self.divisible = self.divisible and bool(removed)
            if removed and self.length(sequence) == length and self.can_continue(sequence, length):
                return True
        self.clear(sequence)
        return length == 0

    def clear(self, sequence: int) -> None:
        """Free what only this sequence holds."""
        self._library.llama_memory_seq_rm(self._memory, sequence, -1, -1)
