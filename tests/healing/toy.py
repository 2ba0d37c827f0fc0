"""Vocabularies small enough to enumerate every text, and a model that is a table."""

from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from healing.encoding import tokenizer_encode
from healing.merges import Merges
from healing.tokenization import Tokenization
from healing.trie import PrefixTrie
from healing.vocabulary import TokenKind, Vocabulary

QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""One digit a token; one other character sticks to the word after it; line ends swallow blanks."""
GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""Any run of digits; a blank, but nothing else, sticks to what follows it."""
LLAMA_3 = QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
"""Digits in groups of up to three, from the left."""
FROM_THE_RIGHT = QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}(?=(?:\p{N}{3})*(?:\P{N}|$))|")
"""Digits in groups of three from the right, as thousands are written."""
WORDS = r"\s?\p{L}+|\s?[^\s\p{L}\p{N}]+|\p{N}|\s+"
"""Any blank, line ends too, sticks to the word after it."""
WHOLE = r"[\s\S]+"
"""No pretokenizer at all: merges run across blanks."""

SPLITS = {
    "qwen": QWEN,
    "gpt-2": GPT_2,
    "llama-3": LLAMA_3,
    "from the right": FROM_THE_RIGHT,
    "words": WORDS,
    "whole": WHOLE,
}

ASCII = "ab (1\n'"
CORPUS = (
    "ab (ab( b a (a b  a\n  ab\n    (b 1 11 a1\n\n a  (1\n  b\nab'b 'a  1 111 ba\n (b\n b"
    "abab (1 (a\n\n\na 'b' b\n   a    b\n"
)


def byte_level(split: str, corpus: str, size: int, longest: int) -> Tokenizer:
    """A byte-pair tokenizer with a byte-level alphabet, trained on a small corpus."""
    tokenizer = with_pretokenizer(models.BPE(), split)
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<end>"], max_token_length=longest, show_progress=False
    )
    tokenizer.train_from_iterator([corpus, corpus[::-1], corpus[7:] + corpus[:7]], trainer)
    return tokenizer


def with_pretokenizer(model: models.BPE, split: str) -> Tokenizer:
    """A tokenizer that splits by a pattern and spells bytes in the byte-level alphabet."""
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(split), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def merges_of(tokenizer: Tokenizer, size: int) -> Merges:
    """The merge list of a byte-pair tokenizer."""
    import json

    ids = tokenizer.get_vocab()
    pairs = json.loads(tokenizer.to_str())["model"]["merges"]
    table = [(ids[a], ids[b], ids[a + b]) for a, b in pairs]
    return Merges(np.array(table, dtype=np.int32).reshape(-1, 3), size)


def tokenization_of(tokenizer: Tokenizer, *, merges: bool = True) -> Tokenization:
    """Everything that healing needs to know of a byte-pair tokenizer."""
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    return Tokenization(
        vocabulary,
        PrefixTrie.build(vocabulary),
        tokenizer_encode(tokenizer, vocabulary.byte_ids()),
        merges_of(tokenizer, len(vocabulary)) if merges else None,
    )


@cache
def toy(name: str, *, merges: bool = True) -> tuple[Tokenizer, Tokenization]:
    """A toy byte-pair tokenizer by the name of its pretokenizer."""
    tokenizer = byte_level(SPLITS[name], CORPUS, 34, 3)
    return tokenizer, tokenization_of(tokenizer, merges=merges)


@cache
def other(kind: str) -> tuple[Tokenizer, Tokenization]:
    """A Unigram or WordPiece tokenizer over the toy alphabet, without byte tokens."""
    if kind == "unigram":
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.UnigramTrainer(
            vocab_size=30, special_tokens=["?"], unk_token="?", show_progress=False
        )
    else:
        tokenizer = Tokenizer(models.WordPiece(unk_token="?", continuing_subword_prefix=""))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.WordPieceTrainer(
            vocab_size=30,
            special_tokens=["?"],
            continuing_subword_prefix="",
            show_progress=False,
        )
    tokenizer.train_from_iterator([CORPUS], trainer)
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    encode = tokenizer_encode(tokenizer, vocabulary.byte_ids())
    return tokenizer, Tokenization(vocabulary, PrefixTrie.build(vocabulary), encode, None)


