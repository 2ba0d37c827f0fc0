"""The figures of `midtoken bench engine` as pictures."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from server.bench.engine import keystrokes, steps
from server.bench.plotting import panels, save

JSON = Mapping[str, Any]

COLOURS = (
    "#08519c", "#4292c6", "#9ecae1", "#6a51a3", "#9e9ac8",
    "#e6a532", "#c7794a", "#7f7f7f", "#b0b0b0", "#41ab5d", "#a1d99b",
)  # fmt: skip


def plot(figures: JSON, folder: Path) -> list[Path]:
    """Draw what a step consists of, batches, and what grows; the paths of the pictures."""
    return [
        *_step(figures["steps"], folder / "engine-step"),
        *_batches(figures["batches"]["sizes"], folder / "engine-batches"),
        *_keystrokes(figures["keystrokes"], folder / "engine-keystrokes"),
    ]


def _step(figures: JSON, path: Path) -> list[Path]:
    """Bars of parts, one above the other."""
    figure, [axes] = panels(7, 2.4)
    rows = {"with the grammar": "grammar", "without": "no_grammar"}
    for place, key in enumerate(rows.values()):
        left = 0.0
        for number, name in enumerate(steps.NAMES):
            width = figures[key]["parts_us"][name]["median"]
            label = name if place == 0 else None
            axes.barh(place, width, left=left, color=COLOURS[number], label=label)
            left += width
    axes.axvline(500, color="#404040", linestyle=":", linewidth=1)
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.set_xlabel("µs a step, medians of the parts; dotted: the goal")
    axes.set_title("Our part of a step")
    axes.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.45, -0.35), frameon=False)
    return save(figure, path)


def _batches(sizes: JSON, path: Path) -> list[Path]:
    figure, [axes] = panels(5, 3.6)
    from matplotlib.ticker import LogLocator

    tokens = [int(size) for size in sizes]
    names = {"steps": "one by one", "tree": "tree", "chain": "chain"}
    for number, (way, name) in enumerate(names.items()):
        medians = [found[f"{way}_ms"]["median"] for found in sizes.values()]
        axes.plot(tokens, medians, marker="o", label=name, color=("#b0b0b0", *COLOURS)[number])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.set_xticks(tokens, [str(size) for size in tokens])
    axes.set_xlabel("tokens")
    axes.set_ylabel("ms")
    axes.set_title("Several tokens in one batch")
    axes.legend(frameon=False)
    return save(figure, path)


def _keystrokes(sizes: JSON, path: Path) -> list[Path]:
    """Areas of parts over the size of the file."""
    figure, [axes] = panels(6, 3.8)
    bytes_ = [found["bytes"] for found in sizes.values()]
    parts = {
        name: [found["parts_ms"][name] for found in sizes.values()] for name in keystrokes.NAMES
    }
    axes.stackplot(bytes_, *parts.values(), labels=list(parts), colors=COLOURS)
    axes.set_xscale("log")
    axes.set_xlabel("bytes of the file")
    axes.set_ylabel("ms of processor time")
    axes.set_title("A keystroke without the model")
    axes.legend(loc="upper left", frameon=False, fontsize=8, reverse=True)
    return save(figure, path)
