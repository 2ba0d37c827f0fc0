"""The reliability diagram; matplotlib comes with `midtoken[bench]`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

COLOURS = {"uncalibrated": "#b0b0b0", "calibrated": "#08519c"}


def plot(parts: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw how often suggestions are right, by how sure they were said to be.

    Args:
        parts: Figures of the first word and of the first line (`figures.summarise`).
        folder: Where `confidence.png` and `confidence.svg` are written.

    Returns:
        The paths.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "midtoken"  # the same figures make the same file
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(parts), figsize=(4.6 * len(parts), 4.4), squeeze=False)
    for axes, (part, found) in zip(panels[0], parts.items(), strict=True):
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
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8, loc="upper left")
    written = []
    for suffix, metadata in ((".png", None), (".svg", {"Date": None})):
        target = folder / f"confidence{suffix}"
        figure.savefig(target, dpi=150, bbox_inches="tight", metadata=metadata)
        written.append(target)
    plt.close(figure)
    return written
