"""Re-typing the end of what was typed, with a real model: one function a healing method.

Each takes a prompt and returns the first token after which text stands beyond the cursor. It is
not yet evaluated: `decoding` goes on from there, the same way after every method.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from healing import exact
from healing.best import draw, most_probable
from healing.constrained import Retyping, aligned, loose, one_token
from healing.covers import ROOT as TRUNK
from healing.covers import CoveringTree, covering_tree
from healing.rows import RowCache
from healing.sampling import Sampling, choose, log_normaliser
from healing.tokenization import Tokenization
from server.engine import ROOT, Slot, TokenEngine
from server.prompt import Prompt
from server.report import HealingReport

NEGLIGIBLE = 1e-4
"""A tree path with a smaller share than this is not evaluated if its share is known beforehand."""

CANDIDATES = 5
"""First texts that a report names."""


@dataclass(frozen=True)
class Healed:
    """The model has typed again what was typed."""

    slot: Slot
    """Holds everything before `token`."""
    token: int | None
    """The first token that reaches beyond the cursor, not evaluated; None if the text ends here."""
    visible: bytes
    """The bytes of `token` after the cursor; may be empty after `one_token`."""
    logprob: float
    """Natural log of the probability of `visible` (of the token, for methods of one path)."""
    report: HealingReport


def exact_healing(
    engine: TokenEngine,
    tokenization: Tokenization,
    prompt: Prompt,
    rows: RowCache,
    sampling: Sampling,
    random: np.random.Generator,
) -> Healed:
    """Score all covers of the typed text in one forward pass and take the best visible text.

    Args:
        engine: It must be able to evaluate trees (`info.trees`).
        tokenization: The model's tokenizer.
        prompt: An anchored prompt.
        rows: What is known of this prompt's head from earlier requests; is added to.
        sampling: Greedy takes the most probable first text; else a leaf is drawn.
        random: Used if the choice is not greedy.
    """
    passes = engine.forward_passes
    tree = covering_tree(prompt.typed, tokenization)
    needed = exact.unscored(tree, rows, NEGLIGIBLE)
    evaluated: dict[int, int] = {}
    slot: Slot | None = None
    if needed:
        slot, evaluated = _evaluate(engine, prompt, tree, set(needed), rows)
    scored = exact.score(tree, rows, engine.stops, sampling.temperature or 1.0)
    choice = most_probable(scored)
    leaf, logprob = choice.leaf, float(np.log(max(choice.probability, 1e-300)))
    if sampling.temperature:
        leaf = draw(scored, sampling, random)
        logprob = leaf.logprob - choice.reading.logprob

    if slot is not None and leaf.node in evaluated:
        engine.keep(slot, evaluated[leaf.node])
    else:
        slot = engine.open([*prompt.head, *leaf.path])
    report = HealingReport(
        mode="exact",
        backed_up_tokens=_taken_back(tree.backed_up, prompt.typed, tokenization),
        backed_up_text=tree.backed_up.decode(errors="replace"),
        covers=len(choice.reading.leaves),
        tree_tokens=len(evaluated) - (TRUNK in evaluated),
        forward_passes=engine.forward_passes - passes,
        candidates=tuple(
            (text.decode(errors="replace"), round(share, 4))
            for text, share, _ in choice.reading.visible()[:CANDIDATES]
        ),
    )
    token = leaf.token if leaf.visible else None
    return Healed(slot, token, leaf.visible, logprob, report)


def _evaluate(
    engine: TokenEngine, prompt: Prompt, tree: CoveringTree, needed: set[exact.Path], rows: RowCache
) -> tuple[Slot, dict[int, int]]:
    """Put the trunk and the needed nodes through the model; tree node to engine node."""
    wanted = [node for node in range(len(tree.nodes)) if tree.path(node) in needed]
    included = set(wanted)
    for node in wanted:
        while (node := tree.nodes[node].parent) != TRUNK:
            included.add(node)
    evaluated = {TRUNK: ROOT}
    nodes: list[tuple[int, int]] = []
    for node in sorted(included):
        nodes.append((evaluated[tree.nodes[node].parent], tree.nodes[node].token))
        evaluated[node] = len(nodes) - 1
    asked = [*([TRUNK] if tree.trunk in needed else []), *wanted]

    slot = engine.open([*prompt.head, *tree.trunk])
    found = engine.evaluate(slot, nodes, [evaluated[node] for node in asked])
    for node, row in zip(asked, found, strict=True):
        rows.add(tree.path(node), row)
    return slot, evaluated


def constrained_healing(
    engine: TokenEngine,
    tokenization: Tokenization,
    prompt: Prompt,
    method: str,
    sampling: Sampling,
    random: np.random.Generator,
    note: str | None = None,
) -> Healed:
    """Take tokens back and choose again, step by step, among those that agree with the text.

    Args:
        engine: Any engine.
        tokenization: The model's tokenizer.
        prompt: An anchored prompt; the methods are compared on equal prompts.
        method: `align` (within the covering tree), `loose` (by bytes alone) or `one`.
        sampling: How to choose at each step.
        random: Used if the choice is not greedy.
        note: Why this method is used although another was asked for.
    """
    passes = engine.forward_passes
    if method == "align":
        retyping = aligned(covering_tree(prompt.typed, tokenization))
    elif method == "loose":
        retyping = loose(prompt.typed, tokenization)
    else:
        retyping = one_token(prompt.typed, tokenization)
    slot = engine.open([*prompt.head, *retyping.kept])
    [row] = engine.evaluate(slot, [], [ROOT])
    path: exact.Path = ()
    owed = retyping.owed
    logprob = 0.0
    while True:
        token, step = _step(engine, retyping, path, owed, row, sampling, random)
        logprob += step
        piece = b"" if token is None else tokenization.vocabulary[token]
        if token is None or len(piece) > len(owed) or method == "one":
            break
        path, owed = (*path, token), owed[len(piece) :]
        [row] = engine.evaluate(slot, [(ROOT, token)], [0])
        engine.keep(slot, 0)
    report = HealingReport(
        mode="one" if method == "one" else "align",
        backed_up_tokens=_taken_back(retyping.owed, prompt.typed, tokenization),
        backed_up_text=retyping.owed.decode(errors="replace"),
        covers=1,
        forward_passes=engine.forward_passes - passes,
        note=note,
    )
    return Healed(slot, token, piece[len(owed) :], logprob, report)


def _step(
    engine: TokenEngine,
    retyping: Retyping,
    path: exact.Path,
    owed: bytes,
    row: NDArray[np.float32],
    sampling: Sampling,
    random: np.random.Generator,
) -> tuple[int | None, float]:
    """The next token under the mask, with its log probability; None for the end of the text."""
    ids = retyping.allowed(path, owed)
    stops = np.fromiter(() if owed else engine.stops, dtype=np.int64)
    choices = np.concatenate([ids, stops])
    temperature = sampling.temperature or 1.0
    logprobs = row[choices].astype(np.float64) / temperature - log_normaliser(row, temperature)
    for index in choose(logprobs, sampling, random).tolist():
        if index >= len(ids):
            return None, float(logprobs[index])
        if retyping.admits(path, int(ids[index])):
            return int(ids[index]), float(logprobs[index])
    raise AssertionError(f"no token agrees with the owed bytes {owed!r}")


def _taken_back(owed: bytes, typed: bytes, tokenization: Tokenization) -> int:
    """How many tokens of the typed text, as the encoder splits it, the owed bytes touch."""
    kept, count = 0, 0
    ids = tokenization.encode(typed)
    for token in ids:
        kept += len(tokenization.vocabulary[token])
        if kept > len(typed) - len(owed):
            break
        count += 1
    return len(ids) - count
