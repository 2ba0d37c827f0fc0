"""Documents, positions, edits and addresses of every kind. A valid request after them works."""

import pytest

from tests.server.lsp.client import Client
from tests.server.lsp.conftest import BUFFER_BYTES
from tests.server.lsp.editors import BY_ENCODING, editor_id

pytestmark = pytest.mark.asyncio(loop_scope="session")

URI = "file:///a.py"
LARGEST = 2**31 - 1
LONG = {"completion": {"maxTokens": 600, "maxTokensBlock": 600}}
"""Options that let the tiny model write for a quarter of a second where it finds no end."""


async def typed_before(client: Client, uri: str, position: tuple[int, int]) -> str | None:
    """The end of what the server takes for typed; None if it answers nothing."""
    if await client.menu(uri, position) is None:
        return None
    report = await client.request("workspace/executeCommand", {"command": "midtoken.showReport"})
    return report["healing"]["backed_up_text"]


async def works(client: Client) -> None:
    client.open("file:///after.py", "import o")
    assert (await typed_before(client, "file:///after.py", (0, 8))).endswith("o")


@pytest.mark.parametrize(
    ("position", "clamped"),
    [
        ((0, 99), (0, 4)),
        ((0, LARGEST), (0, 4)),
        ((1, 99), (1, 9)),
        ((5, 0), (1, 9)),
        ((LARGEST, LARGEST), (1, 9)),
    ],
)
async def test_positions_are_clamped(client, position, clamped):
    """A position outside the text counts as the nearest one in it."""
    client.open(URI, "x = \nimport sy")
    inline = await client.inline(URI, position)
    place = {"line": clamped[0], "character": clamped[1]}
    assert all(item["range"]["start"] == place for item in inline)
    assert await client.inline(URI, clamped) == inline


@pytest.mark.parametrize("editor", BY_ENCODING, ids=editor_id)
async def test_positions_inside_a_character(connect, editor):
    """A position in the middle of a character is the place before it."""
    client = await connect(editor)
    client.open(URI, "self.😀")
    for character in (6, 7, 8):
        for item in await client.inline(URI, (0, character)):
            start = item["range"]["start"]["character"]
            assert start in {5, 5 + {"utf-8": 4, "utf-16": 2, "utf-32": 1}[editor.chosen]}


async def test_edits_past_the_end(client):
    """Ranges past the end are clamped; a range that ends before it starts is turned round."""
    client.open(URI, "import ")
    client.change(URI, (((9, 9), (99, 99)), "s"))
    client.change(URI, (((0, 400), (0, 500)), "y"))
    assert (await typed_before(client, URI, (0, 9))).endswith("sy")

    client.change(URI, (((0, 9), (0, 7)), "o"))
    assert (await typed_before(client, URI, (0, 8))).endswith("o")
    await works(client)


async def test_versions_of_any_kind(client):
    """Versions may stand still, go back, or leave numbers out: edits count in their order."""
    client.open(URI, "import ", version=5)
    for version, text in ((6, "s"), (6, "y"), (2, "s"), (100, "."), (-7, "p")):
        client.change(URI, (((0, 99), (0, 99)), text), version=version)

    assert (await typed_before(client, URI, (0, 12))).endswith("p")
    await works(client)


@pytest.mark.parametrize(
    ("opened", "asked"),
    [
        ("untitled:Untitled-1", "untitled:Untitled-1"),
        ("file:///c%3A/a%20b.py", "file:///c:/a%20b.py"),
        ("file:///C:/a.py", "file:///c%3A/a.py"),
        ("file:///größe/日本.py", "file:///gr%C3%B6%C3%9Fe/%E6%97%A5%E6%9C%AC.py"),
        ("file:///100%.py", "file:///100%.py"),
        ("vscode-notebook-cell:/a.ipynb#X20", "vscode-notebook-cell:/a.ipynb#X20"),
        ("git:/a.py?%7B%22ref%22%3A%22HEAD%22%7D", "git:/a.py?%7B%22ref%22%3A%22HEAD%22%7D"),
        ("", ""),
        ("no address", "no address"),
        ("file:///a\0b\ud800.py", "file:///a\0b\ud800.py"),
        ("x" * 100_000, "x" * 100_000),
    ],
    ids=lambda uri: ascii(uri)[:40],
)
async def test_addresses(client, opened, asked):
    """Any address can be opened, and is found by its other spellings."""
    client.open(opened, "import o")
    assert (await typed_before(client, asked, (0, 8))).endswith("o")
    client.change(asked, (((0, 8), (0, 8)), "s"))
    assert (await typed_before(client, opened, (0, 9))).endswith("s")
    client.close(asked)
    assert await typed_before(client, opened, (0, 9)) is None


