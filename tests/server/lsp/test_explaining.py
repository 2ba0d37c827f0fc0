"""The report and the page of a suggestion, as editors get them."""

import asyncio
import json
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

from tests.server.explain_page.parsing import parsed
from tests.server.lsp.client import PATIENCE_S, AnsweredWithError, Client, place
from tests.server.lsp.conftest import BUFFER_BYTES, own_server, settings
from tests.server.lsp.editors import NEOVIM_12
from tests.server.lsp.test_cancelling import CANCELLED

pytestmark = pytest.mark.asyncio(loop_scope="session")

URI = "file:///a.py"

INVALID_PARAMS = -32602


async def report(client: Client):
    """The last suggestion's report."""
    command = {"command": "midtoken.showReport"}
    return await client.request("workspace/executeCommand", command)


def at(uri: str, *position: int) -> dict[str, object]:
    """The parameters for a place."""
    return {"textDocument": {"uri": uri}, "position": place(position)}


async def test_before_the_first_suggestion(client):
    """There is nothing to show, and that is said."""
    assert await report(client) is None
    assert await client.request("midtoken/explain") == {"problem": "there was no suggestion yet"}
    assert await client.request("midtoken/explain", {}) == {
        "problem": "there was no suggestion yet"
    }


async def test_the_last_suggestion(client):
    """The page tells of what was answered: the same report, and its place."""
    client.open(URI, "import os\nprint(o)\n")
    await client.menu(URI, (1, 7))
    told = await report(client)
    client.change(URI, (None, "something else\n"))

    root = parsed((await client.request("midtoken/explain", {}))["html"])

    assert root.find("h1")[0].text.endswith("a.py:2:8")
    assert json.loads(root.find("details")[1].find("div")[0].text) == told
    assert "made again for this page" in root.text
    assert await report(client) == told


async def test_at_a_place(client):
    """A page of a new request at a place; the last suggestion stays the last one."""
    client.open(URI, "a = '😀'\nprint(o)\n")

    root = parsed((await client.request("midtoken/explain", at(URI, 1, 7)))["html"])

    assert root.find("h1")[0].text.endswith("a.py:2:8")
    assert "made again for this page" not in root.text
    assert await report(client) is None


async def test_of_a_document_that_is_not_open(client):
    """One line says what is wrong."""
    answer = await client.request("midtoken/explain", at("file:///b.py", 0, 0))

    assert list(answer) == ["problem"]
    assert "b.py" in answer["problem"]


@pytest.mark.parametrize(
    "params", [{"textDocument": 1}, {"position": []}, {"textDocument": {"uri": URI}}, [1]]
)
async def test_no_place(client, params):
    """What is no place is taken for none."""
    answer = await client.request("midtoken/explain", params)

    assert answer == {"problem": "there was no suggestion yet"}


@pytest.mark.parametrize(("line", "character"), [(-1, 0), (0, 1 << 40)])
async def test_numbers_of_no_place(client, line, character):
    """They are refused as any wrong parameters are."""
    with pytest.raises(AnsweredWithError) as refused:
        await client.request("midtoken/explain", at(URI, line, character))

    assert refused.value.code == INVALID_PARAMS


async def test_cancelled(connect, endless):
    """Cancelling stops the model, and the next request has it."""
    client = await connect(**endless)
    client.open(URI, "class Stop:\n\nself.")
    number = client.send("midtoken/explain", at(URI, 2, 5))
    client.cancel(number)
    with pytest.raises(AnsweredWithError) as refused:
        await client.answer(number)

    assert refused.value.code == CANCELLED
    client.change(URI, (None, "self.numb"))
    assert await client.menu(URI, (0, 9)) is not None


async def open_report(client: Client) -> None:
    """Have the page opened."""
    command = {"command": "midtoken.openReport"}
    assert await client.request("workspace/executeCommand", command) is None


async def connected(port, tiny_file, **window) -> Client:
    """An editor that says this of its windows."""
    client = Client(*await asyncio.open_connection("127.0.0.1", port, limit=BUFFER_BYTES))
    capabilities = NEOVIM_12.initialize()["capabilities"] | {"window": window}
    await client.begin(NEOVIM_12, settings(tiny_file()), capabilities=capabilities)
    await client.ready()
    return client


async def test_opened_outside_the_editor(port, tiny_file):
    """The editor is asked to open a file that only this person can read."""
    client = await connected(port, tiny_file, showDocument={"support": True})
    wishes = []
    client.replies["window/showDocument"] = lambda wish: wishes.append(wish) or {"success": True}
    client.open(URI, "import os\nprint(o)\n")
    await client.menu(URI, (1, 7))
    for _ in range(2):
        await open_report(client)

    assert len(wishes) == 2
    assert wishes[0] == wishes[1]
    assert wishes[0]["external"]
    file = Path(unquote(urlparse(wishes[0]["uri"]).path))
    assert parsed(file.read_text("utf-8")).find("h1")[0].text.endswith("a.py:2:8")
    assert not file.parent.stat().st_mode & 0o077
    assert client.messages() == []
    await client.end()


@pytest.mark.parametrize("support", [True, False])
async def test_told_where_it_is(port, tiny_file, support):
    """Where the editor can't open it, or does not, a message says where the page is."""
    client = await connected(port, tiny_file, showDocument={"support": support})
    client.replies["window/showDocument"] = lambda _: {"success": False}
    await open_report(client)
    client.open(URI, "import os\nprint(o)\n")
    await client.menu(URI, (1, 7))
    await open_report(client)

    nothing, told = client.messages()
    assert nothing == "midtoken: there was no suggestion yet"
    assert Path(told.removeprefix("midtoken: the page is ")).is_file()
    assert ("window/showDocument" in client.asked) == support
    await client.end()


@pytest.mark.parametrize("how", ["orderly", "end of input", "SIGTERM"])
async def test_the_file_goes_with_the_connection(tiny_file, tmp_path, monkeypatch, how):
    """Whatever ends the server, nothing of it stays."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    async with own_server() as (client, process):
        client.settings = None
        await client.begin(NEOVIM_12, settings(tiny_file()))
        await client.ready()
        client.open(URI, "import os\nprint(o)\n")
        await client.menu(URI, (1, 7))
        await open_report(client)
        assert [*tmp_path.glob("midtoken-*/report.html")]
        if how == "SIGTERM":
            process.terminate()
        elif how == "orderly":
            await client.end()
        else:
            process.stdin.close()
        assert await process.wait() == 0

    assert not [*tmp_path.iterdir()]


async def test_the_file_goes_with_one_connection_of_many(port, tiny_file):
    """The server goes on, and the file has gone."""
    client = await connected(port, tiny_file)
    client.open(URI, "import os\nprint(o)\n")
    await client.menu(URI, (1, 7))
    await open_report(client)
    await client.until(lambda: bool(client.messages()))
    file = Path(client.messages()[0].partition("the page is ")[2])
    assert file.is_file()
    await client.end()

    async with asyncio.timeout(PATIENCE_S):
        while file.parent.exists():
            await asyncio.sleep(0.02)
