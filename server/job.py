"""The model at work on one prompt, and who waits for it.

Not here: when it begins and who is given its answer (`service`).
"""

import asyncio
from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from server.answers import Answer
from server.confidence import WORD_END
from server.memory import remainder
from server.service_request import Request, Wanted
from server.worker import Ticket


@dataclass(eq=False)
class Job:
    """The model at work on one prompt."""

    key: Hashable
    typed: bytes
    candidates: int
    """How many continuations it writes at most."""
    began: float
    """When, by the event loop's clock: the patience of all who wait is counted from then, so that
    somebody who types on sees what is there."""
    ticket: Ticket = field(default_factory=Ticket)
    so_far: Answer | None = None
    """What is written until now."""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, and then replaced, whenever something changes for those who wait."""
    answer: Answer | None = None
    failure: Exception | None = None
    waiting: int = 0
    """Requests that wait for this job."""
    asked: bool = False
    """Whether a request has ever waited for it."""
    connection: Hashable = None
    runs: bool = False
    """Whether it has its turn at the model."""
    in_grace: bool = False
    """Whether it was cancelled and may be joined for a moment yet."""
    hurried: bool = False
    """Whether others have waited long for their turn: whole words written so far are the answer."""

    @property
    def is_open(self) -> bool:
        """Whether it runs, or will, and may be joined."""
        return self.answer is None and self.failure is None and not self.ticket.cancelled

    def agrees(self, key: Hashable, typed: bytes) -> bool:
        """Whether what is typed may be what the job has written or is going to write."""
        written = self.typed + (self.so_far.generation.text if self.so_far else b"")
        return key == self.key and (
            typed.startswith(written)
            or (typed.startswith(self.typed) and written.startswith(typed))
        )

    def typed_of(self, wanted: Wanted) -> bytes | None:
        """What is typed, as the job sees it; None if it is for another place or text."""
        return next((typed for key, typed in wanted if self.agrees(key, typed)), None)

    def serves(self, request: Request, wanted: Wanted) -> bool:
        """Whether its answer will be one to a request."""
        return self.candidates >= request.options.candidates and self.typed_of(wanted) is not None

    def wake(self) -> None:
        """Tell everyone who waits to look again."""
        self.news.set()
        self.news = asyncio.Event()

    def whole_words(self, typed: bytes) -> Answer | None:
        """What is written after what is typed, up to the last end of a word; None if nothing is."""
        if self.so_far is None:
            return None
        answer = remainder(self.typed, self.so_far, typed)
        if answer is None:
            return None
        text = answer.generation.text
        whole = text[: max((end.end() for end in WORD_END.finditer(text)), default=0)]
        if not whole.strip():
            return None
        return replace(answer, generation=replace(answer.generation, text=whole))
