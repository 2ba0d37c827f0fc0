"""A run: servers of three kinds, people at all of them, and rests at which all is counted."""

import asyncio
import math
import random
import sys
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.server.lsp.client import AnsweredWithError
from tests.server.lsp.editors import EDITORS
from tests.soak import in_use, levels, wishes
from tests.soak.asked import INLINE, MENU, MODELS, Asked
from tests.soak.connection import Connection, Counts
from tests.soak.person import Person
from tests.soak.servers import Place, Server, Shared, Stdio, Tcp
from tests.soak.texts import some_text, suffixes

MOST_FAULTS = 30
"""More of them tell nothing new; the run goes on."""

SETTLE_S = 3.0
"""After so long without requests, nothing is at work but what the servers do on their own."""

SESSIONS_S = (2.0, 10.0, 60.0)
"""How long somebody may stay at a connection."""

WARM = 1 / 6
"""The part of a run in which memory may grow: of an hour the first ten minutes."""

LEAST_S = 100.0
"""In a shorter run, nothing gets warm, and levels say nothing."""


@dataclass
class Plan:
    """What a run is."""

    seed: int
    seconds: float
    models: Sequence[Path | str]
    """The first one is that of sessions; more of them are switched to and back."""
    bound_s: float = 60.0
    """Within so many seconds a request has its answer."""
    kinds: Sequence[str] = ("kept", "restarted", "tcp", "shared")
    people: int = 3
    """At the server on a port; at the shared one there is one less, at the others one each."""
    context_size: int = 1024
    least: int = 0
    """A run goes on until so many requests have had suggestions, also on a slow machine."""
    pace: float = 1.0
    """Times between two things that a person does are so many times as long."""


@dataclass
class Rest:
    """A server's process when nobody has asked for anything for a while."""

    at: float
    pid: int
    memory: int
    threads: int
    files: list[str]
    in_use: in_use.InUse | None
    """What it says of itself."""

    @property
    def lasting_threads(self) -> int:
        """All but those of the event loop's pool."""
        return self.threads - (self.in_use.pool if self.in_use else 0)


@dataclass
class Watched:
    """What was seen of a server."""

    server: Server
    samples: dict[int, list[tuple[float, int]]] = field(default_factory=dict)
    """By process: seconds from the start of the run, and bytes."""
    rests: list[Rest] = field(default_factory=list)


