"""The options of `midtoken bench`: what can be measured.

Not here: the benchmarks (`server.bench`), which are loaded when one is asked for.
"""

from collections.abc import Callable
from typing import Unpack

import click

from server.arguments import (
    ConfidenceBenchArguments,
    EngineBenchArguments,
    GrammarArguments,
    HealArguments,
    RankBenchArguments,
    TeamArguments,
    TypingArguments,
)
from server.cli_options import Command, engine_options, grammar_option, remote_options, with_options
from server.option_sections import RemoteSection

LANGUAGES = ("all", "c", "go", "java", "javascript", "python", "rust", "typescript")
PROJECTS = (
    *("standard-library", "flask", "httpx", "cobra", "gnulib"),
    *("fastify", "rxjs", "regex", "react-native"),
)


def _projects(verb: str) -> Callable[[Command], Command]:
    """Options of benchmarks on real projects; `verb` says what is done with them."""
    options = [
        click.option(
            "--language",
            "languages",
            multiple=True,
            type=click.Choice(LANGUAGES),
            help=f"{verb} projects of that language; may be given again.",
        ),
        click.option(
            "--project",
            "projects",
            multiple=True,
            type=click.Choice(PROJECTS),
            help=f"{verb} that project, fetched from its registry; may be given again.",
        ),
    ]
    return lambda command: with_options(options, command)


