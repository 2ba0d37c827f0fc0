"""Reading prompts ahead, a portion at a time, so that a request finds them in memory.

Each portion is one forward pass. A request that comes during one stops it, and what earlier ones
have read stays: it is found by its text, as everything in the engine's memory. So nothing here
knows how far a prompt is read; the memory is asked, each time.

Requests open slots of their own, and the oldest slot makes room. What has been read ahead for the
last documents is held for them (`hold`): else a few keys would push it out.

What is not here: which prompts are worth it (`prompt_choice`), and when there is time (`idle`).
"""

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from server.engine import Slot, TokenEngine
from server.errors import Cancelled, EngineError
from server.speed import LEAST_READ, LEAST_SAMPLES, Reading

CPU_PORTION, GPU_PORTION = 64, 256
"""Tokens of a portion: one forward pass, after which anything else may come first."""

DOCUMENTS = 2
"""Documents whose slots are held: half of the engine's, so that the rest is for requests."""


class ReadAhead:
    """What was read ahead with one engine. Belongs to the engine's thread."""

    def __init__(self, engine: TokenEngine, reading: Reading) -> None:
        """Begin with nothing; `reading` learns from each portion."""
        self.tokens = 0
        """Tokens put through the model here."""
        self._engine, self._reading = engine, reading
        self._portion = GPU_PORTION if engine.info.offloaded_layers else CPU_PORTION
        self._held: OrderedDict[str, Slot] = OrderedDict()
        """The slot of each document; the one that was read last comes last."""

    def portion(self, document: str, texts: Sequence[Sequence[int]]) -> bool:
        """Read a portion of the first text that is not in memory; False if all of them are.

        Raises:
            Cancelled: Something else came first.
            EngineError: The model cannot be run.
        """
        for text in texts:
            known = self._engine.held(text)
            if known < len(text):
                self._read(document, text[: known + self._portion], known)
                return True
        return False

    def measure(self) -> bool:
        """Read a portion of some text to learn the speed; False if it is known.

        Raises as `portion` does.
        """
        name = ""  # no document's
        if not self._reading.is_known:
            text = self._engine.encode(Path(__file__).read_bytes())[: LEAST_READ * LEAST_SAMPLES]
            known = self._engine.held(text) // LEAST_READ * LEAST_READ
            if known < len(text):
                self._read(name, text[: known + LEAST_READ], known)
                return True
        self.forget(name)
        return False

    def hold(self) -> None:
        """Requests that come next are not to take what was read ahead."""
        for document, slot in [*self._held.items()]:
            try:
                if slot.resident < len(slot.tokens):  # a memory that can't be cut
                    raise EngineError("it would have to be read again")
                self._engine.evaluate(slot, [], [])  # nothing is read: it counts as used now
            except EngineError:  # or it is gone, as room was needed for something else
                del self._held[document]

    def forget(self, document: str) -> None:
        """A document was closed: what was read for it is free."""
        slot = self._held.pop(document, None)
        if slot is not None:
            self._engine.drop(slot)

    def _read(self, document: str, text: Sequence[int], known: int) -> None:
        """Read the end of a text, the rest of which is in memory."""
        engine, before, started = self._engine, self._engine.evaluated_tokens, perf_counter()
        slot = self._held.pop(document, None)
        try:
            if slot is None or not self._extend(slot, text, known):
                slot = engine.open(text)
                engine.evaluate(slot, [], [])
        except Cancelled:
            if slot is not None and slot.resident:
                engine.cut(slot, slot.resident)
                self._held[document] = slot
            raise
        finally:
            self.tokens += engine.evaluated_tokens - before
        self._reading.saw(engine.evaluated_tokens - before, perf_counter() - started)
        self._held[document] = slot
        while len(self._held) > DOCUMENTS:
            self._held.popitem(last=False)

    def _extend(self, slot: Slot, text: Sequence[int], known: int) -> bool:
        """Make a slot longer, if it holds just what is known of a text.

        A new slot would take an older one's place with each portion.
        """
        if slot.tokens != list(text[:known]) or slot.resident != known:
            return False
        chain = [(at - 1, token) for at, token in enumerate(text[known:])]
        try:
            self._engine.evaluate(slot, chain, [])
        except EngineError:  # the slot is gone
            return False
        self._engine.keep(slot, len(chain) - 1)
        return True
