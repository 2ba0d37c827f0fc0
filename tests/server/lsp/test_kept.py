"""What is kept of messages that are done with, and of connections that have ended: nothing."""

import asyncio
import gc
import json
import weakref
from typing import Any

from server.backend import Backend, Status
from server.handlers import create_server
from server.language_server import MidtokenServer
from tests.server.lsp.client import PATIENCE_S
from tests.server.lsp.editors import NEOVIM_12, OLD

NOWHERE = {"model": {"name": "/nowhere.gguf"}}


class Sink:
    """Takes what a server writes."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data

    def close(self) -> None: ...


def connected(backend: Backend | None = None) -> MidtokenServer:
    """A server that writes to a sink."""
    server = create_server(backend or Backend())
    server.protocol.set_writer(Sink())
    return server


async def say(server: MidtokenServer, method: str, params: Any, number: int | None = None) -> None:
    """Have a message arrive."""
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    numbered = message if number is None else message | {"id": number}
    server.protocol.read(json.dumps(numbered).encode())
    await asyncio.sleep(0)


async def test_what_has_ended_is_forgotten():
    """Changes of settings, commands and requests: each is answered, and then gone."""
    server = connected()
    await say(server, "initialize", OLD.initialize(NOWHERE) | {"capabilities": {}}, 0)
    await say(server, "initialized", {})
    for _ in range(5):
        await say(server, "workspace/didChangeConfiguration", {"settings": NOWHERE})
    await say(server, "workspace/executeCommand", {"command": "midtoken.showReport"}, 1)
    await say(server, "workspace/executeCommand", {"command": "midtoken.openReport"}, 2)
    await say(server, "midtoken/counters", None, 3)
    async with asyncio.timeout(PATIENCE_S):
        while server.protocol._request_futures:
            await asyncio.sleep(0.01)

    server.leave()
    for number in range(4):
        assert server.protocol.writer.data.count(b'"id": %d,' % number) == 1


async def test_connections_that_have_ended_are_freed(caplog):
    """Also of an editor that goes before it has answered what it was asked."""
    gone = []
    for _ in range(3):
        server = connected()
        await say(server, "initialize", NEOVIM_12.initialize(NOWHERE), 0)
        await say(server, "initialized", {})
        async with asyncio.timeout(PATIENCE_S):
            while b"workspace/configuration" not in server.protocol.writer.data:
                await asyncio.sleep(0.01)
        server.leave()
        gone.append(weakref.ref(server))
        del server
    async with asyncio.timeout(PATIENCE_S):
        while any(one() for one in gone):
            await asyncio.sleep(0.05)
            gc.collect()
    assert "pending" not in caplog.text  # nothing waited for what nobody answers any more


async def test_an_editor_that_goes_at_once():
    """Its messages have been read, and are worked on when it has gone: that changes nothing."""
    backend = Backend()
    server = connected(backend)
    await say(server, "initialize", NEOVIM_12.initialize(NOWHERE), 0)
    reading = say(server, "initialized", {})
    reading.send(None)
    server.leave()
    reading.close()
    await asyncio.sleep(0.05)

    assert not backend.listeners
    assert backend.options is None


async def test_a_model_that_is_loaded_when_its_editor_has_gone(caplog):
    """Nobody is asked to show how far it is."""
    server = connected()
    await say(server, "initialize", NEOVIM_12.initialize(NOWHERE), 0)
    server.leave()
    written = server.protocol.writer.data
    server.tell_status(Status("loading", "loading a model", 50))
    await asyncio.sleep(0.05)

    assert server.protocol.writer.data == written
    del server
    gc.collect()
    await asyncio.sleep(0)
    assert "pending" not in caplog.text
