"""What an editor and a log are told while a model is loaded."""

from pathlib import Path

from tests.server.lsp.client import STATUS, Client
from tests.server.lsp.conftest import own_server, settings
from tests.server.lsp.editors import NEOVIM_12, OLD


async def test_progress(tiny_file):
    """An editor that shows progress is asked for one; it begins and ends with the loading."""
    async with own_server() as (client, _):
        await client.begin(NEOVIM_12, settings(tiny_file()))
        await client.ready()
        await client.until(lambda: client.told("$/progress")[-1:] and _kinds(client)[-1] == "end")

    assert client.asked.count("window/workDoneProgress/create") == 1
    assert _kinds(client)[0] == "begin"
    assert set(_kinds(client)[1:-1]) <= {"report"}
    assert len({told["token"] for told in client.told("$/progress")}) == 1


def _kinds(client: Client) -> list[str]:
    return [told["value"]["kind"] for told in client.told("$/progress")]


async def test_percentages(tiny_file):
    """While a model is loaded, the status says how far it is: never less than before, up to 100."""
    async with own_server() as (client, _):
        await client.begin(OLD, settings(tiny_file()), capabilities={})
        await client.ready()

    loading = [told for told in client.told(STATUS) if told["state"] == "loading"]
    percents = [told["percent"] for told in loading if "percent" in told]
    assert percents == sorted(set(percents))
    assert percents[-1] == 100
    assert "percent" not in client.told(STATUS)[-1]


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


async def test_late_cancels_are_not_logged(tiny_file, tmp_path: Path):
    """A cancel that crosses its answer is not worth a line, even where all is logged."""
    log = tmp_path / "midtoken.log"
    options = settings(
        tiny_file(), logging={"file": str(log), "level": "debug", "sourceText": True}
    )
    async with own_server() as (client, _):
        await client.begin(NEOVIM_12, options)
        await client.ready()
        client.open("file:///a.py", "import o")
        number = client.send_inline("file:///a.py", (0, 8))
        await client.answer(number)
        client.cancel(number)
        await client.inline("file:///a.py", (0, 8))

    text = log.read_text(encoding="utf-8")
    assert "pygls.protocol.json_rpc" in text
    assert "Cancel notification" not in text


async def test_log_file_that_cannot_be_written(tiny_file, tmp_path: Path):
    """The person is told, and everything else works."""
    async with own_server() as (client, _):
        await client.begin(NEOVIM_12, settings(tiny_file(), logging={"file": str(tmp_path)}))
        await client.ready()

    assert any("log file" in message for message in client.messages())
