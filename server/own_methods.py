"""midtoken's own methods beside the protocol's: counters for benchmarks, notes on suggestions.

- `midtoken/counters` (request): what the server has done since it started. The first one starts the
  measuring of the event loop; until then nothing runs for it.
- `midtoken/didShow`, `midtoken/didAccept`, `midtoken/didReject` (notifications): what became of a
  suggestion. Each has a `textDocument`, `didAccept` the `length` in characters as well. They are
  counted on this machine only (`stats`).

What is not here: commands and the status, which every client gets (`language_server`).
"""

import asyncio
import logging
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pygls.lsp.server import LanguageServer

from server import stats
from server.backend import Backend
from server.documents import uri_key

logger = logging.getLogger("midtoken.own_methods")

COUNTERS = "midtoken/counters"
DID_SHOW, DID_ACCEPT, DID_REJECT = "midtoken/didShow", "midtoken/didAccept", "midtoken/didReject"

BEAT_S = 0.005
"""How often the event loop is asked to be on time."""

WRITE_AFTER_S = 5.0
"""Notes are written together: typing gives many, and each writing costs a file."""


class Heartbeat:
    """Measures how late the event loop is at worst, and how much of it is this program's doing.

    A machine that has more to do than cores makes every thread wait for one. Linux counts that, and
    without it remains what the loop waited for here: its own work, and Python's lock.
    """

    def __init__(self) -> None:
        self.worst_s = 0.0
        self.worst_held_s = 0.0
        """At worst without the time in which the loop's thread was ready but had no core."""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to measure in the running event loop; once begun, this does nothing."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._beat())

    def stop(self) -> None:
        """Measure no longer."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, waited = loop.time() + BEAT_S, core_wait()
            await asyncio.sleep(BEAT_S)
            late = loop.time() - due
            self.worst_s = max(self.worst_s, late)
            self.worst_held_s = max(self.worst_held_s, late - (core_wait() - waited))


class Notes:
    """Notes of one editor, written down a little later."""

    def __init__(self) -> None:
        self.tally = stats.Tally()
        self._timer: asyncio.TimerHandle | None = None
        self._lock = threading.Lock()
        self._unwritten: stats.Days = {}
        """What the disk has refused so far."""

    def changed(self) -> None:
        """Something was counted: write it soon."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(
                WRITE_AFTER_S, lambda: loop.run_in_executor(None, self.write)
            )

    def write(self) -> None:
        """Write everything now; where that fails, the log says so once, and it is tried again."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        with self._lock:
            was_refused = bool(self._unwritten)
            self._unwritten = stats.together(self._unwritten, self.tally.take())
            try:
                stats.add(self._unwritten)
                self._unwritten = {}
            except OSError as error:
                if not was_refused:
                    problem = "what became of suggestions can't be written down"
                    reason = error.strerror or error
                    logger.warning("%s: %s (%s)", stats.default_file(), problem, reason)


@dataclass(frozen=True)
class OwnMethods:
    """What the methods of one connection keep."""

    heartbeat: Heartbeat
    notes: Notes

    def close(self) -> None:
        """The connection has ended."""
        self.heartbeat.stop()
        self.notes.write()


def bind_own_methods(
    server: LanguageServer, backend: Backend, language_at: Callable[[str], str]
) -> OwnMethods:
    """Bind the methods to a connection; `language_at` tells the language of an address."""
    heartbeat, notes = Heartbeat(), Notes()
    # pygls gives a handler the server itself if its first parameter could be one: hence `Any`, and
    # not `object`.

    @server.feature(COUNTERS)
    async def counters(_: Any) -> dict[str, Any]:  # noqa: ANN401 (any JSON)
        heartbeat.start()
        drafted, accepted = await backend.draft_tokens()
        return {
            "requests": asdict(backend.service.counts),
            "evaluatedTokens": await backend.evaluated_tokens(),
            "forwardPasses": await backend.forward_passes(),
            "draftedTokens": drafted,
            "acceptedTokens": accepted,
            "idleTokens": await backend.idle_tokens(),
            "worstLoopDelayMs": round(1e3 * heartbeat.worst_s, 3),
            "worstLoopHeldMs": round(1e3 * heartbeat.worst_held_s, 3),
            "memory": memory(),
        }

    @server.feature(DID_SHOW)
    def shown(params: Any) -> None:  # noqa: ANN401 (any JSON)
        uri = _uri(params)
        notes.tally.shown(uri_key(uri), language_at(uri))
        notes.changed()

    @server.feature(DID_ACCEPT)
    def accepted(params: Any) -> None:  # noqa: ANN401 (any JSON)
        uri, length = _uri(params), getattr(params, "length", 0)
        characters = length if isinstance(length, int) else 0
        notes.tally.accepted(uri_key(uri), language_at(uri), characters)
        notes.changed()

    @server.feature(DID_REJECT)
    def rejected(params: Any) -> None:  # noqa: ANN401 (any JSON)
        uri = _uri(params)
        notes.tally.rejected(uri_key(uri), language_at(uri))
        notes.changed()

    return OwnMethods(heartbeat, notes)


def core_wait() -> float:
    """Seconds in which this thread was ready to run but had no core; 0 where unknown (not Linux).

    The second number of `schedstat` (Documentation/scheduler/sched-stats.rst in Linux's source).
    """
    try:
        fields = Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()
    except OSError:
        return 0.0
    return int(fields[1]) / 1e9


def memory() -> dict[str, int | None]:
    """Bytes of this process in memory, and those of them that no file backs; None where unknown.

    The model's file is mapped, so its pages come and go with what else the machine does: growth
    shows in the second number.
    """
    try:
        fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    except OSError:
        return {"residentBytes": _peak(), "privateBytes": None}
    import resource

    resident, shared = int(fields[1]), int(fields[2])
    page = resource.getpagesize()
    return {"residentBytes": resident * page, "privateBytes": (resident - shared) * page}


def _peak() -> int | None:
    """The most memory that this process has had, where the system tells."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _uri(params: object) -> str:
    """The address in a notification's parameters; empty if there is none."""
    uri = getattr(getattr(params, "textDocument", None), "uri", "")
    return uri if isinstance(uri, str) else ""
