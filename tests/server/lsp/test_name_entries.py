"""Known names in completion lists, as editors get them."""

import asyncio

import pytest

from tests.server.lsp import editing
from tests.server.lsp.client import AnsweredWithError, Client, place
from tests.server.lsp.editors import (
    EDITORS,
    EGLOT,
    HELIX,
    NEOVIM_12,
    NVIM_CMP,
    OLD,
    VSCODE,
    Editor,
    editor_id,
)
from tests.server.lsp.test_cancelling import CANCELLED

pytestmark = pytest.mark.asyncio(loop_scope="session")

URI = "file:///a.py"
NAMES = {"completion": {"names": True}}
TEXT = "import os\n\ndef reader(number):\n    REASON = number\n    remaining = '🎉', re"
LIKELY = "self.numbers = path, encoding, reader, index, open, range, file, line\nx = "
"""Names that the tiny model has learned something about."""
INVOKED, CHARACTER, INCOMPLETE = 1, 2, 3
TEXT_KIND = 1


async def list_at(client: Client, text: str, after: str = ")\n", kind: int = INVOKED):
    """The list at the end of a text, in its order; None for null."""
    client.open(URI, text + after)
    found = await client.menu(URI, editing.position(text + after, len(text), client.editor), kind)
    return found and sorted(found["items"], key=lambda item: item["sortText"])


def names(items: list) -> dict:
    """The entries that are names, by their label."""
    return {item["label"]: item for item in items if item["kind"] != TEXT_KIND}


def new_text(item: dict) -> str:
    return item["textEdit"]["newText"]


@pytest.mark.parametrize("editor", [VSCODE, EGLOT, HELIX, OLD], ids=editor_id)
async def test_clients_that_replace(connect, editor: Editor):
    """All entries replace the typed word and match it, names that go on from it or are meant."""
    client = await connect(editor, **NAMES)
    items = await list_at(client, TEXT)

    text, cursor = TEXT + ")\n", len(TEXT)
    found = names(items)
    assert set(found) == {"reader", "REASON", "remaining"}
    assert len(items) > len(found)  # and what the model has written
    for item in items:
        where = item["textEdit"]["range"]
        start, end = (editing.index(text, where[side], editor) for side in ("start", "end"))
        assert (start, item["filterText"].startswith("re")) == (cursor - 2, True)
        assert cursor <= end <= cursor + 1
        assert item["insertTextFormat"] == 1
    for label, item in found.items():
        assert new_text(item) == label
        applied = editing.applied(text, item["textEdit"]["range"], label, editor)
        assert applied == TEXT[:-2] + label + ")\n"
        assert item["detail"].startswith("name · ")


@pytest.mark.parametrize("editor", [NEOVIM_12, NVIM_CMP], ids=["neovim", "nvim-cmp"])
async def test_clients_that_only_insert(connect, editor: Editor):
    """Only names that go on from the word; their rest is inserted at the cursor."""
    client = await connect(editor, **NAMES)
    items = await list_at(client, TEXT)

    found = names(items)
    assert set(found) == {"reader", "remaining"}
    assert {label: new_text(item) for label, item in found.items()} == {
        "reader": "ader",
        "remaining": "maining",
    }
    for item in items:
        where = item["textEdit"]["range"]
        assert where["start"] == where["end"]


async def test_kinds(connect):
    """A function is one, where its declaration tells; other names are variables."""
    client = await connect(VSCODE, **NAMES)
    found = names(await list_at(client, TEXT))

    assert {label: item["kind"] for label, item in found.items()} == {
        "reader": 3,
        "remaining": 6,
        "REASON": 6,
    }


async def test_the_order(connect):
    """Names by probability, written texts between them; the first entry is chosen, and only it."""
    client = await connect(VSCODE, **NAMES)
    items = await list_at(client, TEXT)

    ranked = await client.request(
        "midtoken/rank",
        {
            "textDocument": {"uri": URI},
            "position": place(editing.position(TEXT, len(TEXT), VSCODE)),
        },
    )
    goes_on = [one["label"] for one in ranked["items"] if one["match"] == "start"]
    assert [label for label in names(items) if label != "REASON"] == goes_on
    assert [item.get("preselect") for item in items] == [True] + [None] * (len(items) - 1)
    assert len({item["sortText"] for item in items}) == len(items)


