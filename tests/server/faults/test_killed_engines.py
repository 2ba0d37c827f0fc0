"""An engine elsewhere is killed while it answers: that is said, and it is used when it is back."""

import asyncio
import signal
import sys

from tests.server.command import REPOSITORY
from tests.server.lsp.client import STATUS
from tests.server.lsp.conftest import own_server, settings
from tests.server.lsp.editors import NEOVIM_12
from tests.server.remote.fake_engine import tokenizer

ENGINE = """
import sys, threading
from http.server import ThreadingHTTPServer
from tests.server.remote.fake_engine import FakeEngine, _handler
port, is_held = int(sys.argv[1]), sys.argv[2] == "nothing"
engine = FakeEngine(wish="    return name\\n", hold=threading.Event() if is_held else None)
server = ThreadingHTTPServer(("127.0.0.1", port), _handler(engine))
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
"""
"""An engine that writes a line, or begins to answer and says nothing for ten seconds."""

URI = "file:///a.py"
TEXT = "def name_of(name):\n    retu"
AT = (1, 8)


async def start_engine(port: int, says: str) -> tuple[asyncio.subprocess.Process, int]:
    """An engine as a process of its own, and its port."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", ENGINE, str(port), says),
        stdout=asyncio.subprocess.PIPE,
        cwd=REPOSITORY,
    )
    return process, int(await process.stdout.readline())


async def kill(process: asyncio.subprocess.Process) -> None:
    process.send_signal(signal.SIGKILL)
    await process.wait()


async def test_killed_while_it_answers(tmp_path):
    """The request is answered with nothing, the status names the engine; later it goes on."""
    tokenizer().save(str(tmp_path / "tokenizer.json"))
    engine, port = await start_engine(0, "nothing")
    url = f"http://127.0.0.1:{port}"
    remote = {"url": url, "tokenizer": str(tmp_path / "tokenizer.json"), "keyVariable": ""}
    try:
        async with own_server() as (client, server):
            client.settings = None
            await client.begin(NEOVIM_12, settings("none", remote=remote))
            await client.ready()
            client.open(URI, TEXT)
            asked = client.send_inline(URI, AT)
            await client.until(lambda: client.states()[-1] == "busy")
            await kill(engine)
            assert not await client.answer(asked)
            await client.until(lambda: client.states()[-1] == "error")
            assert url in client.told(STATUS)[-1]["message"]

            engine, _ = await start_engine(port, "text")
            async with asyncio.timeout(60):
                while not (items := await client.inline(URI, AT)):
                    await asyncio.sleep(0.2)
            assert items[0]["insertText"] == "rn name"
            await client.ready()
            server.terminate()
            assert await server.wait() == 0
    finally:
        await kill(engine)
