"""The model of the benchmark, with the bare llama.cpp context that is inside its engine."""

from dataclasses import dataclass
from pathlib import Path

from healing.tokenization import Tokenization
from healing.trie import PrefixTrie
from server.completer import Completer
from server.engine.llama import LlamaEngine
from server.engine.llama_load import EngineOptions, Loaded, load_model
from server.engine.tables import Tables, load_tables


@dataclass(frozen=True)
class Model:
    """A loaded model, seen from above and from below."""

    path: Path
    loaded: Loaded
    """llama.cpp's own; belongs to the engine."""
    engine: LlamaEngine
    tables: Tables
    completer: Completer


def load(path: Path, options: EngineOptions) -> Model:
    """Load a model as the server does; closing the completer frees it.

    Raises ModelError or EngineError, as loading does anywhere.
    """
    tables = load_tables(path)
    loaded = load_model(path, options)
    engine = LlamaEngine(loaded, tables.vocabulary, options.slots)
    vocabulary, encode = engine.vocabulary, engine.encode
    tokenization = Tokenization(
        vocabulary, PrefixTrie.build(vocabulary), encode, tables.neighbours(encode)
    )
    return Model(path, loaded, engine, tables, Completer(engine, tokenization, exact=tables.exact))
