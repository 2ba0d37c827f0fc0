"""The grammar of open documents: the report, settings, and what is freed when they are closed."""

import asyncio
import json

import pytest

from server.service import Service
from server.worker import Worker

pytestmark = pytest.mark.asyncio(loop_scope="session")

URI = "file:///grammar.py"
TEXT = "def f(a):\n    return (a"
AT = (1, 13)


async def grammar_of(client, language="python", text=TEXT, at=AT) -> dict:
    """What the report says of the grammar, for a completion that is asked for now."""
    client.open(URI, text, language)
    await client.inline(URI, at)
    command = {"command": "midtoken.showReport"}
    return (await client.request("workspace/executeCommand", command))["grammar"]


async def test_on(connect):
    """Without any setting, suggestions keep to the grammar."""
    grammar = await grammar_of(await connect())

    assert (grammar["state"], grammar["language"], grammar["level"]) == ("on", "python", "window")
    assert grammar["reason"] is None
    assert grammar["checks"] > 0


async def test_broken_text(connect):
    """A person's own broken text is named, and checked less."""
    grammar = await grammar_of(await connect(), text="x = )\ndef f(a):\n  ) = (a", at=(2, 8))

    assert grammar["state"] == "off" or grammar["level"] != "window"
    assert "line 3" in grammar["reason"]


@pytest.mark.parametrize(
    ("sections", "state", "level"),
    [
        ({"grammar": {"mode": "off"}}, "off", None),
        ({"grammar": {"mode": "structural"}}, "on", "structural"),
        (
            {"languages": {"overrides": {"python": {"grammar": {"mode": "structural"}}}}},
            "on",
            "structural",
        ),
        (
            {"languages": {"overrides": {"go": {"grammar": {"mode": "off"}}}}},
            "on",
            "window",
        ),
    ],
    ids=["off", "structural", "for this language", "for another language"],
)
async def test_mode(connect, sections, state, level):
    """The mode is a setting, also of a single language."""
    grammar = await grammar_of(await connect(**sections))

    assert (grammar["state"], grammar["level"]) == (state, level)


async def test_language_without_a_grammar(connect):
    """There is a reason."""
    grammar = await grammar_of(await connect(), "plaintext")

    assert (grammar["state"], grammar["reason"]) == ("off", "no grammar for plaintext")


async def test_a_persons_own_grammar_that_is_wrong(connect, tmp_path):
    """Is named in one line, once for all requests, and the suggestions go on."""
    path = tmp_path / "own.lark"
    path.write_text("start: a\n\na: b c\n")
    client = await connect(grammar={"files": {"python": str(path)}})
    grammar = await grammar_of(client)
    client.open("file:///other.py", "x = ")
    assert await client.inline("file:///other.py", (0, 4)) is not None

    [told] = client.messages()
    assert told.startswith(f"midtoken: the grammar {path} is wrong in line 3: ")
    assert told.endswith("; its documents are not checked")
    assert "\n" not in told
    assert grammar["state"] == "off"
    assert grammar["reason"].removeprefix("full: ") in told


class Forgetful:
    """As much of a completer as is needed to be told what to forget."""

    def __init__(self) -> None:
        self.forgotten: list[str] = []

    def forget(self, document: str) -> None:
        self.forgotten.append(document)

    def resume(self) -> None: ...

    def close(self) -> None: ...


async def test_closed_documents_are_forgotten():
    """By the thread that owns their states; without a model there is nothing to forget."""
    worker, completer = Worker(), Forgetful()
    service = Service(worker)
    service.free("file:///early.py")
    await worker.load(lambda: completer)
    service.free(URI)
    await worker.info(lambda _: None)
    await asyncio.sleep(0)
    worker.close()

    assert completer.forgotten == [URI]


async def words_of(client, name: str, text: str, language: str = "plaintext") -> str:
    """All that is suggested at the end of a new document."""
    client.open(uri := f"file:///memory/{name}", text, language)
    above, _, line = text.rpartition("\n")
    items = await client.inline(uri, (len(above.splitlines()), len(line)))
    return "".join(item["insertText"] for item in items)


# Words that the tiny model writes if nothing else is allowed.
WORDS = ("path", "number")


async def test_documents_with_different_grammars(connect, tmp_path):
    """The same text is suggested what its own grammar allows, whatever was asked for before."""
    files = {}
    for word in WORDS:
        (tmp_path / f"{word}.lark").write_text(f'start: "x = {word}"\n')
        files[f"*.{word}"] = str(tmp_path / f"{word}.lark")
    client = await connect(grammar={"files": files})

    for word in WORDS * 2:
        assert await words_of(client, f"x.{word}", "x = ") == word


async def test_a_grammar_that_is_edited(connect, tmp_path):
    """What was suggested by the grammar as it was is not suggested any more."""
    path = tmp_path / "own.lark"
    client = await connect(grammar={"files": {"*.own": str(path)}})

    for word in WORDS:
        path.write_text(f'start: "y = {word}"\n')
        assert await words_of(client, "x.own", "y = ") == word


async def test_documents_with_different_schemas(connect, tmp_path):
    """JSON documents are no different."""
    schemas = {}
    for word in WORDS:
        schema = {"properties": {word: {"const": 1}}, "additionalProperties": False}
        (tmp_path / f"{word}.json").write_text(json.dumps({"type": "object"} | schema))
        schemas[f"{word}.conf.json"] = str(tmp_path / f"{word}.json")
    client = await connect(grammar={"schemas": schemas})

    for word in WORDS:
        written = await words_of(client, f"{word}.conf.json", '{\n"', "json")
        assert written
        assert word.startswith(written)
