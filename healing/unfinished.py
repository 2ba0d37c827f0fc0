"""Characters that a token leaves unfinished.

Tokens of a byte-level vocabulary may end inside a UTF-8 character: `E4 BD` is a token, and so are
single bytes. A tokenizer can't be asked about half a character, so we finish it first, with bytes
that byte-pair encoding could leave in a token of their own: `finishing_bytes` lists such endings.
"""

from collections.abc import Iterator

from healing.tokenization import Tokenization

TRIES = 64
"""Endings offered at most: as many as a last byte has values."""


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


def finishing_bytes(
    text: bytes, tokenization: Tokenization, token: int | None = None
) -> Iterator[bytes]:
    """Endings that finish the character at a text's end, likely ones first; nothing if it is whole.

    Args:
        text: Any bytes.
        tokenization: Its tokens that start inside a character are what a canonical split can use.
        token: The last token of the text, where it is known: endings that byte-pair encoding would
            merge into it are left out.
    """
    tail = unfinished_tail(text)
    if not tail:
        return
    length = 2 if tail[0] < 0xE0 else 3 if tail[0] < 0xF0 else 4
    missing = length - len(tail)
    offered: set[bytes] = set()
    for second in range(0x80, 0xC0):
        for other in tokenization.trie.starting_with(bytes([second])).tolist():
            merges = tokenization.merges
            if token is not None and merges and not merges.separate(token, other):
                continue
            for ending in _fill(tokenization.vocabulary[other][:missing], missing):
                if ending not in offered and _is_character(tail + ending):
                    offered.add(ending)
                    yield ending
                    if len(offered) == TRIES:
                        return


def _fill(start: bytes, missing: int) -> Iterator[bytes]:
    """A few ways to reach the number of missing bytes."""
    if len(start) == missing:
        yield start
    else:
        for last in (0x80, 0x9F, 0xA0, 0xBF):
            yield from _fill(start + bytes([last]), missing)


def _is_character(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False
