r"""Brackets, quotes and punctuation on the cursor's line: what the generated text opens and closes.

No parser and no language: one pass over the line with a stack. A bracket inside a string is told
apart from one in the code around it. A quote opens a string only if it is closed later on the
line, so apostrophes (`don't`), lifetimes and stray quotes stay ordinary characters.

Example: of `b)` after `foo(a, [1], `, the bracket closes what was opened before the cursor::

    >>> scan(b"foo(a, [1], ", b"b)").marks
    (Mark(start=1, end=2, text=b')', kind='close', opener=-9, in_string=False, jumped=False),)

What is not here: brackets of other lines (a bracket that closes one of those has no opener), raw
strings, nested quotes in interpolations, `<` and `>`.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

WINDOW = 1024
"""So many bytes before the cursor are looked at: a line of megabytes costs no more than this."""

Kind = Literal["open", "close", "point", "comment"]

PAIRS = {b"(": b")", b"[": b"]", b"{": b"}"}
"""What closes a bracket."""
_TOKEN = rb"""\\[\\"'`]|\"{3}|'{3}|["'`()\[\]{},;:]"""
QUOTES = (b'"', b"'", b"`", b'"""', b"'''")
_POINTS = (b",", b";", b":")
_STRING_PREFIX = re.compile(rb"(?<![0-9A-Za-z_\x80-\xff])[rRbBfFuUL]{1,2}\Z")


@dataclass(frozen=True)
class Mark:
    """One bracket, quote, punctuation mark or comment sign in the generated text.

    Positions count from the cursor, so those before it are negative.
    """

    start: int
    end: int
    text: bytes
    kind: Kind
    """A point is a `,`, `;` or `:`, or a quote that neither opens nor closes a string."""
    opener: int | None
    """Of a closing mark: where its partner starts. Of a point: where the innermost open bracket or
    string starts. None if nothing on this line is open."""
    in_string: bool
    """Whether it stands in a string (quotes themselves do not)."""
    jumped: bool
    """Of a closing mark: whether brackets after its partner are still open, or it has no partner.
    Always true of quotes."""

    @property
    def is_own(self) -> bool:
        """Whether it belongs to a bracket or string that the generated text itself opened."""
        return self.opener is not None and self.opener >= 0


@dataclass(frozen=True)
class Scan:
    """The marks of the generated text, and what was open in the code when it began."""

    marks: tuple[Mark, ...]
    open_brackets: frozenset[bytes]
    """The closing forms of the brackets that the line opened before the cursor."""


def scan(typed: bytes, generated: bytes, closers: bytes = b"", comment: bytes = b"") -> Scan:
    """Read the line up to the end of the generated text.

    Args:
        typed: The line before the cursor; its last `WINDOW` bytes are looked at.
        generated: What the model wrote after the cursor.
        closers: The closing marks after the cursor: they may close strings of `typed`.
        comment: The sign that starts a comment in this language, empty for none.
    """
    typed = typed[-WINDOW:]
    line, cursor = typed + generated, len(typed)
    pattern = _pattern(comment)
    # Each part is read on its own: `"` before and `""` after the cursor are not one mark.
    before = [*pattern.finditer(line, 0, cursor)]
    after = [*pattern.finditer(line, cursor)]
    waiting = [unit for unit in units(closers) if unit in QUOTES]
    reader = _Reader(line, cursor, {token[0]: token.start() for token in [*before, *after]})
    for token in before:
        reader.read(token, closable=token[0] in waiting)
    open_brackets = frozenset(closer for closer, _ in reader.outside())
    # An odd number of quotes after the cursor: the string began on an earlier line.
    if reader.string is None and waiting and waiting.count(waiting[0]) % 2:
        reader.string = _String(waiting[0], -cursor - 1, len(reader.stack))
    # In a comment, text is read like any other; a comment in a comment does not begin.
    in_comment = any(mark.kind == "comment" for mark in reader.marks)
    reader.marks.clear()
    for token in after:
        if comment and token[0] == comment:
            if reader.string is None and not in_comment:
                reader.read(token)
                break
            continue
        reader.read(token)
    return Scan(tuple(reader.marks), open_brackets)


@dataclass(frozen=True)
class _String:
    """A string that is open: its quote, its start, and how many brackets were open before it."""

    quote: bytes
    start: int
    outside: int


class _Reader:
    """The state of a scan: what is open, innermost last, and the marks so far."""

    def __init__(self, line: bytes, cursor: int, last: dict[bytes, int]) -> None:
        self.line = line
        self.cursor = cursor
        self.last = last
        """Where each kind of token stands for the last time: a quote before that can be closed."""
        self.stack: list[tuple[bytes, int]] = []
        """The closing form of each open bracket, and its start."""
        self.string: _String | None = None
        self.marks: list[Mark] = []

    def outside(self) -> list[tuple[bytes, int]]:
        """The open brackets of the code around an open string."""
        return self.stack[: self.string.outside] if self.string else self.stack

    def inside(self) -> list[tuple[bytes, int]]:
        """The open brackets of the open string, else of the code."""
        return self.stack[self.string.outside :] if self.string else self.stack

    def read(self, token: re.Match[bytes], closable: bool = False) -> None:
        """Take one token; `closable` says that a quote is closed by what follows the cursor."""
        text, start = token[0], token.start() - self.cursor
        if text in QUOTES:
            self._quote(token, closable)
        elif text in PAIRS:
            self.stack.append((PAIRS[text], start))
            self._mark(token, "open", start)
        elif text in PAIRS.values():
            self._close(token)
        elif text in _POINTS:
            self._point(token)
        elif not text.startswith(b"\\") and self.string is None:
            self._mark(token, "comment", None)

    def _quote(self, token: re.Match[bytes], closable: bool) -> None:
        text, start = token[0], token.start() - self.cursor
        if self.string is None:
            closable = closable or self.last[text] > token.start()
            if not closable or _is_apostrophe(self.line, token.start()):
                self._point(token)
                return
            self._mark(token, "open", start)
            self.string = _String(text, start, len(self.stack))
        elif text == self.string.quote:
            opener = self.string.start
            del self.stack[self.string.outside :]
            self.string = None
            self._mark(token, "close", opener, jumped=True)
        else:
            self._point(token)

    def _point(self, token: re.Match[bytes]) -> None:
        inside = self.inside()
        string_start = self.string.start if self.string else None
        self._mark(token, "point", inside[-1][1] if inside else string_start)

    def _close(self, token: re.Match[bytes]) -> None:
        inside = self.inside()
        partners = [start for closer, start in inside if closer == token[0]]
        if not partners:
            self._mark(token, "close", None, jumped=True)
            return
        jumped = inside[-1][1] != partners[-1]
        while self.stack.pop()[1] != partners[-1]:
            pass
        self._mark(token, "close", partners[-1], jumped=jumped)

    def _mark(
        self, token: re.Match[bytes], kind: Kind, opener: int | None, jumped: bool = False
    ) -> None:
        start, end = token.start() - self.cursor, token.end() - self.cursor
        in_string = self.string is not None
        self.marks.append(Mark(start, end, token[0], kind, opener, in_string, jumped))


def units(closers: bytes) -> list[bytes]:
    """The closing marks of a text in order; three equal quotes in a row are one of them."""
    return [token[0] for token in _pattern(b"").finditer(closers)]


def unit_spans(closers: bytes) -> list[tuple[int, int]]:
    """Where the `units` of a text start and end."""
    return [token.span() for token in _pattern(b"").finditer(closers)]


@cache
def _pattern(comment: bytes) -> re.Pattern[bytes]:
    """All that a scan looks at; a comment sign counts at the line's start or after a blank."""
    sign = rb"|(?:(?<=[ \t])|^)" + re.escape(comment) if comment else b""
    return re.compile(_TOKEN + sign)


def _is_apostrophe(line: bytes, position: int) -> bool:
    """Whether a quote directly after a word or a sign of reference is no start of a string."""
    if line[position : position + 1] != b"'":
        return False
    before = line[max(position - 3, 0) : position]
    if _STRING_PREFIX.search(before):
        return False
    return before[-1:].isalnum() or before[-1:] in (b"_", b"&", b"<") or before[-1:] >= b"\x80"
