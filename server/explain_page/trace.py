"""What a watcher keeps of an answer: the prompt, the covering tree, and every choice of a token.

Choices are looked at while they are made (a few milliseconds each). The tree is looked at
afterwards, so that the time to the first text stays what it is without a watcher.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from healing.covers import ROOT
from healing.exact import Leaf, Path, Scored
from healing.sampling import log_normaliser
from healing.vocabulary import Vocabulary
from server.choosing import Choice
from server.grammar.mask import Mask
from server.prompt import Prompt

LOOKED_AT = 200
"""The most probable leaves of a tree that are judged; a few tenths of a millisecond each."""

ALTERNATIVES = 5
"""Tokens that are kept of each choice, the chosen one among them if it is one of the best."""

MOST_STEPS = 1024
"""Choices that are kept of one answer; more than any suggestion has tokens."""

Verdict = Literal["counts", "refused", "never"]
"""Of a leaf: it counts; the grammar refuses it; no text is ever split like that."""


@dataclass(frozen=True)
class Alternative:
    """A token that could have come."""

    token: int | None
    """None for the end of the text."""
    share: float
    """The model's own probability of it."""
    refused: bool
    """Whether the grammar refuses it."""


@dataclass(frozen=True)
class Step:
    """One choice of a token."""

    token: int | None
    """None for the end of the text."""
    share: float
    """The model's own probability of it."""
    owed: bytes
    """Typed bytes that it had to write again."""
    best: tuple[Alternative, ...]
    """The most probable tokens, whatever was refused."""


@dataclass(frozen=True)
class SeenNode:
    """An inner token of a covering tree."""

    parent: int
    """Index of the node before it, or `covers.ROOT`."""
    token: int
    start: int
    """Byte offset in the typed text."""
    end: int
    step: float | None
    """The probability of the token after those before it; None if it was too small to be asked."""
    share: float
    """What the leaves behind it have together."""


@dataclass(frozen=True)
class SeenLeaf:
    """A last token of a cover, or the end of the text."""

    node: int
    """Index of the node before it, or `covers.ROOT`."""
    start: int
    """Byte offset in the typed text."""
    token: int | None
    """None for the end of the text at the cursor."""
    visible: bytes
    """What it shows after the cursor."""
    share: float
    """Its share of the probability of all leaves."""
    verdict: Verdict
    fits: int
    """How many bytes of what it shows the grammar allows; all of them if it has no say."""
    taken: bool
    """Whether it won."""


@dataclass(frozen=True)
class SeenTree:
    """A covering tree with the model's probabilities."""

    typed: bytes
    trunk: tuple[int, ...]
    nodes: tuple[SeenNode, ...]
    leaves: tuple[SeenLeaf, ...]
    """The most probable ones, and the one that was taken; in the order of their probability."""
    count: int
    """All leaves."""
    rest: float
    """The share of those that are not in `leaves`."""


class Trace:
    """A watcher that keeps what a page shows. Raises nothing; one request only."""

    def __init__(
        self, vocabulary: Vocabulary, stops: Iterable[int], temperature: float = 1.0
    ) -> None:
        """Watch a model with these tokens, of which `stops` end a text.

        The temperature is the request's, 1 if it has none: it belongs to the probabilities.
        """
        self.prompt: Prompt | None = None
        self.steps: list[Step] = []
        self._vocabulary = vocabulary
        self._temperature = temperature
        self._stops = np.fromiter(stops, dtype=np.int64)
        usable = np.zeros(len(vocabulary), dtype=bool)
        usable[vocabulary.text_ids()] = True
        usable[self._stops] = True
        self._usable = np.flatnonzero(usable)
        self._read: Callable[[], SeenTree] | None = None

    def prompted(self, prompt: Prompt) -> None:
        """Keep the prompt."""
        self.prompt = prompt

    def healed(
        self,
        scored: Scored,
        rows: Mapping[Path, NDArray[np.floating]],
        leaf: Leaf,
        mask: Mask | None,
    ) -> None:
        """Keep what a look at the tree needs; rows are found now, since others may replace them."""
        twin = None if mask is None else mask.twin()
        tree = scored.tree
        paths = {tree.trunk, *map(tree.path, range(len(tree.nodes)))}
        kept = {path: rows[path] for path in paths if path in rows}
        self._read = lambda: read_tree(scored, kept, leaf, twin, self._temperature)

    @cached_property
    def tree(self) -> SeenTree | None:
        """The covering tree; None where none was read. To be asked when the answer is there."""
        return self._read() if self._read else None

    def chose(
        self, row: NDArray[np.float32], owed: bytes, choice: Choice, mask: Mask | None
    ) -> None:
        """Keep a choice and what else was likely."""
        if len(self.steps) >= MOST_STEPS:
            return
        token = choice.token
        chosen = int(self._stops[np.argmax(row[self._stops])]) if token is None else token
        values = row[self._usable]
        count = min(ALTERNATIVES + len(self._stops), len(values) - 1)
        top = np.argpartition(-values, count)[: count + 1]
        twin = None if mask is None else mask.twin()
        best: list[Alternative] = []
        for index in top[np.argsort(-values[top], kind="stable")].tolist():
            other = int(self._usable[index])
            ends = other in self._stops
            if ends and any(one.token is None for one in best):
                continue
            # A choice tells its own probability, and so everybody's.
            more = float(values[index] - row[chosen]) / self._temperature
            share = math.exp(min(0.0, choice.logprob + more))
            refused = self._refused(twin, other, owed)
            best.append(Alternative(None if ends else other, share, refused))
            if len(best) == ALTERNATIVES:
                break
        self.steps.append(Step(token, math.exp(choice.logprob), owed, tuple(best)))

    def went_back(self, choices: int | None) -> None:
        """Forget choices that led nowhere."""
        del self.steps[0 if choices is None else max(0, len(self.steps) - choices) :]

    def _refused(self, mask: Mask | None, token: int, owed: bytes) -> bool:
        if mask is None:
            return False
        if token in self._stops:
            return not mask.could_end()
        shown = self._vocabulary[token][len(owed) :]
        return bool(shown) and not mask.allows(shown)


