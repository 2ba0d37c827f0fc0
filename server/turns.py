"""Turns at the model: round robin between connections, the newest first within one.

One job is at the model at a time, or as many as it does at once. When one is done, its connection
waits behind the others, and the one that has waited longest for a turn gets one job done; so
nobody's flood of jobs keeps anybody else from the model for longer than one job of each connection.

Within a connection the newest job goes first: whoever moved to another document waits for that one.
A job that has been passed over `PASSES` times goes before newer ones. With `older` jobs before it
when it comes, it is at the model in one of the next `PASSES + older + 1` turns of its connection.

Not here: which jobs there are, and which of them are stopped (`service`); the model (`worker`).
"""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from server.errors import Cancelled
from server.worker import Ticket

PASSES = 3
"""So often a job lets newer ones of its connection go first."""


@dataclass(eq=False)
class _Waiting:
    """A job that waits for its turn."""

    ticket: Ticket
    turn: "asyncio.Future[None]"
    passed: int = 0


class Turns:
    """Whose turn it is. All methods belong to one event loop."""

    def __init__(self) -> None:
        self.at_once = 1
        """So many jobs are at the model at the same time."""
        self._taken = 0
        self._lines: dict[Hashable, list[_Waiting]] = {}
        """Jobs by connection, oldest first; the connection whose turn is next comes first."""

    @property
    def is_free(self) -> bool:
        """Whether a job that comes now need not wait."""
        return self._taken < self.at_once

    @asynccontextmanager
    async def turn(self, connection: Hashable, ticket: Ticket) -> AsyncIterator[None]:
        """Wait for a turn, which lasts as long as the block.

        Raises Cancelled, and runs no block, if the ticket is cancelled before the turn has come.
        """
        await self._wait(connection, ticket)
        try:
            yield
        finally:
            if connection in self._lines:  # it has had its turn: others go first
                self._lines[connection] = self._lines.pop(connection)
            self._next()

    async def _wait(self, connection: Hashable, ticket: Ticket) -> None:
        if self.is_free:
            self._taken += 1
            return
        waiting = _Waiting(ticket, asyncio.get_running_loop().create_future())
        self._lines.setdefault(connection, []).append(waiting)
        try:
            await waiting.turn
        except asyncio.CancelledError:
            came = not waiting.turn.cancelled() and waiting.turn.exception() is None
            if came:  # and nobody uses it
                self._next()
            raise

    def _next(self) -> None:
        """Give the turn to whoever is next, if anybody waits and there are not too many turns."""
        while self._lines and self._taken <= self.at_once:
            connection = next(iter(self._lines))
            line = [each for each in self._lines.pop(connection) if _still_waits(each)]
            if line:
                chosen = line.pop(0 if line[0].passed >= PASSES else -1)
                for other in line:
                    other.passed += 1
                if line:
                    self._lines[connection] = line
                chosen.turn.set_result(None)
                return
        self._taken -= 1


def _still_waits(waiting: _Waiting) -> bool:
    """Whether a job still wants its turn; one whose ticket was cancelled is told so."""
    if waiting.turn.done():  # whoever waited has gone
        return False
    if waiting.ticket.cancelled:
        waiting.turn.set_exception(Cancelled("the request was cancelled"))
        return False
    return True
