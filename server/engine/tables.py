"""The tables that healing needs of a model: what its tokens spell, and the merges that make them.

They are made from the metadata in the model file (`gguf`, `spelling`) and kept in a cache
(`table_cache`), since a start should not wait for them.

Example::

    >>> tables = load_tables(Path("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"))
    >>> tables.vocabulary[1249], tables.merges[0].tolist()
    (b' __', [220, 220, 256])

What is not here: how text is split before merging (only the rule's name), and fill-in-the-middle
ids (the runtime knows them).
"""

from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from healing.encoding import Encode
from healing.merges import EncodedPairs, Merges, MergesAndAdditions, Neighbours
from healing.vocabulary import TokenKind, Vocabulary
from server.engine import table_cache
from server.engine.gguf import Metadata, StringArray, read_metadata
from server.engine.spelling import byte_level_vocabulary, plain_vocabulary
from server.errors import ModelError, UnknownVocabularyError

FORMAT = 3
"""Part of the cache's key. Raise it with every change to what `build_tables` makes of a file."""

PLAIN_MODELS = frozenset({"llama", "gemma4", "bert", "t5"})
PLAIN_PRETOKENIZERS = frozenset({"gemma4", "granite-embed-multi-311m", "sarvam-moe"})
"""With these a `gpt2` vocabulary is written plainly after all."""

_LLAMA3 = {
    *{"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"},
    "jina-v5-nano",
}
IGNORE_MERGES = frozenset(
    {*_LLAMA3, "minicpm5", "youtu", "glm4", "glm5", "tekken", "granite-embed-multi-97m"}
)
"""Pretokenizers with which a piece that is a token is taken whole; files do not record it."""
BOS_PRETOKENIZERS = frozenset({*_LLAMA3, "tekken", "chameleon"})
"""Pretokenizers whose texts start with the beginning-of-sequence token unless a file denies it."""

STRUCTURE_NAMES = frozenset(
    name.encode()
    for name in """
    <|eot_id|> <|im_end|> <|end|> <end_of_turn> <|endoftext|> <|end_of_text|> <EOT> _<EOT> [EOT]
    [EOS] <eos> </s> <|eom_id|> <|return|> <|call|> <|calls|> <|flush|> <end_of_utterance> <turn|>
    <|tool_response> <｜end▁of▁sentence｜> [e~[
    <|fim_prefix|> <fim-prefix> <fim_prefix> <｜fim▁begin｜> <PRE> ▁<PRE> <|code_prefix|> <|prefix|>
    <|fim_suffix|> <fim-suffix> <fim_suffix> <｜fim▁hole｜> <SUF> ▁<SUF> <|code_suffix|> <|suffix|>
    <|fim_middle|> <fim-middle> <fim_middle> <｜fim▁end｜> <MID> ▁<MID> <|code_middle|> <|middle|>
    <|fim_pad|> <fim-pad> <fim_pad> <PAD> [PAD] <|fim_repo|> <|repo_name|> <fim-repo> <REPO>
    <reponame> <|file_sep|>
    """.split()  # noqa: SIM905
)
"""Names that mean structure whatever kind a file gives them, as llama.cpp has it: some files call
all of them normal. One is a mistake without harm: Qwen's `</s>` is an ordinary token, but one that
its pretokenizer always splits, so that no text contains it."""


@dataclass(frozen=True, eq=False)
class Tables:
    """What healing needs of a model file. The arrays are read-only."""

    vocabulary: Vocabulary
    merges: NDArray[np.int32]
    """Shape (m, 3): ids of the left part, the right part and the result, first merge first."""
    model: str
    """The file's kind of vocabulary: `gpt2`, `llama`, `gemma4`, `bert` or `t5`."""
    pretokenizer: str
    """The name of the rule that splits text before merging; `default` where the file has none."""
    byte_level: bool
    """Whether tokens are merged from single bytes."""
    ignore_merges: bool
    """Whether a piece of text that is a token is taken whole, even if no merges lead to it."""
    add_bos: bool
    """Whether text starts with the beginning-of-sequence token."""
    skipped_merges: int
    """Merges of the file left out: of tokens that do not exist, or of a pair that came before."""

    @property
    def exact(self) -> bool:
        """Whether exact healing knows this kind of vocabulary.

        Those merged from bytes, and those merged from characters with a token for every byte value,
        so that any text can be spelled. Not unigram and WordPiece.
        """
        if self.byte_level:
            return True
        return self.model not in {"bert", "t5"} and len(self.vocabulary.byte_ids()) == 256

    def neighbours(self, encode: Encode) -> Neighbours | None:
        """What may stand side by side, by the merges or an encoder; None if that isn't known."""
        pairs = EncodedPairs(self.vocabulary, encode)
        if not self.byte_level:
            return pairs if self.exact else None
        merges = Merges(self.merges, len(self.vocabulary))
        added = np.zeros(len(self.vocabulary), dtype=bool)
        added[self.vocabulary.text_ids()] = True
        added &= np.diff(self.vocabulary.offsets) > 1
        added[self.merges[:, 2]] = False
        if not added.any():
            return merges
        return MergesAndAdditions(merges, pairs, frozenset(np.flatnonzero(added).tolist()))


