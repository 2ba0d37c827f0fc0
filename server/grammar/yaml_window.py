r"""YAML's window: the lines that the cursor's line hangs on, without their earlier siblings.

    >>> yaml_window(b"a: 1\nb:\n  c: 2\n  d:\n    - e: 3\n    - f: 4\n      g: ")
    b'b:\n  d:\n    - f: 4\n      g: '

A line that is no entry (`key:`, `- item`) may go on with a scalar or a bracket above, so nothing is
left out between it and the entry that it may belong to. What looks like an entry in a scalar or a
bracket is taken for one, which is right where it stands deeper than what it belongs to. Where it
does not, the window mostly does not fit the grammar, and the next rung reads the whole text.
"""

import re
from dataclasses import dataclass

STRETCH = 4096
"""Bytes that are looked through for the entry that a line without one may belong to."""

_ENTRY = re.compile(rb" *(?:-(?:[ \t]|$)|(?:[^ \t\n\]}:]|:[^ \t\n])[^\n]*?:(?:[ \t]|$))")
_ITEM = re.compile(rb" *-(?:[ \t]|$)")
_OPENS = re.compile(rb"[\[{][ \t]*$")
_CLOSES = re.compile(rb" *[\]}]")
_DOCUMENT = re.compile(rb"(?:---|\.\.\.)(?:\s|$)")
_TEXT = re.compile(rb"[ \t]*[^ \t\n#]")


@dataclass(frozen=True)
class _Line:
    """What a line tells."""

    column: int
    """Where its text starts."""
    is_entry: bool
    is_item: bool
    opens: bool = False
    """Whether it ends with a bracket, whose text may stand in the same column."""
    closes: bool = False


def yaml_window(before: bytes) -> bytes:
    r"""The lines above the cursor that each stand less deep than the next one below, and its own.

    On an empty line every column of the last line is open, so that one comes with its own lines.

    Args:
        before: The text before the cursor, with `\n` line ends.
    """
    start = before.rfind(b"\n") + 1
    kept = [before[start:]]
    below = _read(kept[0])
    stretch: list[bytes] = []  # all lines above a line that is no entry
    closed = 0  # brackets in the column of `below` that end above it
    while start > 0 and (below is None or below.column > 0 or below.is_item or not below.is_entry):
        end = start - 1
        start = before.rfind(b"\n", 0, end) + 1
        text = before[start:end]
        if _DOCUMENT.match(text):
            stretch.append(text)
            break
        line = _read(text)
        if below is not None and not below.is_entry:
            stretch.append(text)
            if line is not None and line.is_entry and line.column <= below.column:
                kept += stretch
                below, stretch = line, []
            elif sum(map(len, stretch)) > STRETCH:
                below, stretch = _Line(below.column, is_entry=True, is_item=False), []
        elif line is not None:
            beside = below is not None and line.column == below.column
            if below is None or _hangs(below, line) or (beside and line.opens and not closed):
                kept.append(text)
                below, closed = line, 0
            elif beside:
                closed += line.closes - line.opens
    return b"\n".join(reversed([*kept, *stretch]))


def _hangs(below: _Line, line: _Line) -> bool:
    """Whether a line may belong to one above it; items may stand in their key's column."""
    if line.column == below.column:
        return below.is_item and not line.is_item
    return line.column < below.column


def _read(text: bytes) -> _Line | None:
    """What a line tells; None for an empty one or a comment."""
    if not _TEXT.match(text):
        return None
    column = len(text) - len(text.lstrip(b" "))
    return _Line(
        column,
        is_entry=_ENTRY.match(text) is not None,
        is_item=_ITEM.match(text) is not None,
        opens=_OPENS.search(text) is not None,
        closes=_CLOSES.match(text) is not None,
    )
