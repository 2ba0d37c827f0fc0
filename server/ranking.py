"""Known names in the order of their probability at a cursor.

A client has a list of names that may stand at the cursor, from a language server, say. The model
tells how probable each of them is there (`healing.ranking`): in one tree of tokens, a few batches.

A name either goes on from the word before the cursor, or would replace it (`name_matching`). Both
are compared as answers to one question: which name does a person want who typed this word here?
That is the model's probability of the name from the word's start on, times how likely the word is
typed for it::

    print(gVN|      gVNote            P(gVNote | print()           · 1
                    getVariableName   P(getVariableName | print()  · 0.05

What is not here: where names come from (`names`), and who asks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import exp, log
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from healing.covers import CoveringTree, covering_tree
from healing.exact import Path
from healing.origins import Origin, common_start, needed
from healing.ranking import NameScore, NameSearch
from server.completer import Completer
from server.completion_options import CompletionOptions
from server.engine import ROOT, Slot, TokenEngine
from server.errors import EngineError
from server.name_matching import LIKELIHOODS, match
from server.names import word_bytes, word_start
from server.prompt import Prompt
from server.snapshot import Snapshot

MOST_LABELS = 10_000
"""Labels that are looked at; more have no sense in a menu, and cost seconds."""

LABEL_BYTES = 256
"""A longer label is no name."""

CPU_PATHS, GPU_PATHS = 16, 56
"""Paths that are evaluated at once: as few as a CPU does at its full speed, so that what they tell
saves others; as many as one pass of a GPU holds."""

HARDLY_LONGER = 16
"""Tokens that a text has more than what is in memory, and that are read again if need be."""

IMPOSSIBLE = 1e-300


@dataclass(frozen=True)
class RankOptions:
    """How to rank. Raises ValueError for values that have no meaning."""

    best: int | None = None
    """How many of the best names are to be exact; None for all."""
    tokens: int | None = None
    """The most tokens to evaluate, about, beyond the prompt; None for as many as it takes."""
    whole: bool = True
    """Whether a name is to end where its label ends; else it may go on."""
    per_token: bool = False
    """Whether the order goes by the mean of the name's tokens instead of by their sum."""
    forgiving: bool = True
    """Whether names that the word before the cursor is not a beginning of may be meant by it."""
    completion: CompletionOptions = field(default_factory=CompletionOptions)
    """What the prompt is made with."""
    reading: int | None = None
    """The most tokens to read of the prompt before names' own; None for all that are missing."""

    def __post_init__(self) -> None:
        if self.best is not None and self.best < 1:
            raise ValueError(f"best must be 1 or more, not {self.best}")
        for name, value in (("tokens", self.tokens), ("reading", self.reading)):
            if value is not None and value < 0:
                raise ValueError(f"{name} must be 0 or more, not {value}")


@dataclass(frozen=True)
class Ranked:
    """A name and how probable it is."""

    index: int
    """Its place in the list that was given."""
    label: str
    match: str
    """How it fits what is typed: a key of `LIKELIHOODS`."""
    logprob: float
    """Natural log of its probability, given what is typed before it: before the cursor if it goes
    on from there, else before the word."""
    exact: bool
    """False if the name was left when it could not be among the best any more, or when there were
    no tokens left: `logprob` and `score` are the most that they can be."""
    score: float
    """What the order goes by; comparable between all kinds of matches."""


@dataclass(frozen=True)
class Refused:
    """A label that is not ranked."""

    index: int
    label: str
    reason: str


@dataclass(frozen=True)
class Ranking:
    """Names, best first."""

    typed: str
    """The word before the cursor."""
    names: tuple[Ranked, ...]
    refused: tuple[Refused, ...]
    evaluated: int
    """Tokens put through the model for it, the prompt's included."""
    passes: int
    """Forward passes."""
    timing_ms: dict[str, float]
    typed_share: float = 1.0
    """How probable the word before the cursor is where it stands, if names may replace it; else 1.
    Scores count from the same place."""

    def meant(self) -> list[float]:
        """For each name, the probability that it is what a person means who typed the word.

        Either the text goes on from the word, or one of the names is meant that replace it; what
        else a person may have mistyped is left out. For names that go on, and with no others in
        the list, that is `exp(logprob)`. At most that much if the name is not exact. It means
        nothing if the order goes by the mean of tokens.
        """
        shares = [exp(name.score) for name in self.names]
        replacing = (
            share
            for name, share in zip(self.names, shares, strict=True)
            if name.match != "start" and name.exact
        )
        whole = max(self.typed_share + sum(replacing), IMPOSSIBLE)
        return [min(1.0, share / whole) for share in shares]


