"""The figures of `midtoken bench heal` as pictures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from server.bench.heal.tables import KINDS, METHODS
from server.bench.plotting import panels, save

JSON = Mapping[str, Any]

COLOURS = {
    "off": "#b0b0b0",
    "llama-server": "#7f7f7f",
    "one": "#9ecae1",
    "loose": "#9ecae1",
    "align": "#4292c6",
    "exact": "#08519c",
    "word": "#6a51a3",
    "control": "#e6a532",
}


def plot(figures: JSON, folder: Path) -> list[Path]:
    """Draw what there are figures for; the paths of the pictures, each as PNG and SVG."""
    written: list[Path] = []
    for kind, name in KINDS.items():
        groups = figures["scores"][kind]
        if groups:
            shares = {
                stratum: {
                    method: values["token_right"] for method, values in group["methods"].items()
                }
                for stratum, group in groups.items()
            }
            title = f"First visible token right, {name}"
            written += _bars(shares, METHODS, title, folder / f"heal-tokens-{kind}")
    if figures["repeat"]:
        shares = {
            group: {method: values["line"] for method, values in parts["writing"].items()}
            for group, parts in figures["repeat"].items()
        }
        methods = ("off", "llama-server", "one", "align", "exact")
        written += _bars(shares, methods, "Repeat task: line right", folder / "heal-repeat")
    return written


def _bars(
    shares: Mapping[str, Mapping[str, JSON]], methods: Sequence[str], title: str, path: Path
) -> list[Path]:
    """Bars in groups, with their intervals."""
    present = [method for method in methods if any(method in share for share in shares.values())]
    figure, [axes] = panels(1.5 + 1.4 * len(shares), 4.2)
    width = 0.8 / len(present)
    for number, method in enumerate(present):
        places = [at for at, share in enumerate(shares.values()) if method in share]
        means = [share[method] for share in shares.values() if method in share]
        axes.bar(
            [at + (number - (len(present) - 1) / 2) * width for at in places],
            [100 * mean["mean"] for mean in means],
            width,
            label=method,
            color=COLOURS[method],
            yerr=[
                [100 * (mean["mean"] - mean["low"]) for mean in means],
                [100 * (mean["high"] - mean["mean"]) for mean in means],
            ],
            error_kw={"elinewidth": 0.8, "ecolor": "#404040"},
        )
    axes.set_xticks(range(len(shares)), [name.replace(", ", ",\n") for name in shares])
    axes.tick_params(axis="x", labelsize=8)
    axes.set_ylim(0, 102)
    axes.set_ylabel("%, with 95 % intervals")
    axes.set_title(title)
    axes.legend(ncols=len(present), loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False)
    return save(figure, path)
