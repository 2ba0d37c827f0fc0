"""Signals: a server ends in order and at once, whatever it is doing."""

import asyncio
import os
import signal
import sys

import pytest

from tests.server.command import REPOSITORY
from tests.server.lsp.client import AUTOMATIC, Client
from tests.server.lsp.conftest import own_server, settings, start_process
from tests.server.lsp.editors import NEOVIM_12

pytestmark = pytest.mark.asyncio(loop_scope="session")

URI = "file:///a.py"


async def test_while_it_waits_for_the_editor(tiny_file):
    """Its input is open, and nothing comes."""
    async with own_server() as (client, process):
        client.settings = None
        await client.begin(NEOVIM_12, settings(tiny_file()))
        await client.ready()
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


async def test_interrupted():
    """Ctrl-C in a terminal, where input and port are open, ends it as other commands."""
    process = await start_process("--tcp", "127.0.0.1:0", stderr=asyncio.subprocess.PIPE)
    await process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert await process.stderr.read() == b"midtoken: cancelled\n"
    assert await process.wait() == 1


async def test_while_it_writes(tiny_file, endless):
    """The model is in the middle of a text; the request has no answer, and the process is gone."""
    async with own_server() as (client, process):
        client.settings = None
        await client.begin(NEOVIM_12, settings(tiny_file(ends=False), **endless))
        await client.ready()
        client.open(URI, "class Stop:\n\nself.")
        asked = client.send_inline(URI, (2, 5))
        await client.until(lambda: client.states()[-1] == "busy")
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
        assert asked not in client.answers


async def test_several_editors(tiny_file, endless):
    """All connections of a server on a port end, and nothing is printed."""
    process = await start_process("--tcp", "127.0.0.1:0", stderr=asyncio.subprocess.PIPE)
    port = int((await process.stderr.readline()).rsplit(b":", 1)[1])
    clients = [Client(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(3)]
    for client in clients:
        client.settings = None
        await client.begin(NEOVIM_12, settings(tiny_file(ends=False), **endless))
        await client.ready()
        client.open(URI, "class Stop:\n\nself.")
        client.send_inline(URI, (2, 5))
    await clients[0].until(lambda: "busy" in clients[0].states())
    process.send_signal(signal.SIGTERM)

    assert await process.wait() == 0
    assert await process.stderr.read() == b""
    for client in clients:
        await client.end()
        assert client.reader.at_eof()


async def test_two_servers_on_one_cache(tiny_file, tmp_path, monkeypatch):
    """Servers that end at once write their memories to one folder; the next one can use it."""
    monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path / "home"))
    text = "".join(f"name_{line} = {line}\n" for line in range(30)) + "import o"
    warm = settings(
        tiny_file(),
        engine={"warmStart": 10, "idleWork": False},
        completion={"contextTokens": 400},  # the same prompt, however fast the machine seems to be
    )

    async def begun(client: Client) -> tuple[list[str], int]:
        """The suggestions, and the tokens of the first one's prompt that were not read."""
        client.settings = None
        await client.begin(NEOVIM_12, warm)
        await client.ready()
        for name in "ab":
            client.open((tmp_path / f"{name}.py").as_uri(), text)
        first, second = [(tmp_path / f"{name}.py").as_uri() for name in "ab"]
        found = await client.inline(first, (30, 8), AUTOMATIC)
        report = await client.request(
            "workspace/executeCommand", {"command": "midtoken.showReport", "arguments": []}
        )
        found += await client.inline(second, (30, 8), AUTOMATIC)
        return [item["insertText"] for item in found], report["tokens"]["reused"]

    async with own_server() as (one, first), own_server() as (other, second):
        (shown, cold), (others, _) = await asyncio.gather(begun(one), begun(other))
        for process in (first, second):
            process.send_signal(signal.SIGTERM)
        assert await first.wait() == await second.wait() == 0
    kept = list((tmp_path / "home" / "cache" / "states").iterdir())
    assert kept
    assert {path.suffix for path in kept} == {".state"}

    async with own_server() as (third, process):
        again, warm = await begun(third)
        assert shown == others == again
        assert (cold < 2, warm > 100) == (True, True)
        assert len(list((tmp_path / "home" / "cache" / "states").iterdir())) >= len(kept)


FAULTY = """
import asyncio, threading
from server.ending import run

async def serve(_):
    print("on", flush=True)
    try:
        await asyncio.sleep(1e9)
    finally:
        raise ValueError("letting go")

threading.Thread(target=threading.Event().wait).start()
run(serve)
"""


async def test_letting_go_fails():
    """A fault on the way is in the log, and the process ends, whatever its threads wait for."""
    pipes = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.PIPE}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", FAULTY),
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        **pipes,
    )
    try:
        assert await process.stdout.readline() == b"on\n"
        process.terminate()
        assert b"ValueError: letting go" in await process.stderr.read()
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()


async def started(model, endless):
    """A process that tells what it says on standard error, and a document that goes on for ever."""
    process = await start_process("--stdio", stderr=asyncio.subprocess.PIPE)
    client = Client(process.stdout, process.stdin)
    client.settings = None
    await client.begin(NEOVIM_12, settings(model, **endless))
    await client.ready()
    client.open(URI, "class Stop:\n\nself.")
    return process, client


@pytest.mark.parametrize("pause", [0.0, 0.2])
async def test_exit_while_it_works(tiny_file, endless, pause):
    """An editor that exits without a word of warning: what is under way ends, in silence."""
    process, client = await started(tiny_file(ends=False), endless)
    for _ in range(3):
        client.send_inline(URI, (2, 5))
        client.send("workspace/executeCommand", {"command": "midtoken.openReport"})
    await asyncio.sleep(pause)
    client.notify("exit")

    assert await process.stderr.read() == b""
    assert await process.wait() == 1
    await client.end()


@pytest.mark.parametrize("pause", [0.0, 1.0])
async def test_nobody_reads(tiny_file, endless, pause):
    """An editor that has closed the server's output: one line says so, whatever is answered."""
    process, client = await started(tiny_file(ends=False), endless)
    process._transport.get_pipe_transport(1).close()
    for _ in range(9):
        client.send_inline(URI, (2, 5))
        client.send("workspace/executeCommand", {"command": "midtoken.openReport"})
    await asyncio.sleep(pause)
    process.stdin.close()

    said = (await process.stderr.read()).decode()
    assert said.splitlines() == ["midtoken.serving: the editor has gone without a word"]
    assert await process.wait() == 0
