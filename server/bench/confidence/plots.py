"""The reliability diagram of `midtoken bench confidence`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from server.bench.plotting import panels, save

COLOURS = {"uncalibrated": "#b0b0b0", "calibrated": "#08519c"}


def plot(parts: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw how often suggestions are right, by how sure they were said to be.

    Args:
        parts: Figures of the first word and of the first line (`figures.summarise`).
        folder: Where `confidence.png` and `confidence.svg` are written.

    Returns:
        The paths.
    """
    figure, each = panels(4.6 * len(parts), 4.4, len(parts))
    for axes, (part, found) in zip(each, parts.items(), strict=True):
        axes.plot([0, 100], [0, 100], color="#404040", linewidth=0.8, linestyle=":")
        for name, colour in COLOURS.items():
            bins = found[name]["bins"]
            axes.plot(
                [100 * one["said"] for one in bins],
                [100 * one["right"] for one in bins],
                marker="o",
                markersize=4,
                linewidth=1,
                color=colour,
                label=f"{name}: Brier {found[name]['brier']['mean']:.3f}",
            )
        axes.set_title(part, fontsize=10)
        axes.set_xlabel("said to be right, %")
        axes.set_ylabel("right, %")
        axes.set_aspect("equal")
        axes.legend(frameon=False, fontsize=8, loc="upper left")
    return save(figure, folder / "confidence")