def _resumable(folder: str) -> Callable[[Command], Command]:
    """Options of benchmarks that keep each result and go on where they were stopped."""
    options = [
        click.option("--quick", is_flag=True, help="Stop after nine minutes; a later run goes on."),
        click.option(
            "--minutes", type=click.FloatRange(0), help="Stop after so long; a later run goes on."
        ),
        click.option(
            "--out",
            type=click.Path(file_okay=False),
            default=folder,
            show_default=True,
            help="The folder for results, tables and plots.",
        ),
        click.option("--seed", type=click.IntRange(0), default=0, show_default=True),
        click.option(
            "--context-tokens",
            type=click.IntRange(1),
            default=160,
            show_default=True,
            help="The most tokens of text in a prompt.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    ]
    return lambda command: with_options(options, command)


@click.group()
def bench() -> None:
    """Measure how well the server works on this machine."""


@bench.command()
@click.option(
    "--users", default="1,4,16", show_default=True, metavar="N,N,...", help="How many type at once."
)
@click.option(
    "--keys",
    type=click.IntRange(1, 1_000_000),
    default=400,
    show_default=True,
    help="How much each types, in keys that the text takes without suggestions.",
)
@click.option(
    "--shared",
    is_flag=True,
    help="One server process for all; without --remote it runs a model on this machine.",
)
@click.option(
    "--parallel",
    type=click.IntRange(1, 64),
    default=RemoteSection().parallel,
    show_default=True,
    help="With --remote: requests that one server process has at the engine at once.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
@remote_options
def team(**options: Unpack[TeamArguments]) -> None:
    """Have several people type at once, whom one model helps.

    Tells how many requests and tokens a second reach it, how long suggestions take, and how many
    keys have their answer before the next one.
    """
    from server.bench.team import run_team

    run_team(options)


@bench.command()
@click.argument("files", nargs=-1, type=click.Path())
@click.option(
    "--keys",
    type=click.IntRange(1, 1_000_000),
    default=2000,
    show_default=True,
    help="How much of each project is typed, in keys that it takes without suggestions.",
)
@click.option("--quick", is_flag=True, help="Type 1200 keys at most, of all projects together.")
@_projects("Type")
@click.option(
    "--peer",
    type=click.Choice(["llama-server"]),
    help="Have llama.cpp's server suggest instead, asked as llama.vim asks it.",
)
@click.option("--both", is_flag=True, help="Type twice, with midtoken and with llama-server.")
@click.option(
    "--peer-batch",
    type=click.IntRange(64, 8192),
    default=512,
    show_default=True,
    help="llama-server's --batch-size: so many tokens of text around the cursor it reads.",
)
@click.option(
    "--patient", is_flag=True, help="Wait for every answer: what suggestions are worth, not when."
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set an option of midtoken, as completion.stopUnsure=0.3; may be given again.",
)
@click.option(
    "--also",
    multiple=True,
    metavar="KEY=VALUE,...",
    help="Type once more with these options, and compare; may be given again.",
)
@click.option("--out", type=click.Path(file_okay=False), help="Where to write all figures.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--fast",
    type=click.FloatRange(1),
    default=1.0,
    metavar="FACTOR",
    help="Shorten waiting by a factor once the server has answered.",
)
@click.option(
    "--cancel/--no-cancel",
    default=True,
    show_default=True,
    help="Whether the next key cancels a request (as VS Code does) or leaves it (as Neovim does).",
)
@grammar_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
def typing(files: tuple[str, ...], **options: Unpack[TypingArguments]) -> None:
    """Replay the typing of real functions through a real server process.

    FILES are source files whose functions are typed; without any, modules of Python's standard
    library are taken.
    """
    from server.bench.typing.command import run_typing

    run_typing(files, options)


@bench.command()
@click.argument("files", nargs=-1, type=click.Path())
@click.option(
    "--holes", type=click.IntRange(1, 1_000_000), default=300, show_default=True, help="How many."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--max-tokens", type=click.IntRange(1), default=32, show_default=True)
@click.option(
    "--context-tokens",
    type=click.IntRange(0),
    help="The most tokens of text around the hole; without it, as many as the device reads in 2 s.",
)
@click.option(
    "--temperature",
    type=click.FloatRange(0, 100),
    default=0.0,
    show_default=True,
    help="0 is greedy.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
def grammar(files: tuple[str, ...], **options: Unpack[GrammarArguments]) -> None:
    """Fill holes in Python code with the grammar mask and without, and have CPython judge.

    FILES are Python files; without any, modules of the standard library are taken.
    """
    from server.bench.grammar_command import run_grammar

    run_grammar(files, options)


@bench.command()
@click.option(
    "--cuts",
    type=click.IntRange(1, 1_000_000),
    default=200,
    show_default=True,
    help="Places of each kind; tasks in which text is written take a part of them.",
)
@click.option("--peers", is_flag=True, help="Ask llama-server as well (fetched from PyPI).")
@click.option(
    "--programs",
    is_flag=True,
    help="Fill holes in HumanEval's programs as well (fetched from PyPI), and run them.",
)
@_resumable("bench-heal")
@engine_options
def heal(**options: Unpack[HealArguments]) -> None:
    """Cut real text anywhere and compare ways to go on from there.

    Without healing, with cheaper kinds of it, and exactly: what the model thinks comes next, what
    it writes, and whether that is right. Results are kept, and a later run goes on.
    """
    from server.bench.heal.command import run_heal

    run_heal(options)


@bench.command()
@click.option("--quick", is_flag=True, help="Measure less of everything: some minutes.")
@click.option(
    "--llama-bench",
    type=click.Path(exists=True, dir_okay=False),
    help="The program of llama.cpp, to run it on the same model.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="bench-engine",
    show_default=True,
    help="The folder for results, tables and plots.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
def engine(**options: Unpack[EngineBenchArguments]) -> None:
    """Measure what midtoken adds to the model's own time, and what grows with files.

    Tokens a second against a bare loop of llama.cpp, the cost of a step by part, batches, memory,
    keystrokes in files of growing size, and vocabularies of growing size.
    """
    from server.bench.engine.command import run_engine

    run_engine(options)


@bench.command()
@click.option(
    "--places",
    type=click.IntRange(1, 1_000_000),
    default=50,
    show_default=True,
    help="Places in each project.",
)
@_projects("Take")
@click.option(
    "--fit",
    is_flag=True,
    help="Keep constants that fit these suggestions: the server uses them for this model.",
)
@_resumable("bench-confidence")
@engine_options
def confidence(**options: Unpack[ConfidenceBenchArguments]) -> None:
    """Compare how sure suggestions are with how often they are right.

    In real functions, at places where somebody could be typing; without --language and --project,
    in Python's standard library. Constants that are judged were fitted to other files.
    """
    from server.bench.confidence.command import run_bench_confidence

    run_bench_confidence(options)


@bench.command()
@click.argument("files", nargs=-1, type=click.Path())
@click.option(
    "--places", type=click.IntRange(1, 1_000_000), default=100, show_default=True, help="How many."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
def rank(files: tuple[str, ...], **options: Unpack[RankBenchArguments]) -> None:
    """Choose among the names of a file at places where one of them really stands.

    By the alphabet, by frequency, the nearest first, by the model without healing, and as
    `midtoken rank` does. FILES are source files; without any, modules of the standard library.
    """
    from server.bench.rank.command import run_bench_rank

    run_bench_rank(files, options)
