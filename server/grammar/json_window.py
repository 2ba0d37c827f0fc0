r"""Windows of JSON: the open containers, what they hold in brief, and the member at the cursor.

What may follow the cursor is decided by little of a large document::

    >>> window(b'{"a": {"b": [1, 2]}, "c": [true, {"d": 3, "e": "f')
    b'{"":0, "c": [0, {"":0, "e": "f'

A schema also wants to know the keys that an open object already has, and their values as far as
they are short (the character U+10FFFF stands for others)::

    >>> schema_window(b'{"a": {"b": [1, 2]}, "c": 1, "d": [7, ', frozenset({"a", "c"})).decode()
    '{"a":\U0010ffff,"c":1, "d": [\U0010ffff, '

Bytes in, bytes out; text that is no JSON makes some window that a grammar then refuses, or not:
mistakes inside of closed members are not seen, and block nothing. Where too much is open for a
window, `GrammarError` is raised.

What is not here: reading the text, which is done once while it is typed (`json_outline`).
"""

import json
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from server.errors import GrammarError
from server.grammar.json_lark import HOLE
from server.grammar.json_outline import COMMENT, STRING, Container, Piece, outline
from server.grammar.kept import common_prefix
from server.possessive import re

MOST_ITEMS = 64
"""Items of an open array that a window keeps; schemas count no further."""

MOST_SCALAR = 80
"""Bytes of a string or number that a window for a schema keeps as it is."""

MOST_PIECES = 50_000
"""Pieces of a text that are put together, at some 1 us each."""

LONG = 2048
"""Bytes of members that are worth being remembered."""

KNOWN = 8
"""Objects whose members are remembered."""

_MEMBERS = re.compile(rb'(?:[^"/,]++|%b|%b|/)*+(,|\Z)' % (STRING, COMMENT))
"""Text up to the next comma, or to the end."""
_COMMENTS = re.compile(rb"(%b)|%b" % (STRING, COMMENT))
_MEMBER = re.compile(rb'\s*+("(?:[^"\\]|\\.)*+")\s*+:\s*+(.*?)\s*+,', re.DOTALL)
_SCALAR = re.compile(rb"%b|-?[0-9][-+.0-9eE]*+|true|false|null" % STRING)
_CLOSED_OR_TEXT = re.compile(rb"(%b|%b)|\[\]" % (STRING, COMMENT))
_HOLE = HOLE.encode()


@dataclass(frozen=True)
class _Members:
    """The members of an object that a schema knows, as far as they are done."""

    text: bytes = field(repr=False)
    names: frozenset[str]
    values: bool
    start: int
    """Where the object's own text starts."""
    upto: int
    """Behind the last comma that was seen."""
    ends: list[int]
    """Behind the comma of each known member."""
    keys: list[str]
    members: list[bytes]
    """With their commas, values in brief."""


_recent: deque[_Members] = deque(maxlen=KNOWN)


def window(text: bytes) -> bytes:
    """The window for a grammar of JSON with comments."""
    parts = []
    for one in outline(text).containers:
        if not one.opener:
            parts.append(_own(text, one))
            continue
        done, current = _last(text, one)
        member = b'"":0,' if one.opener == b"{" else b"0,"
        parts += [one.opener, member if done else b"", current]
    return b"".join(parts)


def strict_window(text: bytes) -> bytes:
    """The window for JSON itself; begins with a comment if the text has what JSON has not."""
    return (b"//\n" if has_comments(text) else b"") + window(text)


def schema_window(text: bytes, names: frozenset[str], values: bool = True) -> bytes:
    """The window for a schema.

    Args:
        text: The text before the cursor.
        names: The keys that the schema knows; members with others are left out.
        values: Whether short values are kept. Without them, wrong ones do not matter.
    """
    parts = []
    for one in outline(text).containers:
        done, current = _last(text, one)
        if not one.opener:
            own = _own(text, one)
            parts.append(own[: len(own) - len(current)])
        elif one.opener == b"{" and done:
            parts += [b"{", b"".join(_known(text, one, names, values)) or _HOLE + b","]
        else:
            # Objects without a member that is done have no comma to count.
            parts += [one.opener, (_HOLE + b",") * _items(text, one)]
        # A container that was closed in the current member is its value.
        parts.append(_without_closed(current))
    return b"".join(parts)


def has_comments(text: bytes) -> bool:
    """Whether a text has comments, or commas before closing brackets."""
    return outline(text).lenient


def is_at_top(text: bytes) -> bool:
    """Whether a text ends among the members of the document's own object."""
    try:
        innermost = outline(text).innermost
    except GrammarError:  # as deep as can be
        return False
    return innermost.depth == 1 and innermost.opener == b"{"


