"""Items of both kinds: what they contain, and what they do to a document that they are put into."""

import asyncio
import re
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.server.lsp import editing
from tests.server.lsp.client import AUTOMATIC, INVOKED, Client, range_of
from tests.server.lsp.editors import (
    BLINK_CMP,
    BY_ENCODING,
    NEOVIM_12,
    NVIM_CMP,
    VSCODE,
    Editor,
    editor_id,
)
from tests.server.lsp.properties import in_this_loop

pytestmark = pytest.mark.asyncio(loop_scope="session")

URI = "file:///a.py"
PIECES = [
    *("def f(a, b):", "    return a", "print(", "x1", "größer", " = ", "(", ")", "]);", '"', "'"),
    *("self.", "import o", "for i in range(len(", "class R", "self.pa", "number"),
    *("\n", "\r\n", "\r", "\t", " ", "    ", "\n\n", "\x0c", "\u2028", "\x85", "\x1c"),
    *("日本語", "😀", "e\u0301", "\u200d", "\0", "\ufeff", "\ufffd", "\x1b[0m", "<|fim_middle|>"),
]
CLOSERS = re.compile(r"[)\]}\"'`;,:> \t]*")


@st.composite
def cursors(draw: st.DrawFn) -> tuple[str, int]:
    """A document and an index in it that a cursor can have."""
    text = "".join(draw(st.lists(st.sampled_from(PIECES), max_size=10)))
    index = draw(st.integers(0, len(text)))
    return text, index - (text[index - 1 : index + 1] == "\r\n")


def check_edit(text: str, cursor: int, where: dict, new: str, editor: Editor) -> None:
    """An edit at a cursor: one line, nothing before the cursor, behind it closers at most."""
    start, end = (editing.index(text, where[side], editor) for side in ("start", "end"))
    assert where["start"]["line"] == where["end"]["line"]
    assert start == cursor <= end
    assert CLOSERS.fullmatch(text[start:end])
    assert editing.applied(text, where, new, editor) == text[:cursor] + new + text[end:]
    assert new
    assert "\ufffd" not in new
    # Closers in the range are not lost: the text has them, in their order.
    rest = iter(new)
    assert all(closer in rest for closer in text[start:end].strip(" \t"))


@pytest.mark.parametrize("editor", BY_ENCODING, ids=editor_id)
async def test_items_change_nothing_else(connect, editor):
    """Whatever is open and wherever the cursor is: typed text stays, the remainder follows it."""
    # The same prompt and whole answers, however busy the machine is.
    client = await connect(
        editor, completion={"contextTokens": 200}, trigger={"timeBudget": 60_000}
    )

    # Each in a document of its own: what was suggested at a text before may go on in a longer one.
    documents = (f"file:///{number}.py" for number in count())

    @given(cursors(), st.sampled_from([INVOKED, AUTOMATIC]))
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @in_this_loop
    async def check(place: tuple[str, int], kind: int) -> None:
        (text, cursor), uri = place, next(documents)
        client.open(uri, text)
        position = editing.position(text, cursor, editor)
        inline = await client.inline(uri, position, kind)
        menu = await client.menu(uri, position)
        client.close(uri)

        for item in inline:
            assert set(item) >= {"insertText", "range"}
            check_edit(text, cursor, item["range"], item["insertText"], editor)
        for item in menu["items"]:
            check_edit(text, cursor, item["textEdit"]["range"], item["textEdit"]["newText"], editor)
        if editor.name == "Neovim":  # its menu can only insert: closers stay where they are
            assert all(
                item["textEdit"]["range"]["start"] == item["textEdit"]["range"]["end"]
                for item in menu["items"]
            )
        else:
            written = [item["textEdit"]["newText"] for item in menu["items"]]
            shown = [item["insertText"] for item in inline]
            assert shown == written[: len(shown) if kind == AUTOMATIC else None]
            assert bool(shown) == bool(written)

    await asyncio.to_thread(check)


async def test_menu_fields(client: Client):
    """A menu entry starts with the word before the cursor where clients filter, and only there."""
    client.open(URI, "reader.numb")
    found = await client.menu(URI, (0, 11))

    [item, *_] = found["items"]
    assert found["isIncomplete"] is True
    assert item["label"] == "numb" + item["textEdit"]["newText"]
    assert item["filterText"].startswith("numb")
    assert item["label"].startswith(item["filterText"])
    assert item["insertTextFormat"] == 1
    assert item["preselect"] is True
    assert re.fullmatch(r"tiny llama · ([1-9]?[0-9]|100|0\.[1-9]|under 0\.1) %", item["detail"])
    assert item["textEdit"]["range"] == range_of(((0, 11), (0, 11)))
    assert "insertText" not in item


