"""One request while its text is written: what is checked beside it, and what is told of it.

Not here: who writes it, a model in this process (`completer`) or elsewhere (`remote`), and what is
shown of it in the end (`answers`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter

from server.answers import FINISHED, Answer, text_before
from server.ban_watch import BanWatch
from server.bans import Bans
from server.block_stop import BlockStop
from server.blocks import inside_at
from server.completion_options import CompletionOptions
from server.engine import ModelInfo, TokenEngine
from server.generation import Generation
from server.grammar.fit import Fits
from server.grammar.grammar_mask import GrammarMask
from server.grammar.languages import ladder_for
from server.grammar.mask import Mask
from server.grammar.report import GrammarReport
from server.grammar_checks import GIVEN_UP, GrammarChecks, fits_of
from server.prompt import Prompt
from server.report import HealingReport
from server.rules import Place, place_at
from server.snapshot import Snapshot

TELL_S = 0.01
"""How often at most it is told what is there of a text: less is nothing to a person, and on a GPU a
part of what a token takes."""


@dataclass(eq=False)
class Asked:
    """A request with its prompt and its grammar."""

    snapshot: Snapshot
    options: CompletionOptions
    prompt: Prompt
    notes: list[str]
    """What a person should know, each a sentence; may grow."""
    info: ModelInfo
    """The model as it was at the start."""
    place: Place
    inside: bytes
    bans: Bans | None
    mask: GrammarMask | None
    """What the text is written under; None for no grammar, as `grammar` says why."""
    grammar: GrammarReport
    _engine: TokenEngine
    _evaluated: int
    """Tokens that the engine had evaluated before."""
    _until_ms: dict[str, float]
    _checked: float
    """When everything was ready to write."""
    _first_text: float = 0.0
    _told: float = -inf

    def tell(self, generation: Generation, on_progress: Callable[[Answer], None]) -> None:
        """Tell of a text that is being written, unless that was done just now."""
        now = perf_counter()
        if now - self._told >= TELL_S:
            self._told = now
            on_progress(self.answer(generation))

    def answer(self, generation: Generation) -> Answer:
        """What is told of a text, which may be a part of what is being written."""
        now = perf_counter()
        self._first_text = self._first_text or now
        mask = self.mask if generation.masked else None
        report = self.grammar if self.mask is None else self.mask.report()
        if self.mask is not None and mask is None:
            report = replace(report, state="off", reason=GIVEN_UP)
        return Answer(
            generation,
            self.prompt.kind,
            self.info,
            self._engine.evaluated_tokens - self._evaluated,
            {
                **self._until_ms,
                "first_text": 1e3 * (self._first_text - self._checked),
                "decoding": 1e3 * (now - self._first_text),
            },
            tuple(self.notes),
            self.options.multiline,
            self.options.rules_off,
            report,
            None if mask is None else Fits(wanted=mask.wanted),
            self.bans,
        )

    def fits(self, generation: Generation, mask: Mask | None) -> Fits | None:
        """Where a whole text could end; None if its mask does not know."""
        if not isinstance(mask, GrammarMask) or not generation.masked:
            return None
        return fits_of(
            mask,
            self.snapshot,
            self.place,
            generation.text,
            generation.ended in FINISHED,
            self.inside,
            self.options.multiline,
        )

    def stop(self) -> BlockStop:
        """Says whether a text is all that is wanted; one for each text."""
        return BlockStop(self.place, self.inside, self.options.multiline)

    def watch(self) -> BanWatch | None:
        """Watches for bans, if there are any; one for each text."""
        return None if self.bans is None else BanWatch(self.bans, text_before(self.snapshot))

    def unasked(self, method: str) -> Answer | None:
        """The answer where nothing can be shown whatever the model writes; None elsewhere.

        Args:
            method: How the end of the typed text would be written again.
        """
        watch = self.watch()
        if watch is None or not watch.is_stuck:
            return None
        watch.end_before(b"", "")
        healing, bans = HealingReport(method), watch.report
        generation = Generation(b"", (), "ban", healing, 0, 0, masked=True, bans=bans)
        return replace(self.answer(generation), fits=None)


def begin(
    snapshot: Snapshot,
    options: CompletionOptions,
    prompt: Prompt,
    notes: list[str],
    engine: TokenEngine,
    grammars: GrammarChecks,
    started: float,
) -> Asked:
    """Get everything ready that stands beside a text.

    Args:
        snapshot: The document.
        options: How it is completed.
        prompt: What the model is given.
        notes: What is known already that a person should know.
        engine: The model.
        grammars: Where documents were read to.
        started: When work on the request began, by `perf_counter`.
    """
    evaluated, prompted = engine.evaluated_tokens, perf_counter()
    place = place_at(snapshot, options.rules_off)
    ladder = ladder_for(
        snapshot.uri,
        snapshot.language,
        snapshot.text,
        dict(options.grammar_files),
        dict(options.grammar_schemas),
    )
    mask, report = grammars.begin(snapshot, place, ladder, options.grammar)
    checked = perf_counter()
    until_ms = {"prompt": 1e3 * (prompted - started), "grammar": 1e3 * (checked - prompted)}
    return Asked(
        snapshot,
        options,
        prompt,
        notes,
        engine.info,
        place,
        inside_at(snapshot),
        options.compiled_bans(),
        mask,
        report,
        engine,
        evaluated,
        until_ms,
        checked,
    )
