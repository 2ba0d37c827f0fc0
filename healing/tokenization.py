"""A model's tokenizer, as much of it as healing needs."""

from dataclasses import dataclass

from healing.encoding import Encode
from healing.merges import Merges
from healing.trie import PrefixTrie
from healing.vocabulary import Vocabulary


@dataclass(frozen=True)
class Tokenization:
    """Everything that healing needs to know of a tokenizer."""

    vocabulary: Vocabulary
    trie: PrefixTrie
    """Over this vocabulary."""
    encode: Encode
    """Text to ids, nothing added (see `encoding`)."""
    merges: Merges | None
    """The merge list of byte-pair encoding, where it is known: it makes the search quicker."""
