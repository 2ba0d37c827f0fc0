"""Plots as files, PNG and SVG; matplotlib comes with `midtoken[bench]`.

The same figures make the same files. What is not here: what is drawn (`plots` of each benchmark).
"""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS: dict[str, dict[str, None] | None] = {".png": None, ".svg": {"Date": None}}
"""Endings of the files, with what is to be left out of them."""


def can_plot() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def panels(width: float, height: float, count: int = 1) -> "tuple[Figure, list[Axes]]":
    """An empty figure of so many inches, and its panels from left to right."""
    import matplotlib as mpl

    mpl.use("Agg")  # no window
    mpl.rcParams["svg.hashsalt"] = "midtoken"
    import matplotlib.pyplot as plt

    figure, rows = plt.subplots(1, count, figsize=(width, height), squeeze=False)
    return figure, list(rows[0])


def save(figure: "Figure", path: Path) -> list[Path]:
    """Write a figure and close it; the paths of its files, which are `path` with other endings."""
    import matplotlib.pyplot as plt

    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    written = [path.with_suffix(suffix) for suffix in FORMATS]
    for target, metadata in zip(written, FORMATS.values(), strict=True):
        figure.savefig(target, dpi=150, bbox_inches="tight", metadata=metadata)
    plt.close(figure)
    return written