@cache
def small(name: str, alphabet: str) -> tuple[Tokenizer, Tokenization]:
    """A toy byte-pair tokenizer over a part of the alphabet: fewer texts to enumerate."""
    corpus = "".join(letter for letter in CORPUS * 2 if letter in alphabet)
    tokenizer = byte_level(SPLITS[name], corpus, 22, 3)
    return tokenizer, tokenization_of(tokenizer)


@cache
def every_byte() -> Tokenization:
    """A toy tokenizer with a token for every byte, and some more."""
    tokenizer = with_pretokenizer(models.BPE(), QWEN)
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<end>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(
        ["日本語 é 日本 ab\n  ab (1)", "👨‍👩‍👧 👨 ab ab é日本語"], trainer
    )
    return tokenization_of(tokenizer)


WHOLE_WORDS = [("a", "b"), ("b", "b"), ("Ġ", "a"), ("ab", "1")]
"""Merges of `ignoring_merges`; no merge makes `abb` and `Ġba`, and `ab1` is never one pretoken."""


@cache
def ignoring_merges() -> tuple[Tokenizer, Tokenization]:
    """A toy tokenizer that takes a pretoken whole if it is a token, as Llama 3 does it."""
    letters = ["<end>", "a", "b", "1", "Ġ", *(left + right for left, right in WHOLE_WORDS)]
    ids = {letter: index for index, letter in enumerate([*letters, "abb", "Ġba"])}
    tokenizer = with_pretokenizer(models.BPE(ids, WHOLE_WORDS, ignore_merges=True), QWEN)
    tokenizer.add_special_tokens(["<end>"])
    return tokenizer, tokenization_of(tokenizer)


CLOSED = "本朜欜欬"
"""The characters that the bytes of 本 (E6 9C AC) can make: cut anywhere, they go on as these."""
CLOSED_MERGES = [
    *[("¬", "æ"), ("Ġ", "a"), ("æ", "ľ"), ("ľ", "¬æ"), ("¬", "¬æ"), ("æľ", "ľ"), ("æľ", "¬")],
    *[("Ġa", "a"), ("¬", "¬"), ("Ġ", "æľ")],
]
"""In the letters of the byte-level alphabet: æ is E6, ľ is 9C, ¬ is AC, Ġ is a blank."""


@cache
def closed() -> tuple[Tokenizer, Tokenization]:
    """A toy tokenizer whose tokens end inside characters, over `CLOSED`, `a` and the blank."""
    letters = ["<end>", "æ", "ľ", "¬", "a", "Ġ", *(left + right for left, right in CLOSED_MERGES)]
    ids = {letter: index for index, letter in enumerate(letters)}
    tokenizer = with_pretokenizer(models.BPE(ids, CLOSED_MERGES), QWEN)
    tokenizer.add_special_tokens(["<end>"])
    return tokenizer, tokenization_of(tokenizer)


class TableModel:
    """A language model that is a table: random logits for every path, always the same ones."""

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seed = size, seed
        self.calls = 0

    def __call__(self, path: tuple[int, ...]) -> NDArray[np.float64]:
        """The logits after a path, shape (size,), float64."""
        self.calls += 1
        return np.random.default_rng([self.seed, len(path), *path]).normal(0, 2, self.size)


def texts(alphabet: str, longest: int) -> list[str]:
    """All texts over an alphabet, up to a length."""
    return [
        "".join(letters)
        for size in range(longest + 1)
        for letters in product(alphabet, repeat=size)
    ]


def stops_of(vocabulary: Vocabulary) -> list[int]:
    """The ids of a toy vocabulary's control tokens."""
    return np.flatnonzero(vocabulary.kinds == TokenKind.CONTROL).tolist()
