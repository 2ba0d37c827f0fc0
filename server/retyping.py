"""Re-typing the end of what was typed, with a real model: one function a healing method.

Each takes a prompt and returns the first token after which text stands beyond the cursor. It is
not yet evaluated: `decoding` goes on from there, the same way after every method.

A grammar's state stands at the cursor, as all spellings of what is typed say the same to it. It is
asked about what a token shows beyond the cursor, and about the end of the text there. If nothing
that is looked at passes, it is given up for the request: a person's text never blocks a completion.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

import numpy as np

from healing import exact
from healing.alternatives import Alternative, alternatives
from healing.best import draw, most_probable
from healing.constrained import Retyping, aligned, loose, one_token
from healing.covers import ROOT as TRUNK
from healing.covers import CoveringTree, covering_tree
from healing.left_out import without
from healing.rows import RowCache
from healing.sampling import log_normaliser
from healing.tokenization import Tokenization
from server.choosing import Choice, Chooser, accepting
from server.engine import ROOT, Row, Slot, TokenEngine
from server.errors import EngineError
from server.grammar.mask import Mask
from server.prompt import Prompt
from server.report import HealingReport
from server.watching import Watcher

NEGLIGIBLE = 1e-4
"""A tree path with a smaller share than this is not evaluated if its share is known beforehand."""

SINGLY = 8
"""So many texts that a banned pattern refuses are left out one by one, as patterns may look at what
comes next; then all that start like the last one are left out with it."""

CANDIDATES = 5
"""First texts that a report names."""


@dataclass(frozen=True)
class Healed:
    """The model has typed again what was typed."""

    slot: Slot
    """Holds everything before `token`."""
    reused: int
    """Tokens of the prompt that were in memory before."""
    token: int | None
    """The first token that reaches beyond the cursor, not evaluated; None if the text ends here."""
    visible: bytes
    """The bytes of `token` after the cursor; may be empty after `one_token`."""
    logprob: float
    """Natural log of the model's own probability of `visible`, given what was typed, whatever a
    grammar refused. For methods of one path: of its tokens, each among those that agree with what
    was typed."""
    report: HealingReport
    mask: Mask | None
    """The grammar's mask for what follows; None if there is none, or it was given up."""
    refused: float = 0.0
    """The share of the probability that the mask refused; known of exact healing alone."""
    is_banned: bool = False
    """Whether the text ends here because all that may come next is banned."""
    others: tuple["Healed", ...] = ()
    """What else could come first, best first. Their slots are beside the others: drop them."""


@dataclass(frozen=True)
class Beside:
    """What is wanted beside the best first text."""

    count: int
    """The most other texts."""
    is_useful: Callable[[bytes], bool]
    """Whether a first text can become one that is worth writing."""


def no_healing(engine: TokenEngine, prompt: Prompt, chooser: Chooser) -> Healed:
    """The hole at the cursor, and whatever the model says there.

    Args:
        engine: Any engine.
        prompt: One whose hole is at the cursor.
        chooser: How tokens are chosen.
    """
    passes = engine.forward_passes
    slot = engine.open(prompt.head)
    [row] = engine.evaluate(slot, [], [ROOT])
    choice = chooser(row)
    if choice is None and not _is_banned(chooser):
        chooser = replace(chooser, mask=None)
        choice = chooser(row)
    report = HealingReport(mode="off", forward_passes=engine.forward_passes - passes)
    if choice is None:
        assert _is_banned(chooser)
        return Healed(slot, slot.reused, None, b"", 0.0, report, None, is_banned=True)
    visible = b"" if choice.token is None else engine.vocabulary[choice.token]
    return Healed(slot, slot.reused, choice.token, visible, choice.logprob, report, chooser.mask)


