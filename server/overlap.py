r"""Code after the cursor on its line: nothing that follows the cursor is written twice.

Example::

    >>> stop_before_following(b"or: blue;", b": red;")
    b'or'
    >>> trim_overlap(b"a ", b" if y else z")
    b'a'
    >>> join_word(b"_subtotal", b"tal")
    b'_subto'

What is not here: lines that closers alone follow (`closers`).
"""

import re
from itertools import takewhile
from unicodedata import category

from server.brackets import scan

_PIECE = re.compile(
    rb"[0-9A-Za-z_\x80-\xff]+|[ \t\r\n]+|[()\[\]{}\"'`,;]|[^0-9A-Za-z_\x80-\xff\s()\[\]{}\"'`,;]+|."
)


def stop_before_following(generated: bytes, rest: bytes, typed: bytes = b"") -> bytes:
    """Cut where the text starts to write what follows the cursor.

    That is where the whole rest of the line is written, else where its first piece is (a word, a
    bracket, or a run of operator characters), outside brackets and strings that the text opened:
    `background-col|: red;` and `or: blue;` make `or`.
    """
    whole = rewritten_rest(generated, rest, typed)
    if whole is not None:
        return generated[:whole]
    first = _PIECE.match(rest.lstrip(b" \t"))
    pieces = _outer_pieces(generated, typed) if first else []
    start = next((start for start, piece in pieces if first and piece == first[0]), len(generated))
    return generated[:start]


def trim_overlap(generated: bytes, following: bytes, typed: bytes = b"") -> bytes:
    """Cut the longest end of the text that `following` starts with, or all from where it is whole.

    Words are not cut in two, and a bracket that closes one of the text's own is not taken for the
    one that follows.
    """
    whole = rewritten_rest(generated, following, typed)
    if whole is not None:
        generated = generated[:whole]
    marks = scan(typed, generated).marks
    for start in range(max(0, len(generated) - len(following)), len(generated)):
        if generated[start] & 0xC0 == 0x80:  # inside a character: what follows may be no UTF-8
            continue
        if not following.startswith(generated[start:]) or _splits_word(generated, start):
            continue
        if any(
            m.start >= start > m.opener
            for m in marks
            if m.kind == "close" and m.opener is not None and m.is_own
        ):
            continue
        return generated[:start]
    return generated


def drop_glued_word(generated: bytes, rest: bytes) -> bytes:
    """Cut the last word where it would run into a word that follows (`return |foo`, `a + bar`)."""
    end = word_end(generated)
    return generated[: len(generated) - len(end)] if word_head(rest) else generated


def rewritten_rest(generated: bytes, rest: bytes, typed: bytes) -> int | None:
    """Where the text writes the whole rest of the line, outside its own brackets and strings."""
    rest = rest.strip(b" \t")
    if not rest or rest not in generated:
        return None
    starts = (start for start, _ in _outer_pieces(generated, typed))
    return next((start for start in starts if generated.startswith(rest, start)), None)


def _outer_pieces(generated: bytes, typed: bytes) -> list[tuple[int, bytes]]:
    """Start and bytes of the lexical pieces outside brackets and strings that the text opened."""
    inside = bytearray(len(generated))
    for mark in scan(typed, generated).marks:
        if mark.kind == "open":
            inside[mark.end :] = b"\1" * (len(generated) - mark.end)
        elif mark.kind == "close" and mark.opener is not None and mark.is_own:
            # What was inside before the opener is inside again after the closer.
            outer = inside[mark.opener]
            inside[mark.end :] = bytes([outer]) * (len(generated) - mark.end)
    pieces = [(piece.start(), piece[0]) for piece in _PIECE.finditer(generated)]
    return [(start, piece) for start, piece in pieces if not inside[start]]


def join_word(generated: bytes, tail: bytes) -> bytes | None:
    """The part of the text's first word before `tail`, the rest of the word after the cursor.

    `calc_to|tal` and `_subtotal` make `_subto`. None if the word does not end in the tail.
    """
    word = word_head(generated)
    return word.removesuffix(tail) if word.endswith(tail) else None


def word_tail(typed: bytes, rest: bytes) -> bytes:
    """The identifier characters after a cursor that stands inside a word, else empty."""
    return word_head(rest) if word_end(typed[-4:]) else b""


def word_head(text: bytes) -> bytes:
    """The identifier characters that the text starts with."""
    ascii_or_more = re.match(rb"[0-9A-Za-z_\x80-\xff]*", text)
    assert ascii_or_more
    characters = ascii_or_more[0].decode("utf-8", "surrogateescape")
    return "".join(takewhile(_is_word, characters)).encode()


def word_end(text: bytes) -> bytes:
    """The identifier characters that the text ends with."""
    ascii_or_more = re.search(rb"[0-9A-Za-z_\x80-\xff]*\Z", text)
    assert ascii_or_more
    characters = ascii_or_more[0].decode("utf-8", "surrogateescape")
    return "".join(takewhile(_is_word, reversed(characters)))[::-1].encode()


def _is_word(character: str) -> bool:
    """Letters and digits of any script, their marks, and `_`; never a byte that is no UTF-8.

    Marks are vowel signs and accents that are characters of their own, and the (zero-width) joiners
    between letters.
    """
    return character.isalnum() or character in "_\u200c\u200d" or category(character)[0] == "M"


def _splits_word(text: bytes, position: int) -> bool:
    return bool(word_end(text[:position][-4:]) and word_head(text[position:]))