def load_tables(path: Path, cache_folder: Path | None = None) -> Tables:
    """The tables of a model file, from the cache where it has them, else built and put there.

    A damaged or missing cache is never an error. Raises ModelError for a model file that cannot be
    read, that has no vocabulary, or one of a kind that is not known here.
    """
    folder = cache_folder or table_cache.default_folder()
    entry = table_cache.find(path, folder, FORMAT)
    if entry is not None:
        tables = _unpack(entry)
        if tables is not None:
            return tables
    metadata = read_metadata(path)
    tables = build_tables(metadata)
    table_cache.store(path, metadata.block, _pack(tables), folder, FORMAT)
    return tables


def build_tables(metadata: Metadata) -> Tables:
    """The tables of a file whose header was read. Raises ModelError as `load_tables`."""
    model = metadata.text("tokenizer.ggml.model", "none")
    pretokenizer = metadata.text("tokenizer.ggml.pre", "gemma4" if model == "gemma4" else "default")
    byte_level = model == "gpt2" and pretokenizer not in PLAIN_PRETOKENIZERS
    if model in {"none", "no_vocab"}:
        raise ModelError(f"{metadata.path}: has no vocabulary; choose a model that completes text")
    if model != "gpt2" and model not in PLAIN_MODELS:
        raise UnknownVocabularyError(
            f"{metadata.path}: has a vocabulary of the kind {model!r}, which is not supported;"
            f" choose a model with gpt2 (byte-level) or {', '.join(sorted(PLAIN_MODELS))}"
        )
    packed = metadata.packed_strings("tokenizer.ggml.tokens")
    tokens = packed.tolist()
    ids = dict(zip(tokens, range(len(tokens)), strict=True))
    ids.pop(b"", None)
    # llama.cpp reads tokens up to a NUL byte, and ends the process where two are then the same.
    read = [t.partition(b"\0")[0] for t in tokens] if b"\0" in packed.blob else tokens
    if len({*read} - {b""}) + read.count(b"") < len(tokens):
        raise ModelError(f"{metadata.path}: damaged vocabulary: it has the same token twice")
    kinds = _kinds(metadata, len(tokens))
    # Gemma 4 has an end of its own, and `</s>` is text there.
    named = STRUCTURE_NAMES - {b"</s>"} if b"<|tool_response>" in ids else STRUCTURE_NAMES
    kinds[[ids[name] for name in named if name in ids]] = TokenKind.CONTROL
    merges = np.empty((0, 3), dtype=np.int32)
    listed = 0
    if "tokenizer.ggml.merges" in metadata:
        written = metadata.packed_strings("tokenizer.ggml.merges")
        listed, merges = len(written), resolve_merges(written, ids)
    spell = byte_level_vocabulary if byte_level else plain_vocabulary
    vocabulary = spell(packed, kinds).with_plain_additions()
    for array in (merges, vocabulary.offsets, vocabulary.kinds):
        array.flags.writeable = False
    return Tables(
        vocabulary=vocabulary,
        merges=merges,
        model=model,
        pretokenizer=pretokenizer,
        byte_level=byte_level,
        ignore_merges=model == "gpt2" and pretokenizer in IGNORE_MERGES,
        add_bos=_add_bos(metadata, model, pretokenizer),
        skipped_merges=listed - len(merges),
    )


