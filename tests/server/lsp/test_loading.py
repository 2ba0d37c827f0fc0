"""What an editor and a log are told while a model is loaded."""

from pathlib import Path

from tests.server.lsp.conftest import own_server, settings
from tests.server.lsp.editors import NEOVIM_12, OLD


async def test_progress(tiny_file):
    """An editor that shows progress is asked for one; it begins and ends with the loading."""
    async with own_server() as (client, _):
        await client.begin(NEOVIM_12, settings(tiny_file()))
        await client.ready()
        await client.until(lambda: len(client.told("$/progress")) == 2)

    first, last = client.told("$/progress")
    assert client.asked.count("window/workDoneProgress/create") == 1
    assert (first["value"]["kind"], last["value"]["kind"]) == ("begin", "end")
    assert first["token"] == last["token"]


async def test_no_progress(tiny_file):
    """An editor that can't show progress hears nothing of it."""
    async with own_server() as (client, _):
        await client.begin(OLD, settings(tiny_file()), capabilities={})
        await client.ready()

    assert "window/workDoneProgress/create" not in client.asked
    assert client.told("$/progress") == []


async def test_log_file(tiny_file, tmp_path: Path):
    """The log goes to the file that the user names, and holds no text of documents."""
    log = tmp_path / "midtoken.log"
    options = settings(tiny_file(), logging={"file": str(log), "level": "debug"})
    async with own_server() as (client, _):
        await client.begin(NEOVIM_12, options)
        await client.ready()
        client.open("file:///a.py", "secret_of_mine = 1\n")
        client.change("file:///not_open.py", (None, "x"))
        await client.inline("file:///a.py", (0, 6))

    text = log.read_text(encoding="utf-8")
    assert "not_open.py" in text
    assert "secret_of_mine" not in text


async def test_log_file_that_cannot_be_written(tiny_file, tmp_path: Path):
    """The person is told, and everything else works."""
    async with own_server() as (client, _):
        await client.begin(NEOVIM_12, settings(tiny_file(), logging={"file": str(tmp_path)}))
        await client.ready()

    assert any("log file" in message for message in client.messages())