def read_tree(
    scored: Scored,
    rows: Mapping[Path, NDArray[np.floating]],
    taken: Leaf,
    mask: Mask | None,
    temperature: float = 1.0,
) -> SeenTree:
    """What a page shows of a tree.

    Args:
        scored: All leaves with their probabilities.
        rows: Logits after the trunk and the nodes, where they were asked for.
        taken: The leaf that won.
        mask: The grammar's, at the cursor, and one's own; None if it has no say.
        temperature: Divides all logits, as it did in `scored`.
    """
    tree = scored.tree
    vocabulary = tree.tokenization.vocabulary
    shares = np.exp(scored.logprobs - scored.logprob)
    owned = np.bincount(scored.owners, weights=shares, minlength=len(tree.boundaries))
    behind = {ROOT: 0.0, **dict.fromkeys(range(len(tree.nodes)), 0.0)}
    for boundary, share in zip(tree.boundaries, owned.tolist(), strict=True):
        at = boundary.node
        while at != ROOT:
            behind[at] += share
            at = tree.nodes[at].parent
    ends = {ROOT: len(vocabulary.decode(tree.trunk))}
    nodes: list[SeenNode] = []
    for index, node in enumerate(tree.nodes):
        before = rows.get(tree.path(node.parent))
        step = None
        if before is not None:
            value = float(before[node.token]) / temperature
            step = math.exp(value - log_normaliser(before, temperature))
        start = ends[node.parent]
        ends[index] = start + len(vocabulary[node.token])
        nodes.append(SeenNode(node.parent, node.token, start, ends[index], step, behind[index]))

    leaves: list[SeenLeaf] = []
    looked_at = 0.0
    order = list(islice(scored.by_probability(), LOOKED_AT))
    for index in [*order, *_index_of(scored, taken, order)]:
        token = int(scored.tokens[index])
        boundary = tree.boundaries[int(scored.owners[index])]
        visible = scored.visible(index)
        fits = len(visible) if mask is None or not visible else mask.fitting(visible)
        verdict: Verdict = "counts"
        if fits < len(visible) or (mask is not None and token < 0 and not mask.could_end()):
            verdict = "refused"
        elif not scored.admits(index):
            verdict = "never"
        is_taken = boundary.node == taken.node and (
            token == taken.token if token >= 0 else not taken.visible
        )
        share = float(shares[index])
        looked_at += share
        leaves.append(
            SeenLeaf(
                boundary.node,
                boundary.start,
                None if token < 0 else token,
                visible,
                share,
                verdict,
                fits,
                is_taken,
            )
        )
    rest = max(0.0, 1 - looked_at)
    return SeenTree(tree.typed, tree.trunk, tuple(nodes), tuple(leaves), len(scored.tokens), rest)


def _index_of(scored: Scored, taken: Leaf, looked_at: list[int]) -> list[int]:
    """The index of the leaf that was taken, unless it is looked at already."""
    nodes = np.array([boundary.node for boundary in scored.tree.boundaries])
    token = taken.token if taken.visible else -1 - taken.token
    same = np.flatnonzero((scored.tokens == token) & (nodes[scored.owners] == taken.node))
    return [index for index in same.tolist() if index not in looked_at]
