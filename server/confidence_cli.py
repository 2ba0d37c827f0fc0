"""The options of `midtoken bench confidence`."""

from typing import Unpack

import click

from server.arguments import ConfidenceBenchArguments
from server.cli_options import engine_options


@click.command("confidence")
@click.option(
    "--places",
    type=click.IntRange(1, 1_000_000),
    default=50,
    show_default=True,
    help="Places in each project.",
)
@click.option(
    "--language",
    "languages",
    multiple=True,
    type=click.Choice(["all", "c", "go", "java", "javascript", "python", "rust", "typescript"]),
    help="Take projects of that language; may be given again.",
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
    help="Take that project, fetched from its registry; may be given again.",
)
@click.option("--quick", is_flag=True, help="Stop after nine minutes; a later run goes on.")
@click.option(
    "--minutes", type=click.FloatRange(0), help="Stop after so long; a later run goes on."
)
@click.option(
    "--fit",
    is_flag=True,
    help="Keep constants that fit these suggestions: the server uses them for this model.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="bench-confidence",
    show_default=True,
    help="The folder for results, tables and the reliability diagram.",
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
def bench_confidence(**options: Unpack[ConfidenceBenchArguments]) -> None:
    """Compare how sure suggestions are with how often they are right.

    In real functions, at places where somebody could be typing; without --language and --project,
    in Python's standard library. Constants that are judged were fitted to other files.
    """
    from server.bench.confidence.command import run_bench_confidence

    run_bench_confidence(options)