@pytest.mark.parametrize("editor", [NVIM_CMP, BLINK_CMP], ids=["nvim-cmp", "blink.cmp"])
async def test_menus_of_plugins(connect, editor: Editor):
    """They filter by the word before the cursor, and apply the edit: it inserts the remainder."""
    client = await connect(editor)
    client.open(URI, "print(reader.numb)\n")
    items = (await client.menu(URI, (0, 17)))["items"]

    assert items
    for item in items:
        assert item["filterText"].startswith("numb")
        assert item["insertTextFormat"] == 1
        assert item["textEdit"]["range"] == range_of(((0, 17), (0, 17)))


@pytest.mark.parametrize("text", ["x = [", "def f():", "if x:\n", "", "\r\n", "class R", "a\r\nb"])
async def test_labels_are_one_line(client: Client, text: str):
    """Whatever comes after the cursor, there is something to read in the menu, on one line."""
    client.open(URI, text)
    found = await client.menu(URI, editing.position(text, len(text), NEOVIM_12))

    for item in found["items"]:
        assert item["label"].strip()
        assert not re.search(r"[\r\n]", item["label"] + item["filterText"])


async def test_closers_are_taken_in(client: Client):
    """The bracket that the editor closed is part of the edit, and comes back in its text."""
    client.open(URI, "print(rea)\n")
    items = await client.inline(URI, (0, 9))

    assert items
    for item in items:
        assert item["range"] == range_of(((0, 9), (0, 10)))
        assert item["insertText"].endswith(")")


async def test_a_selected_entry_counts_as_typed(connect):
    """Ghost text for a selected menu entry starts with the entry and replaces the same range."""
    client = await connect(VSCODE)
    client.open(URI, "import o\nself.re)\n")
    selected = {"range": range_of(((1, 5), (1, 7))), "text": "reader"}
    [item, *_] = await client.inline(URI, (1, 7), INVOKED, selected)

    client.open("file:///b.py", "import o\nself.reader)\n")
    [same, *_] = await client.inline("file:///b.py", (1, 11))
    assert item["insertText"] == "reader" + same["insertText"]
    assert item["range"] == range_of(((1, 5), (1, 8)))
    assert same["range"] == range_of(((1, 11), (1, 12)))


@pytest.mark.parametrize(
    "where",
    [((0, 0), (0, 3)), ((0, 0), (1, 7)), ((1, 0), (1, 2)), ((7, 0), (9, 9))],
    ids=["another line", "two lines", "before the cursor", "nowhere"],
)
async def test_a_selected_entry_elsewhere(connect, where):
    """An entry that is not at the cursor gets no ghost text."""
    client = await connect(VSCODE)
    client.open(URI, "import o\nself.re\n")

    selected = {"range": range_of(where), "text": "reader"}
    assert await client.inline(URI, (1, 7), INVOKED, selected) is None
    assert await client.inline(URI, (1, 7))


async def test_cursor_in_a_word(client: Client):
    """Inside a word the text joins the word's rest or nothing is offered."""
    client.open(URI, "reader.nubers\n")
    for item in await client.inline(URI, (0, 9)):
        assert editing.applied("reader.nubers\n", item["range"], item["insertText"], NEOVIM_12)
        assert item["range"] == range_of(((0, 9), (0, 9)))


async def test_one_line_inside_a_line(client: Client):
    """Where code follows on the line, the suggestion has one line."""
    client.open(URI, "def main(arguments):\n    x = (, 3)\n")
    for item in await client.inline(URI, (1, 9)):
        assert "\n" not in item["insertText"]


async def test_line_ends_are_the_documents(connect):
    """Suggestions of several lines have the line ends that the document has."""
    client = await connect(VSCODE, completion={"maxTokensBlock": 40})
    lines = ("import o", "self.", "für", "class R", "    for i in ", "x = 1", "    retu", "")
    starts = ("", "import os", "class Reader:\r\n    def read(self):", "x = 1", "# größer")
    for text in (f"{start}\r\n{line}" for start in starts for line in lines):
        client.open(URI, text + "\r\n")
        place = editing.position(text, len(text), VSCODE)
        for item in await client.inline(URI, place):
            assert "\n" not in item["insertText"].replace("\r\n", "")


async def test_report(client: Client):
    """The report of the last completion can be asked for."""
    command = {"command": "midtoken.showReport"}
    assert await client.request("workspace/executeCommand", command) is None
    client.open(URI, "import o")
    await client.inline(URI, (0, 8))

    report = await client.request("workspace/executeCommand", command)
    assert report["healing"]["mode"] == "exact"
    assert report["model"]["name"] == "tiny llama"
