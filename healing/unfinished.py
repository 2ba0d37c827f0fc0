"""Characters that a token leaves unfinished.

Tokens of a byte-level vocabulary may end inside a UTF-8 character: `E4 BD` is a token, and so are
single bytes. A tokenizer can't be asked about half a character, so we finish it first, with bytes
that byte-pair encoding could leave in a token of their own: `finishing_bytes` lists such endings.

SentencePiece vocabularies have tokens for single bytes alone, and use them where a character has no
token: there, an ending is one that makes such a character.
"""

from collections.abc import Iterator
from itertools import islice

from healing.tokenization import Tokenization

TRIES = 64
"""Endings offered at most: as many as a last byte has values."""

MORE_TOKENS = 3
"""How many tokens an ending has after its first: enough for one character, byte by byte."""

WAYS = 2
"""How many endings are offered for each beginning."""

MISSING = 8
"""How many characters without a token are offered: one proves that bytes may stand for some."""


def unfinished_tail(text: bytes) -> bytes:
    r"""The bytes at the end of a text that begin a UTF-8 character and do not finish it.

    >>> unfinished_tail("日本".encode()[:-1])
    b'\xe6\x9c'
    >>> unfinished_tail(b"ab")
    b''
    """
    for back in range(1, min(4, len(text) + 1)):
        lead = text[-back]
        if lead & 0xC0 == 0x80:
            continue
        length = 2 if 0xC2 <= lead <= 0xDF else 3 if 0xE0 <= lead <= 0xEF else 4
        if 0xC2 <= lead <= 0xF4 and back < length and _can_go_on(text[-back:]):
            return text[-back:]
        return b""
    return b""


def _can_go_on(head: bytes) -> bool:
    """Whether a character may start so (the second byte is restricted after E0, ED, F0 and F4)."""
    low, high = {
        0xE0: (0xA0, 0xBF),
        0xED: (0x80, 0x9F),
        0xF0: (0x90, 0xBF),
        0xF4: (0x80, 0x8F),
    }.get(head[0], (0x80, 0xBF))
    return len(head) < 2 or low <= head[1] <= high


def is_text(data: bytes) -> bool:
    r"""Whether bytes are UTF-8 so far: whole characters, and perhaps the beginning of one more.

    >>> is_text(b"a\xe6\x9c"), is_text(b"\x9ca")
    (True, False)
    """
    tail = unfinished_tail(data)
    try:
        data[: len(data) - len(tail)].decode()
    except UnicodeDecodeError:
        return False
    return True


def finishing_bytes(
    text: bytes, tokenization: Tokenization, token: int | None = None
) -> Iterator[bytes]:
    """Endings that finish the character at a text's end, likely ones first; nothing if it is whole.

    Each is what some tokens spell that could follow each other, so it may go on with more
    characters: a token may end one character and begin the next.

    Args:
        text: Any bytes.
        tokenization: Its tokens that start inside a character are what a canonical split can use.
        token: The last token of the text, where it is known: endings that byte-pair encoding would
            merge into it are left out.
    """
    tail = unfinished_tail(text)
    if tail and tokenization.falls_back_on_bytes:
        without = (e for e in _all_endings(tail) if not tokenization.trie.spelling(tail + e))
        yield from islice(without, MISSING)
    elif tail:
        endings = _endings(tail, tokenization, token, MORE_TOKENS)
        yield from islice(dict.fromkeys(islice(endings, 2 * TRIES)), TRIES)


def _all_endings(tail: bytes) -> Iterator[bytes]:
    """What makes a character of a tail, in order."""
    for byte in range(0x80, 0xC0):
        longer = tail + bytes([byte])
        if not is_text(longer):
            continue
        if unfinished_tail(longer):
            yield from (bytes([byte]) + ending for ending in _all_endings(longer))
        else:
            yield bytes([byte])


def _endings(
    tail: bytes, tokenization: Tokenization, token: int | None, more_tokens: int
) -> Iterator[bytes]:
    merges = tokenization.merges
    for other, piece in tokenization.inner_tokens:
        if not is_text(tail + piece):
            continue
        if token is not None and merges is not None and not merges.separate(token, other):
            continue
        rest = unfinished_tail(tail + piece)
        if not rest:
            yield piece
        elif more_tokens:
            endings = _endings(rest, tokenization, other, more_tokens - 1)
            yield from (piece + ending for ending in islice(endings, WAYS))
