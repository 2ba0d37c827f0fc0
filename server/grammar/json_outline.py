r"""What is open at the end of a JSON text, read only once while the text is typed.

    >>> [one.opener for one in outline(b'{"a": [1, {"b": 2}], "c": [').containers]
    [b'', b'{', b'[']

A container's text is kept as a list of pieces from its end to its start, without what is in closed
containers. Lists and containers never change, so the places where reading may be taken up again
share them: a keystroke at the end of 1 MB reads some hundred bytes.

Any text is read somehow: a closing bracket closes what was left open in its container, one without
an opener is text, and a string that is not closed ends with its line.

What is not here: what is done with it (`json_window`).
"""

from bisect import bisect_right
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

from server.errors import GrammarError
from server.grammar.kept import common_prefix
from server.possessive import re

STRING = rb'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+\\?+"?+'
COMMENT = rb"//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?+"

# Python 3.11 fails where a group is captured inside of a possessive repeat: no run holds one.
_RUN = re.compile(rb'(?:[^"/{}\[\]]{1,256}+|%b|/(?![/*])){0,16}+(%b|[{}\[\]]|)' % (STRING, COMMENT))
"""Text up to the next bracket or comment, and that; no more than some strings or 4 kB of others.
Empty only at the text's end."""

LOOK_AHEAD = 4
"""More bytes than those behind a place which decide that it is outside of strings and comments."""

SPACING = 256
"""Bytes between two places where reading may be taken up again."""

DEEPEST = 2000
"""Containers that may be open, as a window has a piece of each; behind more nothing is read."""

MOST_STEPS = 40_000
"""Runs of text that are read at once, in some 0.1 s at worst; 1 MB of usual JSON has fewer. What is
asked for next goes on from there."""

DOCUMENTS = 4
"""How many outlines are remembered."""

CLOSED = b"[]"
"""Stands for a closed container."""

_OPENERS = {b"}": b"{", b"]": b"["}


class Piece(NamedTuple):
    """The end of a container's text."""

    before: "Piece | None"
    start: int
    """A run of text without brackets and comments: where it starts and ends."""
    end: int
    mark: bytes
    """What stands behind the run: nothing, a comment, `CLOSED`, or a bracket without an opener."""


class Container(NamedTuple):
    """A container that is open at the end of a text."""

    outer: "Container | None"
    """None for the document itself."""
    other: "Container | None"
    """The innermost around it with another bracket."""
    opener: bytes
    """A bracket; empty for the document itself."""
    depth: int
    """How many containers are around it, the document itself included."""
    start: int
    """Where its own text starts."""
    own: Piece | None
    """What is in it so far."""

    def adding(self, start: int, end: int, mark: bytes) -> "Container":
        """The same with one more piece."""
        piece = Piece(self.own, start, end, mark)
        return Container(self.outer, self.other, self.opener, self.depth, self.start, piece)


class _Place(NamedTuple):
    """Where reading may be taken up again: outside of strings and comments."""

    position: int
    innermost: Container
    since: int
    """Where the last bracket or comment ended."""
    lenient: bool


@dataclass(frozen=True)
class Outline:
    """What is known of a text."""

    text: bytes
    places: list[_Place]
    """By position, the first at 0. Not changed any more: a later outline has its own list."""
    innermost: Container
    lenient: bool
    """Whether the text has comments, or commas before closing brackets."""
    complete: bool
    """Whether the text was read up to its end."""

    @property
    def containers(self) -> list[Container]:
        """What is open, from the document itself to the innermost."""
        found, one = list[Container](), self.innermost
        while one.outer is not None:
            found.append(one)
            one = one.outer
        return [one, *reversed(found)]


_outlines: list[Outline] = []
"""The last ones used, the newest last."""
_lock = Lock()


def outline(text: bytes) -> Outline:
    """The outline of a text; one of nearly the same text is gone on with.

    Raises:
        GrammarError: More containers are open than anybody writes, or the text takes more work
            than is done at once.
    """
    same = (known for known in list(_outlines) if known.text is text and known.complete)
    found = next(same, None) or _going_on(text)
    if found.innermost.depth > DEEPEST:
        raise GrammarError(f"more than {DEEPEST:,} brackets are open")
    if not found.complete:
        raise GrammarError("the text takes long to look through (the next request goes on)")
    return found


def _going_on(text: bytes) -> Outline:
    """The outline of a text that is not known, remembered."""
    known = list(_outlines)
    shared = [(common_prefix(one.text, text), one) for one in known]
    common, base = max(shared, key=lambda pair: pair[0], default=(0, None))
    places = [_Place(0, Container(None, None, b"", 0, 0, None), 0, False)]
    if base is not None:
        certain = bisect_right(base.places, common - LOOK_AHEAD, key=lambda place: place.position)
        places = base.places[:certain] or places
    found = _read(text, places)
    with _lock:
        newest = found
        if base is not None and base in _outlines:
            if (
                common == len(text) and base.complete
            ):  # the cursor went up: what is below stays known
                newest = base
            if newest is base or 2 * common > len(base.text):
                _outlines.remove(base)
        _outlines.append(newest)
        del _outlines[:-DOCUMENTS]
    return found


def _read(text: bytes, places: list[_Place]) -> Outline:
    """Read a text from the last place on and add the places that follow; some 60 ms for 1 MB."""
    newest, innermost, since, lenient = places[-1]
    complete = True
    for step, match in enumerate(_RUN.finditer(text, newest)):
        start, end = match.span()
        if start == end:
            break
        mark, run_end = match[1], match.start(1)
        if mark in {b"{", b"["}:
            outer = innermost.adding(start, run_end, b"")
            other = outer.other if outer.opener == mark else outer
            innermost = Container(outer, other, mark, outer.depth + 1, end, None)
        elif mark in _OPENERS:
            lenient = lenient or text[since:run_end].rstrip().endswith(b",")
            innermost = _closing(innermost, start, run_end, mark)
        else:
            lenient = lenient or mark != b""
            innermost = innermost.adding(start, run_end, mark)
        if mark:
            since = end
        if end - newest >= SPACING:
            newest = end
            places.append(_Place(end, innermost, since, lenient))
        complete = step < MOST_STEPS
        if not complete or innermost.depth > DEEPEST:
            break
    return Outline(text, places, innermost, lenient, complete)


def _closing(innermost: Container, start: int, end: int, bracket: bytes) -> Container:
    """Close the innermost such container, and those in it that were left open."""
    closed = innermost if innermost.opener == _OPENERS[bracket] else innermost.other
    if closed is None or closed.outer is None:
        return innermost.adding(start, end, bracket)
    return closed.outer.adding(end, end, CLOSED)
