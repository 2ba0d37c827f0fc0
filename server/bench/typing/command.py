"""`midtoken bench typing`: somebody types real functions, and a real server suggests.

The same seed types the same text in the same rhythm; what is accepted depends on when the answers
come, so figures differ a little from run to run. What is not here: the replay and its figures.
"""

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from server.arguments import TypingArguments
from server.bench.corpus import Source, given_files, project_files
from server.bench.llama_server import NAME, LlamaProcess, fetch
from server.bench.plotting import can_plot
from server.bench.projects import PROJECTS, STANDARD_LIBRARY, projects_of
from server.bench.results import machine
from server.bench.typing.figures import print_figures
from server.bench.typing.llama_vim import LlamaVim, server_parameters
from server.bench.typing.plots import plot
from server.bench.typing.record import Record, together
from server.bench.typing.replay import Replay
from server.bench.typing.report import markdown, print_comparison, results_of
from server.bench.typing.settings import settings_of
from server.bench.typing.suggesters import Midtoken, Suggester
from server.bench.typing.typist import Typist
from server.bench.typing.workspace import KEY, Workspace, check_length, laid_out
from server.client import ServerClient
from server.completion import engine_options_of, model_path
from server.confidence import own_table
from server.engine.llama_load import usable_cores
from server.errors import UsageError
from server.snapshot import language_of
from server.terminal import make_console
from server.via_server import server_settings

LOADING_S = 600.0
"""How long a model may take to load."""

QUICK_KEYS = 1200
"""So much is typed with `--quick`, all projects together: some five minutes for each suggester."""

Starting = Callable[[Workspace | None], AbstractAsyncContextManager[Suggester]]
"""Starts a suggester, for an editor with a workspace or with none."""


@dataclass(frozen=True)
class Part:
    """A project, or the files of one language that a person names."""

    sources: Callable[[], Iterator[Source]]
    """What is typed, from the beginning."""
    paths: Callable[[], list[Path]]
    """All files of the project."""


Parts = dict[str, Part]
"""What is typed, by its name."""


def run_typing(files: tuple[str, ...], options: TypingArguments) -> None:
    """Run the benchmark and print its figures (see `bench_cli.typing`).

    Raises:
        DocumentError: A file can't be read or has no functions.
        DownloadError: A project or the peer can't be fetched.
        EngineError: The server ended or can't run the model.
        UsageError: A setting is none.
    """
    settings = settings_of(options["settings"])
    also = {text: settings | settings_of([text]) for text in options["also"]}
    if also and (options["both"] or options["peer"]):
        raise UsageError("--also compares midtoken with itself: leave --both and --peer away")
    parts = _parts(files, options)
    for part in parts.values():
        next(part.sources())  # files without functions are told before loading
    keys = options["keys"]
    if options["quick"]:
        keys = min(keys, QUICK_KEYS // len(parts))
    in_workspace = any(KEY in found for found in (settings, *also.values()))
    if in_workspace:
        for name, part in parts.items():
            check_length(name, part.sources(), keys)
    model = model_path(options["model_name"], yes=options["yes"])
    suggesters: dict[str, Starting] = {}
    if options["both"] or options["peer"] is None:
        suggesters[Midtoken.name] = partial(_midtoken, model, options, settings)
    if options["both"] or options["peer"] == NAME:
        suggesters[NAME] = partial(_llama_vim, model, options)
    suggesters |= {
        text: partial(_midtoken, model, options, others) for text, others in also.items()
    }
    run = _run_in_workspaces if in_workspace else _run
    records = {
        name: asyncio.run(run(starting, parts, keys, options))
        for name, starting in suggesters.items()
    }
    figures = {
        "settings": {
            "model": options["model_name"],
            "projects": list(parts),
            "keys": keys,
            "seed": options["seed"],
            "fast": options["fast"],
            "patient": options["patient"],
            "cancel": options["cancel"],
            "grammar": options["grammar"],
            "options": settings,
            "in_workspace": in_workspace,
            "peer": server_parameters(options["peer_batch"]) if NAME in records else None,
        },
        "machine": machine(),
        **results_of(records, variants=bool(also)),
    }
    heading = _heading(parts, options, records)
    if options["out"] is not None:
        _write(Path(options["out"]), figures, heading, records)
    if options["as_json"]:
        click.echo(json.dumps(figures))
        return
    console = make_console()
    console.print(heading)
    console.print()
    if len(records) > 1:
        print_comparison(console, figures)
        return
    for found in figures["results"].values():
        print_figures(console, found)


def _parts(files: tuple[str, ...], options: TypingArguments) -> Parts:
    seed = options["seed"]
    if files and (options["projects"] or options["languages"]):
        raise UsageError("files are typed instead of projects: leave --project and --language away")
    if files:
        languages = dict.fromkeys(map(language_of, files))
        groups = [[name for name in files if language_of(name) == one] for one in languages]
        return {
            ", ".join(names): Part(
                partial(given_files, names, seed), [Path(name) for name in names].copy
            )
            for names in groups
        }
    names = projects_of(options["projects"], options["languages"])
    return {
        name: Part(partial(project_files, name, seed), PROJECTS[name].all_files) for name in names
    }


@asynccontextmanager
async def _midtoken(
    model: Path,
    options: TypingArguments,
    settings: Mapping[str, object],
    workspace: Workspace | None,
) -> AsyncIterator[Suggester]:
    """Our own server with its model."""
    whole = {
        **server_settings(model, engine_options_of(options)),
        "grammar": {"mode": options["grammar"]},
        **settings,
    }
    with _home(workspace) as environment:
        async with await ServerClient.start(environment=environment) as client:
            await client.initialize(whole, workspace.uri if workspace else None)
            await client.ready(LOADING_S)
            yield Midtoken(client, cancel=options["cancel"])


@contextmanager
def _home(workspace: Workspace | None) -> Iterator[Mapping[str, str]]:
    """Our server's environment: what it remembers goes with it, and what it knew before is away.

    Else its prompts would be as large as the speed that was learned while the machine was busy
    with something else. Only constants that were fitted to the model on this machine are its own.
    """
    with TemporaryDirectory(prefix="midtoken-bench-", ignore_cleanup_errors=True) as scratch:
        home = workspace.home if workspace else Path(scratch)
        if own_table().is_file():
            shutil.copy(own_table(), home / own_table().name)
        yield {"MIDTOKEN_HOME": str(home)}


@asynccontextmanager
async def _llama_vim(
    model: Path, options: TypingArguments, _: Workspace | None
) -> AsyncIterator[Suggester]:
    """The peer with its model."""
    threads = options["threads"] or usable_cores()
    parameters = server_parameters(options["peer_batch"])
    with LlamaProcess(fetch(), model, threads, parameters) as process:
        editor = LlamaVim(process)
        try:
            yield editor
        finally:
            editor.close()


async def _run(
    starting: Starting, parts: Parts, keys: int, options: TypingArguments
) -> dict[str, Record]:
    """Type so much of each part with one suggester; the runs by language."""
    async with starting(None) as suggester:
        found = [await _typed(suggester, name, part, keys, options) for name, part in parts.items()]
    return _by_language(found)


async def _run_in_workspaces(
    starting: Starting, parts: Parts, keys: int, options: TypingArguments
) -> dict[str, Record]:
    """The same with each part in a workspace of its own, and a suggester that knows no other."""
    found = []
    for name, part in parts.items():
        with laid_out(part.paths(), name if name in PROJECTS else "") as workspace:
            async with starting(workspace) as suggester:
                found.append(await _typed(suggester, name, part, keys, options, workspace))
    return _by_language(found)


async def _typed(
    suggester: Suggester,
    name: str,
    part: Part,
    keys: int,
    options: TypingArguments,
    workspace: Workspace | None = None,
) -> Record:
    """Type so much of a part."""
    replay = Replay(
        suggester,
        part.sources(),
        Typist(options["seed"]),
        name=name.replace("/", "-"),
        fast=options["fast"],
        patient=options["patient"],
        workspace=workspace,
        progress=_progress(suggester.name, name, keys),
    )
    record = await replay.run(keys)
    if sys.stderr.isatty():
        click.echo("\r", err=True, nl=False)
    return record


def _by_language(records: list[Record]) -> dict[str, Record]:
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.stretches[0].language, []).append(record)
    return {language: together(runs) for language, runs in found.items()}