def exact_healing(
    engine: TokenEngine,
    prompt: Prompt,
    rows: RowCache,
    chooser: Chooser,
    watcher: Watcher | None = None,
    beside: Beside | None = None,
) -> Healed:
    """Score all covers of the typed text in one forward pass and take the best visible text.

    Args:
        engine: It must be able to evaluate trees (`info.trees`).
        prompt: An anchored prompt.
        rows: What is known of this prompt's head from earlier requests; is added to.
        chooser: Greedy takes the most probable first text; else a leaf is drawn.
        watcher: Is shown the tree, where somebody wants to see it.
        beside: What else is wanted; None for nothing.
    """
    passes = engine.forward_passes
    tokenization, sampling, mask = chooser.tokenization, chooser.sampling, chooser.mask
    tree = covering_tree(prompt.typed, tokenization)
    needed = exact.unscored(tree, rows, NEGLIGIBLE)
    evaluated: dict[int, int] = {}
    slot: Slot | None = None
    if needed:
        slot, evaluated = _evaluate(engine, prompt, tree, set(needed), rows)
    accepts = None if mask is None else accepting(mask)
    scored = exact.score(tree, rows, engine.stops, sampling.temperature or 1.0, accepts)
    for left_out in count():
        choice = most_probable(scored)
        if not choice.probability and mask is not None and not left_out:
            mask = None
            scored = replace(scored, accepts=None)
            choice = most_probable(scored)
        leaf, logprob = choice.leaf, float(np.log(max(choice.probability, 1e-300)))
        if sampling.temperature and choice.probability:
            leaf = draw(scored, sampling, chooser.random)
            logprob = leaf.logprob - choice.reading.logprob
        banned = chooser.bans and leaf.visible and chooser.bans.refusal(leaf.visible)
        if not banned or (left_out and not choice.probability):
            break
        shown = leaf.visible[: banned.end] if banned.by_string else leaf.visible
        longer = banned.by_string or left_out >= SINGLY
        scored = without(scored, shown, longer=longer)
    kept = float(np.log(max(1 - choice.reading.refused, 1e-300)))
    logprob += kept
    if watcher is not None:
        watcher.healed(scored, rows, leaf, mask)

    more: list[Alternative] = []
    if beside is not None and leaf.visible and not banned and beside.is_useful(leaf.visible):
        more = alternatives(scored, choice, leaf.visible, beside.count, beside.is_useful)
    if slot is None or leaf.node not in evaluated:
        slot = engine.open([*prompt.head, *leaf.path])
        if more:
            engine.evaluate(slot, [], [])  # once, for all of them
        other_slots = _open_beside(engine, prompt, more)
    else:
        other_slots = _open_beside(engine, prompt, more)  # while the tree is there
        engine.keep(slot, evaluated[leaf.node])
    report = HealingReport(
        mode="exact",
        backed_up_tokens=_taken_back(tree.backed_up, prompt.typed, tokenization),
        backed_up_text=_persons(tree.backed_up, prompt).decode(errors="replace"),
        covers=len(choice.reading.leaves),
        tree_tokens=len(evaluated) - (TRUNK in evaluated),
        forward_passes=engine.forward_passes - passes,
        candidates=tuple(
            (text.decode(errors="replace"), round(share, 4))
            for text, share, _ in choice.reading.visible()[:CANDIDATES]
        ),
    )
    refused = choice.reading.refused if mask is not None else 0.0
    if banned:
        return Healed(slot, slot.reused, None, b"", logprob, report, mask, refused, is_banned=True)
    token = leaf.token if leaf.visible else None
    others = tuple(
        Healed(
            other_slot,
            other_slot.reused,
            other.leaf.token,
            other.leaf.visible,
            float(np.log(other.probability)) + kept,
            report,
            mask,
            refused,
        )
        for other_slot, other in zip(other_slots, more, strict=False)
    )
    return Healed(
        slot, slot.reused, token, leaf.visible, logprob, report, mask, refused, others=others
    )


