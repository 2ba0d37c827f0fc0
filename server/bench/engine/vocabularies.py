"""What grows with the size of a vocabulary: tables, covering trees, a choice.

Smaller vocabularies are the model's own after its first merges; larger ones have more merges, of
pairs of its tokens drawn by chance. Both are real byte-pair vocabularies with an encoder. Only for
models with a byte-level one.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers

from healing.covers import covering_tree
from healing.encoding import tokenizer_encode
from healing.merges import Merges
from healing.sampling import GREEDY
from healing.tokenization import Tokenization
from healing.trie import PrefixTrie
from healing.vocabulary import TokenKind, Vocabulary, byte_level_alphabet
from server.bench.engine.timing import milliseconds, spread
from server.bench.holes import holes, standard_library
from server.choosing import Chooser
from server.engine.tables import Tables

SIZES = (32_000, 64_000, 128_000, 256_000)
"""Tokens of a vocabulary."""
LONGEST = 16
"""Bytes of a token that is made by chance."""


def measure(tables: Tables, places: int, seed: int) -> dict[str, Any]:
    """Milliseconds of the things that are done with a vocabulary, for each size."""
    lines = [
        hole.before[hole.before.rfind(b"\n") + 1 :]
        for hole in islice(holes(standard_library(), seed), places)
    ]
    return {str(size): _measure(tables, size, lines, seed) for size in SIZES}


def _measure(tables: Tables, size: int, lines: Sequence[bytes], seed: int) -> dict[str, Any]:
    tokens, merges = vocabulary_of(tables, size, seed)
    vocabulary = Vocabulary.from_tokens(tokens, [TokenKind.NORMAL] * size)
    tries: list[PrefixTrie] = []
    build = milliseconds(lambda: tries.append(PrefixTrie.build(vocabulary)))
    pairs = Merges(merges, size)
    prepare = milliseconds(lambda: pairs.separate(0, 1))
    encode = tokenizer_encode(_tokenizer(tokens, merges), vocabulary.byte_ids())
    tokenization = Tokenization(vocabulary, tries[0], encode, pairs)
    chooser = Chooser(
        tokenization, vocabulary.other_ids, frozenset(), GREEDY, np.random.default_rng(seed), None
    )
    logits = np.random.default_rng(seed).normal(0, 3, size).astype(np.float32)
    covering_tree(lines[0], tokenization)
    chooser(logits)
    return {
        "order_ms": round(build, 3),
        "merges_ms": round(prepare, 3),
        "tree_ms": spread([milliseconds(lambda: covering_tree(line, tokenization))  # noqa: B023
                           for line in lines]),
        "choice_ms": spread([milliseconds(lambda: chooser(logits)) for _ in range(50)]),
        "memory_bytes": vocabulary.offsets.nbytes + len(vocabulary.blob) + merges.nbytes
        + tries[0].memory_bytes(),
    }  # fmt: skip


def vocabulary_of(tables: Tables, size: int, seed: int) -> tuple[list[bytes], NDArray[np.int32]]:
    """The tokens of a vocabulary of a size, and its merges, shape (size - 256, 3)."""
    tokens = [bytes([value]) for value in range(256)]
    ids = {token: index for index, token in enumerate(tokens)}
    merges: list[tuple[int, int, int]] = []
    for left, right in _pairs(tables, tokens, seed):
        if len(tokens) == size:
            break
        if left + right not in ids and left in ids and right in ids:
            ids[left + right] = len(tokens)
            merges.append((ids[left], ids[right], len(tokens)))
            tokens.append(left + right)
    return tokens, np.array(merges, dtype=np.int32)


def _pairs(tables: Tables, tokens: Sequence[bytes], seed: int) -> Iterator[tuple[bytes, bytes]]:
    """The pairs that the model merges, in its order, and then others of `tokens`, without end."""
    for left, right, _ in tables.merges.tolist():
        yield tables.vocabulary[left], tables.vocabulary[right]
    chance = random.Random(seed)  # noqa: S311 (no secrets here)
    while True:
        left, right = tokens[chance.randrange(len(tokens))], tokens[chance.randrange(len(tokens))]
        if len(left + right) <= LONGEST and right.isalpha() and left.strip().isalpha():
            yield left, right


def _tokenizer(tokens: Sequence[bytes], merges: NDArray[np.int32]) -> Tokenizer:
    letters = {byte: chr(code) for code, byte in byte_level_alphabet().items() if byte < 256}
    names = ["".join(letters[byte] for byte in token) for token in tokens]
    tokenizer = Tokenizer(
        models.BPE(
            vocab={name: index for index, name in enumerate(names)},
            merges=[(names[left], names[right]) for left, right, _ in merges.tolist()],
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer
