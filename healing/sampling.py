"""How a token is chosen from log probabilities: greedily, or drawn with the usual truncations."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Sampling:
    """The options of sampling; the default is greedy.

    Raises ValueError for values that have no meaning.
    """

    temperature: float = 0.0
    """Divides the logits; 0 takes the most probable token and ignores all other options.

    What is below 0.001 becomes 0: the most probable token would be drawn all the same, and logits
    divided by so little leave the range of 32-bit numbers.
    """
    top_k: int = 0
    """Keep this many of the most probable (0 keeps all)."""
    top_p: float = 1.0
    """Keep the most probable that together have at least this probability."""
    min_p: float = 0.0
    """Keep what is at least this fraction as probable as the most probable."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= 100:
            raise ValueError(f"temperature must be between 0 and 100, not {self.temperature}")
        if self.temperature < 1e-3:
            object.__setattr__(self, "temperature", 0.0)
        if self.top_k < 0:
            raise ValueError(f"top-k must be 0 (off) or more, not {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top-p must be above 0 and at most 1, not {self.top_p}")
        if not 0 <= self.min_p <= 1:
            raise ValueError(f"min-p must be between 0 and 1, not {self.min_p}")


GREEDY = Sampling()

NONE: NDArray[np.int64] = np.empty(0, dtype=np.int64)
"""No indices."""

AT_ONCE = 1 << 15
"""So many exponentials are taken at a time: they stay in a core's cache until they are summed."""

PLAIN = 50.0
"""Where the highest logit is nearer to 0, exponentials need no shift: `exp(50)` times any number of
tokens is far from the largest number of 32 bits, `exp(-50)` far from the smallest with all digits.
"""


def log_normaliser(
    logits: NDArray[np.floating],
    temperature: float = 1.0,
    without: NDArray[np.int64] = NONE,
    highest: np.floating | None = None,
) -> float:
    """What to subtract from `logits / temperature`, shape (n,), to get natural log probabilities.

    In the precision of the logits (float32 from an engine), which numpy's sum by pairs keeps.

    Args:
        logits: Are left as they are.
        temperature: Above 0.
        without: Indices that do not count.
        highest: The highest of all logits, if that is known: a pass less over them.
    """
    if highest is None:
        highest = logits.max()
    outside = logits[without]
    if len(outside) and highest == outside.max():  # what counts may be lost beside it
        return log_normaliser(np.delete(logits, without), temperature)
    plain = temperature == 1 and abs(highest) < PLAIN
    origin = logits.dtype.type(0) if plain else highest
    total = -_weights(outside, origin, temperature, outside).sum(dtype=np.float64)
    weights = np.empty(min(AT_ONCE, len(logits)), logits.dtype)
    for start in range(0, len(logits), AT_ONCE):
        part = logits[start : start + AT_ONCE]
        total += _weights(part, origin, temperature, weights[: len(part)]).sum()
    return float(np.log(total) + np.float64(origin) / temperature)


def _weights(
    logits: NDArray[np.floating],
    origin: np.floating,
    temperature: float,
    weights: NDArray[np.floating],
) -> NDArray[np.floating]:
    """Exponentials of logits relative to an origin, written into `weights`."""
    if origin:
        logits = np.subtract(logits, origin, out=weights)
    if temperature != 1:
        logits = np.divide(logits, logits.dtype.type(temperature), out=weights)
    np.exp(logits, out=weights)
    return weights


def truncate(logprobs: NDArray[np.float64], sampling: Sampling) -> NDArray[np.float64]:
    """Log probabilities, shape (n,), with -inf for what top-k, top-p or min-p leave out.

    The most probable entry always stays.
    """
    if not sampling.top_k and sampling.top_p == 1 and not sampling.min_p:
        return logprobs
    order = np.argsort(-logprobs, kind="stable")
    probabilities = np.exp(logprobs[order] - np.logaddexp.reduce(logprobs))
    keep = np.ones(len(order), dtype=bool)
    if sampling.top_k:
        keep[sampling.top_k :] = False
    keep &= np.cumsum(probabilities) - probabilities < sampling.top_p
    keep &= probabilities >= sampling.min_p * probabilities[0]
    keep[0] = True
    result = np.full(len(logprobs), -np.inf)
    result[order[keep]] = logprobs[order[keep]]
    return result


def choose(
    logprobs: NDArray[np.float64], sampling: Sampling, random: np.random.Generator
) -> NDArray[np.int64]:
    """Indices in the order in which to try them, most wanted first; shape (kept,).

    Greedy: by probability. Otherwise drawn without replacement from the truncated distribution, so
    that the first one that passes a later test is an exact draw from those that pass (the Gumbel
    trick; see AWRS, arXiv 2504.05410).
    """
    if not sampling.temperature:
        return np.argsort(-logprobs, kind="stable")
    kept = truncate(logprobs, sampling)
    order = np.argsort(-(kept + random.gumbel(size=len(kept))), kind="stable")
    return order[: int(np.isfinite(kept).sum())]
