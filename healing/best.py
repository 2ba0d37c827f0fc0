"""Choosing from a scored covering tree: the most probable text, or an exact draw.

Greedy choice goes by what a person sees, not by tokens. `ß`, `ße`, `ßen` and `ßer` are four leaves
but one opinion about the next character. So the next character is chosen first, byte by byte, each
time the one with the highest summed probability, and then the most probable text that starts so.

Checking leaves is what costs time, so only those are checked that could change the choice. What is
unchecked may or may not count, so every alternative has an upper bound (unless all of it turns out
inadmissible) and a lower one (what was checked). The leading alternative is checked until its
lower bound reaches all other upper bounds. A grammar is asked about each alternative as a whole: if
it refuses a first byte, no leaf that starts with it has to be looked at.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from healing.exact import Leaf, Reading, Scored
from healing.sampling import Sampling, choose
from healing.unfinished import unfinished_tail

END = 256
"""The class of leaves that show nothing more, beside the 256 byte values."""

CHECKS = 300
"""How many leaves are checked for one choice at most; then the best lower bound decides."""

DRAWS = 2000
"""How many leaves are drawn at most until one counts; then the most probable text is taken."""

TEXTS = 256
"""How many leaves compete for the most probable text, once its first character is chosen."""


@dataclass(frozen=True)
class Choice:
    """The most probable first visible text."""

    leaf: Leaf
    """Its most probable spelling."""
    probability: float
    """Of the text, over what was not found inadmissible or refused: a lower bound. 0 if nothing
    that was looked at counts."""
    reading: Reading
    """All leaves that were checked on the way."""


@dataclass
class _Checks:
    """What is known of leaves so far, by index."""

    scored: Scored
    shares: NDArray[np.float64]
    """Natural shares of all leaves; 0 for what was dropped."""
    known: dict[int, bool] = field(default_factory=dict)
    refused: float = 0.0
    """The share that the grammar refused."""
    dropped: float = 0.0
    """The part of it that was refused without looking at its leaves."""

    def counts(self, index: int) -> bool:
        """Whether a leaf is accepted and admissible."""
        if index not in self.known:
            accepted = self.scored.accepted(index)
            self.refused += 0.0 if accepted else float(self.shares[index])
            self.known[index] = accepted and self.scored.admits(index)
        return self.known[index]

    def may_start(self, text: bytes) -> bool:
        """Whether the grammar, if there is one, accepts a first part of visible texts."""
        return self.scored.accepts is None or self.scored.accepts(text)

    def drop(self, indices: NDArray[np.int64]) -> None:
        """Refuse leaves together."""
        fresh = indices[~np.isin(indices, list(self.known))]
        share = float(self.shares[fresh].sum())
        self.refused += share
        self.dropped += share
        self.shares[fresh] = 0.0


def most_probable(scored: Scored) -> Choice:
    """The most probable first byte (to the end of its character), then text that starts with it.

    Spellings of one text are summed. The end of the text at the cursor is a character here, too.
    """
    checks = _Checks(scored, np.exp(scored.logprobs - scored.logprob))
    classes = scored.first_bytes()
    chosen = _settle(checks, None, classes, partial(_may_follow, checks, b""))
    alive = np.flatnonzero(classes == chosen)
    character = b""
    while True:
        if chosen == END:
            break
        character += bytes([chosen])
        if not unfinished_tail(character):
            break
        classes = scored.bytes_at(alive, len(character))
        chosen = _settle(checks, alive, classes, partial(_may_follow, checks, character))
        alive = alive[classes == chosen]
    refused = np.isin(alive, [index for index, fine in checks.known.items() if not fine])
    alive = alive if refused.all() else alive[~refused]
    if len(alive) > TEXTS:
        alive = alive[np.argpartition(-checks.shares[alive], TEXTS)[:TEXTS]]
    texts = [scored.visible(int(index)) for index in alive]
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    classes = np.array([numbers[text] for text in texts])
    chosen = _settle(checks, alive, classes, lambda _: True)
    same = alive[classes == chosen]
    spellings = [int(i) for i in same[np.argsort(-checks.shares[same], kind="stable")]]
    admitted = [index for index in spellings if checks.counts(index)]

    wrong = float(sum(checks.shares[index] for index, fine in checks.known.items() if not fine))
    total = max(1 - checks.dropped - wrong, 1e-300)
    found = sorted((-scored.logprobs[i], i) for i, fine in checks.known.items() if fine)
    reading = Reading(
        tuple(scored.leaf(index) for _, index in found),
        max(0.0, 1 - checks.dropped - float(sum(checks.shares[list(checks.known)]))) / total,
        scored.logprob + float(np.log(total)),
        checks.refused / (checks.refused + total),
    )
    probability = float(sum(checks.shares[index] for index in admitted)) / total
    # Where no spelling counts after all, the best one is what can be said.
    return Choice(scored.leaf((admitted or spellings)[0]), probability, reading)


def draw(scored: Scored, sampling: Sampling, random: np.random.Generator) -> Leaf:
    """One leaf, drawn exactly from those that count among those that truncation leaves.

    Leaves are drawn without replacement until one is accepted and admissible. If truncation left
    none, the most probable text is taken.
    """
    for index in choose(scored.logprobs, sampling, random)[:DRAWS].tolist():
        if scored.accepted(index) and scored.admits(index):
            return scored.leaf(index)
    return most_probable(scored).leaf


def _may_follow(checks: _Checks, character: bytes, byte: int) -> bool:
    """Whether a class may be looked at: the next byte of a character, or the end of what shows."""
    return byte == END or checks.may_start(character + bytes([byte]))


def _settle(
    checks: _Checks,
    alive: NDArray[np.int64] | None,
    classes: NDArray[np.int64],
    viable: Callable[[int], bool],
) -> int:
    """The class with the highest summed probability of leaves that count.

    If none of the leaves that were checked counts, the class of the most probable one.

    Args:
        checks: What is known; is added to.
        alive: The leaves to choose from, shape (k,); None for all, when nothing is known yet: they
            are many, and no copies of them are made.
        classes: The class of each, shape (k,).
        viable: Whether a class may be looked at.
    """

    def shares() -> NDArray[np.float64]:
        return checks.shares if alive is None else checks.shares[alive]

    def members_of(chosen: int) -> NDArray[np.int64]:
        places = np.flatnonzero(classes == chosen)
        return places if alive is None else alive[places]

    upper = np.bincount(classes, weights=shares()).astype(np.float64)
    lower = np.zeros(len(upper))
    for position, index in _places_of(checks.known, alive):
        if checks.known[index]:
            lower[classes[position]] += checks.shares[index]
        else:
            upper[classes[position]] -= checks.shares[index]
    queues: dict[int, list[int]] = {}
    checked = 0
    while checked < CHECKS:
        contenders = _two_largest(upper)
        leader, second = contenders
        if lower[leader] > 0 and (second is None or lower[leader] >= upper[second]):
            return leader
        opened = [c for c in contenders if c is not None and c not in queues]
        for contender in opened:
            members = members_of(contender)
            if viable(contender):
                # Known ones are left out, and no more than this are looked at.
                members = largest(members, checks.shares[members], CHECKS + len(checks.known))
                queues[contender] = [i for i in members.tolist() if i not in checks.known][::-1]
            else:
                checks.drop(members)
                queues[contender] = []
                upper[contender] = 0.0
        if any(not upper[contender] for contender in opened):
            continue
        # Whichever of the two has the more probable leaf left to check.
        waiting = [
            (checks.shares[queues[contender][-1]], contender)
            for contender in contenders
            if contender is not None and queues[contender]
        ]
        if not waiting:
            break
        _, contender = max(waiting)
        index = queues[contender].pop()
        checked += 1
        if checks.counts(index):
            lower[contender] += checks.shares[index]
        else:
            upper[contender] -= checks.shares[index]
    if lower.any():
        return int(np.argmax(lower))
    return int(classes[np.argmax(shares())])


def _places_of(known: dict[int, bool], alive: NDArray[np.int64] | None) -> list[tuple[int, int]]:
    """Where the known ones stand among some leaves, each with its index."""
    if alive is None or not known:
        return []
    places = np.flatnonzero(np.isin(alive, list(known)))
    return list(zip(places.tolist(), alive[places].tolist(), strict=True))


def largest(
    indices: NDArray[np.int64], shares: NDArray[np.float64], count: int
) -> NDArray[np.int64]:
    """At least so many of some leaves, largest share first; equal ones in their order."""
    if len(indices) > 2 * count:
        large = shares >= np.partition(shares, -count)[-count]
        indices, shares = indices[large], shares[large]
    return indices[np.argsort(-shares, kind="stable")]


def _two_largest(values: NDArray[np.float64]) -> tuple[int, int | None]:
    """Indices of the largest value and of the next one (None if there is only one value)."""
    first = int(np.argmax(values))
    if len(values) < 2:
        return first, None
    others = values.copy()
    others[first] = -np.inf
    return first, int(np.argmax(others))