def resolve_merges(merges: StringArray, ids: dict[bytes, int]) -> NDArray[np.int32]:
    """Merges as ids, shape (m, 3): left, right, result, in the order given.

    A merge is written `left right`; the first blank after the first byte separates the two. Merges
    of unknown tokens, and repetitions of a pair (the first one counts), are left out. Written
    `a b`, `b c`, `ab c` with ids a=0, b=1, c=2, ab=3, abc=4, the rows are (0, 1, 3) and (3, 2, 4).
    """
    raw = np.frombuffer(merges.blob, np.uint8)
    starts, lengths = merges.offsets[:-1], np.diff(merges.offsets)
    blanks = np.flatnonzero(raw == ord(" "))
    separators = np.append(blanks, len(raw))[np.searchsorted(blanks, starts, side="right")]
    usable = separators < starts + lengths
    # 0xFF and 0xFE are no bytes of UTF-8. As marks they let two calls of `split` make all parts,
    # which is much quicker than slicing each; merges that contain them can name no letters.
    strange = np.flatnonzero(raw >= 0xFE)
    usable[np.searchsorted(merges.offsets, strange, side="right") - 1] = False
    if not usable.any():
        return np.empty((0, 3), dtype=np.int32)
    kept = np.repeat(usable, lengths)
    separators = np.cumsum(kept)[separators[usable]] - 1
    inner_ends = np.cumsum(lengths[usable])[:-1]
    text = raw[kept]
    text[separators] = 0xFF
    sides = np.insert(text, inner_ends, 0xFF).tobytes().split(b"\xff")
    text = np.insert(text, inner_ends, 0xFE)
    results = text[text != 0xFF].tobytes().split(b"\xfe")
    resolved: NDArray[np.int32] = np.empty((len(results), 3), dtype=np.int32)
    for column, names in enumerate((sides[0::2], sides[1::2], results)):
        resolved[:, column] = np.fromiter(map(ids.get, names, repeat(-1)), np.int32, len(names))
    resolved = resolved[(resolved >= 0).all(axis=1)]
    pairs = resolved[:, 0].astype(np.int64) << 32 | resolved[:, 1]
    first: NDArray[np.int64] = np.sort(np.unique(pairs, return_index=True)[1])
    return resolved[first]


def _kinds(metadata: Metadata, size: int) -> NDArray[np.uint8]:
    """The kind of every token, shape (size,); kinds that do not exist become UNUSED."""
    key = "tokenizer.ggml.token_type"
    if key not in metadata:
        return np.full(size, TokenKind.NORMAL, dtype=np.uint8)
    found = metadata.numbers(key)
    if len(found) < size:
        raise ModelError(
            f"{metadata.path}: damaged vocabulary: {len(found)} kinds for {size} tokens"
        )
    known = np.isin(found[:size], [int(kind) for kind in TokenKind])
    return np.where(known, found[:size], TokenKind.UNUSED).astype(np.uint8)


def _add_bos(metadata: Metadata, model: str, pretokenizer: str) -> bool:
    """As llama.cpp decides it: the file's word, else what goes with the kind of vocabulary."""
    if pretokenizer == "gemma4":
        return True
    usual = model in {"llama", "bert"} or (model == "gpt2" and pretokenizer in BOS_PRETOKENIZERS)
    return metadata.flag("tokenizer.ggml.add_bos_token", usual)


def _pack(tables: Tables) -> table_cache.Entry:
    vocabulary = tables.vocabulary
    fields: dict[str, Any] = {
        "model": tables.model,
        "pretokenizer": tables.pretokenizer,
        "byte_level": tables.byte_level,
        "ignore_merges": tables.ignore_merges,
        "add_bos": tables.add_bos,
        "skipped_merges": tables.skipped_merges,
    }
    arrays: dict[str, NDArray[Any]] = {
        "offsets": vocabulary.offsets,
        "merges": tables.merges,
        "kinds": vocabulary.kinds,
        "blob": np.frombuffer(vocabulary.blob, np.uint8),
    }
    return table_cache.Entry(fields, arrays)


def _unpack(entry: table_cache.Entry) -> Tables | None:
    """The tables in an entry, or None if it was written by another program than this one."""
    try:
        arrays, fields = dict(entry.arrays), dict(entry.fields)
        vocabulary = Vocabulary(arrays["blob"].tobytes(), arrays["offsets"], arrays["kinds"])
        return Tables(vocabulary=vocabulary, merges=arrays["merges"], **fields)
    except (KeyError, TypeError, ValueError):
        return None
