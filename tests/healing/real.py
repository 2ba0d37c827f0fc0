"""Tokenizations of real models, for tests: the tables of the file and llama.cpp's own tokenizer.

No tensors are loaded. Example::

    with tokenization_of_file(vocabularies()["starcoder"]) as tokenization:
        tokenization.encode(b"import numpy")
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from healing.tokenization import Tokenization
from healing.trie import PrefixTrie
from server.engine.llama_vocabulary import Encoder
from server.engine.tables import load_tables
from server.models.store import resolve
from tests.vocabularies import vocabularies, vocabulary_only

DEFAULT = "default model"
"""In `file_of`: the model that is fetched by `make model`."""


def file_of(name: str) -> Path:
    """The file of a vocabulary by name: `DEFAULT`, or one of `tests.vocabularies`."""
    return resolve("qwen2.5-coder-0.5b") if name == DEFAULT else vocabularies()[name]


@contextmanager
def tokenization_of_file(path: Path) -> Iterator[Tokenization]:
    """The tokenizer in a model file; it can be used until the context ends."""
    tables = load_tables(path)
    vocabulary = tables.vocabulary
    with vocabulary_only(path) as pointer:
        encoder = Encoder(pointer, vocabulary)
        merges = tables.neighbours(encoder.encode)
        yield Tokenization(vocabulary, PrefixTrie.build(vocabulary), encoder.encode, merges)
