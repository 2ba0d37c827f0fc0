"""Means with confidence intervals: how far other cuts of the same kind could have led.

The intervals are percentiles of the means of resampled values (bootstrap, 95 %), always the same
ones for the same values. Where two methods are compared, it is on the same cuts, and what is
resampled are their differences.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000
SEED = 0


@dataclass(frozen=True)
class Mean:
    """A mean of some values, None where there are none."""

    count: int
    mean: float | None = None
    low: float | None = None
    """The lower end of the interval in which 95 % of resampled means are."""
    high: float | None = None
    median: float | None = None


def mean_of(values: Sequence[float]) -> Mean:
    """The mean of values (true and false count as 1 and 0), with its interval.

    >>> mean_of([1, 1, 1])
    Mean(count=3, mean=1.0, low=1.0, high=1.0, median=1.0)
    """
    if not values:
        return Mean(0)
    array = np.asarray(values, dtype=np.float64)
    random = np.random.default_rng(SEED)
    means = array[random.integers(len(array), size=(RESAMPLES, len(array)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    numbers = (array.mean(), low, high, np.median(array))
    return Mean(len(array), *(round(float(number), 6) for number in numbers))


def difference_of(values: Sequence[float], others: Sequence[float]) -> Mean:
    """The mean of what one method has more than another one, cut by cut."""
    return mean_of([one - other for one, other in zip(values, others, strict=True)])