@pytest.mark.parametrize(
    ("typed", "label"), [("gVN", "getVariableName"), ("gvn", "get_variable_name"), ("RE", "read")]
)
async def test_names_that_are_meant(connect, typed, label):
    """Their filter text begins with what is typed, and is not all of it (VS Code likes that)."""
    client = await connect(VSCODE, **NAMES)
    found = names(await list_at(client, f"{label} = 1\nprint({typed}"))

    assert found[label]["filterText"] == f"{typed} {label}"
    where = found[label]["textEdit"]["range"]
    assert where == {"start": place((1, 6)), "end": place((1, 6 + len(typed)))}


async def test_inside_a_word(connect):
    """Clients that can, choose between inserting and replacing the rest of the word."""
    for editor in (VSCODE, EGLOT):
        client = await connect(editor, **NAMES)
        found = names(await list_at(client, "reader = 1\nprint(re", "st)\n"))
        edit = found["reader"]["textEdit"]
        inserted = {"start": place((1, 6)), "end": place((1, 8))}
        if editor is VSCODE:
            replaced = {"start": place((1, 6)), "end": place((1, 10))}
            assert edit == {"newText": "reader", "insert": inserted, "replace": replaced}
        else:
            assert edit == {"newText": "reader", "range": inserted}


@pytest.mark.parametrize(
    ("text", "kind", "has_names"),
    [
        (TEXT, INVOKED, True),
        (TEXT, INCOMPLETE, True),
        (LIKELY, INVOKED, True),
        (LIKELY, CHARACTER, False),
        ("x = 1\nzz", INVOKED, False),
    ],
    ids=["by hand", "a word", "no word by hand", "no word", "no such name"],
)
async def test_when(connect, text, kind, has_names):
    """By hand anywhere, automatically while a word is typed."""
    client = await connect(VSCODE, **NAMES)
    items = await list_at(client, text, kind=kind)

    assert bool(names(items)) == has_names


async def test_switched_off(connect):
    """The option says so, for one language as well."""
    off = {"languages": {"overrides": {"python": {"completion": {"names": False}}}}}
    for sections in ({"completion": {"names": False}}, NAMES | off):
        client = await connect(VSCODE, **sections)
        items = await list_at(client, TEXT)
        assert items
        assert not names(items)


async def test_bans(connect):
    """What is banned is no name, either."""
    client = await connect(VSCODE, **NAMES, filters={"bans": ["ader", "REASON"]})

    assert set(names(await list_at(client, TEXT))) == {"remaining"}


async def test_other_documents(connect):
    """Names of open documents of the language come as well; closed ones have none."""
    client = await connect(VSCODE, **NAMES)
    client.open("file:///b.py", "class Reserve: ...\nrest = 1\n")
    client.open("file:///c.c", "int result;\n", "c")

    found = names(await list_at(client, TEXT))
    assert {"Reserve", "rest"} < set(found)
    assert "result" not in found
    assert found["Reserve"]["kind"] == 7

    client.close("file:///b.py")
    assert set(names(await list_at(client, TEXT))) == {"reader", "remaining", "REASON"}


async def test_partial_results(connect):
    """What the model has written comes first, names when they are there; then nothing again."""
    client = await connect(VSCODE, **NAMES)
    whole = await list_at(client, TEXT)
    where = {
        "textDocument": {"uri": URI},
        "position": place(editing.position(TEXT, len(TEXT), VSCODE)),
        "partialResultToken": "part",
    }
    answer = await client.request("textDocument/completion", where)

    parts = [told["value"] for told in client.told("$/progress") if told["token"] == "part"]
    assert answer == {"isIncomplete": True, "items": []}
    assert [part["isIncomplete"] for part in parts] == [True, True]
    assert not names(parts[0]["items"])
    assert len(names(parts[1]["items"])) == len(parts[1]["items"])
    together = sorted(parts[0]["items"] + parts[1]["items"], key=lambda item: item["sortText"])
    assert [item["label"] for item in together] == [item["label"] for item in whole]


