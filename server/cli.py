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
import platformdirs

from server import __version__
from server.arguments import CompleteArguments, DoctorArguments, ExplainArguments
from server.bench_cli import bench
from server.cli_options import LocationCommand, engine_options, remote_options, request_options
from server.commands import model
from server.errors import Cancelled, MidtokenError, UsageError
from server.rank_cli import rank
from server.serve_cli import connect, serve, serve_joined
from server.visible import VisibleFormatter, visible


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="midtoken")
@click.option("--verbose", is_flag=True, help="Show the log of llama.cpp on standard error.")
@click.pass_context
def cli(context: click.Context, verbose: bool) -> None:
    """Code completion from your own model, right where the cursor is."""
    if context.invoked_subcommand != "connect":  # it keeps nothing
        _check_home()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(VisibleFormatter("%(name)s: %(message)s"))
    logging.basicConfig(level=logging.DEBUG if verbose else logging.WARNING, handlers=[handler])


cli.add_command(model)
cli.add_command(rank)
cli.add_command(serve)
cli.add_command(serve_joined)
cli.add_command(connect)
cli.add_command(bench)


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
@remote_options
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


def _check_home() -> None:
    """See whether there is a place for models and caches. Raises MidtokenError.

    Containers and services may run without HOME, as a user of whom the system knows nothing.
    """
    if os.environ.get("MIDTOKEN_HOME"):
        return
    try:
        platformdirs.user_data_path("midtoken")
        platformdirs.user_cache_path("midtoken")
    except RuntimeError as error:
        raise MidtokenError(
            "no home folder is known: set HOME, or MIDTOKEN_HOME to a folder for models and caches"
        ) from error


def fail(message: str, *, usage: bool = False) -> int:
    """Print an error as one line; return the exit code."""
    line = visible(" ".join(message.split()))
    prefix = click.style("midtoken:", fg="red", bold=True) if sys.stderr.isatty() else "midtoken:"
    click.echo(f"{prefix} {line}", err=True)
    return 2 if usage else 1


if __name__ == "__main__":
    main()
