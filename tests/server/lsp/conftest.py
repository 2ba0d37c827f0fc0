"""Servers of these tests: one process with a tiny model for most of them, a connection a test."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.server.command import REPOSITORY
from tests.server.lsp.client import Client
from tests.server.lsp.editors import NEOVIM_12, Editor

BUFFER_BYTES = 1 << 26
Connect = Callable[..., Awaitable[Client]]


def settings(model: object, /, **sections: dict[str, Any]) -> dict[str, Any]:
    """Options for a model: short answers, on one thread; names have tests of their own.

    Without flash attention: llama.cpp's sums in 16 bits on a CPU, and with random weights its
    rounding decides which text is best, differently for one token and for several at a time.
    """
    base = {
        "model": {"name": str(model)},
        "engine": {"threads": 1, "contextSize": 1024, "flashAttention": "off"},
        "completion": {"maxTokens": 8, "maxTokensBlock": 12, "names": False, "stopUnsure": 0},
        "trigger": {"debounce": 0, "timeBudget": 60_000},
    }
    for section, values in sections.items():
        base[section] = base.get(section, {}) | values
    return base


async def start_process(
    *arguments: str, stderr: int, command: str = "serve"
) -> asyncio.subprocess.Process:
    """The server as a process of its own, or one that passes on to it, talking over pipes."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server.cli", command, *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY), "OMP_WAIT_POLICY": "passive"},
        limit=BUFFER_BYTES,
    )


@asynccontextmanager
async def own_server() -> AsyncIterator[tuple[Client, asyncio.subprocess.Process]]:
    """A server process over standard input and output, that only this test talks to."""
    process = await start_process("--stdio", stderr=asyncio.subprocess.DEVNULL)
    client = Client(process.stdout, process.stdin)
    try:
        yield client, process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def port(midtoken_home: Path) -> AsyncIterator[int]:
    """The port of a server process that all tests share."""
    process = await start_process("--tcp", "127.0.0.1:0", stderr=asyncio.subprocess.PIPE)
    said = (await process.stderr.readline()).decode()
    drained = asyncio.ensure_future(process.stderr.read())
    yield int(said.rsplit(":", 1)[1])
    process.terminate()
    await process.wait()
    await drained


@pytest.fixture(scope="session")
def endless(tiny_file: Callable[..., Path]) -> dict[str, dict[str, Any]]:
    """Sections of options with which a text goes on until the context is full."""
    return {
        "model": {"name": str(tiny_file(ends=False))},
        "grammar": {"mode": "off"},  # with it, a text ends where it refuses what the model wants
        "completion": {"maxTokens": 5000, "maxTokensBlock": 5000},
    }


@pytest_asyncio.fixture(loop_scope="session")
async def connect(port: int, tiny_file: Callable[..., Path]) -> AsyncIterator[Connect]:
    """Connects to the shared server as an editor, with the tiny model loaded."""
    clients = []

    async def open_connection(
        editor: Editor = NEOVIM_12, *, begun: bool = True, **sections: dict[str, Any]
    ) -> Client:
        streams = await asyncio.open_connection("127.0.0.1", port, limit=BUFFER_BYTES)
        clients.append(client := Client(*streams))
        if begun:
            client.settings = None
            await client.begin(editor, settings(tiny_file(), **sections))
            await client.ready()
        return client

    yield open_connection
    for client in clients:
        await client.end()


@pytest_asyncio.fixture(loop_scope="session")
async def client(connect: Connect) -> Client:
    """An editor that is connected and has nothing open."""
    return await connect()
