"""What a connection keeps of messages that it is done with: nothing."""

import asyncio
import json

from server.backend import Backend
from server.handlers import create_server
from tests.server.lsp.client import PATIENCE_S
from tests.server.lsp.editors import OLD

NOWHERE = {"model": {"name": "/nowhere.gguf"}}


class Sink:
    """Takes what a server writes."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data

    def close(self) -> None: ...


async def test_what_has_ended_is_forgotten():
    """Changes of settings, commands and requests: each is answered, and then gone."""
    server, sink = create_server(Backend()), Sink()
    server.protocol.set_writer(sink)
    sent = [
        ("initialize", OLD.initialize(NOWHERE) | {"capabilities": {}}, 0),
        ("initialized", {}, None),
        *(("workspace/didChangeConfiguration", {"settings": NOWHERE}, None) for _ in range(5)),
        ("workspace/executeCommand", {"command": "midtoken.showReport"}, 1),
        ("workspace/executeCommand", {"command": "midtoken.openReport"}, 2),
        ("midtoken/counters", None, 3),
    ]
    for method, params, number in sent:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        numbered = message if number is None else message | {"id": number}
        server.protocol.read(json.dumps(numbered).encode())
        await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE_S):
        while server.protocol._request_futures:
            await asyncio.sleep(0.01)

    server.leave()
    for number in range(4):
        assert sink.data.count(b'"id":%d' % number) + sink.data.count(b'"id": %d' % number) == 1
