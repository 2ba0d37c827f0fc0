"""A completer whose model runs elsewhere: the usual prompts, rules and reports around its text.

What differs from `server.completer`: the answer is one request, whose beginning is forced where
something is healed. There are no drafts, nothing is read ahead, and nothing is kept on disk: the
engine has its own memory of prompts, and it is shared.
"""

import logging
import os
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from urllib.parse import unquote, urlsplit

from server.answers import NOT_SENT_END, Answer
from server.asked import begin
from server.completer import LEFT_TO_RIGHT, ONE_ONLY, Completer
from server.completion_options import CompletionOptions
from server.generation import Generation
from server.grammar.report import GrammarReport
from server.option_sections import RemoteSection
from server.prompt import SUFFIX_SHARE
from server.remote.client import Client
from server.remote.discovery import discover
from server.remote.engine import NotForcedError, RemoteEngine
from server.remote.keys import read_key
from server.remote.probe import reading_of
from server.remote.retyped import Forced, forced_end
from server.remote.vocabulary import vocabulary_for
from server.remote.writing import write
from server.report import HealingReport
from server.secret_files import NOT_SENT, is_secret
from server.snapshot import Snapshot, line_bounds, with_lf
from server.speed import STEPS, Reading
from server.watching import Watcher

logger = logging.getLogger("midtoken.remote")

UNFORCED = "this engine can't be told how to begin, so nothing is healed: the hole is at the cursor"
NEAR_BYTES = 4 * STEPS[-1]
"""What is likely to be in a prompt before the hole: usual bytes a token."""

TELLS_NONE = "the engine tells no probabilities: the score says nothing"
NOT_OVER = "bans end a suggestion here, where a model in this process would write something else"


class RemoteCompleter(Completer):
    """A model elsewhere, ready for requests; one at a time, and its `twins` beside it."""

    def __init__(self, engine: RemoteEngine, reading: Reading, parallel: int = 1) -> None:
        """Take an engine over; `close` frees it.

        Args:
            engine: The engine.
            reading: How fast it reads.
            parallel: How many requests it may get at once, from this one and its twins.
        """
        super().__init__(engine, engine.known.tokenization, exact=False, reading=reading)
        self.drafter = None
        self.remote = engine
        self._parallel = parallel

    def twins(self) -> list[Completer]:
        """See `Completer.twins`. What was found out is theirs, too; connections are their own."""
        reading = self.prompts.reading
        return [RemoteCompleter(self.remote.twin(), reading) for _ in range(self._parallel - 1)]

    def answer(
        self,
        snapshot: Snapshot,
        options: CompletionOptions,
        on_progress: Callable[[Answer], None] = lambda _: None,
        watcher: Watcher | None = None,
    ) -> Answer:
        """See `Completer.answer`.

        Raises:
            EngineError: The engine is not there, refuses or fails.
            Cancelled: `cancel` was called.
        """
        if is_secret_document(snapshot.uri):
            return self._unsent(snapshot, options)
        try:
            return self._answered(snapshot, options, on_progress, watcher)
        except NotForcedError as error:
            logger.warning("%s", error)
        unhealed = replace(options, healing="off")
        answer = self._answered(snapshot, unhealed, on_progress, watcher)
        self.remote.forces_nothing()
        return replace(answer, notes=(UNFORCED, *answer.notes))

    def _unsent(self, snapshot: Snapshot, options: CompletionOptions) -> Answer:
        """An answer without a text, for which nobody was asked."""
        healing = HealingReport("off", note=NOT_SENT)
        return Answer(
            Generation(b"", (), NOT_SENT_END, healing, 0, 0),
            options.prompt,
            self.remote.info,
            0,
            dict.fromkeys(("prompt", "grammar", "first_text", "decoding"), 0.0),
            (),
            options.multiline,
            options.rules_off,
            GrammarReport("off", snapshot.language, reason=NOT_SENT),
        )

    def _answered(
        self,
        snapshot: Snapshot,
        options: CompletionOptions,
        on_progress: Callable[[Answer], None],
        watcher: Watcher | None,
    ) -> Answer:
        started = perf_counter()
        engine = self.remote
        method, note = self._method(options.healing)
        notes = [] if note is None else [note]
        if engine.fim is None and options.prompt == "fim" and not self._told_left:
            notes.append(LEFT_TO_RIGHT)
            self._told_left = True
        if options.candidates > 1:
            notes.append(ONE_ONLY)
        engine.known.prefetch(lines_around(snapshot))
        prompt = self.prompt_at(snapshot, options)
        if watcher is not None:
            watcher.prompted(prompt)
        forced = Forced()
        if method != "off":
            known = engine.known
            forced = forced_end(
                prompt.typed, self.tokenization, method, exact=known.exact, whole=known.whole
            )
        asked = begin(snapshot, options, prompt, notes, engine, self._grammars, started)
        if (unasked := asked.unasked(method)) is not None:
            return unasked
        if asked.bans is not None:
            notes.append(NOT_OVER)
        generation = write(
            engine,
            prompt,
            forced,
            max_tokens=options.max_tokens,
            should_stop=asked.stop(),
            sampling=options.sampling,
            mask=asked.mask,
            bans=asked.watch(),
            note=note,
            on_progress=lambda so_far: asked.tell(so_far, on_progress),
        )
        if generation.logprobs and not any(generation.logprobs):
            notes.append(TELLS_NONE)
        fits = asked.fits(generation, asked.mask)
        return replace(asked.answer(generation), fits=fits)

    def _method(self, asked: str) -> tuple[str, str | None]:
        """The method that an engine elsewhere allows, and a sentence if it is another one."""
        if asked == "off" or not self.remote.can_force:
            return "off", None if asked == "off" else UNFORCED
        return ("one", None) if asked == "one" else ("align", None)


def is_secret_document(uri: str) -> bool:
    """Whether a document's name, or that of the file behind a link, tells of secrets."""
    path = unquote(urlsplit(uri).path) if "://" in uri else uri
    try:
        return is_secret(path) or is_secret(os.path.realpath(path))
    except (OSError, ValueError):  # no file can have such a name
        return True


def lines_around(snapshot: Snapshot) -> list[bytes]:
    """The lines that a prompt will count the tokens of, as it does (`server.window`)."""
    start, end = line_bounds(snapshot.text, snapshot.cursor)
    before = with_lf(snapshot.text[max(0, start - NEAR_BYTES) : start])
    after = with_lf(snapshot.text[end : end + NEAR_BYTES // SUFFIX_SHARE])
    lines = [b"\n" + line for line in after.split(b"\n")[1:]]
    return [*before.splitlines(keepends=True), *lines]


def load_remote(options: RemoteSection) -> RemoteCompleter:
    """Find out what an engine is, and get ready to ask it.

    Raises EngineError, ModelError or RemoteError with what to do about it.
    """
    started = perf_counter()
    key = read_key(options.key_variable, options.key_file)
    client = Client(options.url, key, options.timeout)
    if client.tells_key_to_others:
        logger.warning("the key for %s crosses the network readable: use https", client.url)
    found = discover(client, options.api, options.model)
    asked = perf_counter()
    known = vocabulary_for(client, found, options.tokenizer)
    if known.fim is None:
        logger.info(LEFT_TO_RIGHT)
    engine = RemoteEngine(client, found, known)
    prepared = perf_counter()
    parallel = min(options.parallel, found.slots or options.parallel)
    completer = RemoteCompleter(engine, reading_of(engine), parallel)
    completer.loading_ms = {
        "load_model": 1e3 * (asked - started + perf_counter() - prepared),
        "load_tables": 1e3 * (prepared - asked),
    }
    return completer
