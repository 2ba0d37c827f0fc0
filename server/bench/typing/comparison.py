"""Two suggesters on the same text: how much more, how much sooner, and how sure that is.

What is resampled (bootstrap, 95 %) are stretches of typing: the keys of one stretch depend on each
other. The n-th stretch of a part of the text is the same in two runs with the same seed, but for a
few keys at its ends, so the same stretches are drawn of both. Whoever takes in long suggestions
types a part in fewer stretches: what only one of them has is in the figures, but not drawn. What is
not here: figures of one run (`figures`).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from server.bench.typing.record import Record, Stretch

RESAMPLES, SEED = 1000, 0

JSON = dict[str, Any]
_Figure = Callable[[Sequence[Stretch]], float]


def saved_share(stretches: Sequence[Stretch]) -> float:
    """The share of keys that suggestions have saved; NaN where nothing was typed.

    >>> saved_share([Stretch("go", keys=6, needed=8)])
    0.25
    """
    needed = sum(stretch.needed for stretch in stretches)
    return 1 - sum(stretch.keys for stretch in stretches) / needed if needed else float("nan")


def median_new_ms(stretches: Sequence[Stretch]) -> float:
    """The median time from a key to a new suggestion; NaN where there was none."""
    times = [one for stretch in stretches for one in stretch.new_ms]
    return float(np.median(times)) if times else float("nan")


def median_screen_ms(stretches: Sequence[Stretch]) -> float:
    """The median time from a key to its suggestion on the screen; NaN where there was none."""
    times = [one for stretch in stretches for one in stretch.screen_ms]
    return float(np.median(times)) if times else float("nan")


def interval(record: Record, figure: _Figure = saved_share) -> JSON:
    """A figure of a run with its interval: `value`, `low` and `high`, None where unknown."""
    stretches = record.stretches
    values = [figure([stretches[at] for at in row]) for row in _draws(len(stretches))]
    return _with_ends(figure(stretches), values)


def compare(ours: Record, peer: Record) -> JSON:
    """How many times the peer's figures ours are, each with its interval.

    `keystrokes_saved_more` is what ours saves more, as a share of all keys: a peer that saves next
    to nothing has no ratio worth looking at.
    """
    return {
        "keystrokes_saved_more": _both(ours, peer, saved_share, np.subtract),
        "keystrokes_saved": _both(ours, peer, saved_share, _divided),
        "new_suggestion_ms": _both(ours, peer, median_new_ms, _divided),
        "on_screen_ms": _both(ours, peer, median_screen_ms, _divided),
        "stretches": len(_pairs(ours, peer)),
    }


def _both(
    ours: Record, peer: Record, figure: _Figure, put: Callable[[float, float], float]
) -> JSON:
    """Both figures put together, on the same stretches."""
    pairs = _pairs(ours, peer)
    values = [
        put(figure([pairs[at][0] for at in row]), figure([pairs[at][1] for at in row]))
        for row in _draws(len(pairs))
    ]
    return _with_ends(put(figure(ours.stretches), figure(peer.stretches)), values)


def _pairs(ours: Record, peer: Record) -> list[tuple[Stretch, Stretch]]:
    """The stretches of the same text: the first ones of each part, the second ones, and so on."""
    by_part: dict[str, list[Stretch]] = {}
    for stretch in peer.stretches:
        by_part.setdefault(stretch.part, []).append(stretch)
    waiting = {part: iter(stretches) for part, stretches in by_part.items()}
    pairs = []
    for stretch in ours.stretches:
        other = next(waiting.get(stretch.part, iter(())), None)
        if other is not None:
            pairs.append((stretch, other))
    return pairs


def _divided(one: float, other: float) -> float:
    """A ratio; NaN where the peer has nothing to divide by."""
    return one / other if other > 0 else float("nan")


def _draws(count: int) -> NDArray[np.int64]:
    """Numbers of stretches, `RESAMPLES` rows of them."""
    if not count:
        return np.empty((0, 0), np.int64)
    return np.random.default_rng(SEED).integers(count, size=(RESAMPLES, count))


def _with_ends(value: float, values: Sequence[float]) -> JSON:
    known = [one for one in values if np.isfinite(one)]
    # A ratio that is often not to be had has no honest interval.
    low, high = np.percentile(known, [2.5, 97.5]) if 2 * len(known) > len(values) else (None, None)
    return {
        "value": round(value, 4) if np.isfinite(value) else None,
        "low": None if low is None else round(float(low), 4),
        "high": None if high is None else round(float(high), 4),
    }
