"""`midtoken stats`: how many suggestions were accepted, by language and by day.

In columns on a terminal, tab-separated below a line of headings otherwise, or as JSON. The numbers
come from what editors tell (`stats`); they are on this machine only. Where no editor has told what
became of any suggestion, the rate is `not reported`: it is not known, and not 0 %.
"""

import json
import sys

import click

from server import stats
from server.errors import DocumentError
from server.stats import Counted
from server.terminal import make_console, shown_path
from server.visible import visible

DAYS = 14
"""The last days that are shown one by one on a terminal."""

_HEADINGS = ("shown", "accepted", "rejected", "characters", "rate")
"""What is counted, as `_cells` gives it."""


def run_stats(*, as_json: bool, reset: bool) -> None:
    """Print the numbers, or forget them. Raises DocumentError if they can't be forgotten."""
    file = stats.default_file()
    if reset:
        try:
            stats.reset(file)
        except OSError as error:
            reason = error.strerror or str(error)
            raise DocumentError(f"{file} can't be deleted ({reason}): check it") from error
        click.echo("nothing is counted any more; counting begins anew", err=True)
        return
    days = stats.read(file)
    total = sum(stats.by_day(days).values(), Counted())
    if as_json:
        click.echo(json.dumps(stats.as_json(days)))
    elif days and not sys.stdout.isatty():
        click.echo("\t".join(("day", "language", *_HEADINGS)))
        for day, languages in sorted(days.items()):
            for language, counted in sorted(languages.items()):
                click.echo("\t".join((day, visible(language), *_cells(counted, total))))
    elif days:
        _print_tables(days, total)
    if not days and not as_json:
        click.echo(
            "nothing is counted yet: no editor has reported that a suggestion was shown", err=True
        )


def _cells(counted: Counted, total: Counted) -> tuple[str, ...]:
    """The numbers of a row; `total` tells what editors report at all."""
    is_known = counted.rate is not None and total.ends > 0
    rate = f"{100 * (counted.rate or 0):.0f} %" if is_known else "not reported"
    numbers = (counted.shown, counted.accepted, counted.rejected, counted.characters)
    return (*map(str, numbers), rate)


def _print_tables(days: stats.Days, total: Counted) -> None:
    from rich.table import Table
    from rich.text import Text

    console = make_console()
    last = dict(list(stats.by_day(days).items())[-DAYS:])
    for name, rows in (("language", stats.by_language(days)), ("day", last)):
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column(name)
        for heading in _HEADINGS:
            table.add_column(heading, justify="right")
        for row, counted in rows.items():
            table.add_row(Text(visible(row)), *_cells(counted, total))
        console.print(table)
        console.print()
    click.secho(f"counted on this machine only: {shown_path(str(stats.default_file()))}", dim=True)
