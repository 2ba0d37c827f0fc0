"""A real server with a workspace: what other files say is in the prompts of its documents."""

import asyncio

import pytest

from tests.server.lsp.client import PATIENCE_S
from tests.server.lsp.conftest import own_server, settings
from tests.server.lsp.editors import NEOVIM_12

pytestmark = pytest.mark.asyncio(loop_scope="session")

SHAPES = "".join(f"def draw_{number}(shape, width={number}): pass\n" for number in range(20))
MAIN = "import shapes\n\nsize = \n"
LARGE = 300
"""Tokens of a prompt with other files' text; without it, these documents have some dozens."""


@pytest.fixture
def root(tmp_path):
    (tmp_path / "shapes.py").write_text(SHAPES)
    (tmp_path / ".env").write_text("PASSWORD = 1\n" * 50)
    (tmp_path / "main.py").write_text(MAIN)
    return tmp_path


@pytest.fixture
def serve(tiny_file, root):
    """Starts a server for the workspace; a model with marks for files, and prompts as asked."""

    def options(**sections):
        large = {"contextTokens": 2000, **sections.pop("completion", {})}
        memory = {"contextSize": 4096, "warmStart": 0}
        sections = {"context": {"workspace": True}, **sections}
        return settings(tiny_file(dialect="Qwen"), engine=memory, completion=large, **sections)

    async def begin(client, **sections):
        client.settings = None
        folders = [{"uri": root.as_uri(), "name": "project"}]
        announced = await client.begin(NEOVIM_12, options(**sections), workspaceFolders=folders)
        await client.ready()
        return announced

    return begin


async def prompt_after(client, uri, typed):
    """The size of the prompt of a suggestion for the second line, after some letters more."""
    client.change(uri, (((2, 7), (2, 7)), typed))
    await client.inline(uri, (2, 7 + len(typed)))
    command = {"command": "midtoken.showReport"}
    return (await client.request("workspace/executeCommand", command))["tokens"]["prompt"]


async def test_definitions_are_read(serve, root):
    """Soon after a document is opened; whoever changes the other file changes what is read."""
    uri = (root / "main.py").as_uri()
    async with own_server() as (client, _):
        announced = await serve(client)
        assert announced["capabilities"]["textDocumentSync"]["save"]
        client.open(uri, MAIN)
        sizes = []
        async with asyncio.timeout(PATIENCE_S):
            while not sizes or sizes[-1] < LARGE:
                sizes.append(await prompt_after(client, uri, "abcdefgh"[len(sizes) % 8]))
                await asyncio.sleep(0.3)
        client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        client.close(uri)

    assert sizes[-1] >= LARGE


@pytest.mark.parametrize(
    ("name", "sections"),
    [
        ("main.py", {"context": {"workspace": False}}),
        ("main.py", {"completion": {"contextTokens": 200}}),
        (".env", {}),
    ],
    ids=["switched off", "small prompts", "a secret"],
)
async def test_and_where_they_are_not(serve, root, name, sections):
    """Not where that is switched off, nor in small prompts, nor for a file that is secret."""
    uri = (root / name).as_uri()
    async with own_server() as (client, _):
        await serve(client, **sections)
        client.open(uri, MAIN)
        sizes = []
        for typed in "abcd":
            sizes.append(await prompt_after(client, uri, typed))
            await asyncio.sleep(0.5)

    assert max(sizes) < LARGE
