"""A model's tokenizer, as much of it as healing needs."""

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from healing.encoding import Encode
from healing.merges import Neighbours
from healing.trie import PrefixTrie
from healing.vocabulary import Vocabulary

WITNESSES: tuple[bytes, ...] = (
    *(b"", b"a", b"1", b"\n", b" ", b"(", b" a", b"\n  b", b'"', b"'s", b"A"),
    *(
        b"  a",
        b"\n\n",
        b"\r\n",
        b"111",
        b"11",
        b"_",
        b".",
        b" (",
        b" 1",
        "é".encode(),
        "本".encode(),
    ),
)
"""Continuations that make pretokenizers show every split they can make; the likely ones first.

The rules they are for: a blank run gives its last blank to a word (`a`, ` a`, `  a`) but not to a
digit (`1`, ` 1`); line ends swallow blanks before them and join (`\\n`, `\\n  b`, `\\n\\n`,
`\\r\\n`) and are swallowed by punctuation (`(`, `"`, `.`); contractions (`'s`); groups of up to
three digits; changes of case (`A`) and of script.
"""


@dataclass(frozen=True)
class Tokenization:
    """Everything that healing needs to know of a tokenizer."""

    vocabulary: Vocabulary
    trie: PrefixTrie
    """Over this vocabulary."""
    encode: Encode
    """Text to ids, nothing added (see `encoding`)."""
    merges: Neighbours | None
    """What byte-pair encoding may leave side by side, where that is known: it makes the search
    quicker. None for other ways to split."""

    @cached_property
    def witnesses(self) -> tuple[bytes, ...]:
        """The `WITNESSES` that this vocabulary can spell."""
        return tuple(w for w in WITNESSES if self.vocabulary.decode(self.encode(w)) == w)

    @cached_property
    def inner_tokens(self) -> tuple[tuple[int, bytes], ...]:
        """The tokens that start inside a UTF-8 character and what they spell, short ones first."""
        ids = np.concatenate([self.trie.starting_with(bytes([b])) for b in range(0x80, 0xC0)])
        spelled = ((token, self.vocabulary[token]) for token in ids.tolist())
        return tuple(sorted(spelled, key=lambda entry: (len(entry[1]), entry[1])))

    @cached_property
    def known_reachable(self) -> dict[int, bool]:
        """What `reachable` has found out about tokens."""
        return {}

    @cached_property
    def known_admissible(self) -> dict[tuple[tuple[int, ...], int], bool]:
        """What `admissible` has found out about paths and the tokens after them."""
        return {}

    @cached_property
    def falls_back_on_bytes(self) -> bool:
        """Whether only tokens of single bytes start inside characters."""
        return all(len(piece) == 1 for _, piece in self.inner_tokens)

    def sure_boundary(self, text: bytes, limit: int) -> int:
        """The last offset up to `limit` at which the text is split, whatever follows; 0 for none.

        That is between an ASCII letter or digit and a blank: no known pretokenizer lets a word take
        in the blank after it. Vocabularies with tokens across such places have no sure boundaries.
        """
        found = 0
        if self._splits_after_words:
            for match in re.finditer(rb"[0-9A-Za-z](?=[ \t\n])", text[: max(0, limit) + 1]):
                found = match.end()
        return found

    @cached_property
    def _splits_after_words(self) -> bool:
        """Whether no token that spells text goes from a letter or digit on to a blank."""
        vocabulary = self.vocabulary
        blob = np.frombuffer(vocabulary.blob, dtype=np.uint8)
        is_word = np.zeros(256, dtype=bool)
        is_word[list(b"0123456789" + bytes(range(65, 91)) + bytes(range(97, 123)))] = True
        is_blank = np.isin(np.arange(256), list(b" \t\n"))
        blanks = np.flatnonzero(is_word[blob[:-1]] & is_blank[blob[1:]]) + 1
        owners = np.searchsorted(vocabulary.offsets, blanks, side="right") - 1
        inside = owners[vocabulary.offsets[owners] < blanks]
        return not np.isin(inside, vocabulary.text_ids()).any()
