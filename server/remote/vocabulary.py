"""The tokenizer of a model that runs elsewhere: from a file of its own, or from the engine.

A `tokenizer.json` (byte-level ones, which nearly all models for code have) or a GGUF file, of which
the vocabulary alone is read, make prompts without asking anybody, and heal as far back as spellings
can differ. Without a file the engine is asked (`served`): no file is needed, prompts take a few
more requests, and healing goes back some tokens.
"""

import ctypes
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from tokenizers import Tokenizer

from healing.encoding import tokenizer_encode
from healing.tokenization import Tokenization
from healing.trie import PrefixTrie
from healing.vocabulary import TokenKind, Vocabulary
from server.engine import FimTokens
from server.engine.fim_dialects import fim_tokens, token_named
from server.engine.gguf import read_metadata
from server.engine.llama_library import load_library, no_blank_before_texts
from server.engine.llama_vocabulary import (
    VOCABULARY_TYPES,
    Encoder,
    announced_marks,
    bos_token,
    stop_tokens,
    vocabulary_of,
)
from server.engine.tables import load_tables
from server.errors import EngineError, ModelError, UnknownVocabularyError
from server.models import store
from server.plain_files import fault_of, shortened
from server.remembered_encode import RememberedEncode
from server.remote.client import Client
from server.remote.discovery import Found
from server.remote.served import (
    ENDS,
    LearnedVocabulary,
    ServedEncode,
    first_tokens,
    learn_marks,
)
from server.remote.splitting import EngineTokenizer, LlamaTokenizer, VllmTokenizer

MOST_BYTES = 1 << 28
"""A larger `tokenizer.json` is none."""

PROBE = "def area(width, height):\n    return round(width * 3.14, 20)  # größer, 本\n"
"""What is split by a file and by the engine, to see that both are of one model."""

USUAL = {"pre": "prefix", "suf": "suffix", "mid": "middle", "pad": "pad"}
"""llama.cpp's short names of marks, and the longer ones that vocabularies have."""

SENTENCEPIECE = 1
"""llama.cpp's number of the kind of vocabulary that puts a blank before a text, by default."""


@dataclass(frozen=True)
class Known:
    """What is known of a model's tokens."""

    tokenization: Tokenization
    kind: str
    """As `ModelInfo.vocabulary_type`."""
    fim: FimTokens | None
    start: tuple[int, ...]
    """Tokens before every text."""
    stops: frozenset[int]
    """Tokens that end an answer."""
    exact: bool
    """Whether covering trees understand it."""
    whole: bool
    """Whether all tokens are known."""
    add_blank: bool = False
    """Whether a blank comes before a text."""
    prefetch: Callable[[Iterable[bytes]], None] = lambda _: None
    """Is told which lines will be encoded."""


def vocabulary_for(client: Client, found: Found, file: str) -> Known:
    """The tokenizer for an engine. Raises EngineError, ModelError or RemoteError."""
    if not file:
        return from_engine(client, found)
    path = store.expanded(file)
    fault = fault_of(path)
    if fault is not None:
        raise EngineError(
            f"{shortened(path)} {fault}: correct midtoken.remote.tokenizer (--remote-tokenizer)"
        )
    known = _from_file(path, path.stat().st_mtime_ns, found.model)
    _check_model(known, path, client, found)
    return known


def _check_model(known: Known, path: Path, client: Client, found: Found) -> None:
    """Raises EngineError if the engine splits a text otherwise, as far as it tells."""
    try:
        served = [token for token, _ in _tokenizer_of(client, found).pieces(PROBE)]
    except EngineError:  # it has no /tokenize, or none for us
        return
    # Some engines put a blank before a text, as the model's own settings have it.
    splits = [known.tokenization.encode(text.encode()) for text in (PROBE, f" {PROBE}")]
    if served and served not in splits:
        raise EngineError(
            f"{shortened(path)} is the tokenizer of another model: set midtoken.remote.tokenizer "
            f"(--remote-tokenizer) to that of {client.shown(found.model)}, or to nothing"
        )


@lru_cache(maxsize=1)
def _from_file(path: Path, changed: int, model: str) -> Known:  # noqa: ARG001 - a file as it is
    """The tokenizer in a file; it stays, as an engine that was away is asked again and again."""
    with path.open("rb") as opened:
        is_gguf = opened.read(4) == b"GGUF"
    return from_gguf(path, model) if is_gguf else from_json(path, model)


