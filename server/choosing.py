"""Choosing the next token: by the model's probabilities, among those that a grammar allows.

Tokens are tried in the order of their probability, or in the order of a draw without replacement,
and the first that passes is taken. That is exactly what a mask over the whole vocabulary would
give, renormalised (the first half of AWRS, arXiv 2504.05410), and nearly always costs one check.

Where a grammar refuses much, its refusals are used well: what it refuses from some byte on it
refuses of all tokens that start with the bytes up to there, and in byte order these are one run. So
some 260 checks exclude a vocabulary of 152,000 tokens where a single byte may come: 6 ms instead of
the usual 0.1 for the grammar and 0.3 for all else (measured).

A token that no text is made of is never chosen, whatever the model says (`healing.reachable`), but
to write again what was typed: that may be anything.

A row of logits is long, and every pass over it counts. Where the model's favourite passes, the row
is looked at as it lies in the engine's memory; it is copied only where something has to be struck
out.

Probabilities that are given back are the model's own, whatever was refused: they tell how much the
model likes what was written, which a grammar does not change.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from healing.exact import Accepts
from healing.reachable import reachable
from healing.sampling import NONE, Sampling, log_normaliser, truncate
from healing.tokenization import Tokenization
from server.ban_watch import BanWatch
from server.engine import TokenEngine
from server.grammar.mask import Mask

TRIES = 4096
"""Tokens tried for one choice. A grammar that refuses more has gone wrong, and costs time."""


@dataclass(frozen=True)
class Choice:
    """A token that was chosen."""

    token: int | None
    """None for the end of the text."""
    logprob: float
    """Natural log of the model's own probability of it, among all that is text or its end."""
    refused: bool = False
    """Whether the grammar refused what was tried before it."""


@dataclass(frozen=True)
class Chooser:
    """The choice of the next token."""

    tokenization: Tokenization
    not_text: NDArray[np.int64]
    """Ids that are never chosen: no text, and no end of it."""
    stops: frozenset[int]
    sampling: Sampling
    random: np.random.Generator
    mask: Mask | None
    """What a grammar says; None if everything is allowed."""
    bans: BanWatch | None = None
    """What must not be written; None if everything may be."""

    def __call__(
        self,
        row: NDArray[np.float32],
        owed: bytes = b"",
        among: NDArray[np.int64] | None = None,
        admits: Callable[[int], bool] = lambda _: True,
    ) -> Choice | None:
        """The token to take; None if none passes.

        If truncation (top-k, top-p, min-p) leaves none that passes, the most probable of all others
        is taken.

        Args:
            row: Logits, shape (vocabulary,); is left as it is.
            owed: Typed bytes that the token has to write again. The grammar stands behind them: it
                is asked about what a token shows after them.
            among: The only ids to choose from; None for all.
            admits: A slower second test of a token.
        """
        temperature = self.sampling.temperature or 1.0
        best = int(np.argmax(row))
        normaliser = log_normaliser(row, temperature, self.not_text, row[best])
        if among is None:
            wishes = _Wishes(row, self.not_text, best)
        else:
            values = np.full_like(row, -np.inf)
            values[among] = row[among]
            wishes = _Wishes(values, self.not_text)
        found = None
        if self.sampling.temperature:
            found = self._first(_Wishes(self._drawn(wishes.values)), owed, admits)
        if found is None:
            found = self._first(wishes, owed, admits)
        if found is None:
            return None
        token, refused = found
        logprob = float(row[token]) / temperature - normaliser
        return Choice(None if token in self.stops else token, logprob, refused)

    def _drawn(self, logits: NDArray[np.float32]) -> NDArray[np.float64]:
        """Values whose order is that of draws without replacement; -inf for what truncation cut.

        By the Gumbel trick, as in `sampling.choose`.
        """
        values = np.full(len(logits), -np.inf)
        usable = np.flatnonzero(np.isfinite(logits))
        scaled = logits[usable].astype(np.float64) / self.sampling.temperature
        kept = truncate(scaled, self.sampling)
        drawn = np.flatnonzero(np.isfinite(kept))
        values[usable[drawn]] = kept[drawn] + self.random.gumbel(size=len(drawn))
        return values

    def _first(
        self, wishes: "_Wishes", owed: bytes, admits: Callable[[int], bool]
    ) -> tuple[int, bool] | None:
        """The most wanted id that passes, and whether the grammar refused another.

        `wishes` is used up.
        """
        refused = False
        for _ in range(TRIES):
            token = wishes.best()
            if token is None:
                break
            if token in self.stops:
                if self.mask is None or self._may_end(self.mask, refused):
                    return token, refused
                refused = True
                wishes.strike_out(list(self.stops))
                continue
            shown = self.tokenization.vocabulary[token][len(owed) :]
            fits = len(shown) if self.mask is None or not shown else self.mask.fitting(shown)
            if fits < len(shown):
                refused = True
                wishes.strike_out(self.tokenization.trie.starting_with(owed + shown[: fits + 1]))
            elif shown and self.bans is not None and self.bans.refusal(shown):
                wishes.strike_out(token)
            elif (owed or reachable(self.tokenization, token)) and admits(token):
                return token, refused
            else:
                wishes.strike_out(token)
        return None

    @staticmethod
    def _may_end(mask: Mask, refused: bool) -> bool:
        """Whether the text may end.

        Where a grammar decides, a model that was refused its favourite does not say by its next
        wish that it is at an end.
        """
        return mask.could_end() if refused and mask.decides else mask.may_end()


