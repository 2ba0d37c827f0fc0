"""How long a draft should be: what checking it costs, and how much of it usually holds.

A batch of n tokens costs more than one token: next to nothing more on a GPU, a third for each on
one CPU, and two thirds on another. A drafted token holds the more often the longer the match before
it is. Both are seen while texts are written, and the length that gives the most tokens a second is
taken: none, where drafts do not pay.

    >>> gains = Gains()
    >>> gains.best_length([16] * 15), gains.best_length([128] * 15)
    (0, 11)

Times are compared with single steps of the same moments, and forgotten after a while: what another
program did to the machine must not keep drafts away for good. Nothing of this changes any text.
"""

import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from statistics import median

import numpy as np

from server.drafts import SIZES

LENGTHS = (1, 3, 7, 11, 15)
"""Lengths of drafts: few, so that each is measured often enough. With the token before it a draft
fills batches of four, which CPUs take as a whole."""

LONGEST = LENGTHS[-1]

WORTH = 1.1
"""Tokens a second that a draft has to promise, as a multiple of those without. What is known of its
chances is known from few tokens."""

_BATCHES = (1, 2, 4, 8, 16)
_CPU_COSTS = (1.0, 2.2, 3.1, 5.2, 8.7)
_GPU_COSTS = (1.0, 1.05, 1.1, 1.2, 1.4)
"""What is believed before anything is measured: the cost of a batch in single steps.

Those of CPUs are the highest that were measured (0.5B of 4 bits on two cores of an AMD EPYC; on
others 1, 1.35, 2.1 and 3.5). Who believes too much drafts in vain until it is measured; who
believes too little drafts where it is sure to pay, and learns there.
"""

_BELIEVED = 3
"""So many measurements weigh as much as what was believed before."""

_REMEMBERED = 15
"""Measurements of one batch size that are kept."""

_FORGOTTEN = 500
"""Measurements after which an old one no longer counts."""

_ACCEPTANCE = (0.3, 0.25, 0.25, 0.27, 0.33, 0.38, 0.48, 0.6, 0.78, 0.9, 0.92, 0.94, 0.95, 0.96)
"""The share of drafted tokens that hold after a match of each of `SIZES`, before it is seen: what
was measured in Python's library with a model of 0.5B, in some 1,800 tokens."""

_SEEN = 20.0
"""So many tokens seen weigh as much as `_ACCEPTANCE`."""

_FADING = 0.995
"""What was seen earlier counts that much less with every token."""

_ROUNDING = 1e-9
"""Sums of shares are wrong by less."""


class Gains:
    """Costs of batches and fates of drafts, as they were of late."""

    def __init__(self, gpu_share: float = 0.0) -> None:
        """Know nothing yet of a model of which this share of layers runs on a GPU."""
        costs = np.interp(range(LONGEST + 2), _BATCHES, _CPU_COSTS) * (1 - gpu_share)
        costs += np.interp(range(LONGEST + 2), _BATCHES, _GPU_COSTS) * gpu_share
        self._believed = [float(cost) for cost in costs]
        self._singles: deque[float] = deque(maxlen=_REMEMBERED)
        self._ratios: dict[int, deque[tuple[int, float]]] = {}
        self._measured = 0
        self._held = [share * _SEEN for share in _ACCEPTANCE]
        self._seen = [_SEEN] * len(SIZES)
        self._shares = [held / _SEEN for held in self._held]
        self._costs: dict[int, float] = {}
        """Costs that were asked for since they changed last."""
        self._costs_hold = 0
        """After so many measurements they change, as an old one is forgotten."""
        self._least_share: float | None = None
        """What the share of a match has to be for `least_match`, at these costs."""

    def took(self, size: int, seconds: float) -> None:
        """Note the time of a forward pass of `size` tokens, at most `LONGEST` + 1."""
        self._measured += 1
        if size == 1:
            self._singles.append(seconds)
        elif self._singles:
            ratios = self._ratios.setdefault(size, deque(maxlen=_REMEMBERED))
            ratios.append((self._measured, seconds / median(self._singles)))
            self._costs.clear()
            self._least_share = None

    def saw(self, match: int, held: bool) -> None:
        """Note whether a guessed token, after a match of so many bytes, was chosen."""
        at = _bucket(match)
        self._held[at] = self._held[at] * _FADING + held
        self._seen[at] = self._seen[at] * _FADING + 1
        self._shares[at] = self._held[at] / self._seen[at]

    def cost(self, size: int) -> float:
        """The cost of a forward pass of `size` tokens in single steps."""
        if size == 1:
            return 1.0
        if self._measured > self._costs_hold:
            self._costs.clear()
            self._least_share = None
        if size not in self._costs:
            self._costs[size] = self._cost_now(size)
            oldest = min((ratios[0][0] for ratios in self._ratios.values() if ratios), default=None)
            self._costs_hold = sys.maxsize if oldest is None else oldest + _FORGOTTEN
        return self._costs[size]

    def _cost_now(self, size: int) -> float:
        measured = {other: self._measured_cost(other) for other in self._ratios}
        known = {other: cost for other, cost in measured.items() if cost}
        if size in known:
            return max(1.0, known[size])
        nearest = min(known, key=lambda other: abs(other - size), default=1)
        scale = known.get(nearest, 1.0) / self._believed[nearest]
        return max(1.0, self._believed[size] * scale)

    def acceptance(self, match: int) -> float:
        """How probable it is that a token holds that was guessed after a match of so many bytes."""
        return self._shares[_bucket(match)]

    def least_match(self) -> int | None:
        """Bytes of the shortest match after which a draft may pay; None if none may.

        An upper bound for `best_length`: as if all tokens held after one that does.
        """
        if self._least_share is None or self._measured > self._costs_hold:
            shares = ((WORTH * self.cost(1 + length) - 1) / length for length in LENGTHS)
            self._least_share = min(shares) - _ROUNDING
        for size, share in zip(SIZES, self._shares, strict=True):
            if share >= self._least_share:
                return size
        return None

    def best_length(self, matches: Sequence[int]) -> int:
        """How many drafted tokens to check at once, after one that is chosen.

        Args:
            matches: For each token of the draft, how many bytes before it are the same as where it
                comes from, if the tokens before it hold.
        """
        best, most = 0, WORTH
        expected = chance = 1.0
        for length, match in enumerate(matches[:LONGEST], 1):
            chance *= self.acceptance(match)
            expected += chance
            if length in LENGTHS:
                rate = expected / self.cost(1 + length)
                if rate > most:
                    best, most = length, rate
        return best

    def _measured_cost(self, size: int) -> float:
        """The median of what was measured for a size, drawn to what is believed; 0 if nothing."""
        ratios = self._ratios[size]
        while ratios and ratios[0][0] < self._measured - _FORGOTTEN:
            ratios.popleft()
        if not ratios:
            return 0.0
        middle = median(ratio for _, ratio in ratios)
        believed = self._believed[size] * _BELIEVED
        return (believed + middle * len(ratios)) / (_BELIEVED + len(ratios))


def _bucket(match: int) -> int:
    return max(0, bisect_right(SIZES, match) - 1)
