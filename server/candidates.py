"""Several different continuations at once: the best first texts, each written to its end.

What healing finds beside the best first text goes on in slots of its own. If that is less than was
asked for, others leave the first text further on, where it could have gone on otherwise (`forks`).
All texts grow by one token in the same forward pass, as long as more than one of them is being
written; a pass for three costs less than three passes. The last one goes on alone, as any text
does.

The first continuation is the one that `generate` writes: others change nothing of it. They have a
grammar's state, bans and random numbers of their own. Where memory runs out they are given up. With
bans none leaves another: what is banned may have begun before that place.

Not here: the choice of first texts (`healing.alternatives`), and the loop (`decoding.writing`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from healing.rows import RowCache
from healing.sampling import GREEDY, Sampling
from healing.stitch import Stitch
from healing.tokenization import Tokenization
from server.ban_watch import BanWatch
from server.chain import Chain
from server.choosing import Chooser, chooser_for
from server.decoding import Writing, writing
from server.drafting import Drafting
from server.engine import Row, Slot, TokenEngine
from server.errors import EngineError
from server.forks import Begun, other_tokens
from server.generation import Generation
from server.grammar.mask import Mask
from server.prompt import Prompt
from server.retyping import Beside, Healed, exact_healing
from server.watching import Watcher, watched

Stop = Callable[[bytes], bool]


@dataclass(frozen=True)
class Candidate:
    """One continuation."""

    generation: Generation
    mask: Mask | None
    """What the grammar says of it."""


@dataclass(eq=False)
class _Branch:
    """A continuation that is being written."""

    chain: Chain
    mask: Mask | None
    text: Writing
    begun: Begun = field(default_factory=Begun)
    """What had been written before it left the first one."""
    ask: tuple[int, int] = (0, 0)
    """The token whose row it waits for, and how many may come after it."""
    generation: Generation | None = None
    """All that has been written, when it is whole."""

    def go_on(self, row: Row | None) -> None:
        """Give it the row that it waits for; None to begin."""
        try:
            self.ask = next(self.text) if row is None else self.text.send(row)
        except StopIteration as end:
            self.generation = self.begun.whole(end.value)


def candidates(
    engine: TokenEngine,
    tokenization: Tokenization,
    prompt: Prompt,
    count: int,
    *,
    rows: RowCache,
    max_tokens: int,
    stops: Callable[[], Stop],
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
        sampling: How tokens are chosen. Where other texts begin is not drawn.
        mask: A grammar's view; the others get twins of it.
        drafts: Guesses, for one that is written alone.
        bans: Makes a watch for each continuation.
        on_progress: Is given what is there of the first one.
        watcher: Is told how the first one comes about.

    Returns:
        At least one; the first is what `generate` writes. The others follow in the order of the
        probability of their first texts, and those that leave the first one come last.

    Raises:
        Cancelled, EngineError: As the engine does; nothing of the others is left in memory.
    """
    plain = chooser_for(engine, tokenization, sampling, mask, bans())
    chooser = plain if watcher is None else watched(plain, watcher)

    def heal(chooser: Chooser) -> Healed:
        return exact_healing(engine, prompt, rows, chooser, watcher)

    probe, is_whole = bans(), stops()

    def is_useful(first: bytes) -> bool:
        shown = Stitch().push(first)
        is_over = bool(shown) and not shown.strip() and is_whole(shown)
        return not is_over and (probe is None or probe.refusal(first) is None)

    beside = Beside(count - 1, is_useful)
    healed = exact_healing(engine, prompt, rows, chooser, watcher, beside)
    stitch, should_stop = Stitch(), stops()
    others = _Others(engine, plain, healed, stitch, count, max_tokens, stops, bans, is_useful)
    try:
        with Chain(engine, healed.slot, stitch, should_stop, drafts) as chain:

            def progress(so_far: Generation) -> None:
                others.so_far = so_far
                on_progress(so_far)

            text = writing(
                engine,
                chain,
                stitch,
                healed,
                chooser,
                heal,
                max_tokens=max_tokens,
                should_stop=should_stop,
                on_progress=progress,
                watcher=watcher,
            )
            branches = [_Branch(chain, healed.mask, text)]
            _write_all(engine, branches, others)
    finally:
        others.drop()
    return [
        Candidate(branch.generation, branch.mask)
        for number, branch in enumerate(branches)
        if branch.generation is not None
        and (not number or len(branch.generation.text) > len(branch.begun.text))
    ]


