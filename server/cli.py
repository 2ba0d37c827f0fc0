"""The `midtoken` command.

Results go to standard output, and nothing else does; everything for people (questions, progress,
notes, errors) goes to standard error. Exit codes: 0 with or without a suggestion, 2 if the command
line itself is wrong, 1 for everything else.
"""

import logging
import os
import sys
from typing import Unpack

import click

from server import __version__
from server.arguments import (
    CompleteArguments,
    DoctorArguments,
    EngineBenchArguments,
    ExplainArguments,
    GrammarArguments,
    HealArguments,
    TeamArguments,
    TypingArguments,
)
from server.cli_options import (
    LocationCommand,
    engine_options,
    grammar_option,
    remote_options,
    request_options,
)
from server.commands import model
from server.confidence_cli import bench_confidence
from server.errors import Cancelled, MidtokenError, UsageError
from server.rank_cli import bench_rank, rank
from server.serve_cli import connect, serve, serve_joined
from server.visible import VisibleFormatter, visible


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="midtoken")
@click.option("--verbose", is_flag=True, help="Show the log of llama.cpp on standard error.")
def cli(verbose: bool) -> None:
    """Code completion from your own model, right where the cursor is."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(VisibleFormatter("%(name)s: %(message)s"))
    logging.basicConfig(level=logging.DEBUG if verbose else logging.WARNING, handlers=[handler])


cli.add_command(model)
cli.add_command(rank)
cli.add_command(serve)
cli.add_command(serve_joined)
cli.add_command(connect)


@cli.command(cls=LocationCommand)
@click.argument("location", metavar="FILE:LINE:COLUMN")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--via-server", is_flag=True, help="Ask a language server's process, as an editor does."
)
@click.option(
    "--server",
    metavar="HOST:PORT",
    help="With --via-server: one that runs already, with its model.",
)
@click.option("--explain", is_flag=True, help="Show how the completion came about.")
@click.option("--stream", is_flag=True, help="Print the text while it is written.")
@request_options
@engine_options
@remote_options
def complete(location: str, **options: Unpack[CompleteArguments]) -> None:
    """Print the text that belongs after the cursor.

    LINE and COLUMN count from 1, columns in characters. `-:LINE:COLUMN` reads standard input.
    """
    from server.completion import run_completion

    if options["as_json"] + options["explain"] + options["stream"] > 1:
        raise UsageError("choose one of --json, --explain and --stream")
    if options["via_server"] and (options["explain"] or options["stream"]):
        raise UsageError(
            "--via-server goes with --json alone: a server neither explains nor streams"
        )
    if options["stream"] and options["candidates"] > 1:
        raise UsageError("--stream prints one text while it is written: leave --candidates away")
    if options["server"] and not options["via_server"]:
        raise UsageError("--server goes with --via-server")
    run_completion(location, options)


@cli.command(cls=LocationCommand)
@click.argument("location", metavar="FILE:LINE:COLUMN")
@click.option(
    "--out",
    type=click.Path(dir_okay=False),
    default="midtoken-explain.html",
    show_default=True,
    help="The page's file.",
)
@click.option("--open", "open_page", is_flag=True, help="Open it in a browser.")
@request_options
@engine_options
def explain(location: str, **options: Unpack[ExplainArguments]) -> None:
    """Write a page that shows how a completion comes about: tokens, healing, probabilities.

    One HTML file that needs nothing else. It holds text of your document.
    """
    from server.explain_command import run_explain

    run_explain(location, options)


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
@remote_options
def doctor(as_json: bool, **options: Unpack[DoctorArguments]) -> None:
    """Check the installation: build, devices, model, speed and editors.

    The exit code is 1 if something makes completions impossible.
    """
    from server.doctor.command import run_doctor

    run_doctor(options, as_json=as_json)


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, by day and language.")
@click.option("--reset", is_flag=True, help="Forget everything that was counted.")
def stats(as_json: bool, reset: bool) -> None:
    """Show how many suggestions were accepted; counted on this machine only."""
    from server.stats_command import run_stats

    run_stats(as_json=as_json, reset=reset)


@cli.group()
def bench() -> None:
    """Measure how well the server works on this machine."""


bench.add_command(bench_confidence)
bench.add_command(bench_rank)


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
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@remote_options
def team(**options: Unpack[TeamArguments]) -> None:
    """Have several people type at once, whom one engine elsewhere helps.

    Tells how many requests and tokens a second reach the engine, and how long suggestions take.
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
@click.option(
    "--language",
    "languages",
    multiple=True,
    type=click.Choice(
        ["all", "c", "go", "java", "javascript", "python", "rust", "typescript"],
    ),
    help="Type projects of that language; may be given again.",
)
@click.option(
    "--project",
    "projects",
    multiple=True,
    type=click.Choice(
        [
            *("standard-library", "flask", "httpx", "cobra", "gnulib"),
            *("fastify", "rxjs", "regex", "react-native"),
        ]
    ),
    help="Type that project, fetched from its registry; may be given again.",
)
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
@click.option("--quick", is_flag=True, help="Stop after nine minutes; a later run goes on.")
@click.option(
    "--minutes", type=click.FloatRange(0), help="Stop after so long; a later run goes on."
)
@click.option("--peers", is_flag=True, help="Ask llama-server as well (fetched from PyPI).")
@click.option(
    "--programs",
    is_flag=True,
    help="Fill holes in HumanEval's programs as well (fetched from PyPI), and run them.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="bench-heal",
    show_default=True,
    help="The folder for results, tables and plots.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--context-tokens",
    type=click.IntRange(1),
    default=160,
    show_default=True,
    help="The most tokens of text in a prompt.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
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


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit; every error becomes one line on standard error."""
    if sys.stdin is None:  # closed by whoever started us
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stdout is None:
        sys.exit(fail("standard output is closed: there is nowhere to print to"))
    try:
        cli.main(args=arguments, standalone_mode=False)
        sys.stdout.flush()
        code = 0
    except click.exceptions.Exit as error:
        code = error.exit_code
    except click.Abort:
        code = fail("cancelled")
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        code = 2
    except click.ClickException as error:
        code = fail(error.format_message(), usage=True)
    except UsageError as error:
        code = fail(str(error), usage=True)
    except Cancelled as error:
        code = fail(str(error) or "cancelled")
    except MidtokenError as error:
        code = fail(str(error))
    except KeyboardInterrupt:
        code = fail("cancelled")
    except BrokenPipeError:
        # Whoever read the output has gone: nobody is left to be told anything.
        _discard_output()
        code = 1
    except OSError as error:
        _discard_output()
        code = fail(f"{error.filename or 'standard output'}: {error.strerror or error}")
    except MemoryError:
        code = fail("there is not enough memory: choose a smaller model or --context-size")
    sys.exit(code)


def _discard_output() -> None:
    """Let what cannot be written go nowhere: the interpreter would try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def fail(message: str, *, usage: bool = False) -> int:
    """Print an error as one line; return the exit code."""
    line = visible(" ".join(message.split()))
    prefix = click.style("midtoken:", fg="red", bold=True) if sys.stderr.isatty() else "midtoken:"
    click.echo(f"{prefix} {line}", err=True)
    return 2 if usage else 1


if __name__ == "__main__":
    main()
