"""What llama.cpp itself says of a model's vocabulary, and its tokenizer for plain text.

`vocabulary_of` is the slow, sure way to a `Vocabulary` (`tables` is the fast one): the two must
agree. `Encoder` turns bytes into ids so that text stays text, whatever it spells.

What is not here: the merges, which the library does not hand out.
"""

import ctypes
import re

import numpy as np
from numpy.typing import NDArray

from healing.encoding import encode_bytes
from healing.vocabulary import TokenKind, Vocabulary
from server.engine.llama_library import Pointer, load_library
from server.errors import EngineError

VOCABULARY_TYPES = {
    0: "none",
    1: "SentencePiece BPE",
    2: "byte-level BPE",
    3: "WordPiece",
    4: "unigram",
    5: "RWKV",
    6: "PLaMo-2",
}

_BLANK = "▁"

# Bits of `llama_token_attr`, most telling first: a token may have several.
_KIND_OF_ATTRIBUTE = (
    (1 << 3, TokenKind.CONTROL),
    (1 << 0, TokenKind.UNKNOWN),
    (1 << 4, TokenKind.USER_DEFINED),
    (1 << 5, TokenKind.BYTE),
    (1 << 2, TokenKind.NORMAL),
)


def vocabulary_of(vocabulary: Pointer) -> Vocabulary:
    """The bytes and kinds of all tokens of a `llama_vocab`, asked for one by one."""
    library = load_library()
    ids = range(library.llama_vocab_n_tokens(vocabulary))
    attribute, to_piece = library.llama_vocab_get_attr, library.llama_token_to_piece
    kinds = _kinds(np.array([attribute(vocabulary, token) for token in ids], dtype=np.int32))
    capacity = 256
    buffer = ctypes.create_string_buffer(capacity)
    tokens = []
    for token in ids:
        length = to_piece(vocabulary, token, buffer, capacity, 0, True)
        if length < 0:
            capacity = -length
            buffer = ctypes.create_string_buffer(capacity)
            length = to_piece(vocabulary, token, buffer, capacity, 0, True)
        tokens.append(buffer.raw[:length])
    for token in np.flatnonzero((kinds != TokenKind.NORMAL) & (kinds != TokenKind.BYTE)).tolist():
        # Unused tokens have no piece; what is not text has its name as bytes.
        tokens[token] = tokens[token] or library.llama_vocab_get_text(vocabulary, token)
    return Vocabulary.from_tokens(tokens, kinds.tolist()).with_plain_additions()


def _kinds(attributes: NDArray[np.int32]) -> NDArray[np.uint8]:
    kinds = np.full(len(attributes), TokenKind.UNUSED, dtype=np.uint8)
    for bit, kind in reversed(_KIND_OF_ATTRIBUTE):
        kinds[attributes & bit != 0] = kind
    return kinds


def announced_marks(vocabulary: Pointer) -> dict[str, int]:
    """The fill-in-the-middle ids that llama.cpp knows of a `llama_vocab`, by its short names."""
    library = load_library()
    names = ("pre", "suf", "mid", "pad", "rep", "sep")
    ids = {name: int(getattr(library, f"llama_vocab_fim_{name}")(vocabulary)) for name in names}
    return {name: token for name, token in ids.items() if token >= 0}


def bos_token(vocabulary: Pointer) -> int | None:
    """The beginning-of-sequence id of a `llama_vocab`, if it has one."""
    token = load_library().llama_vocab_bos(vocabulary)
    return token if token >= 0 else None


def stop_tokens(pointer: Pointer, vocabulary: Vocabulary) -> frozenset[int]:
    """Ids of a `llama_vocab` that end a text: ends of text and turn, and marks of its structure.

    `vocabulary` is the same one in bytes: llama.cpp makes every end a CONTROL token, so the other
    tokens need not be asked about.
    """
    library = load_library()
    control = np.flatnonzero(vocabulary.kinds == TokenKind.CONTROL).tolist()
    ends = {token for token in control if library.llama_vocab_is_eog(pointer, token)}
    names = ["bos", "eos", "eot", "sep", "pad", "mask"]
    names += ["fim_pre", "fim_suf", "fim_mid", "fim_pad", "fim_rep", "fim_sep"]
    marks = {getattr(library, f"llama_vocab_{name}")(pointer) for name in names}
    return frozenset(token for token in ends | marks if token >= 0)


