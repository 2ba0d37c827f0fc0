"""A text that grows token by token, while some of the next ones are evaluated ahead.

The logits after a token are asked for one token at a time, as in plain decoding. Where a draft
promises to pay, its tokens go through the model in the same forward pass::

    after(7)      evaluates 7 and a draft 8 9 5       → the row after 7
    after(8)      is there                            → the row after 8
    after(9)      is there                            → the row after 9
    after(4)      is not what was drafted: 7 8 9 are kept, and 4 is evaluated

So whoever chooses sees the same rows in the same order, up to the noise that the shape of a batch
makes in the last bits, and decides alone. A draft costs time at worst.

Models whose memory can't be cut get no drafts: a wrong one could not be taken back.
"""

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from types import TracebackType
from typing import Self

from healing.stitch import Stitch
from server.drafting import Drafting, Guess
from server.engine import ROOT, Row, Slot, TokenEngine
from server.errors import EngineError


class Chain:
    """A slot that grows. Use it as a context: at its end the slot holds just what was chosen."""

    def __init__(
        self,
        engine: TokenEngine,
        slot: Slot,
        stitch: Stitch,
        should_stop: Callable[[bytes], bool],
        drafting: Drafting | None,
    ) -> None:
        """Go on from what a slot holds.

        Args:
            engine: The model.
            slot: Its text; nobody else uses it as long as the chain is used.
            stitch: What is written after the cursor, as it grows.
            should_stop: Whether a text after the cursor is all that is wanted: what comes after it
                need not be evaluated.
            drafting: Where drafts come from; None for none. It is told what was written.
        """
        self._engine = engine
        self._slot = slot
        self._stitch = stitch
        self._should_stop = should_stop
        self._drafting = drafting
        self._ahead: list[int] = []
        """Tokens that are evaluated and not kept: a chosen one, and a draft."""
        self._rows: list[Row] = []
        self._at = 0
        """Which of them was chosen last."""
        self._guess = Guess()
        """What may come after it."""
        self.drafted = 0
        """Drafted tokens that were evaluated."""
        self.accepted = 0
        """Of them, those that were chosen."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._drafting is not None:
            if self._at + 1 < len(self._ahead):
                self._drafting.gains.saw(self._guess.matches[0], held=False)  # the text has ended
            self._drafting.finish(bytes(self._stitch.text), self.drafted, self.accepted)
        self._keep()

    @property
    def slot(self) -> Slot:
        """Holds all of the text after `leave`; then it may grow in other ways, too."""
        return self._slot

    def __len__(self) -> int:
        """How many tokens the text has, the prompt's included."""
        return len(self._slot.tokens) + (self._at + 1 if self._ahead else 0)

    def after(self, token: int, most: int) -> Row:
        """The logits after one more token: a view until the next call.

        Args:
            token: What was chosen; it is written already.
            most: How many tokens may come after this one.

        Raises:
            Cancelled, EngineError: As `TokenEngine.evaluate`; the text has grown by nothing.
        """
        held = self._compare(token)
        if held and self._at + 1 < len(self._ahead):
            self._at += 1
            self.accepted += 1
            return self._rows[self._at]
        self._keep()
        self._evaluate(token, self._draft(most))
        return self._rows[0]

    def back(self, count: int) -> Row:
        """Take back the last tokens of the text; returns the logits after what is left.

        Args:
            count: How many. What is left must hold a token that was not there at the start.

        Raises:
            Cancelled, EngineError: As `TokenEngine.evaluate`.
        """
        self.leave()
        length = len(self._slot.tokens) - count
        last = self._slot.tokens[length - 1]
        self._engine.cut(self._slot, length - 1)
        self._evaluate(last, ())
        return self._rows[0]

    def leave(self) -> None:
        """Let the slot hold just what was chosen: others may use the engine then."""
        self._keep()
        self._guess = Guess()

    def begin_again(self, slot: Slot) -> None:
        """Go on from another slot instead, after `leave`; the old one is freed."""
        self._engine.drop(self._slot)
        self._slot = slot

    def _compare(self, token: int) -> bool:
        """Whether a token is what was guessed; also of guesses that were not evaluated."""
        if self._drafting is None or not self._guess.tokens:
            return False
        held = token == self._guess.tokens[0]
        self._drafting.gains.saw(self._guess.matches[0], held)
        self._guess = self._guess.without_first()
        return held

    def _keep(self) -> None:
        """Make what was chosen part of the slot's text, and forget the rest of a draft."""
        ahead, self._ahead = self._ahead, []
        if ahead:
            self._engine.keep(self._slot, self._at)

    def _draft(self, most: int) -> tuple[int, ...]:
        """Tokens to evaluate after the one that was chosen."""
        info = self._engine.info
        room = min(most - 1, info.context_tokens - len(self) - 1)
        if self._drafting is None or not info.trees or room <= 0:
            return ()
        self._guess = self._drafting.guess(bytes(self._stitch.text))
        length = self._drafting.gains.best_length(self._guess.matches[:room])
        return self._wanted(self._guess.tokens[:length]) if length else ()

    def _wanted(self, tokens: tuple[int, ...]) -> tuple[int, ...]:
        """Those that come before the text is all that is wanted."""
        stitch = replace(self._stitch, text=self._stitch.text.copy())
        vocabulary = self._engine.vocabulary
        whole = replace(stitch, text=stitch.text + vocabulary.decode(tokens)).finish()
        if not self._should_stop(whole):
            return tokens  # nearly always: what is enough is enough with more after it, too
        for number, token in enumerate(tokens):
            if stitch.push(vocabulary[token]) and self._should_stop(stitch.finish()):
                return tokens[:number]
        return tokens

    def _evaluate(self, token: int, draft: tuple[int, ...]) -> None:
        """Put a token and a draft through the model."""
        resident = self._slot.resident == len(self._slot.tokens)
        started = perf_counter()
        try:
            rows = self._forward(token, *draft)
        except EngineError:
            if not draft:
                raise
            draft, resident = (), False  # there may be room for the one that is needed
            rows = self._forward(token)
        if self._drafting and resident:
            self._drafting.gains.took(1 + len(draft), perf_counter() - started)
        self._ahead, self._rows, self._at = [token, *draft], rows, 0
        self.drafted += len(draft)

    def _forward(self, *tokens: int) -> list[Row]:
        nodes = [(ROOT + index, token) for index, token in enumerate(tokens)]
        return self._engine.evaluate(self._slot, nodes, range(len(tokens)))
