"""`midtoken serve --shared` and `midtoken connect`: processes that pass on what editors say."""

import asyncio
import json
import os
import signal
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from server import shared
from server.hosting import NETWORK_MESSAGE_BYTES
from server.meeting import place_for
from server.options import Options
from server.shared import NotShared
from tests.server.lsp.client import PATIENCE_S, Client
from tests.server.lsp.conftest import settings, start_process
from tests.server.lsp.editors import NEOVIM_12

pytestmark = pytest.mark.asyncio(loop_scope="session")

URI = "file:///a.py"
DEVNULL, PIPE = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
TOKEN = "0123456789abcdef-secret"


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """A folder of midtoken's own; what is still shared in it after a test is ended."""
    monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path))
    yield tmp_path
    for server in servers(tmp_path):
        with suppress(ProcessLookupError):  # one that was killed has left its file
            os.kill(server, signal.SIGKILL)


@asynccontextmanager
async def proxies(*arguments: str, count: int = 1, stderr: int = DEVNULL):
    """Processes as editors start them, at once; pairs of a client and its process."""
    started = []
    try:
        for _ in range(count):
            process = await start_process(*arguments, stderr=stderr)
            started.append((Client(process.stdout, process.stdin), process))
        yield started
    finally:
        for _, process in started:
            if process.returncode is None:
                process.kill()
            await process.wait()


def servers(home: Path) -> list[int]:
    """The processes of the servers that can be found."""
    return [json.loads(path.read_text())["pid"] for path in (home / "run").glob("*.json")]


async def begin(client: Client, model: Path, /, **sections) -> None:
    """Begin as an editor, and see that it works."""
    client.settings = None
    await client.begin(NEOVIM_12, settings(model, **sections))
    await client.ready()
    await works(client)


async def works(client: Client) -> None:
    client.open(URI, "import o")
    assert await client.inline(URI, (0, 8))


async def until_gone(process: int) -> None:
    """Wait until a process is no more; one that has ended and was not asked for counts as gone."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]
            except (FileNotFoundError, ProcessLookupError):
                return
            if state == "Z":
                return
            await asyncio.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
async def test_many_at_once(home, tiny_file):
    """Of editors that start together one starts the server; it ends after the last has left."""
    async with proxies("--shared", "--linger", "0", count=4) as started:
        await asyncio.gather(*(begin(client, tiny_file()) for client, _ in started))
        [server] = servers(home)
        assert len(list((home / "run").glob("*.sock"))) == 1

        for number, (client, process) in enumerate(started):
            await works(client)
            assert await client.request("shutdown") is None
            if number % 2:
                client.notify("exit")
            else:
                process.stdin.close()
            assert await process.wait() == 0
        await until_gone(server)
    assert {path.suffix for path in (home / "run").iterdir()} == {".lock", ".log"}


async def test_the_server_is_killed(home, tiny_file, endless):
    """Its editors' processes end with 1 at once; started again, they have a new server."""
    async with proxies("--shared", count=2, stderr=PIPE) as started:
        for client, _ in started:
            await begin(client, tiny_file(), **endless)
        started[0][0].open(URI, "class Killed:\n\nself.")
        started[0][0].send_inline(URI, (2, 5))
        await started[0][0].until(lambda: "busy" in started[0][0].states())
        [server] = servers(home)
        os.kill(server, signal.SIGKILL)
        for _, process in started:
            said = await process.stderr.read()
            assert await process.wait() == 1
            assert said == b"midtoken: the server has ended; start it again\n"

    async with proxies("--shared") as [(client, _)]:
        await begin(client, tiny_file())
        assert servers(home) != [server]


HOLDING = """
import sys, time
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""
"""A process that has begun to start a server, and does not come to an end."""


@asynccontextmanager
async def holding(lock: Path):
    """A process that holds a lock."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HOLDING, str(lock)), stdout=PIPE
    )
    try:
        assert await process.stdout.readline() == b"held\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.fixture
def starts(monkeypatch) -> list[str]:
    """The names for which a server was started; it can be joined at once, and does nothing."""
    started = []

    async def joined(place):
        return (None, None) if place.name in started else None

    monkeypatch.setattr(shared, "joined", joined)
    monkeypatch.setattr(shared, "start", lambda place, _: started.append(place.name))
    return started


async def test_who_starts_the_server_is_killed(home, starts):
    """Whoever waits for the lock gets it then, and starts the server."""
    place = place_for(Options())
    async with holding(place.lock) as process:
        waiting = asyncio.to_thread(asyncio.run, shared._started(place, 0))
        waiting = asyncio.ensure_future(waiting)
        await asyncio.sleep(0.2)
        assert starts == []
        process.kill()
        assert await waiting == (None, None)
    assert starts == [place.name]


