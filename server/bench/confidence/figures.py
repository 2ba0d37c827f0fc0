"""Figures of how well confidence tells what is right, JSON-ready.

What is said of a suggestion comes from constants that were fitted without its file. Intervals
(95 %) are of resampled files, since places in one file are alike. What is not here: tables and
plots.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from server.bench.confidence.records import Record, fitted, held_out
from server.confidence import UNCALIBRATED, Calibration

JSON = dict[str, Any]
Numbers = NDArray[np.float64]

BINS = 10
THRESHOLDS = tuple(step / 10 for step in range(10))
RESAMPLES, SEED = 1000, 0
SMALLEST = 10
"""Suggestions of which a calibration can be judged."""

SIZES: Mapping[str, Callable[[Record], int]] = {
    "first word": lambda record: record.word,
    "first line": lambda record: record.line,
}
"""What is judged, by its name: how many bytes of a suggestion it takes."""


def summarise(records: Sequence[Record]) -> JSON:
    """All figures of these suggestions, those that show nothing among them."""
    shown = [record for record in records if record.shown]
    if len(shown) < SMALLEST:
        return {"places": len(records), "shown": len(shown), "parts": {}}
    calibrations = held_out(shown)
    return {
        "places": len(records),
        "shown": len(shown),
        "files": len({(record.language, record.file) for record in shown}),
        "constants": asdict(fitted(shown)),
        "parts": {name: _part(shown, calibrations, size) for name, size in SIZES.items()},
        "languages": _languages(shown, calibrations),
        "least": [_with_least(shown, calibrations, share) for share in THRESHOLDS],
        "stop": [_with_stop(shown, calibrations, share) for share in THRESHOLDS],
    }


def _part(
    records: Sequence[Record], calibrations: Sequence[Calibration], size: Callable[[Record], int]
) -> JSON:
    """Of the first word, or the first line: what is said with calibration and without."""
    right = np.array([float(record.agreed >= size(record)) for record in records])
    files = [f"{record.language}/{record.file}" for record in records]
    found: JSON = {"right": _interval(files, lambda rows: float(right[rows].mean()))}
    for name, used in (
        ("uncalibrated", [UNCALIBRATED] * len(records)),
        ("calibrated", calibrations),
    ):
        said = np.array(
            [
                record.judged(calibration).up_to(size(record))
                for record, calibration in zip(records, used, strict=True)
            ]
        )
        found[name] = _agreement(files, said, right)
    return found


def _agreement(files: Sequence[str], said: Numbers, right: Numbers) -> JSON:
    """How well what was said agrees with what was right."""
    squares = (said - right) ** 2
    return {
        "said": round(float(said.mean()), 4),
        "brier": _interval(files, lambda rows: float(squares[rows].mean())),
        "error": _interval(files, lambda rows: calibration_error(said[rows], right[rows])),
        "bins": _bins(said, right),
    }


def calibration_error(said: Numbers, right: Numbers) -> float:
    """The mean distance of what was said from what was right, in bins of equal size.

    >>> calibration_error(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    0.5
    """
    rows = np.argsort(said, kind="stable")
    return float(
        sum(
            len(part) * abs(said[part].mean() - right[part].mean())
            for part in np.array_split(rows, min(BINS, len(rows)))
        )
        / len(rows)
    )


def _bins(said: Numbers, right: Numbers) -> list[JSON]:
    """What was said and what was right, of equally many suggestions each, the least sure first."""
    return [
        {
            "count": len(part),
            "said": round(float(said[part].mean()), 4),
            "right": round(float(right[part].mean()), 4),
        }
        for part in np.array_split(np.argsort(said, kind="stable"), BINS)
    ]


def _languages(records: Sequence[Record], calibrations: Sequence[Calibration]) -> JSON:
    """How often the first line is right, and how sure it was said to be, by language."""
    found: JSON = {}
    for language in sorted({record.language for record in records}):
        pairs = [
            (record.judged(calibration).up_to(record.line), record.agreed >= record.line)
            for record, calibration in zip(records, calibrations, strict=True)
            if record.language == language
        ]
        said, right = (np.array(values, dtype=np.float64) for values in zip(*pairs, strict=True))
        found[language] = {
            "shown": len(pairs),
            "said": round(float(said.mean()), 4),
            "right": round(float(right.mean()), 4),
            "brier": round(float(((said - right) ** 2).mean()), 4),
        }
    return found


def _with_least(
    records: Sequence[Record], calibrations: Sequence[Calibration], least: float
) -> JSON:
    """What is shown if first lines that are less sure are not."""
    kept = [
        (record, record.line)
        for record, calibration in zip(records, calibrations, strict=True)
        if record.judged(calibration).up_to(record.line) >= least
    ]
    return {"threshold": least, **_worth(kept, records)}


def _with_stop(records: Sequence[Record], calibrations: Sequence[Calibration], stop: float) -> JSON:
    """What is shown if first lines end where they would be less sure."""
    kept = [
        (record, min(record.line, record.judged(calibration).sure_size(stop)))
        for record, calibration in zip(records, calibrations, strict=True)
    ]
    return {"threshold": stop, **_worth(kept, records)}


def _worth(kept: Sequence[tuple[Record, int]], records: Sequence[Record]) -> JSON:
    """What the first lines that are shown, as far as they are, are worth among all of them."""
    shown = sum(size for _, size in kept)
    saved = sum(min(size, record.agreed) for record, size in kept)
    possible = sum(min(record.line, record.agreed) for record in records)
    right = sum(size <= record.agreed for record, size in kept)
    return {
        "shown": round(len(kept) / len(records), 4),
        "right": round(right / len(kept), 4) if kept else None,
        "bytes": round(shown / len(kept), 2) if kept else None,
        "saved_per_shown": round(saved / shown, 4) if shown else None,
        "saved_of_possible": round(saved / possible, 4) if possible else None,
    }


def _interval(files: Sequence[str], figure: Callable[[NDArray[np.intp]], float]) -> JSON:
    """A figure of all rows, and between what it lies for most draws of as many files."""
    names, which = np.unique(files, return_inverse=True)
    rows, random = np.arange(len(files)), np.random.default_rng(SEED)
    draws = random.integers(len(names), size=(RESAMPLES, len(names)))
    times = (np.bincount(draw, minlength=len(names)) for draw in draws)
    values = [figure(np.repeat(rows, drawn[which])) for drawn in times]
    low, high = np.percentile(values, [2.5, 97.5])
    numbers = (figure(rows), float(low), float(high))
    return dict(zip(("mean", "low", "high"), (round(one, 4) for one in numbers), strict=True))
