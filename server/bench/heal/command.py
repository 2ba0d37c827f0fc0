"""`midtoken bench heal`: does healing restore what token boundaries destroy?

Real places of several kinds, the same prompts and the same model for every method, and figures with
confidence intervals. Each result is written to a file as soon as it is there; a later run with the
same settings goes on where the earlier one stopped, also with more cuts. All tasks are done side by
side, so that what is there at any moment is a fair part of all.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from server.arguments import HealArguments
from server.bench.heal.peers import LlamaServer
from server.bench.heal.plots import plot
from server.bench.heal.programs import can_run, spans
from server.bench.heal.summary import summarise
from server.bench.heal.tables import markdown
from server.bench.heal.tasks import Task, all_tasks, peer_tasks, program_tasks
from server.bench.llama_server import fetch
from server.bench.plotting import can_plot
from server.bench.results import Results, machine, run_settings
from server.bench.resumable import QUICK_MINUTES, Job, publish, work_off
from server.completer import Completer, load_completer
from server.completion import engine_options_of, interruptible, model_path
from server.engine.llama_load import usable_cores
from server.engine.tables import load_tables
from server.errors import EngineError, UnknownVocabularyError, UsageError
from server.grammar.languages import prepare


def run_heal(options: HealArguments) -> None:
    """Run the benchmark, and write and print its figures (see `bench_cli.heal`).

    Raises:
        DocumentError: The results file is none.
        EngineError: The model can't be run, or exact healing does not know it.
        DownloadError: The peer, or the programs, can't be fetched.
    """
    if options["programs"] and not can_run():
        raise UsageError("--programs needs a system that can limit a process: Linux or macOS")
    model = model_path(options["model_name"], yes=options["yes"])
    _check_vocabulary(model)
    folder = Path(options["out"])
    minutes = QUICK_MINUTES if options["quick"] else options["minutes"]
    cuts, seed, context = options["cuts"], options["seed"], options["context_tokens"]
    settings = run_settings(options["model_name"], model, seed, context)
    results = Results.open(folder / "results.jsonl", settings)
    peer = fetch() if options["peers"] else None
    programs = spans(seed) if options["programs"] else None

    def work(completers: list[Completer]) -> None:
        prepare("python")  # as the server does when a document is opened
        completer = load_completer(model, engine_options_of(options))
        completers.append(completer)
        if not completer.engine.info.trees:
            raise EngineError("this model's memory cannot be cut: exact healing needs that")
        tasks = all_tasks(completer, cuts, seed, context)
        if programs is not None and completer.engine.fim is not None:
            tasks += program_tasks(completer, programs, cuts)
        _work_off(tasks, results, minutes)
        if peer is not None:
            threads = options["threads"] or usable_cores()
            with LlamaServer(peer, model, threads) as server:
                tasks = peer_tasks(completer, server, cuts, seed, context)
                _work_off(tasks, results, minutes)  # for as long again

    interruptible(work)
    figures = summarise(results)
    tables = markdown(figures, settings, machine())
    report = {"settings": settings, "machine": machine(), "figures": figures}
    publish(report, tables, folder, as_json=options["as_json"])
    if can_plot():
        plot(figures, folder)


def _check_vocabulary(model: Path) -> None:
    try:
        exact = load_tables(model).exact
    except UnknownVocabularyError:
        exact = False
    if not exact:
        raise EngineError("exact healing does not know this model's vocabulary: choose another one")


def _work_off(tasks: Sequence[Task], results: Results, minutes: float | None) -> None:
    """Do what is not done, all tasks and groups in step, for at most so many minutes."""
    places = [
        ((index + 0.5) / task.count, task, group, index)
        for task in tasks
        for group in task.items
        for index in range(task.count)
        if (task.name, group, index) not in results.found
    ]
    places.sort(key=lambda place: place[0])
    jobs = (
        Job((task.name, group, index), partial(_result, task, group, index))
        for _, task, group, index in places
    )
    work_off(jobs, len(places), results, minutes)


def _result(task: Task, group: str, index: int) -> dict[str, Any] | None:
    item = task.item(group, index)
    return None if item is None else task.measure(item)
