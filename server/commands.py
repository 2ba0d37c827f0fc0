"""`midtoken model`: list, fetch, find, check and remove models.

Results go to stdout, in columns on a terminal and tab-separated otherwise, a list below a line of
headings; questions, progress and notes go to stderr. Errors are raised as `MidtokenError`s; the
top-level command prints them.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from server.errors import Cancelled, ModelError, UsageError
from server.models import download, store
from server.models.catalog import CATALOG, DEFAULT_MODEL, Model
from server.models.files import Progress, megabytes

PLAIN_STEP_PERCENT = 10
"""How often progress is told where it cannot be drawn."""

_HEADINGS = ("model", "size", "here", "licence", "description")


@click.group()
def model() -> None:
    """List, fetch, find, check and remove models."""


@model.command("list")
def list_models() -> None:
    """Show the models that can be fetched by name, and which are here."""
    rows = [_row(entry) for entry in CATALOG.values()]
    if sys.stdout.isatty():
        _print_table(rows)
    else:
        for row in (_HEADINGS, *rows):
            click.echo("\t".join(row))


@model.command()
@click.argument("name", default=DEFAULT_MODEL)
@click.option("--mirror", is_flag=True, help="If the hub fails, use the model's mirror.")
@click.option("--yes", is_flag=True, help="Do not ask before downloading.")
def pull(name: str, mirror: bool, yes: bool) -> None:
    """Fetch a model; resumes, checks its sha256, and does nothing if it is here."""
    entry = store.find_model(name)
    if store.is_whole(entry):
        click.echo(f"{name} is here: {store.path_of(entry)}", err=True)
        return
    _ask(f"Fetch {name} ({_size(entry)}, licence {entry.licence})?", yes)
    with _telling() as (progress, tell):
        try:
            path = download.pull(entry, mirror=mirror, progress=progress, tell=tell)
        except KeyboardInterrupt:
            raise Cancelled(
                f"stopped; `midtoken model pull {name}` goes on from what is here"
            ) from None
    click.echo(f"{name} is here and its sha256 is right: {path}", err=True)


@model.command()
@click.argument("name", default=DEFAULT_MODEL)
def path(name: str) -> None:
    """Print where a model's file lies."""
    click.echo(store.resolve(name))


@model.command()
@click.argument("name", required=False)
def verify(name: str | None) -> None:
    """Compare the sha256 of one model, or of all that are here, with what it should be.

    Prints a line for each file.
    """
    entries = [store.find_model(name)] if name else [found.model for found in store.installed()]
    if not entries:
        raise ModelError(f"no model is here: `midtoken model pull {DEFAULT_MODEL}` fetches one")
    damaged = []
    with _telling() as (progress, _tell):
        for entry in entries:
            try:
                sums = store.verify(entry, progress)
            except ModelError as error:
                damaged.append(str(error))
            else:
                for sha256 in sums:
                    click.echo(f"{entry.name}\tok\t{sha256}")
    if damaged:
        raise ModelError("; ".join(damaged))


@model.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask before deleting.")
def remove(name: str, yes: bool) -> None:
    """Delete a model's files and what broken downloads of it have left."""
    entry = store.find_model(name)
    store.check_removable(entry)
    more = len(entry.files) - 1
    others = f" and {more} more file{'s' if more > 1 else ''} of it" if more else ""
    _ask(f"Delete {store.path_of(entry)}{others}?", yes, default=False)
    click.echo(f"{name} is removed, {megabytes(store.remove(entry))} are free", err=True)


def _row(entry: Model) -> tuple[str, str, str, str, str]:
    here = "here" if store.is_whole(entry) else "-"
    return entry.name, _size(entry), here, entry.licence, entry.description


def _size(entry: Model) -> str:
    return megabytes(entry.size_bytes) if entry.size_bytes else "size unknown"


def _print_table(rows: list[tuple[str, str, str, str, str]]) -> None:
    # rich takes a tenth of a second to import, which a piped command need not spend.
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    model, size, *others = _HEADINGS
    table.add_column(model, no_wrap=True)
    table.add_column(size, justify="right", no_wrap=True)
    for heading in others:
        table.add_column(heading)
    for name, size, here, licence, description in rows:
        mark = "[green]yes[/green]" if here == "here" else "no"
        table.add_row(name, size, mark, licence, description)
    Console().print(table)
    click.secho(f"files: {store.folder()}", dim=True)


def _ask(question: str, yes: bool, *, default: bool = True) -> None:
    """Return if the user agrees. Raises UsageError if nobody can be asked, Cancelled for a no."""
    if yes:
        return
    if not _can_ask():
        raise UsageError(f"{question} Nobody can be asked here: say --yes")
    if not click.confirm(question, default=default, err=True):
        raise Cancelled("nothing was changed")


def _can_ask() -> bool:
    return sys.stdin.isatty()


@contextmanager
def _telling() -> Iterator[tuple[Progress, Callable[[str], None]]]:
    """Progress and notes on stderr: a bar on a terminal, else a line for every tenth."""
    if not sys.stderr.isatty():
        yield _plain_progress(), lambda message: click.echo(message, err=True)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        # One bar for each stage, made when the stage starts, so that resumed bytes are no speed.
        tasks: dict[str, int] = {}

        def progress(done: int, total: int, what: str) -> None:
            stage = what.partition(",")[0]
            if stage not in tasks:
                tasks[stage] = bars.add_task(what, total=total, completed=done)
            bars.update(tasks[stage], completed=done, total=total, description=what)  # type: ignore[arg-type]

        yield progress, lambda message: bars.console.print(message, markup=False, soft_wrap=True)


def _plain_progress() -> Progress:
    told: dict[str, int] = {}

    def progress(done: int, total: int, what: str) -> None:
        stage = what.partition(",")[0]
        percent = 100 * done // max(total, 1)
        step = percent - percent % PLAIN_STEP_PERCENT
        if told.get(stage) != step:
            told[stage] = step
            click.echo(f"{stage}: {step} % of {megabytes(total)}", err=True)

    return progress
