r"""Windows of JSON: the open containers, what they hold in brief, and the member at the cursor.

What may follow the cursor is decided by little of a large document::

    >>> window(b'{"a": {"b": [1, 2]}, "c": [true, {"d": 3, "e": "f')
    b'{"":0, "c": [0, {"":0, "e": "f'

A schema also wants to know the keys that an open object already has, and their values as far as
they are short (the character U+10FFFF stands for others)::

    >>> schema_window(b'{"a": {"b": [1, 2]}, "c": 1, "d": [7, ', frozenset({"a", "c"})).decode()
    '{"a":\U0010ffff,"c":1, "d": [\U0010ffff, '

Bytes in, bytes out; text that is no JSON makes some window that a grammar then refuses, or not:
mistakes inside of closed members are not seen, and block nothing.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from server.grammar.json_lark import HOLE

MOST_ITEMS = 64
"""Items of an open array that a window keeps; schemas count no further."""

MOST_SCALAR = 80
"""Bytes of a string or number that a window for a schema keeps as it is."""

_STRING = rb'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+\\?+"?+'
_COMMENT = rb"//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?+"
# Python 3.11 fails where a group is captured inside of a possessive repeat: no run holds one.
_RUN = re.compile(rb'(?:[^"/{}\[\]]++|%b|/(?![/*]))*+(%b|[{}\[\]]|\Z)' % (_STRING, _COMMENT))
"""Text up to the next bracket or comment, and that."""
_MEMBERS = re.compile(rb'(?:[^"/,]++|%b|%b|/)*+(,|\Z)' % (_STRING, _COMMENT))
"""Text up to the next comma, or to the end."""
_COMMENTS = re.compile(rb"(%b)|%b" % (_STRING, _COMMENT))
_MEMBER = re.compile(rb'\s*+("(?:[^"\\]|\\.)*+")\s*+:\s*+(.*?)\s*+,', re.DOTALL)
_SCALAR = re.compile(rb"%b|-?[0-9][-+.0-9eE]*+|true|false|null" % _STRING)
_CLOSED_OR_TEXT = re.compile(rb"(%b|%b)|\[\]" % (_STRING, _COMMENT))
_HOLE = HOLE.encode()
_PAIRS = {b"}": b"{", b"]": b"["}
_CLOSED = b"[]"


@dataclass(frozen=True)
class _Container:
    """A container that is open at the end of a text."""

    opener: bytes
    """A bracket; empty for the document itself."""
    own: bytes
    """Its text but for closed containers in it, which are `[]`."""

    def split(self) -> tuple[bytes, bytes]:
        """Members with their commas, and the text of the member that is not done."""
        # Strings end with their line, so the last comma is found from the last line on.
        lines = b"/*" not in self.own
        end = len(self.own)
        while end > 0:
            start = self.own.rfind(b"\n", 0, end - 1) + 1 if lines else 0
            ends = [match.end() for match in _members(self.own, start, end)]
            if ends:
                return self.own[: ends[-1]], self.own[ends[-1] :]
            end = start
        return b"", self.own


@dataclass(frozen=True)
class _Outline:
    containers: tuple[_Container, ...]
    lenient: bool
    """Whether the text has comments, or commas before closing brackets."""


@lru_cache(maxsize=2)
def _outline(text: bytes) -> _Outline:
    """The containers that are open at the end of a text; 10 to 20 ms for 1 MB."""
    stack: list[tuple[bytes, list[bytes]]] = [(b"", [])]
    lenient = False
    for match in _RUN.finditer(text):
        run, mark = text[match.start() : match.start(1)], match[1]
        stack[-1][1].append(run)
        if mark in {b"{", b"["}:
            stack.append((mark, []))
        elif mark in _PAIRS:
            lenient = lenient or run.rstrip().endswith(b",")
            _close(stack, mark)
        elif mark:
            lenient = True
            stack[-1][1].append(mark)
    containers = tuple(_Container(opener, b"".join(parts)) for opener, parts in stack)
    return _Outline(containers, lenient)


def _close(stack: list[tuple[bytes, list[bytes]]], bracket: bytes) -> None:
    """Close the innermost such container, and those in it that were left open."""
    for depth in range(len(stack) - 1, 0, -1):
        if stack[depth][0] == _PAIRS[bracket]:
            del stack[depth:]
            stack[-1][1].append(_CLOSED)
            return
    stack[-1][1].append(bracket)


def window(text: bytes) -> bytes:
    """The window for a grammar of JSON with comments."""
    parts = []
    for one in _outline(text).containers:
        done, current = one.split()
        member = {b"{": b'"":0,', b"[": b"0,"}.get(one.opener, done)
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
    for one in _outline(text).containers:
        done, current = one.split()
        if one.opener == b"{":
            kept = b"".join(_known(done, names, values)) or _HOLE + b"," * bool(done)
            done = kept if done else b""
        elif one.opener == b"[":
            done = (_HOLE + b",") * min(MOST_ITEMS, sum(1 for _ in _members(done)))
        # A container that was closed in the current member is its value.
        parts += [one.opener, done, _without_closed(current)]
    return b"".join(parts)


def has_comments(text: bytes) -> bool:
    """Whether a text has comments, or commas before closing brackets."""
    return _outline(text).lenient


def is_at_top(text: bytes) -> bool:
    """Whether a text ends among the members of the document's own object."""
    containers = _outline(text).containers
    return len(containers) == 2 and containers[1].opener == b"{"


def _members(own: bytes, start: int = 0, end: int | None = None) -> Iterator[re.Match[bytes]]:
    """Members and items, each with its comma; not what comes after the last comma."""
    found = _MEMBERS.finditer(own, start, len(own) if end is None else end)
    return (match for match in found if match[1])


def _known(done: bytes, names: frozenset[str], values: bool) -> Iterator[bytes]:
    """Members whose keys are known, each key once, with their commas."""
    seen = set[str | None]()
    for match in _members(done):
        plain = _COMMENTS.sub(lambda found: found[1] or b" ", match[0])
        member = _MEMBER.fullmatch(plain)
        key = _text(member[1]) if member else None
        if member and key in names - seen:
            seen.add(key)
            value = member[2]
            short = values and len(value) <= MOST_SCALAR and _SCALAR.fullmatch(value)
            yield member[1] + b":" + (value if short else _HOLE) + b","


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
