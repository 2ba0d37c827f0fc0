"""The server's log: a line for each thing that is wrong, whatever a client sends."""

import asyncio
import re
import signal
import sys
from contextlib import suppress

import pytest

from tests.server.lsp.client import AnsweredWithError, Client
from tests.server.lsp.conftest import start_process
from tests.server.lsp.editors import NEOVIM_12

pytestmark = pytest.mark.asyncio(loop_scope="session")

INLINE = "textDocument/inlineCompletion"
SECRET = "a text that is nobody's business"
LINE = re.compile(r"midtoken[\w.]*: .+")

REQUESTS = [
    (INLINE, {"textDocument": {"uri": 3}, "position": SECRET}),
    (INLINE, None),
    ("textDocument/unknown", {}),
    ("workspace/executeCommand", {"command": "rm", "arguments": [SECRET]}),
    ("workspace/executeCommand", {"command": []}),
    ("midtoken/counters", 7),
    ("initialize", {}),
]
NOTIFICATIONS = [
    ("textDocument/didOpen", {"textDocument": {"text": SECRET}}),
    ("textDocument/didChange", {"textDocument": {"uri": "file:///x", "version": 2}}),
    (
        "textDocument/didChange",
        {"textDocument": {"uri": "file:///x", "version": 2}, "contentChanges": [{"text": SECRET}]},
    ),
    ("textDocument/didClose", {"textDocument": {"uri": "file:///x"}}),
    ("midtoken/didAccept", [SECRET]),
    ("$/cancelRequest", None),
    ("$/unknown", {"text": SECRET}),
    ("workspace/didChangeConfiguration", {}),
]
RAW = [
    b"{",
    b"nonsense",
    b"[]",
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "2.0", "id": [], "method": 1}',
]


@pytest.mark.parametrize("level", ["warning", "debug"])
async def test_a_line_for_what_is_wrong(level):
    """No tracebacks, which say nothing to a person, and no text of documents."""
    process = await start_process("--stdio", stderr=asyncio.subprocess.PIPE)
    client = Client(process.stdout, process.stdin)
    client.settings = {"logging": {"level": level}}
    try:
        with pytest.raises(AnsweredWithError):
            await client.request("initialize", {"capabilities": 5})
        await client.request("initialize", NEOVIM_12.initialize(client.settings))
        for method, params in REQUESTS:
            with suppress(AnsweredWithError):
                await client.request(method, params)
        for method, params in NOTIFICATIONS:
            client.notify(method, params)
        for body in RAW:
            client.send_raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        await client.end()
        log = (await process.stderr.read()).decode().splitlines()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()

    print(*log, sep="\n")
    assert [line for line in log if not LINE.fullmatch(line)] == []
    assert [line for line in log if SECRET in line] == []
    assert [line for line in log if "DocumentError" in line] == []
    said = "midtoken.server: file:///x is not open: the editor must open it (didOpen) first"
    assert log.count(said) == 2  # an edit, and the close


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
async def test_an_end_that_nobody_wanted():
    """C code that fails leaves a line on standard error."""
    process = await start_process("--stdio", stderr=asyncio.subprocess.PIPE)
    client = Client(process.stdout, process.stdin)
    await client.request("initialize", NEOVIM_12.initialize())
    process.send_signal(signal.SIGBUS)
    log = (await process.stderr.read()).decode()

    assert await process.wait() == -signal.SIGBUS
    assert "Fatal Python error: Bus error" in log
