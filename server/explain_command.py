"""`midtoken explain`: from a location on the command line to a page in a file.

What is on the page: `explain_page`. The same as text on a terminal: `midtoken complete --explain`.
"""

import os
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path

import click

from server.arguments import ExplainArguments
from server.completer import Completer
from server.completion import (
    engine_options_of,
    interruptible,
    loader_of,
    read_snapshot,
    request_of,
)
from server.errors import DocumentError, UsageError
from server.explain_page.facts import Facts, gather
from server.explain_page.page import START, page
from server.remote.arguments import remote_of
from server.remote.silence import told_if_slow


def run_explain(location: str, options: ExplainArguments) -> None:
    """Complete at a location and write how that came about (see `cli.explain`)."""
    snapshot = read_snapshot(location, options["stdin_filename"])
    request = request_of(options)
    engine = engine_options_of(options)
    out = options["out"]
    if out == "-" and options["open_page"]:
        raise UsageError("--open needs a file: name one with --out")
    if out != "-":
        check_replaceable(Path(out))
    remote = remote_of(options)
    load = loader_of(options, engine, remote, snapshot.language, request)

    def work(completers: list[Completer]) -> Facts:
        return gather(load(completers), snapshot, request)

    with told_if_slow(remote):
        written = page(interruptible(work)).encode()
    if out == "-":
        sys.stdout.buffer.write(written)
        return
    _write(Path(out), written)
    click.echo(out)
    if options["open_page"] and not webbrowser.open(Path(out).resolve().as_uri()):
        click.echo("no browser could be started: open the file yourself", err=True)


def _write(path: Path, page: bytes) -> None:
    """Write a page; if that fails, half of one does not stay. Raises DocumentError."""
    try:
        path.write_bytes(page)
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise DocumentError(
            f"{path} can't be written ({error.strerror}): choose another name for --out"
        ) from error


def check_replaceable(path: Path) -> None:
    """See whether a page can be written, before anything that takes time.

    Raises UsageError if something is there that is no page of ours: it may be somebody's work, or a
    pipe, which would never be read to its end. Raises DocumentError if nothing can be written.
    """
    if path.is_symlink() and not path.exists():
        # The page would be written to wherever it leads, which its owner may not know.
        raise UsageError(f"{path} is a link to nothing: choose another name for --out")
    if not path.exists():
        if not path.parent.is_dir():
            raise DocumentError(f"{path} can't be written: make the folder {path.parent} first")
    elif not path.is_file() or not _is_page(path):
        raise UsageError(f"{path} exists and is no page of midtoken: choose another name for --out")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise DocumentError(f"{path} may not be written: choose another name for --out")


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(START)) == START.encode()