def _pieces(one: Container, since: int = 0) -> list[Piece]:
    """The pieces of a container's text from a place in it on, first to last."""
    pieces, own = list[Piece](), one.own
    while own is not None and own.end >= since:
        _limit(len(pieces))
        pieces.append(own)
        own = own.before
    return pieces[::-1]


def _limit(pieces: int) -> None:
    """Raises GrammarError if a text has more pieces than anybody writes between two commas."""
    if pieces > MOST_PIECES:
        raise GrammarError(f"more than {MOST_PIECES:,} brackets and comments decide")


def _own(text: bytes, one: Container) -> bytes:
    """A container's text."""
    return b"".join(text[piece.start : piece.end] + piece.mark for piece in _pieces(one))


def _last(text: bytes, one: Container) -> tuple[bool, bytes]:
    """Whether a container has members that are done, and the text of the one that is not."""
    parts, own = list[bytes](), one.own
    while own is not None:
        run = text[own.start : own.end]
        _limit(len(parts) // 2)
        parts.append(own.mark)
        commas = [match.end() for match in _members(run)]
        if commas:
            parts.append(run[commas[-1] :])
            return True, b"".join(reversed(parts))
        parts.append(run)
        own = own.before
    return False, b"".join(reversed(parts))


def _items(text: bytes, one: Container) -> int:
    """How many items of a container are done, as far as they count."""
    count, own = 0, one.own
    while own is not None and count < MOST_ITEMS:
        count += sum(1 for _ in _members(text[own.start : own.end]))
        own = own.before
    return min(count, MOST_ITEMS)


def _members(own: bytes) -> Iterator[re.Match[bytes]]:
    """Members and items, each with its comma; not what comes after the last comma."""
    return (match for match in _MEMBERS.finditer(own) if match[1])


def _known(text: bytes, one: Container, names: frozenset[str], values: bool) -> list[bytes]:
    """Members whose keys are known, each key once, with their commas.

    What was found for nearly the same text is gone on with.
    """
    before = _Members(text, names, values, one.start, one.start, [], [], [])
    base = None
    for recent in tuple(_recent):
        if (recent.names, recent.values, recent.start) == (names, values, one.start):
            shared = _shared(recent, text)
            if shared.upto > before.upto:
                before, base = shared, recent
    found = _going_on(before, text, one)
    if found.upto - before.upto > LONG:
        if base is not None and base.upto == before.upto:
            with suppress(ValueError):  # another thread may have been quicker
                _recent.remove(base)
        _recent.append(found)
    return found.members


def _shared(recent: _Members, text: bytes) -> _Members:
    """The members that another text has, too."""
    common = common_prefix(recent.text, text)
    count = bisect_right(recent.ends, common)
    upto = recent.upto if recent.upto <= common else recent.ends[count - 1] if count else 0
    return replace(
        recent,
        text=text,
        upto=max(upto, recent.start),
        ends=recent.ends[:count],
        keys=recent.keys[:count],
        members=recent.members[:count],
    )


def _going_on(before: _Members, text: bytes, one: Container) -> _Members:
    """Add the members that follow in the same object."""
    found = replace(before, ends=[*before.ends], keys=[*before.keys], members=[*before.members])
    offsets, starts, parts, length = list[int](), list[int](), list[bytes](), 0
    for piece in _pieces(one, before.upto):
        start = max(piece.start, before.upto)
        offsets.append(length)
        starts.append(start)
        parts += [text[start : piece.end], piece.mark]
        length += piece.end - start + len(piece.mark)
    upto, seen = before.upto, set(before.keys)
    for match in _members(b"".join(parts)):
        at = bisect_right(offsets, match.end() - 1) - 1
        upto = starts[at] + match.end() - offsets[at]
        plain = _COMMENTS.sub(lambda found: found[1] or b" ", match[0])
        member = _MEMBER.fullmatch(plain)
        key = _text(member[1]) if member else None
        if member and key is not None and key in before.names and key not in seen:
            seen.add(key)
            value = member[2]
            short = before.values and len(value) <= MOST_SCALAR and _SCALAR.fullmatch(value)
            found.ends.append(upto)
            found.keys.append(key)
            found.members.append(member[1] + b":" + (value if short else _HOLE) + b",")
    return replace(found, upto=upto)


def _without_closed(current: bytes) -> bytes:
    """The text of a member that is not done, with holes for containers in it."""
    return _CLOSED_OR_TEXT.sub(lambda found: found[1] or _HOLE, current)


def _text(key: bytes) -> str | None:
    """A key without quotes and escapes; None if it is not JSON."""
    try:
        text: str = json.loads(key)
    except ValueError:
        return None
    return text
