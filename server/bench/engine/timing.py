"""Times as figures: how they are summed up, and the one clock."""

import statistics
from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np


def milliseconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    started = perf_counter()
    call()
    return 1e3 * (perf_counter() - started)


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, 99th percentile, mean and standard deviation of some values, at least one.

    >>> spread([1.0, 2.0, 6.0])
    {'count': 3, 'median': 2.0, 'p99': 5.92, 'mean': 3.0, 'sd': 2.6458}
    """
    median, high = np.percentile(values, [50, 99])
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return {
        "count": len(values),
        "median": round(float(median), 4),
        "p99": round(float(high), 4),
        "mean": round(statistics.fmean(values), 4),
        "sd": round(deviation, 4),
    }
