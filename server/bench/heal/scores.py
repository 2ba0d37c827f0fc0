"""What the model thinks comes next, under every way of healing: one covering tree a prompt.

Two questions are asked of each way at a place whose true continuation is known: how probable is its
first byte, and how probable is it that the first token that is shown is right (some first text of
the continuation)? For each, the natural logarithm of the probability, and whether the most
probable answer is right.

- `off`: the hole at the cursor. Probabilities are among tokens that are text, and ends of it.
- `one`: the last token again or one that starts with its bytes, once.
- `align`: back to the tree's first boundary and down again, the mask renormalised at every step.
- `exact`: all covers, weighed by their probability.
- `control`: from the last *true* token boundary on, which nobody knows who does not know the
  continuation; what is left of the typed text up to the cursor is forced. It is the same question
  without a broken token.

What is not here: text that is really written (`writing`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from healing.best import most_probable
from healing.constrained import one_token
from healing.covers import CoveringTree, covering_tree
from healing.exact import Path, Scored, read, score
from healing.sampling import log_normaliser
from healing.tokenization import Tokenization
from server.bench.heal.prompts import Truth
from server.engine import ROOT, TokenEngine
from server.prompt import Prompt

FLOOR = -100.0
"""Natural log of a probability that is as good as none; means would be of these alone otherwise."""

UNCHECKED = 0.01
"""The share of a sum that may stay unchecked for admissibility: an error of 0.01 of its logarithm.

