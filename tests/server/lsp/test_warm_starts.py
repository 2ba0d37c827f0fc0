"""A server that is started again: the first suggestion does not read the document again."""

import asyncio
import signal
import sys
from contextlib import asynccontextmanager

import pytest

from server.state_store import default_folder, delete_all, files_in
from tests.server.lsp.conftest import own_server, settings
from tests.server.lsp.editors import NEOVIM_12

ADDRESS = "file:///project/reader.py"
LINES = "".join(f"    reader_{n} = Reader(path, numbers[{n}])\n" for n in range(6))
TEXT = f"def read(path, numbers):\n{LINES}    return sum("
AT = (7, 15)
PATIENCE_S = 60


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home of its own for each test's servers."""
    monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def start(tiny_file):
    """Starts a server with the document open; it goes as it is told, else it is killed."""

    @asynccontextmanager
    async def begin(address=ADDRESS, **engine):
        async with own_server() as (client, process):
            client.settings = None
            options = settings(tiny_file(), engine=engine, grammar={"mode": "off"})
            await client.begin(NEOVIM_12, options)
            await client.ready()
            client.open(address, TEXT)
            yield client, process

    return begin


async def complete(client, address=ADDRESS):
    """The suggested text, and the tokens of the report."""
    items = await client.inline(address, AT)
    report = await client.request(
        "workspace/executeCommand", {"command": "midtoken.showReport", "arguments": []}
    )
    return items[0]["insertText"], report["tokens"]


async def leave(client, process):
    """Shut down as editors do."""
    client.send("shutdown")
    client.notify("exit")
    await asyncio.wait_for(process.wait(), PATIENCE_S)


async def test_started_again(start):
    """The prompt comes from disk, and the suggestion is the same."""
    async with start() as (client, process):
        text, cold = await complete(client)
        await leave(client, process)
    async with start() as (client, process):
        again, warm = await complete(client)
        await leave(client, process)

    assert again == text != ""
    assert cold["reused"] < 2
    assert warm["reused"] > warm["prompt"] - 16
    assert cold["evaluated"] - warm["evaluated"] > 60
    assert len(files_in(default_folder())) == 1


async def test_an_editor_that_has_gone(start):
    """The end of the input is an end in order, too."""
    async with start() as (client, process):
        text, _ = await complete(client)
        process.stdin.close()
        await asyncio.wait_for(process.wait(), PATIENCE_S)
    async with start() as (client, _):
        again, warm = await complete(client)

    assert again == text
    assert warm["reused"] > 60


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
async def test_killed(start):
    """Without warning: what was not written yet is read again, and nothing is broken."""
    async with start() as (client, process):
        text, _ = await complete(client)
        process.send_signal(signal.SIGKILL)
        await process.wait()
    delete_all(default_folder())  # a slow machine may have had the time to write
    async with start() as (client, process):
        again, cold = await complete(client)
        async with asyncio.timeout(PATIENCE_S):  # until it is written while nobody asks
            while not files_in(default_folder()):
                await asyncio.sleep(0.1)
        process.send_signal(signal.SIGKILL)
        await process.wait()
    async with start() as (client, _):
        third, warm = await complete(client)

    assert text == again == third
    assert cold["reused"] < 2
    assert warm["reused"] > 60


async def test_another_model(start, tiny_file):
    """States of one model are of no use to another, and stay for later."""
    async with start() as (client, process):
        text, _ = await complete(client)
        await leave(client, process)
    async with own_server() as (client, process):
        client.settings = None
        await client.begin(NEOVIM_12, settings(tiny_file(seed=5), grammar={"mode": "off"}))
        await client.ready()
        client.open(ADDRESS, TEXT)
        _, other = await complete(client)
        await leave(client, process)
    async with start() as (client, _):
        again, warm = await complete(client)

    assert other["reused"] < 2
    assert warm["reused"] > 60
    assert again == text


async def test_switched_off(start):
    """Nothing is kept, and what was kept is deleted: at once, also while a server runs."""
    async with start() as (client, process):
        await complete(client)
        await leave(client, process)
    assert files_in(default_folder())
    async with start(warmStart=0) as (client, process):
        _, cold = await complete(client)
        await leave(client, process)
    assert cold["reused"] < 2
    assert not default_folder().exists()

    async with start() as (client, process):
        await complete(client)
        await leave(client, process)
    async with start() as (client, process):
        client.notify(
            "workspace/didChangeConfiguration",
            {"settings": {"midtoken": {"engine": {"warmStart": 0}}}},
        )
        async with asyncio.timeout(PATIENCE_S):
            while default_folder().exists():
                await asyncio.sleep(0.05)


async def test_secrets(start):
    """A file of secrets leaves nothing."""
    address = "file:///project/.env"
    async with start(address) as (client, process):
        await complete(client, address)
        await leave(client, process)

    assert not default_folder().exists()