async def test_names_give_way(connect):
    """Ghost text in another document does not wait for names; their list is there all the same."""
    client = await connect(VSCODE, **NAMES)
    many = "".join(f"re_{number}_{number * 7919 % 1000} = {number}\n" for number in range(900))
    client.open(URI, f"{many}print(re)\n")
    client.open("file:///b.py", "import o\n")
    number = client.send(
        "textDocument/completion",
        {"textDocument": {"uri": URI}, "position": place((900, 8)), "context": {"triggerKind": 1}},
    )
    items = await client.inline("file:///b.py", (0, 8))

    answer = await client.answer(number)
    assert items
    assert answer["items"]


async def test_an_edit_in_between(connect):
    """A list of an old text is no answer, whatever there is of it."""
    client = await connect(VSCODE, **NAMES)
    client.open(URI, TEXT)
    at = place(editing.position(TEXT, len(TEXT), VSCODE))
    where = {"textDocument": {"uri": URI}, "position": at}
    number = client.send("textDocument/completion", where)
    client.change(URI, (((0, 0), (0, 0)), "# "))

    assert await client.answer(number) is None
    assert await list_at(client, TEXT)


async def test_a_document_that_is_emptied_in_between(connect):
    """While names are ranked: there is no list of what is gone, and nothing fails."""
    client = await connect(VSCODE, **NAMES)
    for text in (TEXT, TEXT[:-1]):  # once with the word, and once with half of it
        assert await list_at(client, text)
        at = place(editing.position(text, len(text), VSCODE))
        where = {"textDocument": {"uri": URI}, "position": at}
        number = client.send("textDocument/completion", where)  # written texts are in memory
        client.change(URI, (None, ""))

        assert await client.answer(number) is None


async def test_cancelled(connect, endless):
    """A list that is cancelled is answered so, and the next one has names."""
    client = await connect(VSCODE, completion={"names": True} | endless["completion"])
    client.open(URI, "class Stop:\n\nself.")
    where = {"textDocument": {"uri": URI}, "position": place((2, 5))}
    number = client.send("textDocument/completion", where)
    client.cancel(number)
    with pytest.raises(AnsweredWithError) as refused:
        await client.answer(number)
    assert refused.value.code == CANCELLED

    quick = await connect(VSCODE, **NAMES)
    assert names(await list_at(quick, TEXT))


async def test_two_editors(connect):
    """Each has the names of its own documents."""
    first, second = await connect(VSCODE, **NAMES), await connect(HELIX, **NAMES)
    first.open("file:///b.py", "reserve = 1\n")
    second.open("file:///b.py", "result = 1\n")

    one, other = await asyncio.gather(list_at(first, TEXT), list_at(second, TEXT))
    for items, strange in ((one, "result"), (other, "reserve")):
        assert "reader" in names(items) or not names(items)  # names give way to the other's text
        assert strange not in names(items)
    assert "reserve" in names(await list_at(first, TEXT))
    assert "result" in names(await list_at(second, TEXT))


@pytest.mark.parametrize("editor", EDITORS, ids=editor_id)
async def test_any_place(connect, editor: Editor):
    """Whatever the text and wherever the cursor, an entry leaves the rest of it as it is."""
    client = await connect(editor, **NAMES)
    text = (
        "größe = naïve\r\nfür(grö, '🎉 na', na_ïve)\r\n\r\nclass Größe:\r\n    größer = 1\r\n    gr"
    )
    for cursor in range(0, len(text) + 1, 3):
        if text[cursor - 1 : cursor + 1] == "\r\n":
            continue
        items = await list_at(client, text[:cursor], text[cursor:])
        for item in items or []:
            edit = item["textEdit"]
            where = edit.get("range") or edit["insert"]
            changed = editing.applied(text, where, edit["newText"], editor)
            start, end = (editing.index(text, where[side], editor) for side in ("start", "end"))
            assert where["start"]["line"] == where["end"]["line"]
            assert start <= cursor <= end
            assert changed == text[:start] + edit["newText"] + text[end:]
