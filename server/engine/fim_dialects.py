"""Fill-in-the-middle dialects: in which order a family of models was trained to see a hole.

A dialect is written as it looks, with the names of its marks and `{prefix}`, `{suffix}` and
`{name}` (the file's name and a line end) where text goes. A layout that ends with `{prefix}` has no
mark before the answer: the answer goes on from the prefix, as plain text does::

    PSM  <|fim_prefix|> {prefix} <|fim_suffix|> {suffix} <|fim_middle|>    answer
    SPM  [SUFFIX] {suffix} [PREFIX] {prefix}                               answer

llama.cpp announces the marks that it knows; the others are found by their names in the vocabulary.
Either way a mark is an id, and text that spells one stays text. Families share names, so what is
told apart here is also by marks that only one of them has, and Mellum by its name.

What is not here: the beginning-of-sequence token and the blank that some tokenizers put before a
text (both are the vocabulary's, and go with every prompt), and the text of a prompt
(`server.prompt`).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from healing.vocabulary import TokenKind, Vocabulary
from server.engine import FimTokens, Gap, Layout

GAPS: dict[str, Gap] = {"{prefix}": "prefix", "{suffix}": "suffix", "{name}": "name"}
"""How the places for text are written in a dialect."""


@dataclass(frozen=True)
class Dialect:
    """How one family of models marks a hole."""

    name: str
    layout: str
    """The order, for any hole."""
    source: str
    """Where it is written down."""
    named: str = ""
    """The order with the file's name, where it is known how that was trained."""
    file: str = ""
    """The mark before each file of a repository; where `named` is, too."""
    repository: str = ""
    """The mark before a repository's name."""
    after_repository: str = ""
    """What comes after that name."""
    healed: str = ""
    """A better order, if the end of what was typed is healed."""
    telling: tuple[str, ...] = ()
    """Marks that tell it from another dialect with the same layout."""
    others: tuple[str, ...] = ()
    """More marks that a vocabulary may have; like all marks they end an answer."""
    models: str = ""
    """A pattern for the names of its models, where marks don't tell."""


_STARCODER = "<fim_prefix> {prefix} <fim_suffix> {suffix} <fim_middle>"
_QWEN = "<|fim_prefix|> {prefix} <|fim_suffix|> {suffix} <|fim_middle|>"

DIALECTS = (
    Dialect(
        "Mellum",
        "<fim_suffix> {suffix} <fim_prefix> {prefix} <fim_middle>",
        "arXiv 2510.05788; model card of Mellum-4b-base",
        named="<filename> {name} <fim_suffix> {suffix} <fim_prefix> {prefix} <fim_middle>",
        file="<filename>",
        others=("<fim_pad>", "<filename>", "<reponame>"),
        models="mellum",
    ),
    Dialect(
        "StarCoder2",
        _STARCODER,
        "arXiv 2402.19173, section 5.1",
        named="<file_sep> <fim_prefix> {name} {prefix} <fim_suffix> {suffix} <fim_middle>",
        file="<file_sep>",
        repository="<repo_name>",
        telling=("<file_sep>",),
        others=("<fim_pad>", "<repo_name>"),
    ),
    Dialect(
        "StarCoder",
        _STARCODER,
        "arXiv 2305.06161; Granite Code (arXiv 2405.04324) and Stable Code took it over",
        others=("<fim_pad>", "<filename>", "<reponame>"),
    ),
    Dialect(
        "SantaCoder",
        "<fim-prefix> {prefix} <fim-suffix> {suffix} <fim-middle>",
        "arXiv 2301.03988",
        others=("<fim-pad>",),
    ),
    Dialect(
        "Qwen",
        _QWEN,
        "arXiv 2409.12186",
        named=f"<|file_sep|> {{name}} {_QWEN}",
        file="<|file_sep|>",
        repository="<|repo_name|>",
        after_repository="\n",
        telling=("<|file_sep|>",),
        others=("<|fim_pad|>", "<|repo_name|>"),
    ),
    Dialect(
        "CodeGemma",
        _QWEN,
        "arXiv 2406.11409; Google's page on CodeGemma's prompt structure",
        telling=("<|file_separator|>",),
    ),
    Dialect(
        "Granite",
        _QWEN,
        "IBM's page on prompts for Granite 4; vocabulary of Granite 4",
        telling=("<|filename|>",),
        others=("<|fim_pad|>", "<|reponame|>"),
    ),
    Dialect(
        "DeepSeek-Coder",
        "<｜fim▁begin｜> {prefix} <｜fim▁hole｜> {suffix} <｜fim▁end｜>",
        "arXiv 2401.14196; README of DeepSeek-Coder",
    ),
    Dialect(
        "CodeLlama",
        "▁<PRE> {prefix} ▁<SUF> {suffix} ▁<MID>",
        "arXiv 2308.12950; infilling_prompt_tokens in Code Llama's own llama/generation.py",
        # Trained on both, half and half. The paper has the second one ahead, but for cuts inside a
        # token, "as it would require token healing".
        healed="▁<PRE> ▁<SUF> {suffix} ▁<MID> {prefix}",
        others=("▁<EOT>",),
    ),
    Dialect(
        "Codestral",
        "[SUFFIX] {suffix} [PREFIX] {prefix}",
        "encode_fim in mistral-common",
        others=("[MIDDLE]",),
    ),
    Dialect(
        "Seed-Coder",
        "<[fim-suffix]> {suffix} <[fim-prefix]> {prefix} <[fim-middle]>",
        "arXiv 2506.03524",
    ),
)
"""All that are known; the first that fits is taken."""

