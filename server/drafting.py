"""Drafts of one request, and what is kept between requests for them.

A draft is looked for in the text itself, in the document beyond what the prompt holds, in other
texts of the prompt, and in what the model wrote for earlier requests: while somebody types, the
next request's answer is often most of the last one's.

Not here: the search (`drafts`), how long a draft is (`draft_gains`), and checking it (`chain`).
"""

from dataclasses import dataclass

from healing.tokenization import Tokenization
from server.draft_gains import LONGEST, Gains
from server.drafts import (
    CONTEXT,
    END,
    FOLLOWING,
    Match,
    Place,
    after_cursor,
    before_cursor,
    longest_match,
)
from server.engine import ModelInfo
from server.errors import EngineError
from server.prompt import Prompt
from server.snapshot import Snapshot

EARLIER = 16
"""Texts of earlier requests that are kept."""

EARLIER_BYTES = 4 << 10
"""Of each of them at most so much."""

LEARNING = 16
"""Each so many guesses one is made, however unlikely."""


@dataclass(frozen=True)
class Guess:
    """Tokens that may come next."""

    tokens: tuple[int, ...] = ()
    matches: tuple[int, ...] = ()
    """For each of them, how many bytes before it are the same as where it comes from."""

    def without_first(self) -> "Guess":
        """What is left of it when its first token has come."""
        return Guess(self.tokens[1:], self.matches[1:])


class Drafter:
    """What is known of drafts from one request to the next. For one engine, and in its thread."""

    def __init__(self, tokenization: Tokenization, gains: Gains) -> None:
        """Start with nothing but what is believed of costs."""
        self.tokenization = tokenization
        self.gains = gains
        self.counts = (0, 0)
        """Drafted tokens that were evaluated in all, and those of them that were chosen."""
        self.asked = 0
        """How often there was a need for a guess."""
        self._earlier: list[bytes] = []
        self._head: tuple[int, ...] = ()
        self._head_text = b""
        """The prompt that was read last, and its text: it stays while a line is typed."""

    def begin(self, snapshot: Snapshot, prompt: Prompt) -> "Drafting":
        """The drafts of a request.

        Args:
            snapshot: The document.
            prompt: What the model is given. It may hold other texts than the document's.
        """
        if prompt.head != self._head:
            self._head = prompt.head
            self._head_text = self.tokenization.vocabulary.decode(prompt.head)
        others = (
            after_cursor(snapshot.text, snapshot.cursor),
            Place(END.join(self._earlier)),
            Place(self._head_text),
        )
        return Drafting(self, before_cursor(snapshot.text, snapshot.cursor), others)

    def remember(self, before: bytes, text: bytes) -> None:
        """Keep what was written after some text; what is part of it is not kept twice."""
        written = before[-CONTEXT:] + text[:EARLIER_BYTES]
        others = [other for other in self._earlier if other not in written]
        self._earlier = [*others, written][-EARLIER:]


@dataclass(frozen=True)
class Drafting:
    """The drafts of one request."""

    drafter: Drafter
    before: bytes
    """The document before the cursor."""
    others: tuple[Place, ...]
    """Where else to look."""

    @property
    def gains(self) -> Gains:
        """Costs and fates of drafts."""
        return self.drafter.gains

    def guess(self, text: bytes) -> Guess:
        """What may come next, when so much is written after the cursor.

        As a rule nothing where no draft of it would pay: that is quick to see. Each `LEARNING`
        times whatever there is: who never looks never learns that guesses have begun to hold.
        """
        least = self.gains.least_match() if self.drafter.asked % LEARNING else 0
        self.drafter.asked += 1
        if least is None:
            return Guess()
        match = longest_match(self.before + text, self.others, least)
        return Guess() if match is None else guess_from(match, self.drafter.tokenization)

    def finish(self, text: bytes, drafted: int, accepted: int) -> None:
        """Keep what was written in the end, and count what drafts did for it."""
        before = self.drafter.counts
        self.drafter.counts = (before[0] + drafted, before[1] + accepted)
        if text:
            self.drafter.remember(self.before, text)


def drafter_for(tokenization: Tokenization, info: ModelInfo) -> Drafter:
    """A drafter that believes of costs what is usual where the model runs."""
    return Drafter(tokenization, Gains(info.offloaded_layers / max(1, info.layers)))


def guess_from(match: Match, tokenization: Tokenization) -> Guess:
    """A match as tokens. None at all if the vocabulary can't spell it."""
    try:
        tokens = tokenization.encode(match.following)
    except EngineError:
        return Guess()
    if len(match.following) == FOLLOWING:
        del tokens[-1]  # its last bytes may be missing
    size, matches = match.size, []
    for token in tokens[:LONGEST]:
        matches.append(size)
        size += len(tokenization.vocabulary[token])
    return Guess(tuple(tokens[:LONGEST]), tuple(matches))
