"""`midtoken bench engine`: run what is to be measured, write it down, and show it."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import click

from server import __version__
from server.arguments import EngineBenchArguments
from server.bench.engine import (
    batches,
    keystrokes,
    llama_bench,
    memory,
    several,
    steps,
    throughput,
    vocabularies,
)
from server.bench.engine.loading import Model, load
from server.bench.engine.plots import plot
from server.bench.engine.tables import markdown
from server.bench.plotting import can_plot
from server.bench.results import machine
from server.completer import Completer
from server.completion import engine_options_of, interruptible, model_path
from server.engine.llama_library import collected_log
from server.engine.llama_load import EngineOptions
from server.errors import EngineError
from server.grammar.languages import prepare
from server.models.files import sha256_of
from server.terminal import make_console


@dataclass(frozen=True)
class Amounts:
    """How much is measured."""

    sizes: throughput.Sizes
    steps: int
    repetitions: int
    """Of each batch."""
    covers: int
    """Covering trees."""
    keys: int
    """In each file."""
    places: int
    """Covering trees of each vocabulary."""
    several: int
    """Places with several continuations."""


QUICK = Amounts(throughput.Sizes(256, 48, 3), 200, 5, 12, 24, 40, 6)
FULL = Amounts(throughput.Sizes(512, 128, 7), 1000, 15, 60, 48, 200, 16)


def run_engine(options: EngineBenchArguments) -> None:
    """Run the benchmark, and write and print its figures (see `bench_cli.engine`).

    Raises:
        EngineError: The model can't be run or healed exactly, or llama-bench can't be run.
        ModelError: The file is no model.
    """
    path = model_path(options["model_name"], yes=options["yes"])
    engine = engine_options_of(options)
    amounts = QUICK if options["quick"] else FULL
    program = options["llama_bench"]
    folder = Path(options["out"])
    folder.mkdir(parents=True, exist_ok=True)

    def work(completers: list[Completer]) -> dict[str, Any]:
        return _measure(path, engine, amounts, options["seed"], program, completers)

    started = monotonic()
    figures = interruptible(work)
    settings = {
        "model": path.name,
        "model_sha256": sha256_of(path),
        "midtoken": __version__,
        "quick": options["quick"],
        "seed": options["seed"],
        "context_size": engine.n_ctx,
        "threads": engine.threads,
    }
    seconds = round(monotonic() - started)
    report = {"settings": settings, "machine": machine(), "seconds": seconds, "figures": figures}
    tables = markdown(report)
    (folder / "engine.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    (folder / "engine.md").write_text(tables, encoding="utf-8")
    if can_plot():
        plot(figures, folder)
    if options["as_json"]:
        click.echo(json.dumps(report))
    else:
        make_console().print(tables)


def _measure(
    path: Path,
    engine: EngineOptions,
    amounts: Amounts,
    seed: int,
    program: str | None,
    completers: list[Completer],
) -> dict[str, Any]:
    prepare("python")  # as the server does when a document is opened
    before = memory.resident()
    with collected_log() as log:
        model = load(path, engine)
    completer = model.completer
    completers.append(completer)
    if not (model.engine.info.trees and model.tables.exact):
        raise EngineError("only models that are healed exactly are measured: choose another one")
    figures: dict[str, Any] = {}

    def measure(name: str, call: Callable[[], dict[str, Any]]) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r{name:12}", err=True, nl=False)
        figures[name] = call()

    measure("speed", lambda: throughput.measure(model, amounts.sizes, seed))
    if program is not None:
        measure(
            "llama_bench",
            lambda: llama_bench.run(Path(program), model, engine, amounts.sizes),
        )
    measure("steps", lambda: steps.measure(completer, amounts.steps, seed))
    measure(
        "batches",
        lambda: batches.measure(completer, amounts.repetitions, amounts.covers, seed),
    )
    measure("several", lambda: several.measure(completer, amounts.several, seed))
    measure("memory", lambda: _memory(model, log, before))
    measure("keystrokes", lambda: keystrokes.measure(completer, amounts.keys, seed))
    if model.tables.byte_level:
        measure("vocabularies", lambda: vocabularies.measure(model.tables, amounts.places, seed))
    if sys.stderr.isatty():
        click.echo("\r" + 12 * " " + "\r", err=True, nl=False)
    return figures


def _memory(
    model: Model, log: list[tuple[int, str]], before: dict[str, int | None]
) -> dict[str, Any]:
    """Before the model was loaded, and after it has been at work."""
    return {
        "before": before,
        "after": memory.resident(),
        "buffers": memory.buffers(log),
        "tables": memory.tables(model),
    }
