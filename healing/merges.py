"""Which tokens byte-pair encoding can leave side by side.

Byte-pair encoding joins neighbours in the order of its merge list until no listed pair is left.
Two tokens can stand next to each other inside a word only if no merge ever reached across the
boundary between them. `Merges.separate` decides that from the merge list alone, in microseconds,
without encoding anything: it plays the merges on both sides in time and looks at the two pieces
that touch the boundary at each moment.

Example: with the merges `a b`, `ab c` the tokens `ab` and `c` can't be neighbours (they would have
become `abc`), `a` and `c` can.

The order argument is that of ByteSampler (Hayase, Liu, Smith, Oh 2025, arXiv 2506.14123). It says
nothing of pretokenizers: across the boundary of two pretokens nothing merges, whatever this module
says. `covers` therefore uses it to find likely neighbours and lets the encoder decide.

SentencePiece lists no merges: whatever makes a token is one, and its score says when. There
`EncodedPairs` asks the encoder about the two tokens alone, which takes some 15 microseconds and no
tables.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from healing.encoding import Encode
from healing.vocabulary import Vocabulary

NEVER = 1 << 40
"""A time after every merge."""

PIECE = 4096
"""Merges that are put into a table in one call; all of them keep Python's lock for 30 ms."""

PAIRS = 1 << 14
"""How many answers `EncodedPairs` remembers."""

SPINES = 1 << 12
"""How many edges of tokens `Merges` remembers: the same ones meet again and again."""

Spine = list[tuple[int, tuple[int, int]]]
"""Pieces, each with the times when it comes to be and when it is gone."""


class Neighbours(Protocol):
    """What is known of tokens that stand side by side."""

    def separate(self, left: int, right: int) -> bool:
        """Whether no merge reaches across the boundary between two tokens of one pretoken."""


@dataclass(frozen=True)
class EncodedPairs:
    """Neighbours by the encoder's word, for vocabularies without pretokens.

    There, tokens are the encoding of their text if each two neighbours are that of theirs.
    """

    vocabulary: Vocabulary
    encode: Encode

    def separate(self, left: int, right: int) -> bool:
        """Whether the text of both tokens is split into them."""
        return self._separate(left, right)

    @cached_property
    def _separate(self) -> Callable[[int, int], bool]:
        @lru_cache(PAIRS)
        def separate(left: int, right: int) -> bool:
            return self.encode(self.vocabulary.decode((left, right))) == [left, right]

        return separate


@dataclass(frozen=True)
class Merges:
    """The merge list of a byte-pair vocabulary."""

    table: NDArray[np.int32]
    """Shape (m, 3): left id, right id and the id that they become, in the order of the merges."""
    size: int
    """How many tokens the vocabulary has."""

    def __post_init__(self) -> None:
        if self.table.ndim != 2 or self.table.shape[1] != 3:
            raise ValueError(f"a merge table has three columns, not the shape {self.table.shape}")
        if len(self.table) and not (self.table.min() >= 0 and self.table.max() < self.size):
            raise ValueError(f"a merge names a token outside the vocabulary of {self.size}")

    def separate(self, left: int, right: int) -> bool:
        """Whether no merge reaches across the boundary between two tokens of one pretoken."""
        right_spine = self._right_spine(left)
        left_spine = self._left_spine(right)
        for piece, (birth, death) in right_spine:
            for other, (other_birth, other_death) in left_spine:
                if birth >= other_death or other_birth >= death:
                    continue  # never alive at the same time
                rank = self._ranks.get(piece * self.size + other)
                if rank is None:
                    continue
                time = max(rank, birth, other_birth)
                # Equal pairs merge from the left: a piece that its left neighbour takes at the
                # same rank is gone first, one that its right neighbour would take is not.
                if time < death and time <= other_death:
                    return False
        return True

    def _spine(self, token: int, parts: list[int]) -> Spine:
        """The pieces at one edge of a token, the whole first, with their lives `[birth, death)`."""
        spine = []
        death = NEVER
        while True:
            birth = self._births[token]
            spine.append((token, (birth, death)))
            if birth < 0:
                return spine
            token, death = parts[token], birth

    @cached_property
    def _right_spine(self) -> Callable[[int], Spine]:
        return lru_cache(SPINES)(lambda token: self._spine(token, self._right_parts))

    @cached_property
    def _left_spine(self) -> Callable[[int], Spine]:
        return lru_cache(SPINES)(lambda token: self._spine(token, self._left_parts))

    @cached_property
    def _ranks(self) -> dict[int, int]:
        """`left * size + right` to the rank of this merge (the first, if it is listed twice)."""
        keys = self.table[:, 0].astype(np.int64) * self.size + self.table[:, 1]
        ranks: dict[int, int] = {}
        for end in range(len(keys), 0, -PIECE):
            start = max(0, end - PIECE)
            backwards = range(end - 1, start - 1, -1)
            ranks.update(zip(keys[start:end][::-1].tolist(), backwards, strict=True))
        return ranks

    @cached_property
    def _births(self) -> list[int]:
        """Token to the rank of the merge that makes it; -1 for what no merge makes."""
        births = np.full(self.size, -1, dtype=np.int64)
        births[self.table[::-1, 2]] = np.arange(len(self.table) - 1, -1, -1)
        return births.tolist()

    @cached_property
    def _left_parts(self) -> list[int]:
        return self._parts(0)

    @cached_property
    def _right_parts(self) -> list[int]:
        return self._parts(1)

    def _parts(self, column: int) -> list[int]:
        parts = np.full(self.size, -1, dtype=np.int64)
        parts[self.table[::-1, 2]] = self.table[::-1, column]
        return parts.tolist()


@dataclass(frozen=True)
class MergesAndAdditions:
    """Neighbours where there are tokens that no merge makes: added ones, found as a whole."""

    merges: Merges
    pairs: EncodedPairs
    added: frozenset[int]

    def separate(self, left: int, right: int) -> bool:
        """What the merges say; of an added token, whether the text of both is split into them."""
        if left in self.added or right in self.added:
            return self.pairs.separate(left, right)
        return self.merges.separate(left, right)