@dataclass(frozen=True)
class _Label:
    index: int
    text: str
    data: bytes
    match: str


def rank(
    completer: Completer,
    snapshot: Snapshot,
    labels: Sequence[str | bytes],
    options: RankOptions = RankOptions(),
) -> Ranking:
    """The labels in the order of their probability at a snapshot's cursor.

    Args:
        completer: A model whose vocabulary exact healing knows, and that can evaluate trees.
        snapshot: The document. The labels start where the word before the cursor does.
        labels: Equal ones have equal scores and stay in their order. Labels that can't be ranked
            are refused one by one.
        options: How to rank.

    Raises:
        EngineError: The model can't rank, or can't be run on this prompt.
        Cancelled: `cancel` was called.
    """
    started = perf_counter()
    engine = completer.engine
    if reason := why_not(completer):
        raise EngineError(f"names can't be ranked by {engine.info.name}: {reason}")
    prompt = completer.prompt_at(snapshot, options.completion)
    start = word_start(snapshot.text, snapshot.cursor, snapshot.language)
    word = snapshot.text[start : snapshot.cursor]
    # A word that is longer than what comes after the anchor can only be gone on from.
    replaceable = options.forgiving and len(word) <= len(prompt.typed) - prompt.lead
    accepted, refused = _sorted_out(labels, word, forgiving=replaceable)
    before, passes = engine.evaluated_tokens, engine.forward_passes
    prepared = perf_counter()

    found = {label.match for label in accepted}
    # How probable the word is as it stands is needed beside names that replace it.
    kinds = [kind for kind in LIKELIHOODS if kind in found or (found and kind == "start")]
    groups = [[label for label in accepted if label.match == kind] for kind in kinds]
    scores: list[list[NameScore]] = []
    typed_share = 1.0
    if groups:
        trees = _trees(completer, prompt, word, kinds)
        origins = [
            Origin(
                tree,
                [label.data[len(word) if kind == "start" else 0 :] for label in group],
                LIKELIHOODS[kind],
            )
            for tree, kind, group in zip(trees, kinds, groups, strict=True)
        ]
        names = word_bytes(snapshot.language) if options.whole else frozenset[int]()
        search = search_names(completer, prompt, origins, names, options)
        scores, typed_share = search.scores(), search.shares[0]
    ranked = [
        _ranked(label, score, _tokens(completer, prompt, word, label) if options.per_token else 1)
        for group, found in zip(groups, scores, strict=True)
        for label, score in zip(group, found, strict=True)
    ]
    ranked.sort(key=lambda name: (-name.score, name.index))
    return Ranking(
        word.decode(errors="replace"),
        tuple(ranked),
        tuple(refused),
        engine.evaluated_tokens - before,
        engine.forward_passes - passes,
        {
            "prompt": 1e3 * (prepared - started),
            "ranking": 1e3 * (perf_counter() - prepared),
        },
        typed_share,
    )


def why_not(completer: Completer) -> str | None:
    """Why a model can't rank names, and what to do; None if it can."""
    info = completer.engine.info
    if info.remote:
        return (
            "an engine elsewhere gives no probabilities of all tokens; rank with a model in this "
            "process"
        )
    if not completer.exact:
        return (
            f"exact healing does not know {info.vocabulary_type} vocabularies; choose another model"
        )
    if not info.trees:
        return "its memory can't be cut, so it evaluates no trees; choose another model"
    return None


def _sorted_out(
    labels: Sequence[str | bytes], word: bytes, *, forgiving: bool
) -> tuple[list[_Label], list[Refused]]:
    """The labels that can be ranked, and the others with the reason."""
    accepted, refused = [], []
    known: dict[bytes, str | None] = {}
    shown = word.decode(errors="replace")
    for index, label in enumerate(labels):
        data = label if isinstance(label, bytes) else label.encode(errors="surrogatepass")
        text, reason = data.decode(errors="replace"), _wrong(index, data)
        if reason is None and data not in known:
            known[data] = match(word, data) if forgiving else None
            if data.startswith(word):
                known[data] = "start"
        kind = known.get(data)
        if reason is None and kind is None:
            reason = f"does not go on from what is typed: {shown}"
        if reason is not None:
            refused.append(Refused(index, text[:LABEL_BYTES], reason))
        elif kind is not None:
            accepted.append(_Label(index, text, data, kind))
    return accepted, refused


