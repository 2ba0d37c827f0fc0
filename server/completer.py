"""One request, once through: snapshot, prompt, healing, decoding, rules, suggestion.

The completer owns a loaded model and what is remembered between requests. Command line, editors
and tests all call `Completer.complete`.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from healing.rows import RowCache
from healing.tokenization import Tokenization
from healing.trie import PrefixTrie
from server.answers import Answer, Other
from server.asked import begin
from server.candidates import Candidate, candidates
from server.completion_options import CompletionOptions
from server.decoding import generate
from server.drafting import Drafter, drafter_for
from server.engine import TokenEngine
from server.engine.llama import load
from server.engine.llama_load import EngineOptions, usable_cores
from server.engine.tables import load_tables
from server.errors import UnknownVocabularyError
from server.generation import Generation
from server.grammar_checks import GrammarChecks
from server.prompt import Prompt
from server.prompt_choice import PromptChoice, Site
from server.read_ahead import ReadAhead
from server.remembered_encode import RememberedEncode
from server.report import Completion
from server.rules import place_at, settled
from server.several import present_all
from server.snapshot import Snapshot
from server.speed import CPU_PREFILL, GPU_PREFILL, Reading, reading_of
from server.warm_start import WarmStart
from server.watching import Watcher

logger = logging.getLogger("midtoken.completer")

LEFT_TO_RIGHT = "this model has no fill-in-the-middle tokens: text after the cursor is not used"
"""Said once for a loaded model: in the log, and with its first completion."""

ONE_ONLY = (
    "only exact healing, by a model on this machine, finds several continuations: there is one"
)
"""Said where more were asked for."""

REMEMBERED_HEADS = 4
"""Prompts whose rows are kept: as many as the engine has slots."""

REMEMBERED_NAMES = 1
"""Prompts whose rows inside names are kept: they are ranked where somebody types."""


class Completer:
    """A loaded model, ready for requests; one at a time."""

    def __init__(
        self,
        engine: TokenEngine,
        tokenization: Tokenization,
        *,
        exact: bool,
        reading: Reading | None = None,
    ) -> None:
        """Take an engine over; `close` frees it.

        Args:
            engine: The model.
            tokenization: Its tokenizer.
            exact: Whether exact healing understands the vocabulary.
            reading: How fast the model reads; None if that is not known.
        """
        self.engine = engine
        self.tokenization = tokenization
        self.exact = exact
        """Whether exact healing understands the vocabulary."""
        usual = GPU_PREFILL if engine.info.offloaded_layers else CPU_PREFILL
        reading = reading or Reading(None, usual)
        self.prompts = PromptChoice(engine, tokenization, reading)
        self.ahead = ReadAhead(engine, reading)
        self._rows: OrderedDict[tuple[int, ...], RowCache] = OrderedDict()
        self._name_rows: OrderedDict[tuple[int, ...], RowCache] = OrderedDict()
        self._grammars = GrammarChecks()
        self.drafter: Drafter | None = drafter_for(tokenization, engine.info)
        """None for plain decoding."""
        self._told_left = False
        self.warm: WarmStart | None = None
        """What is remembered over restarts; None for nothing."""
        self.loading_ms: dict[str, float] = {}

    def complete(
        self,
        snapshot: Snapshot,
        options: CompletionOptions = CompletionOptions(),  # noqa: B008
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        """The suggestion at a snapshot's cursor.

        Args:
            snapshot: The document.
            options: How to complete it.
            on_text: Is given the start of the suggestion, as far as nothing can change it any
                more, each time that the model has written something.

        Raises:
            EngineError: The model cannot be run on this prompt.
            Cancelled: `cancel` was called.
        """
        started = perf_counter()
        place = place_at(snapshot)

        def show(so_far: Answer) -> None:
            if on_text:
                text = so_far.generation.text
                if so_far.fits is not None:
                    # Before closers the text may be cut anywhere.
                    text = b"" if place.rest.strip() else text[: so_far.fits.wanted]
                on_text(settled(place, text).decode(errors="ignore"))

        answer = self.answer(snapshot, options, show)
        timing = {**self.loading_ms, **answer.timing_ms, "total": 1e3 * (perf_counter() - started)}
        return present_all(snapshot, b"", replace(answer, timing_ms=timing))

    def answer(
        self,
        snapshot: Snapshot,
        options: CompletionOptions,
        on_progress: Callable[[Answer], None] = lambda _: None,
        watcher: Watcher | None = None,
    ) -> Answer:
        """What the model writes at a snapshot's cursor, before rules.

        Args:
            snapshot: The document.
            options: How to complete it.
            on_progress: Is given the answer so far, where its text has grown; see `asked.TELL_S`.
            watcher: Is told how it comes about.

        Raises:
            EngineError: The model cannot be run on this prompt.
            Cancelled: `cancel` was called.
        """
        started = perf_counter()
        engine = self.engine
        method, note = self._method(options.healing)
        notes = [sentence for sentence in (note, engine.info.note) if sentence]
        if engine.fim is None and options.prompt == "fim" and not self._told_left:
            notes.append(LEFT_TO_RIGHT)
        if method != "exact" and options.candidates > 1:
            notes.append(ONE_ONLY)
        prompt = self.prompt_at(snapshot, options)
        if watcher is not None:
            watcher.prompted(prompt)
        asked = begin(snapshot, options, prompt, notes, engine, self._grammars, started)
        if (unasked := asked.unasked(method)) is not None:
            return unasked

        def progress(so_far: Generation) -> None:
            asked.tell(so_far, on_progress)

        rows = self.rows_of(prompt.head)
        drafts = None if self.drafter is None else self.drafter.begin(snapshot, prompt)
        others: list[Candidate] = []
        if method == "exact" and options.candidates > 1:
            [first, *others] = candidates(
                engine,
                self.tokenization,
                prompt,
                options.candidates,
                rows=rows,
                max_tokens=options.max_tokens,
                stops=asked.stop,
                sampling=options.sampling,
                mask=asked.mask,
                drafts=drafts,
                bans=asked.watch,
                on_progress=progress,
                watcher=watcher,
            )
            generation = first.generation
        else:
            generation = generate(
                engine,
                self.tokenization,
                prompt,
                method,
                rows=rows,
                max_tokens=options.max_tokens,
                should_stop=asked.stop(),
                sampling=options.sampling,
                mask=asked.mask,
                note=note,
                drafts=drafts,
                bans=asked.watch(),
                on_progress=progress,
                watcher=watcher,
            )
        if self.warm is not None:
            self.warm.note(snapshot.uri, self.prompts.text(prompt))
        self._told_left = self._told_left or LEFT_TO_RIGHT in notes
        fits = asked.fits(generation, asked.mask)
        return replace(
            asked.answer(generation),
            fits=fits,
            others=tuple(
                Other(other.generation, asked.fits(other.generation, other.mask))
                for other in others
            ),
        )

    def prompt_at(self, snapshot: Snapshot, options: CompletionOptions) -> Prompt:
        """The prompt of a request; its hole is anchored unless healing is off."""
        self.ahead.hold()
        return self.prompts.choose(self._site(snapshot, options), self._recall)

    def prompts_ahead(self, snapshot: Snapshot, options: CompletionOptions) -> list[Prompt]:
        """The prompts that are worth reading at a place when there is time, smallest first."""
        return self.prompts.ahead(self._site(snapshot, options), self._recall)

    def twins(self) -> "list[Completer]":
        """Others that do requests at the same time as this one, each in a thread of its own.

        There are none where a model is in this process.
        """
        return []

    def forget(self, document: str) -> None:
        """Free what is remembered of a document."""
        self._grammars.forget(document)
        self.ahead.forget(document)

    def cancel(self) -> None:
        """Stop the running request and every later one until `resume`; from any thread."""
        self.engine.cancel()

    def resume(self) -> None:
        """Forget an earlier `cancel`."""
        self.engine.resume()

    def close(self) -> None:
        """Free the model; what is to be remembered of it is written before."""
        try:
            if self.warm is not None:
                self.warm.finish()
        finally:
            self.engine.close()

    def _method(self, asked: str) -> tuple[str, str | None]:
        """The method that this model allows, and a sentence if it is not the one asked for."""
        if asked in {"exact", "align"} and not self.exact:
            kind = self.engine.info.vocabulary_type
            return "loose", (
                f"exact healing does not know {kind} vocabularies yet: aligned by bytes instead"
            )
        if asked == "exact" and not self.engine.info.trees:
            return "align", (
                "this model's memory cannot be cut, so no trees: healing is by alignment"
            )
        return asked, None

    def _site(self, snapshot: Snapshot, options: CompletionOptions) -> Site:
        method, _ = self._method(options.healing)
        return Site(
            snapshot,
            place_at(snapshot, options.rules_off),
            self.engine.fim if options.prompt == "fim" else None,
            method != "off",
            options.context_tokens,
            options.first_seconds,
            options.max_tokens,
            options.material,
        )

    def _recall(self, prompt: Prompt) -> None:
        if self.warm is not None:
            self.warm.recall(self.prompts.text(prompt))

    def rows_of(self, head: tuple[int, ...]) -> RowCache:
        """What is remembered of a prompt's rows; is added to."""
        return _remembered(self._rows, head, REMEMBERED_HEADS)

    def name_rows_of(self, head: tuple[int, ...]) -> RowCache:
        """The same of the rows inside names, which take no place of the others."""
        return _remembered(self._name_rows, head, REMEMBERED_NAMES)