def _open_beside(engine: TokenEngine, prompt: Prompt, wanted: list[Alternative]) -> list[Slot]:
    """A slot for each text, as far as there is room for them."""
    slots = []
    for other in wanted:
        try:
            slots.append(engine.open_beside([*prompt.head, *other.leaf.path]))
        except EngineError:
            break
    return slots


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
    engine: TokenEngine, prompt: Prompt, method: str, chooser: Chooser, note: str | None = None
) -> Healed:
    """Take tokens back and choose again, step by step, among those that agree with the text.

    Args:
        engine: Any engine.
        prompt: An anchored prompt; the methods are compared on equal prompts.
        method: `align` (within the covering tree), `loose` (by bytes alone) or `one`.
        chooser: How to choose at each step. A grammar has a say where a token reaches beyond the
            cursor; a step may lead where none does that it allows, and then it is given up.
        note: Why this method is used although another was asked for.
    """
    passes = engine.forward_passes
    tokenization = chooser.tokenization
    if method == "align":
        retyping = aligned(covering_tree(prompt.typed, tokenization))
    elif method == "loose":
        retyping = loose(prompt.typed, tokenization)
    else:
        retyping = one_token(prompt.typed, tokenization)
    slot, reused = _open(engine, prompt.head, retyping.kept)
    [row] = engine.evaluate(slot, [], [ROOT])
    path: exact.Path = ()
    owed = retyping.owed
    logprob = 0.0
    while True:
        choice = _step(chooser, retyping, path, owed, row)
        if choice is None and not _is_banned(chooser):
            chooser = replace(chooser, mask=None)
            choice = _step(chooser, retyping, path, owed, row)
        if choice is None:
            assert _is_banned(chooser), f"no token agrees with the owed bytes {owed!r}"
            token, piece = None, b""
            break
        token = choice.token
        logprob += choice.logprob
        piece = b"" if token is None else tokenization.vocabulary[token]
        if token is None or len(piece) > len(owed) or method == "one":
            break
        path, owed = (*path, token), owed[len(piece) :]
        [row] = engine.evaluate(slot, [(ROOT, token)], [0])
        engine.keep(slot, 0)
    report = HealingReport(
        mode="one" if method == "one" else "align",
        backed_up_tokens=_taken_back(retyping.owed, prompt.typed, tokenization),
        backed_up_text=_persons(retyping.owed, prompt).decode(errors="replace"),
        covers=1,
        forward_passes=engine.forward_passes - passes,
        note=note,
    )
    visible, mask = piece[len(owed) :], chooser.mask
    return Healed(slot, reused, token, visible, logprob, report, mask, is_banned=choice is None)


def _open(engine: TokenEngine, head: tuple[int, ...], kept: exact.Path) -> tuple[Slot, int]:
    """A slot with a head and typed tokens, and how much of it was in memory before.

    Where the memory can't be cut, a text that has grown is of no use to another one. There the head
    is a text of its own, which nothing is added to: whatever is typed goes on from it. Its row is
    asked for now, as that would take reading it again later.
    """
    slot = engine.open([*head, *kept])
    reused = slot.reused
    if reused < len(head) and not engine.info.trees:
        engine.drop(slot)
        engine.evaluate(engine.open(head), [], [ROOT])
        slot = engine.open([*head, *kept])
    return slot, reused


def _step(
    chooser: Chooser, retyping: Retyping, path: exact.Path, owed: bytes, row: Row
) -> Choice | None:
    """The next token under the mask; None if the grammar refuses all that agree."""
    stops = np.fromiter(() if owed else chooser.stops, dtype=np.int64)
    among = np.concatenate([retyping.allowed(path, owed), stops])
    choice = chooser(row, owed, among, partial(retyping.admits, path))
    if choice is None or choice.token is None or not owed:
        return choice
    # What has been typed is certain: a token's share of those that agree with it.
    temperature = chooser.sampling.temperature or 1.0
    logprob = float(row[choice.token]) / temperature - log_normaliser(row[among], temperature)
    return replace(choice, logprob=logprob)


def _is_banned(chooser: Chooser) -> bool:
    """Whether something that could come first must not: then a grammar is not to blame."""
    return chooser.bans is not None and chooser.bans.has_refused_here


def _persons(owed: bytes, prompt: Prompt) -> bytes:
    """What a person typed of the owed bytes: without the tokenizer's own blank."""
    return owed[max(0, len(owed) - (len(prompt.typed) - prompt.lead)) :]


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
