"""Server processes: how they are started, reached and ended, and what they say in the log.

Editors use each kind in its own way: `Stdio` is a process for each session, `Tcp` one process for
many, and `Shared` a process that passes on to one that editors find by themselves.
"""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.server.command import REPOSITORY
from tests.server.lsp.conftest import BUFFER_BYTES
from tests.soak.connection import Connection, Counts, Told
from tests.soak.wishes import WRONG

END_S = 60.0
"""A server that is told to end has done so within a second; a busy machine may take longer."""

_WRONG_KEYS = "|".join(re.escape(key) for key, _ in WRONG)
EXPECTED = re.compile(
    r"(?:midtoken\.\w+: )?(?:"
    r"midtoken serves on 127\.0\.0\.1:\d+"
    r"|the editor has gone without a word"
    r"|the connection ended in the middle of a message"
    r"|midtoken: the server has ended; start it again"
    r"|the editor did not give its settings: .*"  # it left instead
    r"|the schema \S+ is missing"  # which a text names
    rf"|[\w/]+: (?:there is no option )?midtoken\.(?:{_WRONG_KEYS})\W.*"
    r")"
)
"""What is said of what people do here. Everything else is a fault."""


@dataclass(frozen=True)
class Place:
    """Where servers run."""

    home: Path
    """`MIDTOKEN_HOME`."""
    scratch: Path
    """The folder for temporary files."""

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a server's process."""
        return os.environ | {
            "PYTHONPATH": str(REPOSITORY),
            "OMP_WAIT_POLICY": "passive",
            "MIDTOKEN_HOME": str(self.home),
            "TMPDIR": str(self.scratch),
        }


async def started(
    place: Place, *arguments: str, by: Sequence[str] = ("tests.soak.in_use",)
) -> asyncio.subprocess.Process:
    """A process of `midtoken serve`, talking over pipes; by a module and its first arguments."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", *by, *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=place.environment,
        limit=BUFFER_BYTES,
    )


class Server:
    """What all kinds have: a name, the process that has the model, and whom to tell of faults."""

    WAYS: tuple[str, ...] = ("orderly",)
    tells_in_use = True
    """Whether its process answers `in_use.told`."""
    """How a connection may be ended."""

    def __init__(self, name: str, place: Place, told: Told, counts: Counts) -> None:
        self.name, self.place = name, place
        self.pid: int | None = None
        """The process that has the model; None while there is none."""
        self.starts = 0
        self.ends: dict[str, int] = {}
        """How often it was ended, by the way."""
        self._told, self._counts = told, counts
        self._reading: set[asyncio.Task[None]] = set()

    def tell(self, fault: str, recent: Sequence[str] = ()) -> None:
        """Tell of a fault of this server, and what was done before."""
        self._told(f"{self.name}: {fault}", recent)

    def _connection(self, reader: asyncio.StreamReader, writer: object) -> Connection:
        return Connection(reader, writer, self.tell, self._counts)

    def _read(self, stream: asyncio.StreamReader | None) -> None:
        """Look at each line of a process's standard error."""
        assert stream is not None
        task = asyncio.ensure_future(self._look_at(stream))
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)

    async def _look_at(self, stream: asyncio.StreamReader) -> None:
        while line := await stream.readline():
            self.look_at_line(line.decode(errors="replace").rstrip("\n"))

    def look_at_line(self, line: str) -> None:
        """Tell of a line of the log that nobody has provoked."""
        if line.startswith((" ", "Traceback")):  # a part of what is told of with its last line
            print(line, file=sys.stderr)
        elif line and not EXPECTED.fullmatch(line):
            self.tell(f"the log says: {line}")

    async def within(self, what: Awaitable[object], seconds: float, doing: str) -> None:
        """Wait for something that must happen."""
        try:
            await asyncio.wait_for(what, seconds)
        except TimeoutError:
            self.tell(f"{doing} takes more than {seconds:.0f} s")

    async def leave(self, connection: Connection, how: str) -> None:
        """End a connection: `orderly`, `hasty` (without waiting), or as the server knows."""
        self.ends[how] = self.ends.get(how, 0) + 1
        connection.note(f"leaves: {how}")
        connection.leaving = True
        if how in {"orderly", "hasty"} and not connection.has_ended:
            number = connection.send("shutdown")
            if how == "orderly":
                await connection.quiet(END_S, until=number)
                if not connection.has_ended:
                    connection.look_for_late_ones(0)
            connection.notify("exit")
        await self.end(connection, how)
        connection.void()

    async def open(self) -> Connection:
        """A connection to the server, which is started if need be."""
        raise NotImplementedError

    async def end(self, connection: Connection, how: str) -> None:
        """Let a connection go, after what the protocol has to say of it."""
        raise NotImplementedError

    async def close(self) -> None:
        """End all of it, and see that it ends."""