class _Others:
    """Where continuations begin, beside the first one."""

    def __init__(
        self,
        engine: TokenEngine,
        chooser: Chooser,
        healed: Healed,
        stitch: Stitch,
        count: int,
        max_tokens: int,
        stops: Callable[[], Stop],
        bans: Callable[[], BanWatch | None],
        is_useful: Callable[[bytes], bool],
    ) -> None:
        self.so_far: Generation | None = None
        """What there is of the first one, in whole characters."""
        self._stitch = stitch
        """The same in bytes."""
        self.has_bans = chooser.bans is not None
        self._engine, self._chooser, self._healed = engine, chooser, healed
        self._left = count - 1
        self._max_tokens = max_tokens
        self._stops, self._bans, self._is_useful = stops, bans, is_useful
        self._slots: list[Slot] = [other.slot for other in healed.others]
        self._mask = _twin(healed.mask)
        """At the cursor."""

    @property
    def are_wanted(self) -> bool:
        """Whether others may yet leave the first one."""
        return self._left > 0 and not self.has_bans

    def begin(self) -> list[_Branch]:
        """Those that begin with other first texts."""
        return [
            self._branch(replace(other, mask=_twin(self._mask)), Begun())
            for other in self._healed.others[: self._left]
        ]

    def place(self) -> Generation | None:
        """The first one as it is now, if others may leave it here."""
        is_whole = self.so_far is not None and self.so_far.text == self._stitch.text
        return self.so_far if is_whole and self.are_wanted else None

    def leaving(self, place: Generation, chain: Chain, row: Row, chosen: int) -> list[_Branch]:
        """Those that leave the first one before a token that was chosen.

        Args:
            place: The first one without that token.
            chain: The same in memory.
            row: The logits that the token was chosen by.
            chosen: The token.
        """
        begun = Begun(place.text, place.logprobs, place.ends)

        @cache
        def mask() -> Mask | None:
            found = _twin(self._mask if place.masked else None)
            if found is not None:
                found.push(begun.text)  # never taken back: there are no bans
            return found

        def fits(text: bytes) -> bool:
            seen = mask()
            return (seen is None or seen.allows(text)) and self._is_useful(begun.text + text)

        found = []
        for token, logprob in other_tokens(self._chooser, row, chosen, fits)[: self._left]:
            try:
                slot = self._engine.open_beside(chain.slot.tokens)
            except EngineError:
                self._left = 0
                break
            self._slots.append(slot)
            text, report = self._engine.vocabulary[token], self._healed.report
            healed = Healed(slot, slot.reused, token, text, logprob, report, _twin(mask()))
            found.append(self._branch(healed, begun))
        return found

    def drop(self) -> None:
        """Free all that they hold in memory."""
        for slot in self._slots:
            self._engine.drop(slot)

    def _branch(self, healed: Healed, begun: Begun) -> _Branch:
        self._left -= 1
        stop = self._stops()

        def should_stop(text: bytes) -> bool:
            return stop(begun.text + text)

        stitch = Stitch()
        random = np.random.default_rng([self._chooser.sampling.seed, self._left])
        chain = Chain(self._engine, healed.slot, stitch, should_stop, None)
        text = writing(
            self._engine,
            chain,
            stitch,
            healed,
            replace(self._chooser, bans=self._bans(), random=random),
            None,
            max_tokens=self._max_tokens - len(begun.logprobs),
            should_stop=should_stop,
            on_progress=lambda _: None,
            watcher=None,
        )
        return _Branch(chain, healed.mask, text, begun)


def _twin(mask: Mask | None) -> Mask | None:
    return None if mask is None else mask.twin()


def _write_all(engine: TokenEngine, branches: list[_Branch], others: _Others) -> None:
    """Write all of them to their ends, or give up those that there is no room for.

    Args:
        engine: The model.
        branches: The first one; the others are added.
        others: Where they come from.
    """
    first = branches[0]
    first.go_on(None)
    if first.generation is not None and not first.generation.text:
        return  # nothing is wanted here
    _begin(branches, others.begin())
    while living := [branch for branch in branches if branch.generation is None]:
        if len(living) > 1 or (living == [first] and others.are_wanted):
            try:
                _begin(branches, _step(engine, first, living, others))
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


def _begin(branches: list[_Branch], new: list[_Branch]) -> None:
    for branch in new:
        branch.go_on(None)
    branches += new


def _step(
    engine: TokenEngine, first: _Branch, living: list[_Branch], others: _Others
) -> list[_Branch]:
    """One more token of each; returns those that begin now."""
    for branch in living:
        branch.chain.leave()
    tokens = [branch.ask[0] for branch in living]
    rows = engine.evaluate_each([branch.chain.slot for branch in living], tokens)
    if others.has_bans:  # one that goes back takes a pass of its own
        rows = [row.copy() for row in rows]
    new: list[_Branch] = []
    for branch, row in zip(living, rows, strict=True):
        place = others.place() if branch is first else None
        branch.go_on(row)
        if place is not None and branch.generation is None:
            new = others.leaving(place, branch.chain, row, branch.ask[0])
        branch.chain.leave()
    return new