async def test_who_starts_the_server_is_stuck(home, starts, monkeypatch):
    """It is waited for as long as a start may take; then an editor has a server of its own."""
    place = place_for(Options())
    monkeypatch.setattr(shared, "START_S", 0.2)
    async with holding(place.lock):
        with pytest.raises(NotShared, match="is locked by a process that is stuck"):
            await shared._started(place, 0)
    assert starts == []


async def test_the_server_is_told_to_end(home, tiny_file, endless):
    """SIGTERM while it writes for somebody: it lets go of its socket and its file."""
    async with proxies("--shared") as [(client, process)]:
        await begin(client, tiny_file(), **endless)
        client.open(URI, "class Ended:\n\nself.")
        client.send_inline(URI, (2, 5))
        await client.until(lambda: "busy" in client.states())
        [server] = servers(home)
        os.kill(server, signal.SIGTERM)
        assert await process.wait() == 1
        await until_gone(server)
    assert {path.suffix for path in (home / "run").iterdir()} == {".lock", ".log"}


async def test_nothing_can_be_shared(home, tiny_file):
    """Where there is no folder for it, an editor has a server of its own, and is told why."""
    (home / "run").write_text("not a folder")
    async with proxies("--shared", stderr=PIPE) as [(client, process)]:
        await begin(client, tiny_file())
        process.stdin.close()
        assert await process.wait() == 0
        assert b"a server of its own" in await process.stderr.read()


@pytest.mark.parametrize("encrypted", [True, False], ids=["TLS", "insecure"])
async def test_for_other_machines(tmp_path, tiny_file, certificate, monkeypatch, encrypted):
    """A server on all addresses, with its own settings: editors reach it by token and TLS.

    Or by the token alone, where the network is said to be encrypted.
    """
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    team = tmp_path / "team.toml"
    model = str(tiny_file())
    team.write_text(
        f'[model]\nname = "{model}"\n[engine]\nthreads = 1\ncontextSize = 1024\nwarmStart = 0\n'
    )
    serving = await start_process(
        *("--tcp", "0.0.0.0:0", "--token-file", str(token), "--settings", str(team)),
        *(("--tls-cert", str(certificate[0])) if encrypted else ("--insecure",)),
        *(("--tls-key", str(certificate[1])) if encrypted else ()),
        *("--connections", "1"),
        stderr=PIPE,
    )
    way = ("--tls-ca", str(certificate[0])) if encrypted else ("--insecure",)
    try:
        said = (await serving.stderr.readline()).decode()
        assert ("with TLS and with a token" if encrypted else "serves, with a token on") in said
        address = f"127.0.0.1:{said.rsplit(':', 1)[1].strip()}"

        monkeypatch.setenv("MIDTOKEN_TOKEN", TOKEN)
        process = await _connecting(address, *way)
        client = Client(process.stdout, process.stdin)
        client.settings = None
        await client.begin(NEOVIM_12, {})
        await client.ready()
        await works(client)
        assert "1 editor is connected already" in await _refusal(address, *way)
        process.stdin.close()
        assert await process.wait() == 0

        process = await _connecting(address, *way)
        client = Client(process.stdout, process.stdin)
        client.send_raw(b"Content-Length: %d\r\n\r\n" % (NETWORK_MESSAGE_BYTES + 1))
        await client.until(lambda: client.answers[None])
        assert "64 MiB are allowed here" in client.answers[None][0]["error"]["message"]
        assert await process.wait() == 1

        if encrypted:
            process = await start_process(address, "--insecure", command="connect", stderr=PIPE)
            said = (await process.stderr.read()).decode()
            assert await process.wait() == 1
            assert "has closed the connection without an answer: if the server was" in said

        monkeypatch.setenv("MIDTOKEN_TOKEN", TOKEN + "x")
        assert "the token is wrong" in await _refusal(address, *way)
    finally:
        serving.terminate()
        assert await serving.wait() == 0


async def _connecting(address: str, *way: str) -> asyncio.subprocess.Process:
    return await start_process(address, *way, command="connect", stderr=DEVNULL)


async def _refusal(address: str, *way: str) -> str:
    """What an editor that is not let in shows."""
    process = await _connecting(address, *way)
    client = Client(process.stdout, process.stdin)
    await client.until(lambda: bool(client.messages()))
    assert await process.wait() == 1
    return client.messages()[0]