async def test_documents_that_are_not_open(client):
    """Requests for them are answered with null; edits and closing are ignored."""
    client.change(URI, (((0, 0), (0, 0)), "s"))
    client.close(URI)
    assert await client.inline(URI, (0, 0)) is None
    assert await client.menu(URI, (0, 0)) is None
    await works(client)


@pytest.mark.parametrize(
    "change",
    [{"contentChanges": "x"}, {"contentChanges": [{"range": 1, "text": "x"}]}, {}],
    ids=repr,
)
async def test_changes_that_nobody_can_read(client, change):
    """Nothing is suggested for what may be another text by now, and the person is told."""
    client.open(URI, "import o")
    assert await client.menu(URI, (0, 8))
    client.notify("textDocument/didChange", {"textDocument": {"uri": URI, "version": 2}} | change)
    assert await client.menu(URI, (0, 8)) is None
    [told] = client.told("window/showMessage")
    assert f"{URI!r} is followed no more: a change of it can't be read" in told["message"]

    client.open(URI, "import o", version=3)
    assert await client.menu(URI, (0, 8))


async def test_opened_twice(connect):
    """Opening again begins anew; what was asked for the old text is answered with null."""
    client = await connect(**LONG)
    client.open(URI, "class Twice:\n\nself.")
    early = client.send_inline(URI, (2, 5))
    client.open(URI, "self.r", version=1)

    assert await client.answer(early) is None
    assert (await typed_before(client, URI, (0, 6))).endswith("r")


async def test_closed_while_asked(connect):
    """Closing a document answers its requests with null, and those that follow."""
    client = await connect(**LONG)
    client.open(URI, "class Closed:\n\nself.")
    early = client.send_inline(URI, (2, 5))
    client.close(URI)

    assert await client.answer(early) is None
    assert await client.inline(URI, (0, 8)) is None
    client.open(URI, "import o")
    assert await client.inline(URI, (0, 8)) is not None


@pytest.mark.parametrize(
    "text",
    ["\0\0\0 = \0", "x = '\ud800", "\udc00\ud800", "\ufeffimport o", "\x1b[31mx", "\x85\u2028y"],
    ids=ascii,
)
async def test_strange_text(client, text):
    """NUL, halves of surrogate pairs and control characters are text like any other."""
    client.open(URI, text)
    assert isinstance(await client.inline(URI, (0, 99)), list)
    client.change(URI, (((0, 1), (0, 1)), text), (((0, 0), (0, 1)), "\ud83d"))
    client.change(URI, (((0, 1), (0, 1)), "\ude00"))
    assert isinstance(await client.inline(URI, (0, 99)), list)
    await works(client)


async def test_a_line_of_2_mb(client):
    """One long line: completed at its end and in its middle, and edited."""
    line = "x = [" + "1, " * 700_000
    client.open(URI, line)
    assert isinstance(await client.inline(URI, (0, len(line))), list)
    client.change(URI, (((0, 1_000_000), (0, 1_000_000)), "sel"))
    assert isinstance(await client.inline(URI, (0, 1_000_003)), list)
    await works(client)


async def test_a_document_of_50_mb(client):
    """A large document is opened, edited, completed, and freed."""
    text = "x = 'größer'  # 0123456789\n" * 1_900_000
    assert len(text.encode()) > 50e6 < BUFFER_BYTES
    client.open(URI, text + "import o")
    assert (await typed_before(client, URI, (1_900_000, 8))).endswith("o")
    client.change(URI, (((1_000_000, 0), (1_000_000, 0)), "self.r"))
    assert (await typed_before(client, URI, (1_000_000, 6))).endswith("r")
    client.close(URI)
    await works(client)


async def test_many_changes_in_one_message(client):
    """A thousand edits in one message, each about what the one before left."""
    client.open(URI, "")
    edits = [(((0, index), (0, index)), "s") for index in range(1000)]
    client.change(URI, *edits, (((0, 0), (0, 1000)), "import o"))
    assert (await typed_before(client, URI, (0, 8))).endswith("o")


async def test_a_change_of_all(client):
    """A change without a range replaces the document."""
    client.open(URI, "x\ny\n")
    client.change(URI, (None, "import o"))
    assert (await typed_before(client, URI, (0, 8))).endswith("o")
