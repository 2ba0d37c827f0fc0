"""The figures of `midtoken bench confidence` as Markdown. Shares are in percent."""

from collections.abc import Mapping
from typing import Any

from server.bench.heal.tables import percent, table

JSON = Mapping[str, Any]


def markdown(figures: JSON, settings: JSON, machine: JSON) -> str:
    """All tables, with a heading."""
    heading = (
        f"Model {settings['model']}, seed {settings['seed']}, prompts of at most "
        f"{settings['context_tokens']} tokens, midtoken {settings['midtoken']}, "
        f"{machine['processor']}. {figures['shown']} suggestions at {figures['places']} places."
    )
    if not figures["parts"]:
        return heading + " Too few to say anything.\n"
    constants = ", ".join(f"{name} {value:g}" for name, value in figures["constants"].items())
    sections = [
        heading,
        _calibration(figures["parts"]),
        f"Constants fitted to all of them: {constants}.",
        _languages(figures["languages"]),
        _thresholds("minConfidence", figures["least"]),
        _thresholds("stopUnsure", figures["stop"]),
    ]
    return "\n\n".join(sections) + "\n"


def _calibration(parts: JSON) -> str:
    rows = [
        [
            f"{part}, {name}",
            percent(figures["right"]),
            f"{100 * figures[name]['said']:.1f}",
            _number(figures[name]["brier"]),
            _number(figures[name]["error"]),
        ]
        for part, figures in parts.items()
        for name in ("uncalibrated", "calibrated")
    ]
    return table(
        ["", "right", "said, in the mean", "Brier score", "expected calibration error"], rows
    )


def _languages(languages: JSON) -> str:
    rows = [
        [
            name,
            str(figures["shown"]),
            f"{100 * figures['right']:.1f}",
            f"{100 * figures['said']:.1f}",
            f"{figures['brier']:.3f}",
        ]
        for name, figures in languages.items()
    ]
    return table(["first lines", "shown", "right", "said, in the mean", "Brier score"], rows)


def _thresholds(name: str, rows: list[JSON]) -> str:
    headings = [
        name,
        "shown",
        "right of those",
        "bytes of a first line",
        "right bytes of those shown",
        "right bytes of all",
    ]
    cells = [
        [
            f"{row['threshold']:g}",
            _share(row["shown"]),
            _share(row["right"]),
            "-" if row["bytes"] is None else f"{row['bytes']:.1f}",
            _share(row["saved_per_shown"]),
            _share(row["saved_of_possible"]),
        ]
        for row in rows
    ]
    return table(headings, cells)


def _share(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _number(mean: JSON) -> str:
    return f"{mean['mean']:.3f} ({mean['low']:.3f} to {mean['high']:.3f})"
