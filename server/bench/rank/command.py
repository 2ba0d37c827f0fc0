"""`midtoken bench rank`: run it, count, and print the figures."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from server.arguments import RankBenchArguments
from server.bench.heal.places import library
from server.bench.heal.statistics import mean_of
from server.bench.rank.orders import BEST, METHODS, OTHERS, STARTS, places_of
from server.bench.rank.places import Place, places
from server.completer import Completer, load_completer
from server.completion import engine_options_of, interruptible, model_path
from server.names import names_in
from server.ranking import RankOptions, rank
from server.snapshot import read_document
from server.terminal import make_console

SIZES = (10, 100, 1000)
"""Names whose ranking is timed."""

TIMED = 5
"""Places at which it is."""

KINDS = (*STARTS, *OTHERS)

Found = dict[str, dict[str, list[int]]]
"""By what is typed, then by order: the places of true names."""


def run_bench_rank(files: tuple[str, ...], options: RankBenchArguments) -> None:
    """Run the benchmark and print its figures (see `bench_cli.rank`).

    Raises:
        DocumentError: A file can't be read or has no place for a name.
        EngineError: The model can't rank.
    """
    for name in files:
        read_document(name)
    paths = [Path(name) for name in files] or list(library())
    chosen = list(islice(places(paths, options["seed"]), options["places"]))
    model = model_path(options["model_name"], yes=options["yes"])

    def work(completers: list[Completer]) -> tuple[Found, list[dict[str, Any]]]:
        completers.append(load_completer(model, engine_options_of(options)))
        found = measure(completers[0], chosen)
        return found, timed(completers[0], chosen[:TIMED], paths)

    found, times = interruptible(work)
    figures = {
        "model": options["model_name"],
        "seed": options["seed"],
        "places": len(chosen),
        "names": median(len(place.names) for place in chosen),
        "orders": summarise(found),
        "times": times,
    }
    if options["as_json"]:
        click.echo(json.dumps(figures))
    else:
        _print(figures)


def measure(completer: Completer, chosen: Sequence[Place]) -> Found:
    """Where each order has the true names."""
    found: Found = {kind: {method: [] for method in METHODS} for kind in KINDS}
    for number, place in enumerate(chosen):
        if sys.stderr.isatty():
            click.echo(f"\r{number:,} of {len(chosen):,} places ", err=True, nl=False)
        for kind in KINDS:
            for method, where in (places_of(completer, place, kind) or {}).items():
                found[kind][method].append(where)
    if sys.stderr.isatty():
        click.echo("\r", err=True, nl=False)
    return found


def summarise(found: Found) -> dict[str, Any]:
    """Mean reciprocal rank and share of first places, with intervals; JSON-ready."""
    return {
        kind: {
            method: {
                "mrr": asdict(mean_of([1 / place for place in where])),
                "first": asdict(mean_of([place == 1 for place in where])),
            }
            for method, where in by_method.items()
        }
        for kind, by_method in found.items()
    }


def timed(
    completer: Completer, chosen: Sequence[Place], paths: Sequence[Path]
) -> list[dict[str, Any]]:
    """What ranking so many names takes before anything is typed; the prompt is in memory."""
    pool = list(dict.fromkeys(name.text for place in chosen for name in place.names))
    for path in paths:
        if len(pool) >= 2 * SIZES[-1]:
            break
        pool += [name.text for name in names_in(read_document(str(path)), "python")]
    pool = list(dict.fromkeys(pool))
    found = []
    for size in SIZES:
        runs = []
        for place in chosen:
            own = [name.text for name in place.names]
            names = list(dict.fromkeys([*own[: size // 2], *pool]))[:size]
            snapshot = place.snapshot(b"")
            rank(completer, snapshot, names[:1], RankOptions(best=1))
            started = perf_counter()
            ranking = rank(completer, snapshot, names, RankOptions(best=BEST))
            spent = 1e3 * (perf_counter() - started)
            runs.append((len(names), round(spent, 1), ranking.evaluated, ranking.passes))
        medians = map(median, zip(*runs, strict=True))
        found.append(dict(zip(("names", "ms", "tokens", "passes"), medians, strict=True)))
    return found


def _print(figures: dict[str, Any]) -> None:
    console = make_console()
    console.print(
        f"{figures['places']} places in real files, {figures['names']:g} names at half of them, "
        f"model {figures['model']}, seed {figures['seed']}.\n"
        "Mean reciprocal rank, and share of first places, of the name that stands there"
        " (intervals: --json):"
    )
    table = Table("typed", *METHODS, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for kind, by_method in figures["orders"].items():
        counted = by_method["exact"]["mrr"]["count"]
        label = kind if counted == figures["places"] else f"{kind} ({counted})"
        table.add_row(label, *(_cell(by_method[method]) for method in METHODS))
    console.print(table)
    table = Table("names", "ms", "tokens", "passes", box=SIMPLE_HEAD)
    for row in figures["times"]:
        table.add_row(*(f"{row[key]:g}" for key in ("names", "ms", "tokens", "passes")))
    console.print(f"Ranking before anything is typed, {BEST} names exact, medians:", table)


def _cell(values: dict[str, dict[str, Any]]) -> str:
    mrr, first = values["mrr"]["mean"], values["first"]["mean"]
    return "-" if mrr is None else f"{mrr:.2f} {first:.0%}"
