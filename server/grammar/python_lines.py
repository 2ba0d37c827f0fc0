r"""Where the logical lines of a Python text start, for texts that are being written.

A logical line is a statement, or the head of one: it goes on over newlines inside brackets and
triple quotes and after a backslash. Blank lines and comments belong to none::

    >>> lines = logical_lines(b"if x:\n    f(1,\n  2)\n\n    y")
    >>> lines.starts, lines.columns, lines.end
    ([0, 6, 21], [0, 4, 4], None)

A text is read once: the next text, which differs by a keystroke, is read from the last logical
line that both have, and in a long line from a place inside it. Broken text is read as far as it
makes sense: a quote that is not closed ends with its line, a closing bracket without its partner is
passed over, and a line that begins with a keyword which cannot stand inside brackets ends whatever
was open.

What is not here: what lines mean (`python_window`). Quotes nested in a field of an f-string may be
read wrongly if the field has three kinds of brackets around them, or begins beside a line end.
"""

from bisect import bisect_right
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from server.errors import GrammarError
from server.grammar.brackets_window import DEEPEST
from server.grammar.kept import common_prefix
from server.possessive import re

KNOWN = 4
"""Texts that are remembered: a document or two, with the parts of them that are asked about."""

LOOK_AHEAD = 16
"""More bytes than those after an indentation which decide whether a line starts there."""

SPACING = 4096
"""Bytes between two places in a long line where reading may be taken up again."""

MOST_STEPS = 200_000
"""Lines, and parts of long ones, that are read at once, in some 0.25 s at worst; 1 MB of a usual
program has a fifth of them. The next request goes on from there."""


@dataclass(frozen=True)
class Lines:
    """The logical lines of a text."""

    text: bytes = field(repr=False)
    starts: list[int]
    """Where each begins: at the start of its first line, before the indentation."""
    columns: list[int]
    """How far each is indented; a tab reaches to the next multiple of 8, as CPython has it."""
    end: int | None
    """Where the last one ended, with its newline; None if the text ends inside it."""
    places: list["_Place"] = field(repr=False)
    """Where the last one may be taken up again, if it is long."""
    complete: bool = True
    """Whether the text was read up to its end."""


class _Place(NamedTuple):
    """A place within a logical line, behind a line end or bracket and outside of strings."""

    position: int
    depth: int
    """How many brackets are open there."""


_SHORT = rb"""'(?!'')(?:[^'\\\n]++|\\.)*+'|"(?!"")(?:[^"\\\n]++|\\.)*+\""""
_TRIPLE = rb"""\'\'\'(?:[^'\\]++|\\.|'(?!''))*+\'\'\'|\"\"\"(?:[^"\\]++|\\.|"(?!""))*+\"\"\""""


def _field(depth: int, without: bytes) -> bytes:
    """What may be inside a replacement field's brackets: strings and brackets to a depth."""
    plain = rb"[^{}()\[\]'\"" + without + rb"]|" + _SHORT
    if not depth:
        return plain
    inner = _field(depth - 1, without.replace(b":", b""))
    return plain + rb"|[(\[{](?:" + inner + rb")*+[)\]}]"


def _formatted(quote: bytes) -> bytes:
    """A short f-string whose fields may hold its own quotes, as since Python 3.12.

    A field reaches over several lines only if its first one is empty: else a quote that was not
    closed would take in the lines after it.
    """
    inner = rb"\{(?:" + _field(1, rb":\n") + rb")*+\}"
    spec = rb"(?::(?:[^{}\n" + quote + rb"]|" + inner + rb")*+)?"
    field = rb"\{(?:" + _field(2, rb":\n") + rb")*+" + spec + rb"\}"
    long_field = rb"\{[ \t]*+\n(?:" + _field(2, rb":") + rb")*+" + spec + rb"\}"
    text = rb"[^\\{}\n" + quote + rb"]|\\.|\{\{|\}\}"
    start = rb"(?:(?<=[fFtT])|(?<=[fFtT][rR]))" + quote + rb"(?!" + 2 * quote + rb")"
    return start + rb"(?:" + text + rb"|" + field + rb"|" + long_field + rb")*+" + quote


STRING = rb"|".join((_TRIPLE, _formatted(b"'"), _formatted(b'"'), _SHORT))
"""A string that is closed; to be compiled with `re.DOTALL`."""
UNCLOSED = rb"\'\'\'.*+|\"\"\".*+|'(?:[^'\\\n]++|\\.)*+\\?|\"(?:[^\"\\\n]++|\\.)*+\\?"
"""One that is not: up to its line's end or the text's."""

_FLAT = rb"[^'\"#()\[\]{}\\\n]++|" + STRING
_NESTED = rb"[(\[{](?:" + _FLAT + rb"|[(\[{](?:" + _FLAT + rb")*+[)\]}])*+[)\]}]"

_BLANK = re.compile(rb"(?:[ \t\f]*+(?:#[^\n]*+)?\n)*+")
_INDENT = re.compile(rb"[ \t\f]*+")
_REST = re.compile(rb"(?:#[^\n]*+)?\Z")
_WHOLE = re.compile(rb"(?:" + _FLAT + rb"|" + _NESTED + rb")*+(?:#[^\n]*+)?\n", re.DOTALL)
"""A logical line on one line or with a long string: most of them."""
_PART = re.compile(
    rb"(?:" + _FLAT + rb")++|(?P<opening>[(\[{])|(?P<closing>[)\]}])|(?P<newline>\n)"
    rb"|#[^\n]*+|" + UNCLOSED + rb"|\\\n|.",
    re.DOTALL,
)
"""A part of any logical line; also a string that is not closed."""
_NOT_INSIDE = re.compile(
    rb"[ \t]*+(?:async[ \t]{1,4}(?:def|with)|def|class|return|import|while|with|try|except|finally"
    rb"|elif|raise|pass|break|continue|del|global|nonlocal|assert)(?=[^\w\x80-\xff])"
)
"""The start of a line that is not inside brackets, whatever the lines before say."""

