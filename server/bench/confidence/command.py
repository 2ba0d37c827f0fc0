"""`midtoken bench confidence`: are suggestions right as often as they are said to be?

Each suggestion is written to a file as soon as it is there; a later run with the same settings goes
on where the earlier one stopped. Projects take turns, so that what is there at any moment is a fair
part of all.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
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
from server.bench.resumable import QUICK_MINUTES, Job, publish, work_off
from server.completer import Completer, load_completer
from server.completion import engine_options_of, interruptible, model_path
from server.confidence import own_table
from server.errors import UsageError
from server.grammar.languages import prepare

TASK = "suggestions"


def run_bench_confidence(options: ConfidenceBenchArguments) -> None:
    """Run the benchmark, and write and print its figures (see `bench_cli.confidence`).

    Raises:
        DocumentError: The results file is none.
        DownloadError: A project can't be fetched.
        EngineError: The model can't be run.
        UsageError: There are too few suggestions to fit constants to them.
    """
    seed, context, count = options["seed"], options["context_tokens"], options["places"]
    names = projects_of(options["projects"], options["languages"])
    by_project = {name: places(project_files(name, seed), seed) for name in names}
    model = model_path(options["model_name"], yes=options["yes"])
    folder = Path(options["out"])
    settings = run_settings(options["model_name"], model, seed, context)
    results = Results.open(folder / "results.jsonl", settings)
    minutes = QUICK_MINUTES if options["quick"] else options["minutes"]

    def work(completers: list[Completer]) -> str:
        completers.append(load_completer(model, engine_options_of(options)))
        jobs = _jobs(completers[0], by_project, results, count, context)
        keys = {(TASK, name, index) for name in names for index in range(count)}
        work_off(jobs, len(keys - results.found.keys()), results, minutes)
        return completers[0].engine.info.name

    name = interruptible(work)
    records = [Record.of(one) for project in names for one in results.of(TASK).get(project, [])]
    figures = summarise(records)
    if options["fit"]:
        keep(name, [record for record in records if record.shown])
    tables = markdown(figures, settings, machine())
    report = {"settings": settings, "machine": machine(), "name": name, "figures": figures}
    publish(report, tables, folder, as_json=options["as_json"])
    if can_plot() and figures["parts"]:
        plot(figures["parts"], folder)


def _jobs(
    completer: Completer,
    by_project: Mapping[str, Iterator[Place]],
    results: Results,
    count: int,
    context_tokens: int,
) -> Iterator[Job]:
    """What has no result yet, so many places of each project."""
    for index in range(count):
        for name, found in by_project.items():
            place = next(found)  # also where there is a result: each number is a place of its own
            if (TASK, name, index) not in results.found:
                suggest = partial(_suggestion, completer, place, context_tokens)
                yield Job((TASK, name, index), suggest)


def _suggestion(completer: Completer, place: Place, context_tokens: int) -> dict[str, Any]:
    prepare(place.language)  # as the server does when a document is opened
    return suggestion_at(completer, place, context_tokens)


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
