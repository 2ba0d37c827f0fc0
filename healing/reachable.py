"""Tokens that no text is made of.

Some tokens are in a vocabulary and never in an encoding: merges lead past them, the pretokenizer
always splits them, or they stand for a byte of a character that has a token of its own. A model has
never seen them, and may say anything at all after one. So none is ever written.

Healing proper needs none of this: the covering tree has only what the encoder returns.
"""

from healing.tokenization import Tokenization
from healing.unfinished import finishing_bytes, is_text, unfinished_tail

BEFORE = (b"", b"a", b" ", b"\n", b"1", b"(", b"\r\n", b"A", "é".encode())
"""What may stand before a token, so that pretokenizers split there; the likely ones first."""

AFTER = 8
"""How many witnesses, from the first, are tried after a token."""


def reachable(tokenization: Tokenization, token: int) -> bool:
    """Whether some text has this token in its encoding.

    True for all tokens of vocabularies that are not merged pairs: other encoders may change text.
    """
    if tokenization.merges is None:
        return True
    known = tokenization.known_reachable
    if token not in known:
        known[token] = _is_found(tokenization, token)
    return known[token]


def _is_found(tokenization: Tokenization, token: int) -> bool:
    piece = tokenization.vocabulary[token]
    whole = piece.lstrip(bytes(range(0x80, 0xC0)))
    if not is_text(whole) or len(piece) - len(whole) > 3:
        return False
    if whole != piece:
        return True  # it ends a character; with which beginnings is not looked at
    if unfinished_tail(piece):
        after = [*finishing_bytes(piece, tokenization, token)]
    else:
        after = [*tokenization.witnesses[:AFTER]]
    return any(
        _stands_at(tokenization, before + piece + end, len(before), token)
        for before in BEFORE
        for end in after
    )


def _stands_at(tokenization: Tokenization, text: bytes, offset: int, token: int) -> bool:
    """Whether a token of the encoding starts at an offset, and is this one."""
    start = 0
    for found in tokenization.encode(text):
        if start >= offset:
            return start == offset and found == token
        start += len(tokenization.vocabulary[found])
    return False
