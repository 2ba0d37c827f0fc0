"""The options of `midtoken rank`."""

from typing import Unpack

import click

from server.arguments import RankArguments
from server.cli_options import (
    LocationCommand,
    ban_options,
    engine_options,
    no_remote_option,
)


@click.command(cls=LocationCommand)
@click.argument("location", metavar="FILE:LINE:COLUMN")
@click.option(
    "--labels",
    metavar="FILE|-",
    help="One name a line, or a JSON list; `-` reads standard input. Else the names in FILE.",
)
@click.option(
    "--best",
    type=click.IntRange(1),
    help="Only so many need to be exact: all, and 50 of more than 500, unless you say so.",
)
@click.option(
    "--tokens", type=click.IntRange(0), help="Evaluate no more tokens for names than about this."
)
@click.option(
    "--whole/--open-ended",
    default=True,
    help="Whether names end where their labels do, or may go on.",
)
@click.option("--per-token", is_flag=True, help="Order by the mean of a name's tokens.")
@click.option(
    "--forgiving/--strict",
    default=True,
    help="Whether initials, other case and mistyped letters find names.",
)
@ban_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--context-tokens", type=click.IntRange(0), help="Tokens of text to read around the cursor."
)
@click.option("--stdin-filename", metavar="NAME", help="The name of text given as `-`.")
@engine_options
@no_remote_option(
    "names are ranked by probabilities of all tokens, which an engine elsewhere does not give: "
    "leave --remote away, and name a model of this machine by --model"
)
def rank(location: str, **options: Unpack[RankArguments]) -> None:
    """Print known names in the order in which they are likely at a place.

    Each with its probability there, given the word before the cursor. `<` marks those that were
    left when they could not be among the best any more: they have less than what is printed. Bans
    hide names in FILE; labels are yours.
    """
    from server.rank_command import run_rank

    run_rank(location, options)