class Encoder:
    """Plain bytes to ids with a model's own tokenizer.

    It adds no blank before a text, if the `llama_vocab` doesn't (`add_space_prefix`).
    """

    def __init__(self, pointer: Pointer, vocabulary: Vocabulary) -> None:
        """Take a `llama_vocab` and the same vocabulary in bytes."""
        self._library = load_library()
        self._pointer = pointer
        self._bytes = vocabulary.byte_ids()
        escaped = vocabulary.decode(self._tokenize(_BLANK.encode()))
        self.escapes_blanks = escaped == b" "
        """Whether the vocabulary writes blanks as `▁`, and so takes that for one."""
        self._marks = self._pattern_of_marks(vocabulary)

    def encode(self, text: bytes) -> list[int]:
        """The ids that spell `text`: no special token, nothing added, nothing replaced.

        Bytes that are no UTF-8 become tokens of one byte each. Raises EngineError if the vocabulary
        has no token for such a byte.
        """
        try:
            return encode_bytes(self._encode_text, self._bytes, text)
        except ValueError as error:
            raise EngineError(
                f"the model's vocabulary can't spell the text ({error}); save the file as UTF-8"
            ) from error

    def _encode_text(self, text: bytes) -> list[int]:
        ids: list[int] = []
        for part in self._without_marks(text.decode()):
            if self.escapes_blanks and _BLANK in part:
                ids += self._with_bytes_for_blanks(part)
            else:
                ids += self._tokenize(part.encode())
        return ids

    def _without_marks(self, text: str) -> list[str]:
        """Split inside the marks: llama.cpp matches some of them in plain text, or merges them."""
        if self._marks is None:
            return [text]
        parts, start = [], 0
        while match := self._marks.search(text, start):
            parts.append(text[start : match.start() + 1])
            start = match.start() + 1
        return [*parts, text[start:]]

    def _with_bytes_for_blanks(self, text: str) -> list[int]:
        """The ids of a text with `▁` in it: the bytes that spell this character, not a blank."""
        first, *others = text.split(_BLANK)
        ids = self._tokenize(first.encode())
        for part in others:
            ids += [self._bytes[byte] for byte in _BLANK.encode()]
            ids += self._tokenize(part.encode())
        return ids

    def _tokenize(self, text: bytes) -> list[int]:
        if not text:
            return []
        capacity = len(text) + 8
        while True:
            buffer = (ctypes.c_int32 * capacity)()
            count = self._library.llama_tokenize(
                self._pointer, text, len(text), buffer, capacity, False, False
            )
            if count >= 0:
                return buffer[:count]
            capacity = -count

    def _pattern_of_marks(self, vocabulary: Vocabulary) -> re.Pattern[str] | None:
        """What texts of two characters or more come out as a token that is not text, longest first.

        Added text does always; names of other tokens do if merges happen to lead there. What is
        UNUSED among tokens in an alphabet for bytes has other letters, so that none can.
        """
        kinds = vocabulary.kinds
        asked = (kinds != TokenKind.NORMAL) & (self.escapes_blanks | (kinds != TokenKind.UNUSED))
        found = set()
        for token in np.flatnonzero(asked).tolist():
            name = vocabulary[token]
            if kinds[token] == TokenKind.BYTE:
                name = b"<0x%02X>" % name[0] if len(name) == 1 else name
            if kinds[token] == TokenKind.USER_DEFINED or token in self._tokenize(name):
                found.add(name.decode("utf-8", "replace"))
        ordered = sorted((name for name in found if len(name) > 1), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, ordered))) if ordered else None