def _progress(suggester: str, part: str, keys: int) -> Callable[[int], None]:
    def progress(done: int) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r{suggester}, {part}: {done:,} of {keys:,} keys ", err=True, nl=False)

    return progress


def _heading(parts: Parts, options: TypingArguments, records: dict[str, dict[str, Record]]) -> str:
    runs = [together(list(found.values())) for found in records.values()]
    line = (
        f"Text of {runs[0].needed:,} keys of {', '.join(map(_said, parts))}, "
        f"{sum(run.seconds for run in runs):.0f} s of typing "
        f"(gaps of 180 ms in the median), seed {options['seed']}, {options['model_name']}"
    )
    if Midtoken.name in records:
        line += (
            f"; grammar {options['grammar']}; "
            f"the next key {'cancels' if options['cancel'] else 'leaves'} a request"
        )
    if NAME in records:
        line += (
            f"; {NAME} as llama.vim asks it, by its default settings, "
            f"with a batch size of {options['peer_batch']}"
        )
    if options["settings"]:
        line += f"; {', '.join(options['settings'])}"
    if options["patient"]:
        line += "; every answer is waited for"
    if options["fast"] > 1:
        line += (
            f"; waiting shortened {options['fast']:g} times where the server owed nothing "
            f"({sum(run.real_seconds for run in runs):.0f} s in all): it had less idle time than "
            "with a person"
        )
    return line


def _said(name: str) -> str:
    if name == STANDARD_LIBRARY:
        return "Python's standard library"
    return f"{name} ({PROJECTS[name].language})" if name in PROJECTS else name


def _write(
    folder: Path,
    figures: dict[str, object],
    heading: str,
    records: dict[str, dict[str, Record]],
) -> None:
    """Leave the figures, the tables and the picture in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(figures, indent=1, ensure_ascii=False)
    (folder / "typing.json").write_text(text + "\n", encoding="utf-8")
    (folder / "typing.md").write_text(markdown(figures, heading), encoding="utf-8")
    if can_plot():
        results = figures["results"]
        assert isinstance(results, dict)
        plot(records, results, folder)
