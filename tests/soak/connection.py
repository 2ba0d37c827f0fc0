"""A connection that looks at each answer, and keeps no more of what it is told than it needs."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.server.lsp.client import Client
from tests.soak.asked import INLINE, MENU, RANK, Asked, faults_of, items_of

KEPT = 50
"""Notifications that are kept; the client's own list would grow for the whole run."""

PATIENCE_S = 300
"""A server starts in seconds, but not on a machine with twenty times more to do than cores."""

Told = Callable[[str, Sequence[str]], None]
"""Takes a fault, and what was done before."""


@dataclass
class Counts:
    """What was asked, and what came of it, for all connections together."""

    asked: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    """With suggestions, or whatever else was wanted."""
    cancelled: int = 0
    void: int = 0
    """Requests whose connection or server was ended before the answer."""
    parts: int = 0
    messages: int = 0
    seconds: dict[str, list[float]] = field(default_factory=dict)
    """How long answers took, by method."""


class Connection(Client):
    """One connection; what is wrong is told, and never raised."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: Any, told: Told, counts: Counts
    ) -> None:
        super().__init__(reader, writer)
        self.settings = None
        self.pending: dict[int, Asked] = {}
        self.recent: deque[str] = deque(maxlen=60)
        """What was done and answered last."""
        self.proven = 0
        """The last message that the server has certainly read."""
        self.leaving = False
        self._told, self._counts = told, counts
        self.offers: dict[str, tuple[Asked, list[dict[str, Any]]]] = {}
        """The last ghost text of each document, with its request; it may be out of date."""
        self._order = 0
        self._plain: set[object] = set()
        """Requests whose answers nobody looks at but who sent them."""

    def tell(self, fault: str) -> None:
        """Tell of a fault."""
        self._told(fault, [*self.recent])

    @property
    def now(self) -> float:
        """Seconds on the event loop's clock."""
        return asyncio.get_running_loop().time()

    def ask(self, asked: Asked, params: Any) -> int:
        """Send a request whose answer is looked at; its number."""
        asked.at, asked.order = self.now, self._order + 1
        self._counts.asked[asked.method] += 1
        number = self.send(asked.method, params)
        self._plain.discard(number)
        self.pending[number] = asked
        self.note(f"{asked.method} {number} at {asked.cursor} of {asked.uri}")
        return number

    def note(self, what: str) -> None:
        """Remember what was done, for whoever looks for what went wrong."""
        self.recent.append(f"{self.now:.3f} {what}")

    def send(self, method: str, params: Any = None) -> int:
        """Send a request that its sender waits for."""
        number = super().send(method, params)
        self._plain.add(number)
        return number

    def take_back(self, number: int) -> None:
        """Cancel a request, whether or not it is answered already."""
        if number in self.pending:
            self.pending[number].cancelled = True
        self.cancel(number)

    def send_message(self, message: object) -> None:
        """Send any message, and count it."""
        self._order += 1
        self._counts.messages += 1
        super().send_message(message)

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification; what is asked of a document that it changes may get stale."""
        super().notify(method, params)
        self.note(f"{method} {str(params)[:300]}")
        if method in {"textDocument/didChange", "textDocument/didOpen", "textDocument/didClose"}:
            uri = params["textDocument"]["uri"]
            for asked in self.pending.values():
                if asked.uri == uri and asked.edited is None:
                    asked.edited = self._order

    async def answer(self, number: object) -> Any:
        """The result of a request, by its number, which is forgotten then."""
        try:
            return await super().answer(number)
        finally:
            self.answers.pop(number, None)

    async def until(self, is_true: Callable[[], bool]) -> None:
        """Wait until something that was received makes this true."""
        async with asyncio.timeout(PATIENCE_S), self._news:
            await self._news.wait_for(is_true)

    async def quiet(self, seconds: float, until: int | None = None) -> None:
        """Wait until all is answered, that number too, but no longer than this."""
        end = self.now + seconds
        while self.now < end and not self._listening.done():
            if not self.pending and (until is None or until in self.answers):
                return
            await asyncio.sleep(0.02)
        if until is not None and not self._listening.done():
            self.tell(f"no answer after {seconds:.0f} s to {until}, or to one before it")

    def look_for_late_ones(self, bound: float) -> None:
        """Tell of requests that have had no answer for so many seconds, once."""
        for number, asked in self.pending.items():
            if not asked.late and self.now > asked.at + bound:
                asked.late = True
                self.tell(f"no answer after {bound:.0f} s to {number}: {asked.method}")

    def void(self) -> None:
        """The connection has ended in a way in which answers get lost."""
        self._counts.void += len(self.pending)
        self.pending.clear()

    @property
    def has_ended(self) -> bool:
        """Whether nothing more can come."""
        return self._listening.done()

    async def ends(self, seconds: float = 5) -> bool:
        """Whether it has ended, or does so in a moment: writing may fail before reading does."""
        await asyncio.wait({self._listening}, timeout=seconds)
        return self.has_ended

    async def _take(self, message: dict[str, Any]) -> None:
        number = message.get("id")
        if "method" in message:
            if message["method"] == "$/progress" and "items" in message["params"]["value"]:
                self._judge_part(message["params"]["token"], message["params"]["value"]["items"])
            await super()._take(message)
            del self.notes[:-KEPT], self.asked[:-KEPT]
        elif number in self.pending:
            self._judge(number, self.pending.pop(number), message)
            async with self._news:
                self._news.notify_all()
        elif number in self._plain:
            self._plain.discard(number)
            await super()._take(message)
        else:
            self.tell(f"{number} was answered before, or never asked: {str(message)[:200]}")

    def _judge(self, number: int, asked: Asked, message: dict[str, Any]) -> None:
        self._counts.seconds.setdefault(asked.method, []).append(self.now - asked.at)
        try:
            found = faults_of(asked, message, self.proven, leaving=self.leaving)
        except (LookupError, TypeError, AttributeError) as error:
            found = [f"the answer lacks something ({error!r}): {str(message)[:300]}"]
        for fault in found:
            self.tell(f"{asked.method} {number}: {fault}")
        self.proven = max(self.proven, asked.order)
        outcome = "null"
        if "error" in message:
            self._counts.cancelled += 1
            outcome = "refused"
        elif items_of(asked.method, message["result"]) or (
            message["result"] and asked.method not in {INLINE, MENU, RANK}
        ):
            self._counts.answered[asked.method] += 1
            outcome = "answered"
            if asked.method == INLINE and asked.edited is None:
                self.offers[asked.uri] = asked, message["result"]["items"]
        self.note(f"{asked.method} {number} {outcome}")

    def _judge_part(self, token: object, items: list[dict[str, Any]]) -> None:
        """Entries that come before the answer to their request."""
        self._counts.parts += 1
        waiting = [asked for asked in self.pending.values() if asked.token == token]
        if not waiting:
            return self.tell(f"a part came after the answer it belongs to: {token}")
        part = {"result": {"items": items}}
        for fault in faults_of(waiting[0], part, self.proven, leaving=False):
            self.tell(f"part {token}: {fault}")
        return None