def from_json(path: Path, model: str) -> Known:
    """From a `tokenizer.json`. Raises EngineError if it is none, or not byte-level."""
    named = shortened(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError("it is too large")
        tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
        vocabulary = Vocabulary.from_tokenizer(tokenizer).with_plain_additions()
        byte_ids = vocabulary.byte_ids()
        encode = RememberedEncode(tokenizer_encode(tokenizer, byte_ids))
    except Exception as error:  # the library raises bare Exception
        raise EngineError(
            f"{named} is no tokenizer that can be used ({' '.join(str(error).split())[:200]}): set "
            "midtoken.remote.tokenizer (--remote-tokenizer) to the model's tokenizer.json "
            "or GGUF file"
        ) from error
    if len(byte_ids) < 256:
        raise EngineError(
            f"{named} is not made of bytes: set midtoken.remote.tokenizer (--remote-tokenizer) to "
            "a GGUF file of the model, or to nothing"
        )
    fim = fim_tokens(_usual_marks(vocabulary), vocabulary, model)
    marks = fim.marks if fim else frozenset()
    vocabulary = vocabulary.with_control(marks)
    # What the tokenizer puts before a text, it puts before any other one, too.
    start, plain = tokenizer.encode("a").ids, tokenizer.encode("a", add_special_tokens=False).ids
    count = next((at for at, token in enumerate(start) if [token] == plain[:1]), 0)
    return Known(
        Tokenization(vocabulary, PrefixTrie.build(vocabulary), encode, None),
        "byte-level BPE",
        fim,
        tuple(start[:count]),
        _ends(vocabulary) | marks,
        exact=True,
        whole=True,
    )


def from_gguf(path: Path, model: str) -> Known:
    """From the vocabulary in a GGUF file, which llama.cpp holds from then on.

    Raises ModelError or EngineError.
    """
    tables = None
    with suppress(UnknownVocabularyError):
        tables = load_tables(path)
    library = load_library()
    parameters = library.llama_model_default_params()
    parameters.vocab_only = True
    overrides = no_blank_before_texts()
    parameters.kv_overrides = ctypes.cast(overrides, type(parameters.kv_overrides))
    loaded = library.llama_model_load_from_file(str(path).encode(), parameters)
    if not loaded:
        raise ModelError(f"llama.cpp does not load the vocabulary in {shortened(path)}")
    pointer = library.llama_model_get_vocab(loaded)
    vocabulary = tables.vocabulary if tables else vocabulary_of(pointer)
    fim = fim_tokens(announced_marks(pointer), vocabulary, model)
    marks = fim.marks if fim else frozenset()
    vocabulary = vocabulary.with_control(marks)
    encoder = Encoder(pointer, vocabulary)
    encode = RememberedEncode(encoder.encode)
    bos = bos_token(pointer)
    adds_bos = tables.add_bos if tables else bool(library.llama_vocab_get_add_bos(pointer))
    merges = tables.neighbours(encoder.encode) if tables else None
    number = library.llama_vocab_type(pointer)
    metadata = read_metadata(path)
    add_blank = metadata.flag("tokenizer.ggml.add_space_prefix", number == SENTENCEPIECE)
    return Known(
        Tokenization(vocabulary, PrefixTrie.build(vocabulary), encode, merges),
        VOCABULARY_TYPES.get(number, "unknown"),
        fim,
        (bos,) if adds_bos and bos is not None else (),
        stop_tokens(pointer, vocabulary) | marks,
        exact=bool(tables and tables.exact),
        whole=True,
        add_blank=add_blank,
    )


def from_engine(client: Client, found: Found) -> Known:
    """From the engine's own `/tokenize`. Raises RemoteError or EngineError if it has none."""
    tokenizer, vocabulary = _tokenizer_of(client, found), LearnedVocabulary()
    tokenization, prefetch = _served(tokenizer, vocabulary)
    learn_marks(tokenizer, vocabulary)
    fim = fim_tokens(_usual_marks(vocabulary), vocabulary, found.model)
    marks = fim.marks if fim else frozenset()
    return Known(
        tokenization,
        "the engine's own",
        fim,
        first_tokens(tokenizer, tokenization.encode),
        _ends(vocabulary) | marks,
        exact=False,
        whole=False,
        prefetch=prefetch,
    )


def twin_of(known: Known, client: Client, found: Found) -> Known:
    """The same for another thread. What an engine is asked for goes over that thread's client."""
    vocabulary = known.tokenization.vocabulary
    if not isinstance(vocabulary, LearnedVocabulary):
        return known
    tokenization, prefetch = _served(_tokenizer_of(client, found), vocabulary.copy())
    return replace(known, tokenization=tokenization, prefetch=prefetch)


def _tokenizer_of(client: Client, found: Found) -> EngineTokenizer:
    if found.kind == "llama-server":
        return LlamaTokenizer(client)
    if found.kind == "vllm":
        return VllmTokenizer(client, found.model)
    raise EngineError(
        f"{found.name} at {client.url} has no /tokenize that is known here: set "
        "midtoken.remote.tokenizer (--remote-tokenizer) to the model's tokenizer.json "
        "or GGUF file"
    )


def _served(
    tokenizer: EngineTokenizer, vocabulary: LearnedVocabulary
) -> tuple[Tokenization, Callable[[Iterable[bytes]], None]]:
    """A tokenizer behind HTTP, and what is told which lines will be encoded."""
    served = ServedEncode(tokenizer.pieces, vocabulary, cuts_marks=tokenizer.finds_marks)
    encode = RememberedEncode(served)
    trie = PrefixTrie.build(vocabulary)
    return Tokenization(vocabulary, trie, encode, None), served.prefetch


def _usual_marks(vocabulary: Vocabulary) -> dict[str, int]:
    """The marks that many families share, as llama.cpp would announce them."""
    names = {key: f"<|fim_{name}|>" for key, name in USUAL.items()}
    found = {key: token_named(vocabulary, name) for key, name in names.items()}
    return {key: token for key, token in found.items() if token is not None}


def _ends(vocabulary: Vocabulary) -> frozenset[int]:
    """The tokens that end a text by their names, if they are no text."""
    found = (token_named(vocabulary, name) for name in ENDS)
    other = {TokenKind.CONTROL, TokenKind.USER_DEFINED}
    return frozenset(
        token for token in found if token is not None and vocabulary.kind(token) in other
    )
