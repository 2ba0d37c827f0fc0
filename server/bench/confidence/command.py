"""`midtoken bench confidence`: are suggestions right as often as they are said to be?

Each suggestion is written to a file as soon as it is there; a later run with the same settings goes
on where the earlier one stopped. Projects take turns, so that what is there at any moment is a fair
part of all.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any

import click

from server.arguments import ConfidenceBenchArguments
from server.bench.confidence.figures import SMALLEST, summarise
from server.bench.confidence.places import Place, places
from server.bench.confidence.plots import plot
from server.bench.confidence.records import Record, fitted
from server.bench.confidence.suggestions import suggestion_at
from server.bench.confidence.tables import markdown
from server.bench.corpus import project_files
from server.bench.plotting import can_plot
from server.bench.projects import projects_of
from server.bench.results import Results, machine, run_settings
from server.completer import Completer, load_completer
from server.completion import engine_options_of, interruptible, model_path
from server.confidence import own_table
from server.errors import UsageError
from server.grammar.languages import prepare
from server.terminal import make_console

QUICK_MINUTES = 9.0
TASK = "suggestions"


def run_bench_confidence(options: ConfidenceBenchArguments) -> None:
    """Run the benchmark, and write and print its figures (see `bench_cli.confidence`).

    Raises:
        DocumentError: The results file is none.
        DownloadError: A project can't be fetched.
        EngineError: The model can't be run.
        UsageError: There are too few suggestions to fit constants to them.
    """
    seed, context = options["seed"], options["context_tokens"]
    names = projects_of(options["projects"], options["languages"])
    by_project = {name: places(project_files(name, seed), seed) for name in names}
    model = model_path(options["model_name"], yes=options["yes"])
    folder = Path(options["out"])
    settings = run_settings(options["model_name"], model, seed, context)
    results = Results.open(folder / "results.jsonl", settings)
    minutes = QUICK_MINUTES if options["quick"] else options["minutes"]

    def work(completers: list[Completer]) -> str:
        completers.append(load_completer(model, engine_options_of(options)))
        measure(completers[0], by_project, results, options["places"], context, minutes)
        return completers[0].engine.info.name

    name = interruptible(work)
    records = [Record.of(one) for project in names for one in results.of(TASK).get(project, [])]
    figures = summarise(records)
    if options["fit"]:
        keep(name, [record for record in records if record.shown])
    tables = markdown(figures, settings, machine())
    report = {"settings": settings, "machine": machine(), "name": name, "figures": figures}
    (folder / "tables.md").write_text(tables, encoding="utf-8")
    (folder / "summary.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if can_plot() and figures["parts"]:
        plot(figures["parts"], folder)
    if options["as_json"]:
        click.echo(json.dumps(report))
    else:
        make_console().print(tables)


def measure(
    completer: Completer,
    by_project: Mapping[str, Iterator[Place]],
    results: Results,
    count: int,
    context_tokens: int,
    minutes: float | None,
) -> None:
    """Have suggested at places that have no result yet, for at most so many minutes.

    Args:
        completer: The model.
        by_project: Places without end, by the name of their project.
        results: What is there already; is added to.
        count: Places of each project.
        context_tokens: The most tokens of text around a hole.
        minutes: After so long it stops; None for never.
    """
    started = monotonic()
    for index in range(count):
        for number, (name, found) in enumerate(by_project.items()):
            place = next(found)
            if (TASK, name, index) in results.found:
                continue
            if minutes is not None and monotonic() - started > 60 * minutes:
                return
            prepare(place.language)  # as the server does when a document is opened
            results.add((TASK, name, index), suggestion_at(completer, place, context_tokens))
            if sys.stderr.isatty():
                done = index * len(by_project) + number + 1
                click.echo(f"\r{done:,} of {count * len(by_project):,} ", err=True, nl=False)
    if sys.stderr.isatty():
        click.echo("\r" + 30 * " " + "\r", err=True, nl=False)


def keep(model: str, records: list[Record]) -> None:
    """Fit constants and put them, for this model, into the file of this machine.

    Raises UsageError if there are too few suggestions.
    """
    if len(records) < SMALLEST:
        raise UsageError(
            f"{len(records)} suggestions are too few to fit anything to: {SMALLEST} at least"
        )
    path = own_table()
    table: dict[str, Any] = {"models": {}}
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        table["models"] = dict(table["models"])
    except FileNotFoundError:
        pass
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{path} holds no constants: move it away") from error
    table["models"][model] = {**asdict(fitted(records)), "suggestions": len(records)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    click.echo(f"constants for {model}: {path}", err=True)
