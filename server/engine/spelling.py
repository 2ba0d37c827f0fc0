"""From the way a model file writes its tokens to the bytes that they spell.

Files know two ways. *Byte-level* ones write a letter of GPT-2's alphabet for each byte: `Ġa` is
` a`. *Plain* ones write UTF-8 with `▁` for a blank: `▁a` is ` a`. In both, `<0x0A>` with the kind
BYTE is one byte, and tokens that are not text keep their name: `<end>` with the kind CONTROL is
`<end>`.

Whole vocabularies are done at once, the byte-level ones without an object for each token: 150,000
tokens take some 50 ms. `Vocabulary.from_byte_level` is the slow and simple twin.
"""

import numpy as np
from numpy.typing import NDArray

from healing.vocabulary import TokenKind, Vocabulary, byte_level_alphabet
from server.engine.gguf import StringArray

_BLANK = "▁".encode()


def byte_level_vocabulary(tokens: StringArray, kinds: NDArray[np.uint8]) -> Vocabulary:
    """The vocabulary of a file with byte-level tokens; `kinds` has shape (n,).

    A token that should be text but is not written in the alphabet can never come from text (some
    files have emoji among the normal tokens): it becomes UNUSED and keeps its name.
    """
    raw = np.frombuffer(tokens.blob, np.uint8)
    lengths = np.diff(tokens.offsets)
    token_of = np.repeat(np.arange(len(lengths)), lengths)
    # Letters of the alphabet have code points below 0x180, so one or two bytes of UTF-8.
    paired = np.zeros(len(raw), dtype=bool)
    paired[:-1] = (raw[:-1] >= 0xC2) & (raw[:-1] < 0xC6) & ((raw[1:] & 0xC0) == 0x80)
    paired[:-1] &= token_of[:-1] == token_of[1:]
    second = np.zeros(len(raw), dtype=bool)
    second[1:] = paired[:-1]
    codes = raw.astype(np.int16)
    pairs = np.flatnonzero(paired)
    codes[pairs] = (codes[pairs] & 0x1F) << 6 | codes[pairs + 1] & 0x3F
    spelled = _alphabet()[codes]
    foreign = np.where((raw < 0x80) | paired, spelled < 0, ~second)

    singles = _single_bytes(tokens, kinds)
    lettered = (kinds == TokenKind.NORMAL) | (kinds == TokenKind.BYTE)
    lettered[list(singles)] = False
    strange = np.zeros(len(lengths), dtype=bool)
    strange[token_of[foreign]] = True
    kinds = np.where(strange & lettered, TokenKind.UNUSED, kinds).astype(np.uint8)
    lettered &= ~strange

    bytes_out = np.where(lettered[token_of], spelled, raw).astype(np.uint8)
    kept = ~(lettered[token_of] & second)
    for token, byte in singles.items():
        start, end = tokens.offsets[token], tokens.offsets[token + 1]
        bytes_out[start], kept[start + 1 : end] = byte, False
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(np.bincount(token_of[kept], minlength=len(lengths)), out=offsets[1:])
    return Vocabulary(bytes_out[kept].tobytes(), offsets, kinds)


def plain_vocabulary(tokens: StringArray, kinds: NDArray[np.uint8]) -> Vocabulary:
    """The vocabulary of a file that writes its tokens plainly; `kinds` has shape (n,)."""
    singles = _single_bytes(tokens, kinds)
    spelled = tokens.tolist()
    for token in np.flatnonzero(kinds == TokenKind.NORMAL).tolist():
        spelled[token] = spelled[token].replace(_BLANK, b" ")
    for token, byte in singles.items():
        spelled[token] = bytes([byte])
    return Vocabulary.from_tokens(spelled, kinds.tolist())


def _alphabet() -> NDArray[np.int16]:
    """Shape (0x180,): code point to byte, -1 for what is no letter of the byte-level alphabet."""
    table = np.full(0x180, -1, dtype=np.int16)
    for code, byte in byte_level_alphabet().items():
        if byte < 256:
            table[code] = byte
    return table


def _single_bytes(tokens: StringArray, kinds: NDArray[np.uint8]) -> dict[int, int]:
    """Token to byte for the tokens of the kind BYTE that are written like `<0x0A>`."""
    found = {}
    for token in np.flatnonzero(kinds == TokenKind.BYTE).tolist():
        name = tokens.blob[tokens.offsets[token] : tokens.offsets[token + 1]]
        digits = name.removeprefix(b"<0x").removesuffix(b">")
        if len(name) == 6 and len(digits) == 2 and digits.isalnum():
            try:
                found[token] = int(digits, 16)
            except ValueError:
                continue
    return found
