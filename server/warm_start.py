"""Warm start: a prompt that was read before the last restart need not be read again.

A model's first suggestion costs what its prompt costs to read: seconds on a CPU. So what the memory
holds of a document's last prompts is written to disk when the model has nothing else to do, and
when it ends; the first prompt that begins like one of them goes on from there. It also helps a
document that comes back after others have taken its place in memory.

Everything here is a favour: a state that is missing, damaged or of no use means that the prompt is
read as ever. The same prompt gets the same answer either way; which prompt is chosen depends on
what is in memory (`prompt_choice`).

What is not here: the files (`state_store`), and when the model has nothing else to do
(`state_keeper`). Documents that hold secrets by their name, or that are no files, are left out.
"""

import logging
import os
import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from urllib.parse import unquote, urlsplit

from server.engine import TokenEngine
from server.errors import EngineError
from server.secret_files import is_secret
from server.state_store import PROMPTS, Kept, State, StateStore, delete_all

logger = logging.getLogger("midtoken.warm_start")

LEAST_ON_CPU, LEAST_ON_GPU = 32, 256
"""Fewer tokens than this are read faster than a file is looked for and checked, or nearly so."""

WORTH = 0.5
"""The part of what would have to be read that a state must save: it takes another text's place."""

COVERED = 0.75
"""While the model goes on, a prompt of which this part is on disk is not written."""

FINISH_S = 0.5
"""When the model ends, nothing is begun after so long: editors wait two seconds for a server, and
who ends it by a signal expects that within one."""

DOCUMENTS = 4
"""Documents whose last prompts are noted: as many as the engine has slots."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
"""One letter is a drive."""


@dataclass(frozen=True, eq=False)
class Taken:
    """A state that is out of the model's memory and not yet on disk."""

    store: StateStore
    address: str
    tokens: tuple[int, ...]
    state: State

    def write(self) -> None:
        """Write it; may be called in any thread, and never raises because of the disk."""
        self.store.write(self.address, self.tokens, self.state)


class WarmStart:
    """What one engine remembers over restarts. Belongs to the engine's thread."""

    def __init__(self, engine: TokenEngine, store: StateStore) -> None:
        """Use `store` for the states of `engine`."""
        self._engine, self._store = engine, store
        self._least = LEAST_ON_GPU if engine.info.offloaded_layers else LEAST_ON_CPU
        self._noted: OrderedDict[str, list[tuple[int, ...]]] = OrderedDict()
        """For each document its last prompts, used last coming last."""

    def recall(self, tokens: Sequence[int]) -> int:
        """Before a prompt is opened: put back what is on disk of it, if that saves something.

        Returns the tokens that need not be read now.
        """
        engine = self._engine
        held = engine.held(tokens)
        missing = len(tokens) - held
        if missing < self._least:
            return 0
        found = self._find(tokens)
        if found is None:
            return 0
        kept, common = found
        if common - held < max(self._least, WORTH * missing):
            return 0
        started = perf_counter()
        state = self._store.read(kept)
        if state is None:
            return 0
        with self._store.on_trial(kept):
            restored = engine.restore(kept.tokens.tolist(), state)
        if not restored:
            logger.warning("llama.cpp does not take a state of an earlier start: it is deleted")
            self._store.delete(kept)
            return 0
        milliseconds = 1e3 * (perf_counter() - started)
        logger.info("%d tokens of a prompt come from disk (%.1f ms)", common - held, milliseconds)
        return common - held

    def note(self, uri: str, head: tuple[int, ...]) -> None:
        """A document's prompt is in memory: `head` is what stays of it while a line is typed."""
        if len(head) <= self._least or not may_be_kept(uri):
            return
        prompts = self._noted.setdefault(uri, [])
        self._noted.move_to_end(uri)
        if head in prompts:
            prompts.remove(head)
        prompts.append(head)
        del prompts[:-PROMPTS]
        while len(self._noted) > DOCUMENTS:
            self._noted.popitem(last=False)

    def take(self, *, last: bool = False) -> Taken | None:
        """The next state that is to be written; None if there is none.

        Prompts that were used last come first. What is gone from memory is forgotten.

        Args:
            last: The engine is about to end. Before that, a prompt waits that has most of its text
                on disk already: one line more is no reason to write it all again.
        """
        try:
            for uri, head in self._last_first():
                # The last token is read again, and the row after it is known then. Memories that
                # can't be cut have nothing but the whole.
                texts = (head[:-1], head)
                if not any(self._store.has(uri, text) for text in texts):
                    if not last and self._is_covered(head):
                        continue
                    for text in texts:
                        state = self._engine.save(text)
                        if state is not None:
                            self._noted[uri].remove(head)
                            return Taken(self._store, uri, text, state)
                self._noted[uri].remove(head)
        except EngineError as error:  # the model's file has changed, or there is none any more
            logger.info("no state is kept: %s", error)
            self._noted.clear()
        return None

    def finish(self) -> None:
        """The engine is about to end: write what is noted, as far as there is time."""
        deadline = perf_counter() + FINISH_S
        while perf_counter() < deadline and (taken := self.take(last=True)) is not None:
            taken.write()

    def _last_first(self) -> list[tuple[str, tuple[int, ...]]]:
        """What is noted, used last coming first."""
        documents = reversed(self._noted.items())
        return [(uri, head) for uri, prompts in documents for head in reversed(prompts)]

    def _is_covered(self, head: tuple[int, ...]) -> bool:
        found = self._find(head)
        return found is not None and found[1] >= COVERED * len(head)

    def _find(self, tokens: Sequence[int]) -> tuple[Kept, int] | None:
        """The state on disk that is of most use for a prompt, and how much of it that is."""
        info = self._engine.info
        whole = info.memory != "attention" or not info.trees
        return self._store.find(tokens, longest=info.context_tokens - 1, whole=whole)


def warm_start(engine: TokenEngine, folder: Path, megabytes: int) -> WarmStart | None:
    """Warm start for an engine that was just loaded; None if there is none.

    Args:
        engine: The engine.
        folder: Where the states are.
        megabytes: The limit of all of them. 0 deletes what is there.
    """
    if not megabytes:
        delete_all(folder)
        return None
    try:
        key = engine.state_key
    except (OSError, EngineError) as error:
        logger.warning("no state is kept: %s", error)
        return None
    return WarmStart(engine, StateStore(folder, key, megabytes * 1_000_000))


def may_be_kept(uri: str) -> bool:
    """Whether what a document says may be written to disk: a file whose name tells no secrets."""
    scheme = _SCHEME.match(uri)
    if scheme is not None and scheme[1].lower() != "file":
        return False
    try:
        path = uri if scheme is None else unquote(urlsplit(uri).path)
        return not is_secret(path) and not is_secret(os.path.realpath(path))
    except (OSError, ValueError):  # no file can have such a name
        return False
