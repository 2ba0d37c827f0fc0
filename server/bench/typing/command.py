"""`midtoken bench typing`: somebody types real functions, and a real server suggests.

The same seed types the same text in the same rhythm; what is accepted depends on when the answers
come, so figures differ a little from run to run. What is not here: the replay and its figures.
"""

import asyncio
import json
import sys
from collections.abc import Iterator
from itertools import chain

import click

from server.arguments import TypingArguments
from server.bench.corpus import Source, given_files, standard_library
from server.bench.figures import print_figures, summarise
from server.bench.replay import Record, Replay
from server.bench.typist import Typist
from server.client import ServerClient
from server.completion import engine_options_of, model_path
from server.terminal import make_console
from server.via_server import server_settings

LOADING_S = 600.0
"""How long a model may take to load."""


def run_typing(files: tuple[str, ...], options: TypingArguments) -> None:
    """Run the benchmark and print its figures (see `cli.typing`).

    Raises:
        DocumentError: A file can't be read or has no functions.
        EngineError: The server ended or can't run the model.
    """
    engine = engine_options_of(options)
    settings = {
        **server_settings(model_path(options["model_name"], yes=options["yes"]), engine),
        "grammar": {"mode": options["grammar"]},
    }
    seed = options["seed"]
    sources = given_files(files, seed) if files else standard_library(seed)
    sources = chain([next(sources)], sources)  # files without functions are told before loading
    record = asyncio.run(_replay(sources, options, settings))
    figures = {
        "model": options["model_name"],
        "seed": options["seed"],
        "fast": options["fast"],
        "cancel": options["cancel"],
        "grammar": options["grammar"],
        **summarise(record),
    }
    if options["as_json"]:
        click.echo(json.dumps(figures))
        return
    console = make_console()
    console.print(_heading(files, options, record))
    console.print()
    print_figures(console, figures)


async def _replay(
    sources: Iterator[Source], options: TypingArguments, settings: dict[str, object]
) -> Record:
    keys = options["keys"]
    quiet = not sys.stderr.isatty()

    def progress(done: int) -> None:
        if not quiet:
            click.echo(f"\r{done:,} of {keys:,} keys ", err=True, nl=False)

    async with await ServerClient.start() as client:
        await client.initialize(settings)
        await client.ready(LOADING_S)
        replay = Replay(
            client,
            sources,
            Typist(options["seed"]),
            fast=options["fast"],
            cancel=options["cancel"],
            progress=progress,
        )
        record = await replay.run(keys)
    if not quiet:
        click.echo("\r", err=True, nl=False)
    return record


def _heading(files: tuple[str, ...], options: TypingArguments, record: Record) -> str:
    what = ", ".join(files) if files else "functions of Python's standard library"
    line = (
        f"{record.pressed:,} keys of {what}, {record.seconds:.0f} s of typing "
        f"(gaps of 180 ms in the median), seed {options['seed']}, {options['model_name']}; "
        f"grammar {options['grammar']}; "
        f"the next key {'cancels' if options['cancel'] else 'leaves'} a request"
    )
    if options["fast"] > 1:
        line += (
            f"; waiting shortened {options['fast']:g} times where the server owed nothing "
            f"({record.real_seconds:.0f} s in all): it had less idle time than with a person"
        )
    return line