class Run:
    """One run. `go` does it; what it has found is in `faults` and `watched`."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        """Prepare, in an empty folder."""
        self.plan = plan
        self.counts = Counts()
        self.faults: list[tuple[float, str, list[str]]] = []
        """Seconds from the start, what is wrong, and what was done last."""
        self.all_faults = 0
        self.sessions = 0
        self.place = Place(folder / "home", folder / "scratch")
        self.place.home.mkdir(exist_ok=True)
        self.place.scratch.mkdir()
        self.workspace = folder / "project"
        self.workspace.mkdir()
        draw = random.Random(plan.seed)
        for number in range(20):
            name, _, text = some_text(draw)
            (self.workspace / f"{number}_{name}").write_text(text, encoding="utf-8", newline="")
        made = {
            "kept": lambda: Stdio("kept", *self._parts),
            "restarted": lambda: Stdio("restarted", *self._parts),
            "tcp": lambda: Tcp("tcp", *self._parts),
            "shared": lambda: Shared("shared", *self._parts),
        }
        self.watched = {kind: Watched(made[kind]()) for kind in plan.kinds}
        self._connections: set[Connection] = set()
        self._awake = asyncio.Event()
        self._present: set[str] = set()
        """Whoever is in a session and not at rest."""
        self._met: set[str] = set()
        """Servers at which all languages were opened."""
        self._began = 0.0

    @property
    def _parts(self) -> tuple[Place, Any, Counts]:
        return self.place, self.tell, self.counts

    @property
    def _suggested(self) -> int:
        return self.counts.answered[INLINE] + self.counts.answered[MENU]

    @property
    def now(self) -> float:
        """Seconds since the run began."""
        return asyncio.get_running_loop().time() - self._began

    def tell(self, fault: str, recent: Sequence[str] = ()) -> None:
        """Remember a fault, and what was done before."""
        self.all_faults += 1
        if len(self.faults) < MOST_FAULTS:
            print(f"after {self.now:.0f} s: {fault}", file=sys.stderr, flush=True)
            self.faults.append((self.now, fault, [*recent]))

    async def go(self) -> None:
        """Do it."""
        self._began = asyncio.get_running_loop().time()
        for watched in self.watched.values():
            if isinstance(watched.server, Tcp):
                await watched.server.start()
        self._awake.set()
        people = [asyncio.ensure_future(one) for one in self._people()]
        watching = asyncio.ensure_future(self._watch())
        try:
            await self._rests()
        finally:
            self._awake.clear()
            for task in people:
                task.cancel()
            for done in await asyncio.gather(*people, return_exceptions=True):
                if isinstance(done, Exception):
                    self.tell(f"a person has failed: {done!r}")
            for watched in self.watched.values():
                await watched.server.close()
            watching.cancel()
        self._look_at_files(at_end=True)
        self._look_at_levels()

    def _people(self) -> Iterator[Coroutine[Any, Any, None]]:
        counts = {"tcp": self.plan.people, "shared": max(1, self.plan.people - 1)}
        for kind, watched in self.watched.items():
            for number in range(counts.get(kind, 1)):
                draw = random.Random(f"{self.plan.seed} {kind} {number}")
                yield self._come_and_go(f"{kind} {number}", watched.server, draw)

    async def _come_and_go(self, name: str, server: Server, draw: random.Random) -> None:
        """One session after the other, until the task is cancelled."""
        while True:
            await self._awake.wait()
            self._present.add(name)
            try:
                await self._session(name, server, draw)
            finally:
                self._present.discard(name)
            await asyncio.sleep(draw.random())

    async def _session(self, name: str, server: Server, draw: random.Random) -> None:
        stays = server.name == "kept"
        connection = await server.open()
        self._connections.add(connection)
        self.sessions += 1
        how = "orderly"  # also before a rest, at which nothing is to be under way
        try:
            person = await self._begun(server, connection, draw)
            session = min(draw.choice(SESSIONS_S), self.plan.seconds / 4)
            end = self.now + (math.inf if stays else session)
            while self.now < end and not connection.has_ended and (stays or self._awake.is_set()):
                if not self._awake.is_set():
                    await self._rest_with_open_connection(name, connection, person)
                await asyncio.sleep(self.plan.pace * await person.act())
            if connection.has_ended and not isinstance(server, Shared):
                server.tell("the server has ended the connection")
            if self._awake.is_set():
                how = draw.choice(server.WAYS)
                if draw.random() < 0.5:
                    await connection.quiet(self.plan.bound_s)
        except (ConnectionError, TimeoutError, AnsweredWithError) as error:
            if isinstance(server, Shared) and await connection.ends():
                return  # somebody has ended the server
            server.tell(f"a session has failed: {error!r}")
        finally:
            with suppress(ConnectionError):
                await asyncio.shield(server.leave(connection, how))
            self._connections.discard(connection)

    async def _begun(self, server: Server, connection: Connection, draw: random.Random) -> Person:
        """A person at a new connection; where it has a server of its own, once that is ready."""
        models = self.plan.models[:1] if isinstance(server, Shared) else self.plan.models
        settings = wishes.settings(self.plan.models[0], self.plan.context_size)
        editor = draw.choice(EDITORS)
        folder = self.workspace.as_uri()
        root = {"rootUri": folder, "workspaceFolders": [{"uri": folder, "name": "project"}]}
        await connection.begin(editor, settings, **(root if draw.random() < 0.5 else {}))
        if isinstance(server, Stdio):
            await connection.ready()
        # A language takes megabytes when it is met for the first time, which is no growth.
        first = () if server.name in self._met else suffixes()
        self._met.add(server.name)
        return Person(draw, connection, self.workspace, settings, models, first)

    async def _rest_with_open_connection(
        self, name: str, connection: Connection, person: Person
    ) -> None:
        """Close all documents, and wait until work goes on."""
        person.close_all()
        await connection.quiet(self.plan.bound_s)
        connection.offers.clear()
        self._present.discard(name)
        try:
            await self._awake.wait()
        finally:
            self._present.add(name)

    async def _rests(self) -> None:
        """Let everybody rest now and then, and look."""
        parts = max(2, min(12, int(self.plan.seconds / 30)))
        for part in range(1, parts + 1):
            await asyncio.sleep(max(0.0, part * self.plan.seconds / parts - self.now))
            while part == parts and self._suggested < self.plan.least:
                await asyncio.sleep(0.1)
            self._awake.clear()
            end = self.now + 3 * self.plan.bound_s
            while self._present and self.now < end:
                await asyncio.sleep(0.05)
            if self._present:
                recent = [line for one in self._connections for line in one.recent]
                self.tell(f"does not come to rest: {', '.join(self._present)}", sorted(recent))
            await asyncio.sleep(SETTLE_S if self.plan.seconds > 60 else 0.3)
            for watched in self.watched.values():
                await self._look_at_rest(watched)
            self._look_at_files()
            if part < parts:
                self._awake.set()

    async def _look_at_rest(self, watched: Watched) -> None:
        pid, home = watched.server.pid, self.place.home
        if pid is None:
            return
        with suppress(OSError):
            size = levels.memory(pid)
            if size is not None:
                threads, files = levels.threads(pid), levels.open_files(pid)
                used = await in_use.told(pid, home) if watched.server.tells_in_use else None
                watched.rests.append(Rest(self.now, pid, size, threads, files, used))

    async def _watch(self) -> None:
        """Each second: memory, late answers, and whether event loops answer."""
        while True:
            await asyncio.sleep(1)
            for watched in self.watched.values():
                server = watched.server
                if isinstance(server, Shared):
                    server.look()
                size = levels.memory(server.pid) if server.pid is not None else None
                if server.pid is not None and size is not None:
                    watched.samples.setdefault(server.pid, []).append((self.now, size))
            for connection in self._connections:
                if not connection.has_ended:
                    connection.look_for_late_ones(self.plan.bound_s)
                    if connection.capabilities and not connection.leaving:
                        connection.ask(Asked(MODELS, 0, 0), None)

    def _look_at_files(self, *, at_end: bool = False) -> None:
        """Tell of files that are more than they may be, or that nobody needs any more."""
        home = self.place.home
        states = list((home / "cache" / "states").glob("*"))
        size = sum(path.stat().st_size for path in states if path.exists())
        if size > wishes.WARM_START << 20:
            self.tell(f"kept texts take {size} bytes, more than {wishes.WARM_START} MB")
        if at_end:
            left = [path for path in states if path.suffix != ".state"]
            scratch = list(self.place.scratch.iterdir())
            # What is killed deletes nothing.
            ends = [watched.server.ends for watched in self.watched.values()]
            killed = sum(one.get("SIGKILL", 0) + one.get("server killed", 0) for one in ends)
            left += scratch if len(scratch) > killed else []
            run = home / "run"
            left += [path for path in run.glob("*") if path.suffix not in {".lock", ".log"}]
            if left:
                self.tell(f"files are left: {', '.join(map(str, left))}")

    def _look_at_levels(self) -> None:
        """Tell of servers that take more at the end than when they were warm."""
        if self.plan.seconds < LEAST_S:
            return
        for kind, watched in self.watched.items():
            rests = [one for one in watched.rests if one.at > WARM * self.plan.seconds]
            rests = [one for one in rests if one.pid == rests[-1].pid]
            for fault in levels.faults_of(
                self.warm_samples(watched),
                [(one.lasting_threads, one.files) for one in rests],
                [one.in_use for one in rests if one.in_use],
            ):
                self.tell(f"{kind}: {fault}")

    def warm_samples(self, watched: Watched) -> list[tuple[float, int]]:
        """Samples of the process that lived longest, from when it may not grow any more."""
        longest = max(watched.samples.values(), key=len, default=[])
        warm = longest[0][0] + WARM * self.plan.seconds if longest else 0.0
        return [sample for sample in longest if sample[0] >= warm]
