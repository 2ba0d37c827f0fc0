"""What the server announces to each editor, and the encoding that they agree on."""

import pytest

from tests.server.lsp.conftest import own_server, settings
from tests.server.lsp.editors import BY_ENCODING, EDITORS, NEOVIM_12, VSCODE, Editor, editor_id

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("editor", EDITORS, ids=editor_id)
async def test_announced(connect, editor: Editor):
    """Both ways of completing are announced, and the encoding is the editor's first choice."""
    client = await connect(editor)

    announced = client.capabilities
    assert announced.get("positionEncoding", "utf-16") == editor.chosen
    assert announced["completionProvider"]["triggerCharacters"]
    assert announced["inlineCompletionProvider"] in ({}, True)
    assert announced["textDocumentSync"]["change"] == 2
    commands = announced["executeCommandProvider"]["commands"]
    assert {"midtoken.restartModel", "midtoken.showReport"} <= set(commands)


@pytest.mark.parametrize("editor", BY_ENCODING, ids=editor_id)
async def test_edits_hit_their_place(connect, editor: Editor):
    """After edits behind emoji and CRLF the document ends in what the editor has."""
    client = await connect(editor)
    wide = {"utf-8": 4, "utf-16": 2, "utf-32": 1}[editor.chosen]
    client.open("untitled:a", "a = '😀'\r\nb = '😀😀'\r\n")

    client.change("untitled:a", (((1, 5 + wide), (1, 5 + 2 * wide)), "x"), (((2, 0), (2, 0)), "re"))
    client.change("untitled:a", (((0, 5), (0, 5 + wide)), ""))
    found = await client.menu("untitled:a", (2, 2))

    report = await client.request("workspace/executeCommand", {"command": "midtoken.showReport"})
    assert report["healing"]["backed_up_text"].endswith("re")
    for item in found["items"]:
        assert item["textEdit"]["range"]["start"] == {"line": 2, "character": 2}


async def test_status_and_stdio(tiny_file):
    """Over standard input and output: starting, loading, ready; and exit code 0 at the end."""
    async with own_server() as (client, process):
        await client.begin(VSCODE, settings(tiny_file()))
        await client.ready()
        assert list(dict.fromkeys(client.states())) == ["starting", "loading", "ready"]
        client.open("file:///a.py", "import o")
        assert await client.menu("file:///a.py", (0, 8)) is not None
        assert client.asked == ["workspace/configuration", "window/workDoneProgress/create"]
        await client.request("shutdown")
        client.notify("exit")
        assert await process.wait() == 0


async def test_exit_without_shutdown():
    """An exit that was not announced ends the process with exit code 1, as the protocol says."""
    async with own_server() as (client, process):
        await client.request("initialize", NEOVIM_12.initialize())
        client.notify("exit")
        assert await process.wait() == 1


async def test_the_editor_dies():
    """When the input ends, so does the server."""
    async with own_server() as (client, process):
        await client.request("initialize", NEOVIM_12.initialize())
        process.stdin.close()
        assert await process.wait() == 0
