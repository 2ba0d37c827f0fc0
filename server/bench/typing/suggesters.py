"""What somebody who types can be helped by: midtoken's server, or anything else that suggests.

A `Suggester` hears of every change and where the cursor is after every key, and says by itself what
is on the screen there. What it costs is counted by the process that does the work.

What is not here: llama.vim (`llama_vim`), and what becomes of a suggestion (`replay`).
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from server.client import Call, ServerClient
from server.errors import Cancelled
from server.own_methods import COUNTERS
from server.positions import Encoding, Position, Range


@dataclass(frozen=True)
class Offer:
    """Ghost text at the cursor."""

    text: str
    removed_after: int = 0
    """Characters after the cursor that it replaces, as the suggester counts them (`encoding`)."""
    removed_before: int = 0
    """Blanks before the cursor that accepting it takes away."""
    line_replaces: bool = False
    """Whether its first line alone, when accepted, replaces all of that, too."""


@dataclass(frozen=True)
class Usage:
    """What a suggester has done since its process started."""

    tokens: int
    """Tokens put through the model, read or written, asked for or not."""
    cpu_s: float | None
    """Processor time of the process, None where the system does not tell."""
    memory: Mapping[str, int | None]
    details: Mapping[str, Any] = field(default_factory=dict)
    """Counts of its own."""


class Suggester(Protocol):
    """A server with what an editor makes of it. All methods belong to one event loop."""

    name: str
    answers: dict[str, int]
    """Answers by kind."""
    errors: list[str]

    @property
    def encoding(self) -> Encoding:
        """What a character is in positions and offers."""

    def listen(self, show: Callable[[Offer | None], None]) -> None:
        """Say from now on what is on the screen; None for nothing."""

    def open(self, uri: str, language: str, text: str) -> None:
        """A file was opened."""

    def change(self, uri: str, where: Range, text: str) -> None:
        """A text came in place of another one."""

    def close_document(self, uri: str) -> None:
        """A file was closed."""

    def ask(self, uri: str, position: Position) -> None:
        """The cursor stands there after a key: suggest, and forget what was asked before."""

    @property
    def owes(self) -> bool:
        """Whether something may still come without another key."""

    async def usage(self) -> Usage:
        """What it has done until now."""

    async def finish(self, timeout_s: float) -> int:
        """Wait for what is under way; how many answers did not come in time."""


class Midtoken:
    """Our own server, in an editor that asks after every key."""

    name = "midtoken"

    def __init__(self, client: ServerClient, *, cancel: bool = True) -> None:
        """Use a connection to a server that has its model.

        Args:
            client: The connection.
            cancel: Whether a key cancels the request of the key before.
        """
        self.answers: dict[str, int] = {}
        self.errors: list[str] = []
        self._client, self._cancel = client, cancel
        self._show: Callable[[Offer | None], None] = lambda _: None
        self._waiting: Call | None = None

    @property
    def encoding(self) -> Encoding:  # noqa: D102 (the protocol says it)
        return self._client.encoding

    def listen(self, show: Callable[[Offer | None], None]) -> None:  # noqa: D102
        self._show = show

    def open(self, uri: str, language: str, text: str) -> None:  # noqa: D102
        self._client.open(uri, language, text)

    def change(self, uri: str, where: Range, text: str) -> None:  # noqa: D102
        self._client.change(uri, where, text)

    def close_document(self, uri: str) -> None:  # noqa: D102
        self._client.close_document(uri)

    def ask(self, uri: str, position: Position) -> None:
        """Ask as an editor does that shows ghost text by itself."""
        if self._waiting is not None and self._cancel:
            self._client.cancel(self._waiting)
        call = self._waiting = self._client.inline(uri, position, automatic=True)
        call.result.add_done_callback(lambda result: self._answered(call, result))

    @property
    def owes(self) -> bool:
        """Whether the newest request has no answer yet."""
        return self._waiting is not None

    async def usage(self) -> Usage:
        """What the server's counters and its process say. Raises EngineError if it has gone."""
        found = await self._client.request(COUNTERS, {}).result
        return Usage(
            tokens=found["evaluatedTokens"],
            cpu_s=cpu_seconds(self._client.process_id),
            memory=found["memory"],
            details={
                **found["requests"],
                "forward_passes": found["forwardPasses"],
                "worst_loop_delay_ms": found["worstLoopDelayMs"],
                "worst_loop_held_ms": found["worstLoopHeldMs"],
            },
        )

    async def finish(self, timeout_s: float) -> int:
        """Wait for the last answers, and take over what the server told the person."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout_s
        while self._client.unanswered and loop.time() < end:
            await asyncio.sleep(0.01)
        self.errors += self._client.messages
        self._client.messages.clear()
        return self._client.unanswered

    def _answered(self, call: Call, result: "asyncio.Future[Any]") -> None:
        """Take an answer: it counts, and the newest one is shown."""
        found = None
        if result.cancelled():
            return
        error = result.exception()
        if isinstance(error, Cancelled):
            outcome = "cancelled"
        elif error is not None:
            outcome = "error"
            self.errors.append(str(error))
        elif result.result() is None:
            outcome = "null"
        else:
            found = next(iter(result.result()["items"]), None)
            outcome = "items" if found else "empty"
        self.answers[outcome] = self.answers.get(outcome, 0) + 1
        if call is not self._waiting:
            return
        self._waiting = None
        if found is None:
            self._show(None)
            return
        start, end = found["range"]["start"], found["range"]["end"]
        self._show(Offer(found["insertText"], end["character"] - start["character"]))


def cpu_seconds(process_id: int | None) -> float | None:
    """Processor time of a process with all its threads; None where it is unknown (not Linux)."""
    try:
        text = Path(f"/proc/{process_id}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold anything
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(process_id: int) -> dict[str, int | None]:
    """Bytes of a process in memory, and those of them that no file backs; None where unknown."""
    try:
        fields = Path(f"/proc/{process_id}/statm").read_text(encoding="ascii").split()
    except OSError:
        return {"residentBytes": None, "privateBytes": None}
    page = os.sysconf("SC_PAGE_SIZE")
    resident, shared = int(fields[1]), int(fields[2])
    return {"residentBytes": resident * page, "privateBytes": (resident - shared) * page}
