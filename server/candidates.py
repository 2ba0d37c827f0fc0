"""Several different continuations at once: the best first texts, each written to its end.

What healing finds beside the best first text goes on in slots of its own. All texts grow by one
token in the same forward pass, as long as more than one of them is being written; a pass for three
costs less than three passes. The last one goes on alone, as any text does.

The first continuation is the one that `generate` writes: others change nothing of it. They have a
grammar's state, bans and random numbers of their own. Where memory runs out they are given up.

Not here: the choice of first texts (`healing.alternatives`), and the loop (`decoding.writing`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from healing.rows import RowCache
from healing.sampling import GREEDY, Sampling
from healing.stitch import Stitch
from healing.tokenization import Tokenization
from server.ban_watch import BanWatch
from server.chain import Chain
from server.choosing import Chooser, chooser_for
from server.decoding import Generation, Row, Writing, writing
from server.drafting import Drafting
from server.engine import TokenEngine
from server.errors import EngineError
from server.grammar.mask import Mask
from server.prompt import Prompt
from server.retyping import Beside, Healed, exact_healing
from server.watching import Watcher, watched


@dataclass(frozen=True)
class Candidate:
    """One continuation."""

    generation: Generation
    mask: Mask | None
    """What the grammar says of it."""


@dataclass(eq=False)
class _Branch:
    """A continuation that is being written."""

    healed: Healed
    chain: Chain
    mask: Mask | None
    text: Writing
    ask: tuple[int, int] = (0, 0)
    """The token whose row it waits for, and how many may come after it."""
    generation: Generation | None = None
    """What has been written, when it is whole."""

    def go_on(self, row: Row | None) -> None:
        """Give it the row that it waits for; None to begin."""
        try:
            self.ask = next(self.text) if row is None else self.text.send(row)
        except StopIteration as end:
            self.generation = end.value


def candidates(
    engine: TokenEngine,
    tokenization: Tokenization,
    prompt: Prompt,
    count: int,
    *,
    rows: RowCache,
    max_tokens: int,
    stops: Callable[[], Callable[[bytes], bool]],
    sampling: Sampling = GREEDY,
    mask: Mask | None = None,
    drafts: Drafting | None = None,
    bans: Callable[[], BanWatch | None] = lambda: None,
    on_progress: Callable[[Generation], None] = lambda _: None,
    watcher: Watcher | None = None,
) -> list[Candidate]:
    """Complete a prompt by exact healing, in several ways.

    Args:
        engine: One that evaluates trees.
        tokenization: Its tokenizer.
        prompt: An anchored prompt.
        count: The most continuations.
        rows: As in `decoding.generate`, like all that is not named here.
        max_tokens: The most tokens of each.
        stops: Makes for each continuation what says whether its text is all that is wanted.
        sampling: How tokens are chosen. Other first texts than the first are not drawn.
        mask: A grammar's view; the others get twins of it.
        drafts: Guesses, for one that is written alone.
        bans: Makes a watch for each continuation.
        on_progress: Is given what is there of the first one.
        watcher: Is told how the first one comes about.

    Returns:
        At least one; the first is what `generate` writes. The others follow in the order of the
        probability of their first texts.

    Raises:
        Cancelled, EngineError: As the engine does; nothing of the others is left in memory.
    """
    plain = chooser_for(engine, tokenization, sampling, mask, bans())
    chooser = plain if watcher is None else watched(plain, watcher)
    probe, is_whole = bans(), stops()

    def is_useful(first: bytes) -> bool:
        shown = Stitch().push(first)
        is_over = bool(shown) and not shown.strip() and is_whole(shown)
        return not is_over and (probe is None or probe.refusal(first) is None)

    def heal(chooser: Chooser) -> Healed:
        return exact_healing(engine, prompt, rows, chooser, watcher)

    beside = Beside(count - 1, is_useful)
    healed = exact_healing(engine, prompt, rows, chooser, watcher, beside)
    others = list(healed.others)
    try:
        masks = [None if healed.mask is None else healed.mask.twin() for _ in others]

        def branch(number: int, healed: Healed, chooser: Chooser) -> _Branch:
            stitch, should_stop = Stitch(), stops()
            is_first = not number
            chain = Chain(engine, healed.slot, stitch, should_stop, drafts if is_first else None)
            text = writing(
                engine,
                chain,
                stitch,
                healed,
                chooser,
                heal if is_first else None,
                max_tokens=max_tokens,
                should_stop=should_stop,
                on_progress=on_progress if is_first else lambda _: None,
                watcher=watcher if is_first else None,
            )
            return _Branch(healed, chain, healed.mask, text)

        branches = [branch(0, healed, chooser)]
        for number, (other, twin) in enumerate(zip(others, masks, strict=True), 1):
            random = np.random.default_rng([sampling.seed, number])
            own = replace(plain, mask=twin, bans=bans(), random=random)
            branches.append(branch(number, replace(other, mask=twin), own))
        with branches[0].chain:
            _write_all(engine, branches, keeps_rows=probe is not None)
    finally:
        for other in others:
            engine.drop(other.slot)
    whole = [(one, one.generation) for one in branches if one.generation is not None]
    return [
        Candidate(generation, one.mask)
        for one, generation in whole
        if one is branches[0] or generation.text
    ]


def _write_all(engine: TokenEngine, branches: list[_Branch], *, keeps_rows: bool) -> None:
    """Write all of them to their ends, or give up those that there is no room for.

    Args:
        engine: The model.
        branches: The first one first.
        keeps_rows: Whether the rows of a step must outlive other passes: bans may want one.
    """
    first = branches[0]
    first.go_on(None)
    if first.generation is not None and not first.generation.text:
        return  # nothing is wanted here
    for other in branches[1:]:
        other.go_on(None)
    while living := [branch for branch in branches if branch.generation is None]:
        if len(living) > 1:
            try:
                _step(engine, living, keeps_rows=keeps_rows)
                continue
            except EngineError:
                for other in living[1:]:
                    branches.remove(other)
        alone = living[0]
        try:
            while alone.generation is None:
                alone.go_on(alone.chain.after(*alone.ask))
        except EngineError:
            if alone is first:
                raise
            branches.remove(alone)


def _step(engine: TokenEngine, living: list[_Branch], *, keeps_rows: bool) -> None:
    """One more token of each."""
    for branch in living:
        branch.chain.leave()
    tokens = [branch.ask[0] for branch in living]
    rows = engine.evaluate_each([branch.chain.slot for branch in living], tokens)
    if keeps_rows:
        rows = [row.copy() for row in rows]
    for branch, row in zip(living, rows, strict=True):
        branch.go_on(row)
        branch.chain.leave()
