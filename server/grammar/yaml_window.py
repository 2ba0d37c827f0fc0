r"""YAML's window: the lines that the cursor's line hangs on, without their earlier siblings.

    >>> yaml_window(b"a: 1\nb:\n  c: 2\n  d:\n    - e: 3\n    - f: 4\n      g: ")
    b'b:\n  d:\n    - f: 4\n      g: '

A line that is no entry (`key:`, `- item`) may go on with a scalar or a bracket above, so nothing is
left out between it and the entry that it may belong to. What looks like an entry in a scalar or a
bracket is taken for one, which is right where it stands deeper than what it belongs to. Where it
does not, the window mostly does not fit the grammar, and the next rung reads the whole text.
"""

import re
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from server.errors import GrammarError

STRETCH = 4096
"""Bytes that are looked through for the entry that a line without one may belong to."""

MOST_LINES = 8192
"""Lines that are read for a window, at some 15 us each. Most are passed over unread."""

NEAREST = 64
"""Lines in the first block that is searched for the next one to read."""

KNOWN = 2
"""Texts whose lines are remembered."""

_ENTRY = re.compile(rb" *(?:-(?:[ \t]|$)|(?:[^ \t\n\]}:]|:[^ \t\n])[^\n]*?:(?:[ \t]|$))")
_ITEM = re.compile(rb" *-(?:[ \t]|$)")
_OPENS = re.compile(rb"[\[{][ \t]*$")
_CLOSES = re.compile(rb" *[\]}]")
_DOCUMENT = re.compile(rb"(?:---|\.\.\.)(?:\s|$)")
_TEXT = re.compile(rb"[ \t]*[^ \t\n#]")
_NEWLINE, _TAB, _SPACE, _HASH, _DASH, _DOT = b"\n\t #-."
_BRACES = np.frombuffer(b"[]{}", np.uint8)


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

    Raises:
        GrammarError: More lines decide than anybody writes.
    """
    start = before.rfind(b"\n") + 1
    kept = [before[start:]]
    below = _read(kept[0])
    stretch: list[bytes] = []  # all lines above a line that is no entry
    length = 0  # of these, with their ends
    read = 0
    closed = 0  # brackets in the column of `below` that end above it
    lines = _lines(before[:start])
    index = lines.count
    while index and (below is None or below.column > 0 or below.is_item or not below.is_entry):
        index = lines.above(index, below) if below is None or below.is_entry else index - 1
        text = lines.line(index)
        read += 1
        if read > MOST_LINES:
            raise GrammarError(f"more than {MOST_LINES:,} lines decide what may follow")
        if _DOCUMENT.match(text):
            stretch.append(text)
            break
        line = _read(text)
        if below is not None and not below.is_entry:
            stretch.append(text)
            length += len(text) + 1
            if line is not None and line.is_entry and line.column <= below.column:
                kept += stretch
                below, stretch, length = line, [], 0
            elif length > STRETCH:
                below, stretch, length = _Line(below.column, is_entry=True, is_item=False), [], 0
        elif line is not None:
            beside = below is not None and line.column == below.column
            if below is None or _hangs(below, line) or (beside and line.opens and not closed):
                kept.append(text)
                below, closed = line, 0
            elif beside:
                closed += line.closes - line.opens
    return b"\n".join(reversed([*kept, *stretch]))


def _lines(text: bytes) -> "_Lines":
    """The lines above the cursor's; while a line is typed they are the same for every key."""
    for lines in tuple(_known):
        if lines.text == text:
            return lines
    lines = _Lines(text)
    _known.append(lines)
    return lines


class _Lines:
    """The lines of a text, as arrays: some 4 ms for 1 MB."""

    def __init__(self, text: bytes) -> None:
        """Take a text that is empty or ends with a newline."""
        self.text = text
        signs = np.frombuffer(text + b"\n\n", np.uint8)
        ends = np.flatnonzero(signs[: len(text)] == _NEWLINE)
        self.count = len(ends)
        self._starts: NDArray[np.int64] = np.concatenate(([0], ends + 1))[:-1]
        filled = np.flatnonzero(signs != _SPACE)
        first = filled[np.searchsorted(filled, self._starts)]
        shown = np.flatnonzero((signs != _SPACE) & (signs != _TAB))
        last = signs[shown[np.maximum(np.searchsorted(shown, ends) - 1, 0)]]
        sign, after = signs[first], signs[first + 1]
        self._columns = first - self._starts
        self._is_text = (sign != _NEWLINE) & (sign != _HASH)
        self._is_item = (sign == _DASH) & _is_blank(after)
        mark = (sign == _DASH) | (sign == _DOT)
        self._is_mark = mark & (after == sign) & (signs[first + 2] == sign) & (self._columns == 0)
        self._has_brackets = np.isin(sign, _BRACES) | np.isin(last, _BRACES)

    def line(self, index: int) -> bytes:
        """A line without its end."""
        start = int(self._starts[index])
        return self.text[start : self.text.index(b"\n", start)]

    def above(self, index: int, below: _Line | None) -> int:
        """The last line before one that may matter to it, else the first: most lines do not.

        Args:
            index: The line's number, counted from 0.
            below: What it tells, which is an entry; None for a line without text.
        """
        end, size = index, NEAREST
        while end:
            start = max(0, end - size)
            found = np.flatnonzero(self._wanted(slice(start, end), below))
            if len(found):
                return start + int(found[-1])
            end, size = start, 4 * size
        return 0

    def _wanted(self, block: slice, below: _Line | None) -> NDArray[np.bool_]:
        """Which lines of a block may matter to one below it."""
        wanted: NDArray[np.bool_] = self._is_text[block]
        if below is None:
            return wanted
        columns = self._columns[block]
        beside = self._has_brackets[block]
        if below.is_item:
            beside = beside | ~self._is_item[block]
        hangs = (columns < below.column) | ((columns == below.column) & beside)
        hanging: NDArray[np.bool_] = (wanted & hangs) | self._is_mark[block]
        return hanging


_known: deque[_Lines] = deque(maxlen=KNOWN)


def _is_blank(signs: NDArray[np.uint8]) -> NDArray[np.bool_]:
    blank: NDArray[np.bool_] = (signs == _SPACE) | (signs == _TAB) | (signs == _NEWLINE)
    return blank


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
