"""How tokens go along many names at once.

A token goes along a name if it is a beginning of what is left of it, or if it spells all that is
left and goes on. Names in byte order make both a matter of runs: the names that a token begins are
neighbours, and so are, in the trie, the tokens that a name begins.

    >>> from healing.vocabulary import TokenKind, Vocabulary
    >>> tokens = [b"a", b"ab", b"c", b"(", b"b("]
    >>> vocabulary = Vocabulary.from_tokens(tokens, [TokenKind.NORMAL] * 5)
    >>> trie = PrefixTrie.build(vocabulary)
    >>> [(part.token, part.first, part.end) for part in parts_of([b"ab", b"abc", b"ac"], trie)]
    [(1, 0, 2), (0, 0, 3)]
    >>> Endings(vocabulary, trie, frozenset(b"abc")).after(b"b").tolist()
    [4]

What is not here: probabilities (`ranking`).
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from healing.trie import PrefixTrie
from healing.vocabulary import Vocabulary


class Part(NamedTuple):
    """A token that some names start with."""

    token: int
    length: int
    """Its bytes."""
    first: int
    end: int
    """The names are `names[first:end]`."""


def parts_of(names: Sequence[bytes], trie: PrefixTrie, owed: int = 0) -> Iterator[Part]:
    """The tokens that names start with, in the order in which their runs end.

    Args:
        names: In byte order.
        trie: The vocabulary's.
        owed: Only tokens of more bytes than this; names share at least so many.
    """
    spellings, ids = trie.spellings, trie.ids
    running: list[tuple[int, int, int]] = []  # length, token, first name; longer ones later
    before, searched = b"", owed
    nothing_at = 0  # no token starts with so many bytes of `before`; 0 if that was not found
    for number, name in enumerate(names):
        shared = _common(before, name)
        while running and running[-1][0] > shared:
            length, token, first = running.pop()
            yield Part(token, length, first, number)
        before = name
        if 0 < nothing_at <= shared:
            continue
        nothing_at = 0
        searched = max(owed, min(searched, shared))
        while searched < len(name):
            prefix = name[: searched + 1]
            place = bisect_left(spellings, prefix)
            if place == len(spellings) or not spellings[place].startswith(prefix):
                nothing_at = searched + 1
                break
            searched += 1
            while place < len(spellings) and spellings[place] == prefix:
                running.append((searched, int(ids[place]), number))
                place += 1
    for length, token, first in reversed(running):
        yield Part(token, length, first, len(names))


def _common(left: bytes, right: bytes) -> int:
    """How many first bytes are the same."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


class Endings:
    """Tokens after which a name has ended: a byte that is no part of names follows it."""

    def __init__(self, vocabulary: Vocabulary, trie: PrefixTrie, word: frozenset[int]) -> None:
        """Take the bytes that names are made of."""
        self._vocabulary = vocabulary
        self._trie = trie
        self._is_word = np.zeros(256, dtype=bool)
        self._is_word[list(word)] = True

    def after(self, rest: bytes) -> NDArray[np.int64]:
        """The tokens that spell the rest of a name and go on with a byte of no name."""
        if not rest:
            return self.at_once
        return self._going_on(self._trie.extending(rest), len(rest))

    @cached_property
    def at_once(self) -> NDArray[np.int64]:
        """The tokens that start with a byte of no name."""
        return self._going_on(self._trie.ids, 0)

    def _going_on(self, ids: NDArray[np.int64], length: int) -> NDArray[np.int64]:
        """Those of some tokens, each of more bytes than `length`, with a byte of no name there."""
        blob = np.frombuffer(self._vocabulary.blob, dtype=np.uint8)
        return ids[~self._is_word[blob[self._vocabulary.offsets[ids] + length]]]