def _remembered(
    rows: OrderedDict[tuple[int, ...], RowCache], head: tuple[int, ...], most: int
) -> RowCache:
    found = rows.setdefault(head, RowCache())
    rows.move_to_end(head)
    while len(rows) > most:
        rows.popitem(last=False)
    return found


def load_completer(path: Path, options: EngineOptions = EngineOptions()) -> Completer:  # noqa: B008
    """Load a model file. Raises ModelError or EngineError with what to do about it."""
    started = perf_counter()
    tables = None
    with suppress(UnknownVocabularyError):  # then llama.cpp is asked, and healing is by bytes
        tables = load_tables(path)
    prepared = perf_counter()
    engine = load(path, options, tables.vocabulary if tables else None)
    loaded = perf_counter()
    vocabulary = engine.vocabulary
    encode = RememberedEncode(engine.encode)
    merges = tables.neighbours(engine.encode) if tables else None
    completer = Completer(
        engine,
        Tokenization(vocabulary, PrefixTrie.build(vocabulary), encode, merges),
        exact=bool(tables and tables.exact),
        reading=reading_of(engine.info, options.threads or usable_cores()),
    )
    if engine.fim is None:
        logger.info(LEFT_TO_RIGHT)
    completer.loading_ms = {
        "load_model": 1e3 * (loaded - prepared),
        "load_tables": 1e3 * (prepared - started + perf_counter() - loaded),
    }
    return completer
