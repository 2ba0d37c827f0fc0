r"""Generated text as lines: how far each is indented, and what is open where it begins.

No parser: one pass that knows strings, comments and brackets well enough to say which lines are
code. The first line is the cursor's, with what was typed on it.

Example::

    >>> lines = read_lines(b"def f(", b"x):\n    return (", language="python", comment=b"#")
    >>> [(line.column, line.complete, line.owed) for line in lines]
    [(0, True, ()), (4, False, ())]

What is not here: what lines mean for a suggestion (`blocks`).
"""

import re
from collections import defaultdict
from copy import copy
from dataclasses import dataclass
from functools import cache

from server.brackets import PAIRS
from server.grammar.kept import common_prefix

TAB = 4
"""Columns of a tab. Only matters where one text mixes tabs and blanks; then this is what most
editors show."""

SPACING = 1024
"""Bytes between two places of `Opened`."""

WINDOW = 1024
"""So many bytes before the cursor are looked at for brackets: lines can be megabytes long."""

_LONG_STRINGS = (b'"""', b"'''", b"`")
_LOOSE = frozenset(
    ("shellscript", "makefile", "markdown", "restructuredtext", "plaintext", "latex")
)
"""Languages in which brackets and quotes come without partners."""
# A quote after a word, `&` or `<` is an apostrophe or a lifetime, except after a string prefix.
_SHORT_STRING = re.compile(
    rb"""
    "(?:\\.|[^"\\\n])*"
    | (?:(?<![0-9A-Za-z_&<\x80-\xff]) | (?<=\b[rRbBfFuUL])) '(?:\\.|[^'\\\n])*'
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Closing:
    """A closing bracket in the generated text."""

    offset: int
    """Where it stands in the generated text."""
    text: bytes
    depth: int
    """How many brackets are open after it; -1 if it closes one that was open before the line."""
    leading: bool
    """Whether only blanks and other closing brackets stand before it on its line."""


@dataclass(frozen=True)
class Line:
    """One line of the typed and generated text."""

    text: bytes
    """Without its line end."""
    start: int
    """Where it starts in the generated text; 0 for the cursor's line."""
    end: int
    complete: bool
    """Whether a line end follows."""
    column: int
    """The width of its indentation."""
    inside: bytes
    """The end of the string or comment that it begins in, empty for none."""
    comment: bool
    """Whether it is nothing but comment."""
    owed: tuple[bytes, ...]
    """Closing forms of the brackets that are open where it begins, innermost last."""
    closings: tuple[Closing, ...]

    @property
    def blank(self) -> bool:
        """Whether there is nothing on it."""
        return not self.text.strip()


def read_lines(
    typed: bytes,
    generated: bytes,
    *,
    language: str,
    comment: bytes,
    inside: bytes = b"",
    finished: bool = False,
) -> list[Line]:
    r"""The lines of a text with `\n` line ends; at least one.

    Args:
        typed: The cursor's line before the cursor.
        generated: What was written after the cursor.
        language: The identifier of VS Code.
        comment: The sign that starts a comment, empty for none.
        inside: The end of the string or comment that the cursor's line begins in, as `*/`.
        finished: Whether the last line is complete without a line end.
    """
    reader = Reader(language, comment, inside)
    pieces = generated.split(b"\n")
    lines, start = [], 0
    for number, piece in enumerate(pieces):
        complete = finished or number < len(pieces) - 1
        lines.append(reader.read(b"" if number else typed, piece, start, complete))
        start += len(piece) + 1
    return lines


@dataclass(frozen=True)
class Opened:
    """What is open at the starts of some lines of a text."""

    text: bytes
    """Whole lines."""
    language: str
    places: tuple[tuple[int, bytes], ...]
    """Starts of lines, ascending, the text's end last, each with the end of the string or comment
    that is open there."""

    @property
    def inside(self) -> bytes:
        """The end of the string or comment that is open after the text, else empty."""
        return self.places[-1][1]


def opened(text: bytes, language: str, comment: bytes, known: Opened | None = None) -> Opened:
    """What is open in a text of whole lines; some 10 ms for 64 kB.

    Args:
        text: The text.
        language: The identifier of VS Code.
        comment: The sign that starts a comment, empty for none.
        known: The same of another text in this language: what both begin with is not read again.
    """
    common = common_prefix(known.text, text) if known else 0
    places = [place for place in known.places if place[0] <= common] if known else [(0, b"")]
    position, inside = places[-1]
    reader = Reader(language, comment, inside)
    for line in text[position:].splitlines(keepends=True):
        if position - places[-1][0] >= SPACING:
            places.append((position, reader.inside))
        reader.skip(line.rstrip(b"\r\n"))
        position += len(line)
    if position > places[-1][0]:
        places.append((position, reader.inside))
    return Opened(text, language, tuple(places))


def column_of(line: bytes) -> int:
    """The width of a line's indentation, tabs as `TAB` columns."""
    indentation = line[: len(line) - len(line.lstrip(b" \t"))]
    return len(indentation.expandtabs(TAB))


class Reader:
    """What is open between two lines."""

    def __init__(self, language: str, comment: bytes, inside: bytes) -> None:
        """Start at a line that begins in a string or comment with the end `inside`, or in none."""
        self.pattern = _pattern(comment, language)
        self.slashes = comment == b"//"
        self.comment = comment
        self.inside = inside
        self.owed: list[bytes] = []
        self.kinds: defaultdict[bytes, int] = defaultdict(int)
        """How many of `owed` there are of each kind."""

    def twin(self) -> "Reader":
        """Another one at the same place."""
        twin = copy(self)
        twin.owed, twin.kinds = self.owed.copy(), self.kinds.copy()
        return twin

    def skip(self, line: bytes) -> None:
        """Take a whole line that nothing is asked of but what is open after it, brackets aside."""
        self._scan(line, 0, 0, True)
        self.owed.clear()
        self.kinds.clear()

    def read(self, typed: bytes, generated: bytes, start: int, complete: bool) -> Line:
        """Take the next line."""
        whole = typed + generated
        column = column_of(whole)
        dropped = max(0, len(typed) - WINDOW)
        line = whole[dropped:]
        inside, owed = self.inside, tuple(self.owed)
        stripped = whole.lstrip(b" \t")
        is_comment = inside == b"*/" or (
            not inside
            and (
                bool(self.comment and stripped.startswith(self.comment))
                or (self.slashes and stripped.startswith(b"/*"))
            )
        )
        closings = self._scan(line, len(typed) - dropped, start, complete)
        end = start + len(generated)
        return Line(whole, start, end, complete, column, inside, is_comment, owed, tuple(closings))

    def _scan(self, line: bytes, cursor: int, start: int, complete: bool) -> list[Closing]:
        closings: list[Closing] = []
        position = checked = 0
        leading = True
        while position < len(line):
            if self.inside:
                end = line.find(self.inside, position)
                if end < 0:
                    break
                position = end + len(self.inside)
                self.inside = b""
                continue
            token = self.pattern.search(line, position)
            if token is None:
                break
            text, position = token[0], token.end()
            if text in PAIRS:
                self.owed.append(PAIRS[text])
                self.kinds[PAIRS[text]] += 1
            elif text in PAIRS.values():
                closed = self._close(text)
                leading = leading and not line[checked : token.start()].strip(b" \t)]}")
                checked = token.start()
                if token.start() >= cursor and (complete or leading):
                    offset = start + token.start() - cursor
                    closings.append(Closing(offset, text, closed, leading))
            elif text == b"/*":
                self.inside = b"*/"
            elif text in _LONG_STRINGS:
                self.inside = text
            elif text in {b'"', b"'"}:
                string = _SHORT_STRING.match(line, token.start())
                if string:
                    position = string.end()
                elif not complete:
                    break  # the string may go on: what is in it is not known
            elif self.comment and text == self.comment:
                break
        return closings

    def _close(self, bracket: bytes) -> int:
        """Close the innermost bracket of this kind and those inside it; the depth afterwards."""
        if not self.kinds[bracket]:
            return -1
        closed = b""
        while closed != bracket:
            closed = self.owed.pop()
            self.kinds[closed] -= 1
        return len(self.owed)


@cache
def _pattern(comment: bytes, language: str) -> re.Pattern[bytes]:
    """All that a line is searched for; a comment sign counts at the start or after a blank."""
    parts = [rb"\\."]
    if comment:
        parts.append(rb"(?:(?<=[ \t;{}(),])|^)" + re.escape(comment))
    if comment == b"//":
        parts.append(rb"/\*")
    if language not in _LOOSE:
        parts += [rb'"{3}|\'{3}|["\'`()\[\]{}]']
    return re.compile(b"|".join(parts))