Where a model has no idea what comes next, a tenth of it would take thousands of checks.
"""

NEGLIGIBLE = -7.0
"""Natural log of the weight of a path whose leaves are not checked one by one for alignment."""

Row = NDArray[np.float32]
Rows = dict[Path, Row]


@dataclass(frozen=True)
class Score:
    """One way of healing at one place."""

    byte_logprob: float
    byte_right: bool
    token_logprob: float
    token_right: bool


def score_unhealed(
    engine: TokenEngine, tokenization: Tokenization, prompt: Prompt, gold: bytes
) -> Score:
    """The way `off`, for a prompt whose hole is at the cursor."""
    slot = engine.open(prompt.head)
    [row] = engine.evaluate(slot, [], [ROOT])
    return _of_row(engine, tokenization, row, b"", gold)


def score_healed(
    engine: TokenEngine,
    tokenization: Tokenization,
    prompt: Prompt,
    gold: bytes,
    truth: Truth,
) -> dict[str, Score]:
    """The ways `one`, `align`, `exact` and `control`, for a prompt with something typed.

    `control` is missing if the true boundary is not in the tree, which is a fault of healing.
    """
    tree = covering_tree(prompt.typed, tokenization)
    rows = _rows(engine, prompt, tree)
    scored = score(tree, rows, engine.stops)
    found = {
        "one": _one(engine, tokenization, prompt, gold),
        "align": _align(scored, rows, gold),
        "exact": _of_leaves(scored, most_probable(scored).leaf.visible, gold),
    }
    for index, boundary in enumerate(tree.boundaries):
        if (tree.path(boundary.node), boundary.start) == (truth.left, truth.start):
            here = only(scored, scored.owners == index)
            found["control"] = _of_leaves(here, most_probable(here).leaf.visible, gold)
    return found


def score_exact(
    engine: TokenEngine, tokenization: Tokenization, prompt: Prompt, gold: bytes
) -> Score:
    """The way `exact` alone."""
    tree = covering_tree(prompt.typed, tokenization)
    scored = score(tree, _rows(engine, prompt, tree), engine.stops)
    return _of_leaves(scored, most_probable(scored).leaf.visible, gold)


def _rows(engine: TokenEngine, prompt: Prompt, tree: CoveringTree) -> Rows:
    """The logits after every inner path of a tree, in one forward pass."""
    slot = engine.open([*prompt.head, *tree.trunk])
    nodes = [(node.parent, node.token) for node in tree.nodes]
    numbers = range(len(nodes))
    found = engine.evaluate(slot, nodes, [ROOT, *numbers])
    paths = [tree.trunk, *map(tree.path, numbers)]
    return {path: row.copy() for path, row in zip(paths, found, strict=True)}


def only(scored: Scored, kept: NDArray[np.bool_]) -> Scored:
    """Some leaves of a tree; `kept` has shape (leaves,)."""
    logprobs = scored.logprobs[kept]
    total = log_normaliser(logprobs) if len(logprobs) else -np.inf
    return replace(
        scored,
        owners=scored.owners[kept],
        tokens=scored.tokens[kept],
        logprobs=logprobs,
        logprob=total,
    )


def _mass(scored: Scored) -> float:
    """The log of the probability of the leaves that are admissible; -inf if none is."""
    if not len(scored.logprobs) or scored.logprob == -np.inf:
        return -np.inf
    reading = read(scored, UNCHECKED)
    return reading.logprob if reading.leaves else -np.inf


def _of_leaves(scored: Scored, shown: bytes, gold: bytes) -> Score:
    """A score from weighed leaves.

    Args:
        scored: The leaves, with their weights as log probabilities.
        shown: The first text that is taken.
        gold: What really follows the cursor.
    """
    tree = scored.tree
    vocabulary, trie = tree.tokenization.vocabulary, tree.tokenization.trie
    total = _mass(scored)
    next_bytes = scored.bytes_at(np.arange(len(scored.tokens)), 0)
    right = np.zeros(len(scored.tokens), dtype=bool)
    for index, boundary in enumerate(tree.boundaries):
        owed = tree.typed[boundary.start :]
        text = owed + gold[: vocabulary.longest]
        ids = [token for token in trie.prefixes_of(text) if len(vocabulary[token]) > len(owed)]
        right |= (scored.owners == index) & np.isin(scored.tokens, ids)
    return Score(
        _log(_mass(only(scored, next_bytes == gold[0])) - total),
        shown[:1] == gold[:1],
        _log(_mass(only(scored, right)) - total),
        bool(shown) and gold.startswith(shown),
    )


def _align(scored: Scored, rows: Mapping[Path, Row], gold: bytes) -> Score:
    """Leaves weighed as steps under masks would draw them, and the greedy walk."""
    tree = scored.tree
    paths = [tree.trunk, *map(tree.path, range(len(tree.nodes)))]
    reach: dict[Path, float] = {tree.trunk: 0.0}
    children: dict[Path, list[tuple[float, Path]]] = {path: [] for path in paths}
    for node, path in zip(tree.nodes, paths[1:], strict=True):
        above = tree.path(node.parent)
        step = float(rows[above][node.token]) - log_normaliser(rows[above])
        reach[path] = reach[above] + step
        children[above].append((step, path))
    numbers = {tree.path(boundary.node): n for n, boundary in enumerate(tree.boundaries)}

    drawn: dict[Path, float] = {tree.trunk: 0.0}
    change = np.full(len(tree.boundaries), 10 * FLOOR)  # where no way leads on
    best: dict[Path, tuple[float, bytes]] = {}
    for path in paths:
        mass = -np.inf
        if path in numbers:
            here = only(scored, scored.owners == numbers[path])
            mass = here.logprob
            if drawn[path] > NEGLIGIBLE and mass > -np.inf:
                reading = read(here, UNCHECKED)
                mass = reading.logprob if reading.leaves else -np.inf
                for leaf in reading.leaves[:1]:
                    best[path] = (leaf.logprob - reach[path], leaf.visible)
            mass -= reach[path]
        normaliser = float(np.logaddexp.reduce([mass, *(step for step, _ in children[path])]))
        for step, child in children[path]:
            drawn[child] = drawn[path] + step - normaliser
        if path in numbers and normaliser > -np.inf:
            change[numbers[path]] = drawn[path] - reach[path] - normaliser
    logprobs = scored.logprobs + change[scored.owners]
    weighed = replace(scored, logprobs=logprobs, logprob=log_normaliser(logprobs))

    path = tree.trunk
    while True:
        step, below = max(children[path], default=(-np.inf, ()))
        leaf_logprob, shown = best.get(path, (-np.inf, b""))
        if leaf_logprob >= step:
            return _of_leaves(weighed, shown, gold)
        path = below


def _one(engine: TokenEngine, tokenization: Tokenization, prompt: Prompt, gold: bytes) -> Score:
    """The last token again, or a longer one; after the same one, what comes next."""
    retyping = one_token(prompt.typed, tokenization)
    owed = retyping.owed
    same = tokenization.encode(prompt.typed)[-1:]
    slot = engine.open([*prompt.head, *retyping.kept])
    nodes = [(ROOT, token) for token in same]
    row, *after = engine.evaluate(slot, nodes, [ROOT, *range(len(nodes))])
    if not after:
        return _of_row(engine, tokenization, row, b"", gold)
    longer = _of_row(engine, tokenization, row, owed, gold)
    then = _of_row(engine, tokenization, after[0], b"", gold)
    ids = tokenization.trie.starting_with(owed)
    total = log_normaliser(row[ids])
    again = float(np.logaddexp.reduce(row[tokenization.trie.spelling(owed)])) - total
    first = int(ids[np.argmax(row[ids])])
    chosen = then if tokenization.vocabulary[first] == owed else longer
    return Score(
        _log(float(np.logaddexp(longer.byte_logprob, again + then.byte_logprob))),
        chosen.byte_right,
        _log(float(np.logaddexp(longer.token_logprob, again + then.token_logprob))),
        chosen.token_right,
    )


def _of_row(
    engine: TokenEngine, tokenization: Tokenization, row: Row, owed: bytes, gold: bytes
) -> Score:
    """A score from one row: among the tokens that start with `owed`; or all text and its ends."""
    trie, vocabulary = tokenization.trie, tokenization.vocabulary
    allowed = trie.starting_with(owed)
    if not owed:
        allowed = np.concatenate([allowed, np.fromiter(engine.stops, dtype=np.int64)])
    total = log_normaliser(row[allowed])
    text = owed + gold[: vocabulary.longest]
    right = [token for token in trie.prefixes_of(text) if len(vocabulary[token]) > len(owed)]
    first = int(allowed[np.argmax(row[allowed])])
    shown = b"" if first in engine.stops else vocabulary[first][len(owed) :]
    return Score(
        _log(_sum(row, trie.starting_with(owed + gold[:1])) - total),
        shown[:1] == gold[:1],
        _log(_sum(row, np.array(right, dtype=np.int64)) - total),
        bool(shown) and gold.startswith(shown),
    )


def _sum(row: Row, ids: NDArray[np.int64]) -> float:
    return log_normaliser(row[ids]) if len(ids) else -np.inf


def _log(value: float) -> float:
    """A log probability, not below `FLOOR`."""
    return FLOOR if np.isnan(value) else max(FLOOR, min(0.0, value))
