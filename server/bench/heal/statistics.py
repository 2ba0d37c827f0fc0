"""Means with confidence intervals: how far other cuts of the same kind could have led.

The intervals are percentiles of the means of resampled values (bootstrap, 95 %), always the same
ones for the same values. Where two methods are compared, it is on the same cuts, and what is
resampled are their differences. Values of one place depend on each other: they are drawn together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

RESAMPLES = 2000
SEED = 0
TAIL = 0.025
"""The share of resampled means on either side of an interval."""


@dataclass(frozen=True)
class Mean:
    """A mean of some values, None where there are none."""

    count: int
    mean: float | None = None
    low: float | None = None
    """The lower end of the interval in which 95 % of resampled means are."""
    high: float | None = None
    median: float | None = None


def mean_of(values: Sequence[float], places: Sequence[int] | None = None) -> Mean:
    """The mean of values (true and false count as 1 and 0), with its interval.

    Where all of them are true, or all are false, every resampled mean is the same, and yet a few
    cuts leave much open: there the interval reaches to the share with which so many in a row would
    be no more than 2.5 % likely (Clopper and Pearson).

    Args:
        values: What was found at each cut.
        places: The place of each value, where there may be several of one.

    >>> mean_of([0, 1, 1, 0])
    Mean(count=4, mean=0.5, low=0.0, high=1.0, median=0.5)
    >>> mean_of([True] * 30).low, mean_of([False] * 300).high
    (0.884297, 0.012221)
    """
    found = _resampled(values, places)
    if not values or not all(isinstance(value, bool) for value in values):
        return found
    sure = round(TAIL ** (1 / (found.count if places is None else len(set(places)))), 6)
    if all(values):
        return replace(found, low=sure)
    return found if any(values) else replace(found, high=round(1 - sure, 6))


def difference_of(
    values: Sequence[float], others: Sequence[float], places: Sequence[int] | None = None
) -> Mean:
    """The mean of what one method has more than another one, cut by cut."""
    pairs = zip(values, others, strict=True)
    return _resampled([one - other for one, other in pairs], places)


def _resampled(values: Sequence[float], places: Sequence[int] | None) -> Mean:
    """The mean of values, and where 95 % of the means are of as many places drawn from these."""
    if not values:
        return Mean(0)
    array = np.asarray(values, dtype=np.float64)
    whose = np.arange(len(array)) if places is None else np.unique(places, return_inverse=True)[1]
    sums, counts = np.bincount(whose, weights=array), np.bincount(whose)
    random = np.random.default_rng(SEED)
    drawn = random.integers(len(sums), size=(RESAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.percentile(means, [100 * TAIL, 100 - 100 * TAIL])
    numbers = (array.mean(), low, high, np.median(array))
    return Mean(len(array), *(round(float(number), 6) for number in numbers))
