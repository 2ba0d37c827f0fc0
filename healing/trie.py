"""All tokens that start with some bytes, and all tokens that some bytes start with.

The "trie" is the list of tokens in byte order: the tokens below a prefix are one run of it, found
by two binary searches. That needs no nodes, builds in about a tenth of a second for 150,000 tokens
and answers in microseconds.

    >>> from healing.vocabulary import TokenKind, Vocabulary
    >>> tokens = [b"b", b"ab", b"a", b"abc"]
    >>> trie = PrefixTrie.build(Vocabulary.from_tokens(tokens, [TokenKind.NORMAL] * 4))
    >>> trie.starting_with(b"ab").tolist()
    [1, 3]
    >>> trie.prefixes_of(b"abz")
    [2, 1]

Only tokens that may spell text are in it: never control, unknown, unused or added ones.
"""

import sys
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from healing.vocabulary import Vocabulary


@dataclass(frozen=True)
class PrefixTrie:
    """Tokens in byte order; equal spellings stand in the order of their ids."""

    spellings: list[bytes]
    """The bytes of the tokens, ascending."""
    ids: NDArray[np.int64]
    """Shape (n,): the id of each spelling."""

    @cached_property
    def first_bytes(self) -> NDArray[np.uint8]:
        """Shape (n,): the first byte of each token; none is empty."""
        return np.array([spelling[0] for spelling in self.spellings], dtype=np.uint8)

    @staticmethod
    def build(vocabulary: Vocabulary) -> "PrefixTrie":
        """The trie over all tokens of a vocabulary that may spell text."""
        ids = vocabulary.text_ids().tolist()
        offsets = vocabulary.offsets.tolist()
        blob = vocabulary.blob
        pairs = sorted((blob[offsets[i] : offsets[i + 1]], i) for i in ids)
        return PrefixTrie(
            [spelling for spelling, _ in pairs], np.array([i for _, i in pairs], dtype=np.int64)
        )

    def starting_with(self, prefix: bytes) -> NDArray[np.int64]:
        """The ids of all tokens that start with `prefix` (and may equal it), by bytes: a view."""
        start = bisect_left(self.spellings, prefix)
        return self.ids[start : self._end(prefix, start)]

    def extending(self, prefix: bytes) -> NDArray[np.int64]:
        """The ids of all tokens that start with `prefix` and go on, in byte order: a view."""
        start = self._after(prefix)
        return self.ids[start : self._end(prefix, start)]

    def is_extended(self, prefix: bytes) -> bool:
        """Whether any token starts with `prefix` and goes on."""
        start = self._after(prefix)
        return start < len(self.spellings) and self.spellings[start].startswith(prefix)

    def _after(self, prefix: bytes) -> int:
        """Where what comes after `prefix` itself begins."""
        start = bisect_left(self.spellings, prefix)
        while start < len(self.spellings) and self.spellings[start] == prefix:
            start += 1
        return start

    def _end(self, prefix: bytes, start: int) -> int:
        """Where what starts with `prefix` ends; not before `start`."""
        after = successor(prefix)
        return len(self.spellings) if after is None else bisect_left(self.spellings, after, start)

    def spelling(self, text: bytes) -> list[int]:
        """The ids of the tokens that spell exactly `text`: usually one or none."""
        index = bisect_left(self.spellings, text)
        found = []
        while index < len(self.spellings) and self.spellings[index] == text:
            found.append(int(self.ids[index]))
            index += 1
        return found

    def prefixes_of(self, text: bytes) -> list[int]:
        """The ids of all tokens that `text` starts with, shortest first."""
        found: list[int] = []
        low = 0
        for length in range(1, len(text) + 1):
            prefix = text[:length]
            low = bisect_left(self.spellings, prefix, low)
            if low == len(self.spellings) or not self.spellings[low].startswith(prefix):
                break  # nothing starts with this, so nothing longer can match either
            found += self.spelling(prefix)
        return found

    def memory_bytes(self) -> int:
        """The memory that the trie holds, for reports."""
        return (
            sys.getsizeof(self.spellings)
            + sum(map(sys.getsizeof, self.spellings))
            + self.ids.nbytes
        )


def successor(prefix: bytes) -> bytes | None:
    """The first byte string after everything that starts with `prefix`; None if there is none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
