"""Finding the constants of a calibration: logistic regression with weights that can't be negative.

An example is the start of a suggestion, up to a word's end: its measures, and whether it is right.
All word ends of a suggestion are examples, and weigh as much as one together: those of a long text
are no more news than those of a short one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from server.confidence import Calibration, measures

SWEEPS = 50
RIDGE = 10.0
"""Of squared weights: with few examples, constants stay near those that change nothing. Of 0.1, 1,
3 and 10 this told best what is right in files that were held out (147 suggestions)."""
NEUTRAL = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True)
class Example:
    """The start of a suggestion."""

    logprobs: tuple[float, ...]
    right: bool
    weight: float = 1.0


def fit(examples: Sequence[Example]) -> Calibration:
    """The constants by which examples are the most probable."""
    rows = np.array([[1.0, *measures(example.logprobs)] for example in examples])
    right = np.array([float(example.right) for example in examples])
    weights = np.array([example.weight for example in examples])
    found = NEUTRAL.copy()
    for _ in range(SWEEPS):
        for index in range(len(found)):
            found[index] -= _step(rows, right, weights, found, index)
            if index:  # the bias may be negative
                found[index] = max(0.0, found[index])
    return Calibration(*(round(float(value), 4) for value in found))


def _step(
    rows: NDArray[np.float64],
    right: NDArray[np.float64],
    weights: NDArray[np.float64],
    found: NDArray[np.float64],
    index: int,
) -> float:
    """Newton's step for one constant."""
    column = rows[:, index]
    shares = 1 / (1 + np.exp(-np.clip(rows @ found, -30, 30)))
    slope = weights @ ((shares - right) * column) + RIDGE * (found[index] - NEUTRAL[index])
    curve = weights @ (shares * (1 - shares) * column**2) + RIDGE
    return float(slope / curve)