_known: deque[Lines] = deque(maxlen=KNOWN)


def logical_lines(text: bytes) -> Lines:
    """The logical lines of a text. Some 40 ms for 1 MB, under 1 ms if all but its end is known.

    Args:
        text: Any bytes; lines end with a newline.

    Raises:
        GrammarError: The text takes more work than is done at once.
    """
    lines = _lines(text)
    if not lines.complete:
        raise GrammarError("the text takes long to look through (the next request goes on)")
    return lines


def _lines(text: bytes) -> Lines:
    """As much of the logical lines as is read at once, remembered."""
    best, common = None, 0
    for known in tuple(_known):
        if known.text is text and known.complete:
            return known
        shared = common_prefix(known.text, text)
        if shared >= common:
            best, common = known, shared
    if best is not None and best.complete and common == len(text) == len(best.text):
        return best
    lines = _read(text, best, common)
    if best is not None and 2 * common > len(best.text):
        _forget(best)
    _known.append(lines)
    return lines


def column_of(indentation: bytes) -> int:
    """The column after an indentation. A form feed starts anew, as for CPython."""
    return len(indentation.rpartition(b"\f")[2].expandtabs(8))


def missing_brackets(text: bytes) -> bytes:
    """The opening brackets that a text lacks for its closing ones, outermost first.

    >>> missing_brackets(b"a, (b)]) + c(")
    b'(['
    """
    missing, depth, at = list[bytes](), 0, 0
    while at < len(text):
        part = _PART.match(text, at)
        assert part is not None
        at = part.end()
        if part.lastgroup == "opening":
            depth += 1
        elif part.lastgroup == "closing" and depth:
            depth -= 1
        elif part.lastgroup == "closing":
            missing.append({b")": b"(", b"]": b"[", b"}": b"{"}[part[0]])
    return b"".join(reversed(missing))


def _forget(lines: Lines) -> None:
    """A text is replaced by its next state. Another thread may have been quicker."""
    with suppress(ValueError):
        _known.remove(lines)


def _read(text: bytes, known: Lines | None, common: int) -> Lines:
    """Read a text, of which so many bytes are known from another one."""
    starts, columns, at, end = list[int](), list[int](), 0, 0
    places, steps = list[_Place](), 0
    if known is not None:
        kept = _certain(known, common)
        starts, columns = known.starts[:kept], known.columns[:kept]
        if kept == len(known.starts):
            places = [place for place in known.places if _is_certain(known, place[0], common)]
        if kept:  # what ended this line is not certain
            at = starts.pop()
            columns.pop()
    while True:
        at = _after(_BLANK, text, at)
        first = _after(_INDENT, text, at)
        if _REST.match(text, first):
            return Lines(text, starts, columns, end, [])
        starts.append(at)
        columns.append(column_of(text[at:first]))
        found, parts = _line_end(text, first, places, MOST_STEPS - steps)
        steps += 1 + parts
        if found is None or steps > MOST_STEPS:
            return Lines(text, starts, columns, None, places, steps <= MOST_STEPS)
        at = end = found
        places = []


def _certain(known: Lines, common: int) -> int:
    """How many lines start in the same place in every text with so many of these bytes."""
    count = bisect_right(known.starts, common)
    while count and not _is_certain(known, known.starts[count - 1], common):
        count -= 1
    return count


def _is_certain(known: Lines, start: int, common: int) -> bool:
    """Whether so many bytes decide how a text goes on from the start of a line, or a place."""
    return _after(_INDENT, known.text, start) + LOOK_AHEAD <= common


def _after(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    """The end of what a pattern that fits everywhere takes in."""
    found = pattern.match(text, at)
    assert found is not None
    return found.end()


def _line_end(text: bytes, at: int, places: list[_Place], most: int) -> tuple[int | None, int]:
    """Where a logical line ends, and how many parts of it were read one by one.

    Args:
        text: The text.
        at: Where the line starts, behind its indentation.
        places: Places of it that are known; those that follow are added.
        most: Parts that are read.

    Returns:
        The line's end with its newline, None if the text ends before it or is too deep, or if there
        are more parts.
    """
    whole = None if places else _WHOLE.match(text, at, at + SPACING)
    if whole:
        return whole.end(), 0
    parts = 0
    at, depth = newest, _ = places[-1] if places else _Place(at, 0)
    while at < len(text) and parts <= most:
        part = _PART.match(text, at)
        assert part is not None
        parts += 1
        at = part.end()
        match part.lastgroup:
            case "opening" if depth < DEEPEST:
                depth += 1
            case "opening":
                return None, parts  # nothing is read behind so many
            case "closing":
                depth = max(0, depth - 1)
            case "newline" if not depth or _NOT_INSIDE.match(text, at):
                return at, parts
        if part.lastgroup and at - newest >= SPACING:
            newest = at
            places.append(_Place(at, depth))
    return None, parts
