"""What an edit of a large document costs: 1 MB in 40,000 lines, in UTF-16 as most editors count.

    python -m tests.bench.bench_documents [--edits N] [--cpu]

prints a table in Markdown, in milliseconds, beside pygls' own TextDocument where pygls can be
imported (it is not needed otherwise). Each edit changes one place: a character typed or a line
inserted, then deleted again. Timings are of this machine at this moment; nothing is asserted. An
edit waits for nothing, so on a machine that does other work as well `--cpu` tells what it costs by
itself: processor time of the thread instead of time passed.
"""

import argparse
import os
import platform
import random
from collections.abc import Callable, Iterator
from itertools import count
from time import perf_counter, thread_time

import numpy as np

from server.documents import Change, Document
from server.positions import Encoding, Position, Range

LINES = 40_000
LINE = "    x = f(y)  # été 😀\n"
"""About 25 bytes, with characters of every width: nothing takes the short way for ASCII."""

_clock = [perf_counter]
"""The one clock that `_timed` reads."""

Edit = Callable[[str, int, int, int, int], None]
"""Puts a text in place of what is between two positions (line, character, line, character)."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=500, help="edits a row (default 500)")
    parser.add_argument("--cpu", action="store_true", help="processor time, not time passed")
    arguments = parser.parse_args()
    edits = arguments.edits
    if arguments.cpu:
        _clock[0] = thread_time
    text = LINE * LINES
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(
        f"{len(text.encode()) / 1e6:.2f} MB, {LINES} lines, {edits} edits a row, "
        f"{'processor time' if arguments.cpu else 'time passed'}\n"
    )
    print("| what | median ms | p99 ms | most ms |\n| --- | --- | --- | --- |")

    _row("open", (_timed(lambda: _open(text)) for _ in range(20)))
    document = _open(text)
    _rows("midtoken", _editor(document), edits)
    _row("edit and snapshot, midtoken", _snapshots(document, edits))
    _row("second snapshot of the same text", _second_snapshots(document, edits))
    _row("1,000 edits in one message, from the end", [_timed(lambda: _replace_all(document))])
    long_line = Document("untitled:long", "x😀é" * 300_000, 1, "", Encoding.UTF16)
    _row("edit in the middle of a line of 2 MB", _typing(_editor(long_line), 50, [(0, 600_001)]))
    large = Document("untitled:large", LINE * LINES * 50, 1, "", Encoding.UTF16)
    _row("edit at the start of 50 MB", _typing(_editor(large), 50, [(0, 4)]))
    del large, long_line

    peer = _pygls_editor(text)
    if peer is None:
        print("\npygls is not installed: no comparison")
    else:
        _rows("pygls", peer, min(edits, 100))


def _open(text: str) -> Document:
    return Document("untitled:bench", text, 1, "python", Encoding.UTF16)


def _editor(document: Document) -> Edit:
    versions = count(2)

    def edit(text: str, *numbers: int) -> None:
        where = Range(Position(*numbers[:2]), Position(*numbers[2:]))
        document.apply(next(versions), [Change(text, where)])

    return edit


def _pygls_editor(text: str) -> Edit | None:
    """The same edits on pygls' TextDocument, or None where pygls is missing."""
    try:
        from lsprotocol import types
        from pygls.workspace import TextDocument
    except ImportError:
        return None
    document = TextDocument("untitled:bench", text, version=1, language_id="python")

    def edit(new: str, *numbers: int) -> None:
        start, end = types.Position(*numbers[:2]), types.Position(*numbers[2:])
        where = types.Range(start, end)
        document.apply_change(types.TextDocumentContentChangePartial(text=new, range=where))

    return edit


def _rows(name: str, edit: Edit, edits: int) -> None:
    """One row for each place in the document."""
    last = LINES - 1
    anywhere = random.Random(7)
    for where, lines in (
        ("start", [0]),
        ("middle", [LINES // 2]),
        ("end", [last]),
        ("random places", [anywhere.randrange(LINES) for _ in range(edits)]),
    ):
        places = [(line, 4) for line in lines]
        _row(f"type and delete a character, {where}, {name}", _typing(edit, edits, places))
        _row(f"insert and delete a line, {where}, {name}", _lines(edit, edits, places))


def _typing(edit: Edit, edits: int, places: list[tuple[int, int]]) -> Iterator[float]:
    for index in range(edits // 2):
        line, character = places[index % len(places)]
        yield _timed(lambda: edit("z", line, character, line, character))  # noqa: B023
        yield _timed(lambda: edit("", line, character, line, character + 1))  # noqa: B023


def _lines(edit: Edit, edits: int, places: list[tuple[int, int]]) -> Iterator[float]:
    for index in range(edits // 2):
        line, character = places[index % len(places)]
        yield _timed(lambda: edit("new\n", line, character, line, character))  # noqa: B023
        yield _timed(lambda: edit("", line, character, line + 1, 0))  # noqa: B023


def _snapshots(document: Document, edits: int) -> Iterator[float]:
    edit = _editor(document)

    def both(character: int) -> None:
        edit("z", LINES // 2, character, LINES // 2, character)
        document.snapshot(Position(LINES // 2, character + 1))

    for character in range(edits):
        yield _timed(lambda: both(character))  # noqa: B023


def _second_snapshots(document: Document, edits: int) -> Iterator[float]:
    for _ in range(edits):
        yield _timed(lambda: document.snapshot(Position(LINES // 2, 9)))


def _replace_all(document: Document) -> None:
    places = [Position(line, 4) for line in range(LINES - 1, 0, -LINES // 1000)]
    ends = [Position(place.line, place.character + 1) for place in places]
    document.apply(
        document.version + 1,
        [Change("name", Range(*where)) for where in zip(places, ends, strict=True)],
    )


def _timed(call: Callable[[], object]) -> float:
    """How long a call takes, in milliseconds."""
    start = _clock[0]()
    call()
    return (_clock[0]() - start) * 1e3


def _row(what: str, times_ms: Iterator[float] | list[float]) -> None:
    median, high, most = np.percentile(list(times_ms), [50, 99, 100])
    print(f"| {what} | {median:.3f} | {high:.3f} | {most:.3f} |", flush=True)


if __name__ == "__main__":
    main()
