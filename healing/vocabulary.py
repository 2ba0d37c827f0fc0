"""What every token of a model spells, in bytes.

A vocabulary maps token id to bytes and to a kind. Everything above it works on these bytes alone,
so it does not matter whether the model file wrote a blank as ` `, `Ġ` or `▁`.

Example, a toy vocabulary::

    >>> kinds = [TokenKind.NORMAL, TokenKind.NORMAL, TokenKind.CONTROL]
    >>> vocabulary = Vocabulary.from_tokens([b"a", b"ab", b"<end>"], kinds)
    >>> vocabulary[1]
    b'ab'
    >>> vocabulary.text_ids().tolist()
    [0, 1]

What is not here: how text becomes ids (`encoding`), and which ids may follow each other (`merges`,
`covers`).
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer


class TokenKind(IntEnum):
    """What a token is for; only NORMAL and BYTE tokens may spell generated text."""

    NORMAL = 1
    """Ordinary text."""
    UNKNOWN = 2
    """Stands for text that the vocabulary cannot spell."""
    CONTROL = 3
    """Structure of the prompt (end of text, fill-in-the-middle marks); never text."""
    USER_DEFINED = 4
    """Text added to the vocabulary after training, matched before any other token."""
    UNUSED = 5
    """An id without a meaning."""
    BYTE = 6
    """One byte, used where no other token spells a character."""


@dataclass(frozen=True)
class Vocabulary:
    """The bytes and the kind of every token.

    `0 == offsets[0] <= offsets[i] <= offsets[i + 1] <= len(blob)` is checked once, here.
    """

    blob: bytes
    """The bytes of all tokens, one after the other in the order of their ids."""
    offsets: NDArray[np.int64]
    """Shape (n + 1,): token `i` spells `blob[offsets[i]:offsets[i + 1]]`."""
    kinds: NDArray[np.uint8]
    """Shape (n,): a `TokenKind` for every token."""

    def __post_init__(self) -> None:
        if len(self.offsets) != len(self.kinds) + 1:
            raise ValueError(
                f"{len(self.kinds)} kinds need one offset more, not {len(self.offsets)}"
            )
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.blob):
            raise ValueError(f"the offsets do not span the blob of {len(self.blob)} bytes")
        if (np.diff(self.offsets) < 0).any():
            raise ValueError("the offsets go backwards")

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, token: int) -> bytes:
        """The bytes of one token; IndexError for an id that does not exist.

        Tokens that are not text (control, unknown, unused) have their name as bytes, for reports.
        """
        if not 0 <= token < len(self.kinds):
            raise IndexError(f"token id {token} is outside the vocabulary of {len(self)} tokens")
        return self.blob[self.offsets[token] : self.offsets[token + 1]]

    def decode(self, tokens: Iterable[int]) -> bytes:
        """The bytes of several tokens, joined."""
        return b"".join(self[token] for token in tokens)

    def kind(self, token: int) -> TokenKind:
        """The kind of one token."""
        return TokenKind(int(self.kinds[token]))

    def text_ids(self) -> NDArray[np.int64]:
        """The ids that may spell generated text, ascending: normal and byte tokens, not empty.

        Added text (`USER_DEFINED`) is left out: the encoder here treats what it spells as plain
        text, so a model that was given plain text never had to produce it (but see
        `with_plain_additions`).
        """
        return self._text_ids

    @cached_property
    def other_ids(self) -> NDArray[np.int64]:
        """The ids that may not, ascending."""
        return np.setdiff1d(np.arange(len(self)), self._text_ids, assume_unique=True)

    @cached_property
    def _text_ids(self) -> NDArray[np.int64]:
        text = (self.kinds == TokenKind.NORMAL) | (self.kinds == TokenKind.BYTE)
        ids = np.flatnonzero(text & (np.diff(self.offsets) > 0))
        ids.flags.writeable = False
        return ids

    def byte_ids(self) -> dict[int, int]:
        """Byte value to the id of the token that spells this byte alone (as many as there are)."""
        found: dict[int, int] = {}
        ids = self.text_ids()
        single = ids[np.diff(self.offsets)[ids] == 1]
        for token in single.tolist():
            found.setdefault(self.blob[int(self.offsets[token])], token)
        return found

    @cached_property
    def longest(self) -> int:
        """The length in bytes of the longest token that may spell text."""
        ids = self.text_ids()
        return int(np.diff(self.offsets)[ids].max()) if len(ids) else 0

    def with_plain_additions(self) -> "Vocabulary":
        """The same with those added tokens NORMAL that can be nothing but text, not marks.

        These are runs of blanks (GPT-NeoX has them) and single characters (DeepSeek). In training,
        too, text was first split at them: a model has never seen four blanks as two and two.
        """
        kinds = self.kinds.copy()
        for token in np.flatnonzero(kinds == TokenKind.USER_DEFINED).tolist():
            text = self[token]
            if not text.strip() or len(text.decode("utf-8", "replace")) == 1:
                kinds[token] = TokenKind.NORMAL
        return Vocabulary(self.blob, self.offsets, kinds)

    def with_control(self, marks: Iterable[int]) -> "Vocabulary":
        """The same with these ids as CONTROL: some files call a mark text."""
        kinds = self.kinds.copy()
        kinds[list(marks)] = TokenKind.CONTROL
        return Vocabulary(self.blob, self.offsets, kinds)

    @staticmethod
    def from_tokens(tokens: Sequence[bytes], kinds: Sequence[int]) -> "Vocabulary":
        """A vocabulary from plain lists, one entry a token."""
        offsets = np.zeros(len(tokens) + 1, dtype=np.int64)
        np.cumsum([len(token) for token in tokens], out=offsets[1:])
        return Vocabulary(b"".join(tokens), offsets, np.asarray(kinds, dtype=np.uint8))

    @staticmethod
    def from_byte_level(tokens: Sequence[str], kinds: Sequence[int]) -> "Vocabulary":
        """A vocabulary from tokens written in the byte-level alphabet of GPT-2.

        Tokens that are not text, and added ones, are written plainly in such files and taken as
        UTF-8. Raises ValueError for a normal token with a character outside the alphabet.
        """
        plain = {TokenKind.NORMAL, TokenKind.BYTE}
        alphabet = byte_level_alphabet()
        spelled = []
        for token, kind in zip(tokens, kinds, strict=True):
            if kind in plain:
                try:
                    spelled.append(token.translate(alphabet).encode("latin-1"))
                except UnicodeEncodeError as error:
                    raise ValueError(
                        f"token {len(spelled)} {token!r} is not in the byte-level alphabet"
                    ) from error
            else:
                spelled.append(token.encode())
        return Vocabulary.from_tokens(spelled, kinds)

    @staticmethod
    def from_tokenizer(tokenizer: Tokenizer) -> "Vocabulary":
        """A vocabulary from a Hugging Face tokenizer with a byte-level alphabet.

        Added tokens are CONTROL if the tokenizer calls them special, else USER_DEFINED. Ids that
        the tokenizer skips are UNUSED. Tokenizers without a byte-level step spell their tokens as
        plain text. Raises ValueError for an empty tokenizer.
        """
        description = json.loads(tokenizer.to_str())
        ids = tokenizer.get_vocab(with_added_tokens=True)
        if not ids:
            raise ValueError("the tokenizer has no tokens")
        size = max(ids.values()) + 1
        tokens = [""] * size
        kinds = [TokenKind.UNUSED] * size
        for token, index in ids.items():
            tokens[index], kinds[index] = token, TokenKind.NORMAL
        for added in description["added_tokens"]:
            kinds[added["id"]] = TokenKind.CONTROL if added["special"] else TokenKind.USER_DEFINED
        if "ByteLevel" in json.dumps([description["pre_tokenizer"], description["decoder"]]):
            return Vocabulary.from_byte_level(tokens, kinds)
        unknown = description["model"].get("unk_token")
        if unknown in ids:
            kinds[ids[unknown]] = TokenKind.UNKNOWN
        return Vocabulary.from_tokens([token.encode() for token in tokens], kinds)


@cache
def byte_level_alphabet() -> dict[int, int]:
    """Code point in a byte-level token file to the byte it stands for (a table for `translate`).

    The scheme is GPT-2's `bytes_to_unicode`: printable bytes stand for themselves, the others take
    the code points from 256 up, in order.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {byte: byte for byte in printable}
    others = [byte for byte in range(256) if byte not in table]
    # A blank or a control character is no letter of the alphabet: it is made to stand for something
    # that is no byte, so that what uses it is refused.
    table.update(dict.fromkeys(others, 0x10FFFF))
    table.update({256 + index: byte for index, byte in enumerate(others)})
    return table
