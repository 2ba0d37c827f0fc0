r"""What stands in a file above the part that a prompt shows, in short.

In a long file a prompt starts in the middle: it shows neither what is imported nor in which class
it is, nor what else there is to be called. The outline says so, in the file's own order::

    import math                            what is imported
    class Circle(Shape):                   the class that the cursor is in, with its methods
        def __init__(self, radius): ...
    ------------------------------------   here the prompt starts
            return math.pi * self.radius

It is made of the text above the prompt's start only. So it stays the same while a person types, as
long as the start does: what is broken at the cursor does not reach it.
"""

import re
from collections.abc import Sequence

from server.workspace.files import LARGEST
from server.workspace.source_parts import Declaration
from server.workspace.syntax import is_known, read

MOST_LINES = 60
"""Lines of an outline."""

IMPORT_LINES = 20
"""Lines of it for what is imported."""

ENCLOSING_LINES = 30
"""Lines of it for the declaration that the prompt starts in."""

_TRIPLE = rb"\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)|\#[^\n]*|"
_PLAIN = rb"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|([()\[\]{}])"
_OTHERS = rb"//[^\n]*|/\*.*?(?:\*/|\Z)|`(?:\\.|[^`\\])*(?:`|\Z)|"
_PYTHON_MARKS = re.compile(_TRIPLE + _PLAIN, re.DOTALL)
_OTHER_MARKS = re.compile(_OTHERS + _PLAIN, re.DOTALL)
_CLOSERS = {b"(": b")", b"[": b"]", b"{": b"}"}


def outline(language: str, above: bytes) -> bytes:
    r"""The outline of a text: whole lines, or nothing.

    Args:
        language: Its identifier.
        above: The file from its start to a line's start, line ends as `\n`.
    """
    if not is_known(language) or len(above) > LARGEST or not above.strip():
        return b""
    text = above + _closing(language, above)
    source = read(language, text)
    lines: list[bytes] = []
    for start, end in dict.fromkeys((one.start, one.end) for one in source.imports):
        shown = (text[start:end].strip() + b"\n").splitlines(keepends=True)
        if len(lines) + len(shown) <= IMPORT_LINES:
            lines += shown
    enclosing: list[bytes] = []
    for last in source.declared[-1:]:
        enclosing = last.brief(inside=True).splitlines(keepends=True)[:ENCLOSING_LINES]
    room = MOST_LINES - len(lines) - len(enclosing)
    return b"".join([*lines, *_fitting(source.declared[:-1], room), *enclosing])


def _fitting(declared: Sequence[Declaration], room: int) -> list[bytes]:
    """The lines of some declarations: whole, or without what is in classes, or the last of them."""
    whole = [one.brief(inside=True) for one in declared]
    if sum(shown.count(b"\n") for shown in whole) > room:
        whole = [one.with_members(b"") for one in declared]
    lines = [line for shown in whole for line in shown.splitlines(keepends=True)]
    return lines[-room:] if room > 0 else []


def _closing(language: str, text: bytes) -> bytes:
    """The closers that a text lacks at its end: an open bracket would hide the class around it."""
    opened: list[bytes] = []
    marks = _PYTHON_MARKS if language == "python" else _OTHER_MARKS
    for mark in marks.finditer(text):
        if mark[1] in _CLOSERS:
            opened.append(_CLOSERS[mark[1]])
        elif mark[1] is not None and opened and opened[-1] == mark[1]:
            opened.pop()
        elif mark[1] is None and mark.end() == len(text) and mark[0][:3] in {b'"""', b"'''"}:
            return mark[0][:3]
    return b"".join(reversed(opened))