class Stdio(Server):
    """A process for each session."""

    WAYS = ("orderly", "hasty", "end of input", "exit at once", "SIGTERM", "SIGKILL")

    async def open(self) -> Connection:
        """Start the process."""
        self._process = await started(self.place, "--stdio")
        self._read(self._process.stderr)
        self.pid, self.starts = self._process.pid, self.starts + 1
        assert self._process.stdout is not None
        return self._connection(self._process.stdout, self._process.stdin)

    async def end(self, connection: Connection, how: str) -> None:
        """Have the process end; its exit code must be that of the way."""
        process = self._process
        wanted = {"exit at once": 1, "SIGKILL": -signal.SIGKILL}.get(how, 0)
        if how == "exit at once":
            connection.notify("exit")
        elif how == "end of input":
            connection.writer.close()
        elif how.startswith("SIG"):
            process.send_signal(getattr(signal, how))
        self.pid = None
        await self.within(process.wait(), END_S, f"ending ({how})")
        if process.returncode is None:
            process.kill()
            await process.wait()
        elif process.returncode != wanted:
            self.tell(f"exit code {process.returncode} after {how}, not {wanted}")


class Tcp(Server):
    """One process for many connections."""

    WAYS = ("orderly", "hasty", "closed", "reset", "in a message")

    async def start(self) -> None:
        """Start the process."""
        self._process = await started(self.place, "--tcp", "127.0.0.1:0")
        assert self._process.stderr is not None
        said = (await self._process.stderr.readline()).decode().strip()
        self.look_at_line(said)
        self._port = int(said.rpartition(":")[2])
        self._read(self._process.stderr)
        self.pid, self.starts = self._process.pid, self.starts + 1

    async def open(self) -> Connection:
        """Connect."""
        streams = await asyncio.open_connection("127.0.0.1", self._port, limit=BUFFER_BYTES)
        return self._connection(*streams)

    async def end(self, connection: Connection, how: str) -> None:
        """Let the connection go."""
        if how == "in a message":
            connection.send_raw(b'Content-Length: 100\r\n\r\n{"jsonrpc":')
        if how in {"reset", "in a message"}:
            await asyncio.sleep(0)
            connection.writer.transport.abort()
        else:
            connection.writer.close()
        await self.within(asyncio.wait({connection._listening}), END_S, f"leaving ({how})")

    async def close(self) -> None:
        """Have the process end by SIGTERM."""
        self.pid = None
        self._process.terminate()
        await self.within(self._process.wait(), END_S, "ending (SIGTERM)")
        if self._process.returncode != 0:
            self.tell(f"exit code {self._process.returncode} after SIGTERM, not 0")


class Shared(Server):
    """Processes that pass on to a server that the first of them starts."""

    WAYS = (
        "orderly",
        "hasty",
        "end of input",
        "SIGTERM",
        "SIGKILL",
        "server killed",
        "server told",
    )
    LINGER_S = 1
    tells_in_use = False

    def __init__(self, name: str, place: Place, told: Told, counts: Counts) -> None:
        super().__init__(name, place, told, counts)
        self._processes: dict[Connection, asyncio.subprocess.Process] = {}
        self._read_of_log: dict[Path, int] = {}

    async def open(self) -> Connection:
        """Start a process that passes on; it finds the server or starts it."""
        linger = ("--linger", str(self.LINGER_S))
        process = await started(self.place, "--shared", *linger, by=("server.cli", "serve"))
        self._read(process.stderr)
        self.starts += 1
        assert process.stdout is not None
        connection = self._connection(process.stdout, process.stdin)
        self._processes[connection] = process
        return connection

    def look(self) -> None:
        """Find the server's process, and read what it has logged since."""
        found = [_pid_in(path) for path in (self.place.home / "run").glob("*.json")]
        self.pid = next((pid for pid in found if pid is not None), None)
        for path in (self.place.home / "run").glob("*.log"):
            size, before = path.stat().st_size, self._read_of_log.get(path, 0)
            with path.open("rb") as log:  # it is begun anew at each start
                log.seek(before if before <= size else 0)
                for line in log.read().decode(errors="replace").splitlines():
                    self.look_at_line(line)
            self._read_of_log[path] = size

    async def end(self, connection: Connection, how: str) -> None:
        """End the process that passes on, or the server behind it."""
        process = self._processes.pop(connection)
        self.look()
        if how == "end of input":
            connection.writer.close()
        elif how.startswith("SIG"):
            with suppress(ProcessLookupError):
                process.send_signal(getattr(signal, how))
        elif how.startswith("server") and self.pid is not None:
            for other in self._processes:
                other.leaving = True
            with suppress(ProcessLookupError):  # somebody else has ended it
                os.kill(self.pid, signal.SIGKILL if how == "server killed" else signal.SIGTERM)
        await self.within(process.wait(), END_S, f"ending ({how})")
        if process.returncode is None:
            process.kill()
            await process.wait()

    async def close(self) -> None:
        """The server ends by itself when nobody has been there for a moment."""
        for _ in range(round(10 * (END_S + 30))):
            self.look()
            if self.pid is None:
                return
            await asyncio.sleep(0.1)
        self.tell("the server stays, though nobody uses it")
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)


def _pid_in(path: Path) -> int | None:
    """The process that an address tells, if it is running."""
    try:
        pid = int(json.loads(path.read_text())["pid"])
        os.kill(pid, 0)
    except (OSError, ValueError, KeyError):
        return None
    return pid