UNNAMED = "prefix, suffix, middle"
"""The dialect of marks that llama.cpp announces and no family here has: the usual order."""


def fim_tokens(
    announced: Mapping[str, int], vocabulary: Vocabulary, model: str
) -> FimTokens | None:
    """A model's marks and their order; None if it has none.

    Args:
        announced: The ids that llama.cpp knows: `pre`, `suf` and `mid`, as far as there are any.
        vocabulary: Where marks are found by name.
        model: The model's name.
    """
    for dialect in DIALECTS:
        found = _resolved(dialect, vocabulary, model)
        if found is not None and all(
            announced.get(key, mark) == mark
            for key, mark in (("pre", found.prefix), ("suf", found.suffix), ("mid", found.middle))
            if mark is not None
        ):
            return found
    prefix, suffix, middle = (announced.get(key) for key in ("pre", "suf", "mid"))
    if prefix is None or suffix is None or middle is None:
        return None
    layout: Layout = (prefix, "prefix", suffix, "suffix", middle)
    return FimTokens(UNNAMED, prefix, suffix, middle, layout, marks=frozenset(announced.values()))


def _resolved(dialect: Dialect, vocabulary: Vocabulary, model: str) -> FimTokens | None:
    """A dialect in a vocabulary's ids, if the vocabulary has it and the model may speak it."""
    if not re.search(dialect.models, model, re.IGNORECASE):
        return None
    written = f"{dialect.layout} {dialect.named} {dialect.healed}"
    names = dict.fromkeys((*written.split(), *dialect.telling, *dialect.others))
    ids = {}
    for name in names:
        token = None if name in GAPS else token_named(vocabulary, name)
        if token is not None:
            ids[name] = token
    layout = _layout(dialect.layout, ids)
    if layout is None or not ids.keys() >= {*dialect.telling}:
        return None
    last = layout[-1]
    return FimTokens(
        dialect=dialect.name,
        prefix=_mark_before("prefix", layout),
        suffix=_mark_before("suffix", layout),
        middle=last if isinstance(last, int) else None,
        layout=layout,
        named=_layout(dialect.named, ids),
        healed=_layout(dialect.healed, ids),
        file=ids.get(dialect.file),
        repository=ids.get(dialect.repository),
        after_repository=dialect.after_repository.encode(),
        marks=frozenset(ids.values()),
    )


def _layout(written: str, ids: Mapping[str, int]) -> Layout | None:
    """A layout in ids; None if it is empty or a mark is missing."""
    parts = written.split()
    if not parts or not all(part in GAPS or part in ids for part in parts):
        return None
    return tuple(GAPS[part] if part in GAPS else ids[part] for part in parts)


def _mark_before(gap: Gap, layout: Layout) -> int:
    mark = layout[layout.index(gap) - 1]
    assert isinstance(mark, int)
    return mark


def token_named(vocabulary: Vocabulary, name: str) -> int | None:
    """The id of a token by its name; a control token before any other. None if there is none.

    Some files call a mark text. Then it is spelled like text, with a blank for `▁`.
    """
    spelled = {name.encode(), name.replace("▁", " ").encode()}
    found = [token for spelling in spelled for token in _spelling(vocabulary, spelling)]
    return min(
        found,
        key=lambda token: (vocabulary.kind(token) != TokenKind.CONTROL, token),
        default=None,
    )


def _spelling(vocabulary: Vocabulary, spelling: bytes) -> Iterable[int]:
    """All tokens that have exactly these bytes, ascending."""
    start = vocabulary.blob.find(spelling)
    while start >= 0:
        token = int(np.searchsorted(vocabulary.offsets, start, side="right")) - 1
        if vocabulary.offsets[token] == start and vocabulary[token] == spelling:
            yield token
        start = vocabulary.blob.find(spelling, start + 1)