def _wrong(index: int, label: bytes) -> str | None:
    """Why a label can't be a name at any place; None if it can."""
    if index >= MOST_LABELS:
        return f"comes after the first {MOST_LABELS:,} labels"
    if not label:
        return "is empty"
    if len(label) > LABEL_BYTES:
        return f"has more than {LABEL_BYTES} bytes"
    if b"\n" in label or b"\r" in label:
        return "has a line end in it"
    try:
        label.decode()
    except UnicodeDecodeError:
        return "is not valid UTF-8"
    return None


def _trees(
    completer: Completer, prompt: Prompt, word: bytes, kinds: Sequence[str]
) -> list[CoveringTree]:
    """For each kind of match, the covering tree of the text that its names go on from."""
    before = prompt.typed[: len(prompt.typed) - len(word)]
    trees = {
        typed: covering_tree(typed, completer.tokenization)
        for typed in {prompt.typed if kind == "start" else before for kind in kinds}
    }
    return [trees[prompt.typed if kind == "start" else before] for kind in kinds]


def search_names(
    completer: Completer,
    prompt: Prompt,
    origins: Sequence[Origin],
    word: frozenset[int],
    options: RankOptions,
) -> NameSearch:
    """A search of names that has gone on until the best are exact, or all, or no tokens are left.

    Args:
        completer: As for `rank`.
        prompt: What comes before the texts of the origins.
        origins: Where names go on from, at least one.
        word: The bytes that names are made of; none if names need not end.
        options: How far to go.
    """
    engine = completer.engine
    trees = [origin.tree for origin in origins]
    base = common_start([tree.trunk for tree in trees])
    first = needed(trees)
    kept = completer.rows_of(prompt.head)
    rows = {path: kept[path] for path in first if path in kept}
    unknown = [path for path in first if path not in rows]
    text = [*prompt.head, *base]
    to_read, tokens = len(text) - engine.held(text), options.tokens
    if options.reading is not None and to_read + len(unknown) > options.reading:
        if unknown:
            raise EngineError(f"names can't be ranked here without reading {to_read} tokens")
        tokens = 0  # what is known has to do
    # What is hardly longer than what is remembered is not worth another text's place in memory.
    is_beside = to_read <= HARDLY_LONGER
    slot = engine.open_beside(text) if is_beside else engine.open(text)
    try:
        for path, row in _evaluated(engine, slot, base, unknown):
            kept.add(path, row)
            rows[path] = kept[path]
        search = NameSearch(origins, rows, engine.stops, word)
        most = GPU_PATHS if engine.info.offloaded_layers else CPU_PATHS
        # By means, a name that is improbable as a whole may still be the best one.
        best = None if options.per_token else options.best
        until = engine.evaluated_tokens + (tokens or 0)
        inside, used = completer.name_rows_of(prompt.head), set[Path]()
        while wanted := search.wanted(most, best):
            found = {path: inside[path] for path in wanted if path in inside}
            missing = [path for path in wanted if path not in found]
            if missing and tokens is not None and engine.evaluated_tokens >= until:
                if found.keys() <= used:
                    break
                missing = []  # what is remembered may tell more yet
            for path, row in _evaluated(engine, slot, base, missing):
                inside.add(path, row)
                found[path] = row
            used |= found.keys()
            for path in wanted:
                if path in found:
                    search.add(path, found[path])
    finally:
        if is_beside:
            engine.drop(slot)
    return search


def _evaluated(
    engine: TokenEngine, slot: Slot, base: Path, paths: Sequence[Path]
) -> Iterator[tuple[Path, NDArray[np.float32]]]:
    """The rows after some paths, all in one tree below the slot's text, which ends with `base`."""
    if not paths:
        return
    places: dict[Path, int] = {base: ROOT}
    nodes: list[tuple[int, int]] = []
    for path in paths:
        for count in range(len(base) + 1, len(path) + 1):
            if path[:count] not in places:
                nodes.append((places[path[: count - 1]], path[count - 1]))
                places[path[:count]] = len(nodes) - 1
    rows = engine.evaluate(slot, nodes, [places[path] for path in paths])
    yield from zip(paths, rows, strict=True)


def _ranked(label: _Label, score: NameScore, tokens: int) -> Ranked:
    return Ranked(
        label.index,
        label.text,
        label.match,
        log(max(score.probability, IMPOSSIBLE)),
        score.settled,
        log(max(score.share, IMPOSSIBLE)) / tokens,
    )


def _tokens(completer: Completer, prompt: Prompt, word: bytes, label: _Label) -> int:
    """How many tokens a name adds to the line before it, as the encoder splits both."""
    encode = completer.tokenization.encode
    before = prompt.typed[: len(prompt.typed) - len(word)]
    return max(1, len(encode(before + label.data)) - len(encode(before)))
