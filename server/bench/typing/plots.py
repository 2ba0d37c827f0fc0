"""The figures of `midtoken bench typing` as a picture."""

from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

from server.bench.plotting import panels, save
from server.bench.typing.record import Record, together

COLOURS = {"midtoken": "#08519c", "llama-server": "#7f7f7f"}
OTHER_COLOURS = ("#e6a532", "#4292c6", "#6a51a3", "#41ab5d", "#d94801", "#9ecae1")
"""Of settings that are compared, one after the other."""

LONGEST_MS = 2000


def plot(
    records: Mapping[str, Mapping[str, Record]], results: Mapping[str, Any], folder: Path
) -> list[Path]:
    """Draw keystrokes saved by language, and how soon suggestions are there.

    Args:
        records: Runs by suggester and language.
        results: Figures by suggester (`report`).
        folder: Where `typing.png` and `typing.svg` are written.

    Returns:
        The paths.
    """
    figure, [bars, curves] = panels(11, 4.2, 2)
    languages = list(next(iter(records.values())))
    width = 0.8 / len(records)
    others = [name for name in records if name not in COLOURS]
    colours = COLOURS | dict(zip(others, cycle(OTHER_COLOURS), strict=False))
    for number, name in enumerate(records):
        shares = [results[name]["languages"][one]["keystrokes_saved_interval"] for one in languages]
        known = [(at, share) for at, share in enumerate(shares) if share["low"] is not None]
        middles = [100 * share["value"] for _, share in known]
        bars.bar(
            [at + (number - (len(records) - 1) / 2) * width for at, _ in known],
            middles,
            width,
            label=name,
            color=colours[name],
            yerr=[
                [middle - 100 * share["low"] for middle, (_, share) in zip(middles, known)],  # noqa: B905
                [100 * share["high"] - middle for middle, (_, share) in zip(middles, known)],  # noqa: B905
            ],
            error_kw={"elinewidth": 0.8, "ecolor": "#404040"},
        )
        whole = together(list(records[name].values()))
        times = sorted(one for stretch in whole.stretches for one in stretch.screen_ms)
        shown = [one for one in times if one <= LONGEST_MS]
        heights = [100 * (at + 1) / max(1, whole.pressed) for at in range(len(shown))]
        curves.step(
            [*shown, LONGEST_MS],
            [*heights, heights[-1] if heights else 0],
            where="post",
            label=name,
            color=colours[name],
        )
    bars.set_xticks(range(len(languages)), languages, fontsize=8, rotation=30, ha="right")
    bars.set_ylabel("keystrokes saved, %, with 95 % intervals")
    curves.set_xlabel("ms after the key")
    curves.set_ylabel("% of keys with a suggestion on the screen")
    curves.set_xscale("symlog", linthresh=10)
    curves.set_xlim(0, LONGEST_MS)
    for axes in (bars, curves):
        axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
    # Above the axes: among bars with long intervals there is no room.
    bars.legend(frameon=False, ncols=len(records), loc="lower left", bbox_to_anchor=(0, 1))
    return save(figure, folder / "typing")