class _Wishes:
    """How much each id is wanted: somebody else's array, until something is struck out of it."""

    def __init__(
        self,
        values: NDArray[np.floating],
        never: NDArray[np.int64] = NONE,
        highest: int | None = None,
    ) -> None:
        """`values`, shape (vocabulary,), -inf for what is not wanted; but `never` these ids.

        `highest` is the first id of the highest value, if that is known.
        """
        self._values = values
        self._never = never
        self._highest = highest
        self._is_own = False

    @property
    def values(self) -> NDArray[np.floating]:
        """What is left, shape (vocabulary,); -inf for all that was struck out."""
        if not self._is_own:
            self.strike_out(self._never)
        return self._values

    def best(self) -> int | None:
        """The id that is wanted most; None if none is left."""
        token = int(np.argmax(self._values)) if self._highest is None else self._highest
        if not self._is_own and token in self._never:
            token = int(np.argmax(self.values))
        return None if self._values[token] == -np.inf else token

    def strike_out(self, ids: NDArray[np.int64] | list[int] | int) -> None:
        """These ids are not wanted any more."""
        if not self._is_own:
            self._values, self._is_own, self._highest = self._values.copy(), True, None
            self._values[self._never] = -np.inf
        self._values[ids] = -np.inf


def chooser_for(
    engine: TokenEngine,
    tokenization: Tokenization,
    sampling: Sampling,
    mask: Mask | None,
    bans: BanWatch | None = None,
) -> Chooser:
    """The choice of tokens of one request."""
    not_text = np.setdiff1d(engine.vocabulary.other_ids, list(engine.stops))
    random = np.random.default_rng(sampling.seed)
    return Chooser(tokenization, not_text, engine.stops, sampling, random, mask, bans)


def accepting(mask: Mask) -> Accepts:
    """What a grammar says of first texts, as healing asks it; it is asked as little as can be."""
    known: dict[bytes, bool] = {}

    def accepts(text: bytes) -> bool:
        if text not in known:
            if not text:
                known[text] = mask.may_end()
            elif any(known.get(text[:size]) is False for size in range(1, len(text))):
                known[text] = False
            else:
                fits = mask.fitting(text)
                known[text] = fits == len(text)
                if fits < len(text):
                    known[text[: fits + 1]] = False
        return known[text]

    return accepts
