r"""Positions as editors count them, over lines of UTF-8 bytes.

The protocol counts lines and characters from zero, and client and server agree on what a character
is: a byte (UTF-8), a unit of UTF-16, where an emoji counts two, or a code point (UTF-32).

Example, the first three characters of a line are seven bytes::

    >>> line = to_bytes("é😀x")
    >>> [byte_offset(line, 3, encoding) for encoding in (Encoding.UTF8, Encoding.UTF16)]
    [2, 6]
    >>> character_at(line, 6, Encoding.UTF32)
    2

Every pair of numbers is a position, as the protocol wants it: what lies outside the text is moved
to the nearest place in it, and what lies within a character to the place before that character.

Surrogates: JSON can carry half a surrogate pair (`"\ud800"`). It is held as the three bytes that
UTF-8 would have for it, counts one unit of UTF-16 and one code point, and never joins another half,
so positions stay those of the client. Models get `without_surrogates` instead.

What is not here: where lines begin (`documents`), and locations of the command line (`snapshot`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Encoding(StrEnum):
    """What counts as one character; the values are the protocol's names."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


@dataclass(frozen=True, slots=True)
class Position:
    """A place between two characters; any two numbers are allowed."""

    line: int
    """Counted from zero."""
    character: int
    """Characters before it on the line, in the agreed encoding."""


@dataclass(frozen=True, slots=True)
class Range:
    """What lies between two positions, in either order."""

    start: Position
    end: Position


def choose_encoding(offered: Sequence[str] | None) -> Encoding:
    """The client's first choice among the encodings that we know; UTF-16 where it names none.

    Clients list what they can do in the order that they like it; UTF-16 is the protocol's default.
    """
    known = [Encoding(name) for name in offered or () if name in list(Encoding)]
    return known[0] if known else Encoding.UTF16


def to_bytes(text: str) -> bytes:
    """A client's text as UTF-8; each lone surrogate takes three bytes. Never fails."""
    return text.encode("utf-8", "surrogatepass")


def without_surrogates(text: bytes) -> bytes:
    """The text with U+FFFD for every lone surrogate: valid UTF-8, and every offset stays."""
    if b"\xed" not in text:
        return text
    return _SURROGATE.sub(b"\xef\xbf\xbd", text)


# U+D800 to U+DFFF. Valid UTF-8 has 0x80 to 0x9F after 0xED, and 0xED begins a character only.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")


def count_characters(text: bytes, encoding: Encoding) -> int:
    """How many characters some UTF-8 has, cut at the borders of code points."""
    if encoding is Encoding.UTF8 or text.isascii():
        return len(text)
    code_points = len(text.translate(None, _CONTINUATIONS))
    if encoding is Encoding.UTF32:
        return code_points
    return code_points + len(text.translate(None, _BELOW_ASTRAL))


def character_at(line: bytes, offset: int, encoding: Encoding) -> int:
    """The characters before a byte offset in a line, which is given without its line end.

    An offset inside a code point counts as the place before it; one outside the line as the line's
    nearest end.
    """
    offset = _code_point_start(line, min(max(offset, 0), len(line)))
    return count_characters(line[:offset], encoding)


def byte_offset(line: bytes, character: int, encoding: Encoding) -> int:
    """The byte offset of a character in a line, which is given without its line end.

    Past the end is the line's end, before the start its start. The middle of a code point (two
    units of UTF-16, or up to four bytes) is the place before it.
    """
    if encoding is Encoding.UTF8 or line.isascii():
        return _code_point_start(line, min(max(character, 0), len(line)))
    # The place is in low..high, `left` characters after low. Halving reads a line of 2 MB about
    # once, at the speed of `translate`, which is a hundred times that of a loop.
    low, high, left = 0, len(line), max(character, 0)
    while high - low > _WALKED_BYTES:
        middle = _code_point_start(line, (low + high) // 2)
        skipped = count_characters(line[low:middle], encoding)
        if skipped <= left:
            low, left = middle, left - skipped
        else:
            high = middle
    while low < high:
        units, size = _measure(line[low], encoding)
        if units > left:
            break
        low, left = low + size, left - units
    return min(low, len(line))


_WALKED_BYTES = 64
_CONTINUATIONS = bytes(range(0x80, 0xC0))
"""Bytes that do not begin a code point."""
_BELOW_ASTRAL = bytes(range(0xF0))
"""All but the first bytes of code points from U+10000 up, which are pairs in UTF-16."""


def _code_point_start(line: bytes, offset: int) -> int:
    """The offset itself, or where the code point begins that it is inside of."""
    start = offset
    # Never further than UTF-8 goes, so that stray bytes cannot send the search astray.
    while offset - 3 < start < len(line) and start > 0 and 0x80 <= line[start] < 0xC0:
        start -= 1
    return start


def _measure(first: int, encoding: Encoding) -> tuple[int, int]:
    """The characters and the bytes of the code point that begins with a byte (not for UTF-8)."""
    if first >= 0xF0:
        return 2 if encoding is Encoding.UTF16 else 1, 4
    return 1, 1 + (first >= 0xC0) + (first >= 0xE0)
