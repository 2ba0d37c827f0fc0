"""Cancelling and superseding: every request is answered exactly once, and no answer is stale."""

import asyncio
import random
import time

import pytest

from server.models import store
from server.models.catalog import DEFAULT_MODEL
from tests.server.lsp import editing
from tests.server.lsp.client import AUTOMATIC, INVOKED, AnsweredWithError, Client
from tests.server.lsp.conftest import own_server, settings
from tests.server.lsp.editors import NEOVIM_12

pytestmark = pytest.mark.asyncio(loop_scope="session")

URI = "file:///a.py"
CANCELLED = -32800


async def cancelled(client: Client, number: int) -> None:
    """A request is answered with RequestCancelled, once."""
    with pytest.raises(AnsweredWithError) as refused:
        await client.answer(number)
    assert refused.value.code == CANCELLED
    assert len(client.answers[number]) == 1


async def test_cancelled_while_it_runs(connect, endless):
    """A running request is answered with RequestCancelled, and the next one works at once."""
    client = await connect(**endless)
    client.open(URI, "class Stop:\n\nself.")
    number = client.send_inline(URI, (2, 5))
    client.cancel(number)
    client.cancel(number)
    await cancelled(client, number)

    client.open(URI, "import o")
    assert await client.inline(URI, (0, 8))


async def test_cancelled_menu(connect, endless):
    """So is a request for a menu."""
    client = await connect(**endless)
    client.open(URI, "class Menu:\n\nself.")
    where = {"textDocument": {"uri": URI}, "position": {"line": 2, "character": 5}}
    number = client.send("textDocument/completion", where)
    client.cancel(number)

    await cancelled(client, number)


async def test_cancelled_after_the_answer(client):
    """A cancel that comes too late changes nothing."""
    client.open(URI, "import o")
    number = client.send_inline(URI, (0, 8))
    found = await client.answer(number)
    client.cancel(number)

    assert await client.inline(URI, (0, 8)) == found["items"]
    assert len(client.answers[number]) == 1


async def test_superseded(connect, endless):
    """Of many requests only the newest is served; the others are answered with null."""
    client = await connect(**endless)
    client.open(URI, "class Newest:\n\nself.\nimport o")
    older = [client.send_inline(URI, (2, 5)) for _ in range(20)]
    newest = client.send_inline(URI, (3, 8))

    assert (await client.answer(newest))["items"]
    assert [await client.answer(number) for number in older] == [None] * 20


async def test_documents_do_not_supersede_each_other(connect):
    """Requests of two documents, and of two editors for the same one, are all served."""
    client, other = await connect(), await connect()
    for number, one in enumerate((client, other)):
        for uri in ("file:///a.py", "file:///b.py"):
            one.open(uri, f"class Own{number}{uri[8]}:\n\nself.")
    asked = [
        (one, one.send_inline(uri, (2, 5)))
        for one in (client, other)
        for uri in ("file:///a.py", "file:///b.py")
    ]

    for one, number in asked:
        assert await one.answer(number) is not None


async def test_edited_while_asked(connect):
    """An edit makes a running request worthless: it is answered with null when it ends."""
    client = await connect(completion={"maxTokens": 600, "maxTokensBlock": 600})
    client.open(URI, "class Edited:\n\nself.")
    number = client.send_inline(URI, (2, 5))
    client.change(URI, (((0, 0), (0, 0)), "# "))

    assert await client.answer(number) is None


LINES = ["self.", "import o", "x = (a, ", "    if r", "print(rea)", "größe = 'ü", "    return "]


@pytest.mark.parametrize("seed", range(8))
async def test_interleavings(connect, seed):
    """Edits, requests and cancels in any order, from two documents, without waiting.

    Every request is answered exactly once: with null, with RequestCancelled if it was cancelled,
    or with items that fit the text at the time it was asked, if it was not edited since.
    """
    draw = random.Random(seed)
    client = await connect(completion={"maxTokens": 24, "maxTokensBlock": 60})
    texts, asked, stopped = {}, {}, set()
    uris = ["file:///a.py", "file:///b.py"]

    def rewrite(uri: str) -> None:
        texts[uri] = f"# {seed}\n" + "".join(draw.choice(LINES) + "\n" for _ in range(4))
        client.open(uri, texts[uri])

    for uri in uris:
        rewrite(uri)
    for _ in range(120):
        uri = draw.choice(uris)
        action = draw.choices(["ask", "type", "cancel", "rewrite", "wait"], [8, 6, 3, 1, 4])[0]
        if action == "ask":
            line = draw.randrange(1, 5)
            end = editing.units(editing.lines(texts[uri])[line], NEOVIM_12)
            number = client.send_inline(uri, (line, end), draw.choice([INVOKED, AUTOMATIC]))
            asked[number] = (texts[uri], (line, end))
        elif action == "type":
            line = draw.randrange(1, 5)
            lines = editing.lines(texts[uri])
            place = (line, editing.units(lines[line], NEOVIM_12))
            letter = draw.choice("aserx (")
            lines[line] += letter
            texts[uri] = "\n".join(lines)
            client.change(uri, ((place, place), letter))
        elif action == "cancel" and asked:
            stopped.add(draw.choice(list(asked)[-3:]))
            client.cancel(max(stopped))
        elif action == "rewrite":
            rewrite(uri)
        elif asked and draw.random() < 0.5:
            await client.until(lambda: max(asked) in client.answers)
        else:
            await client.writer.drain()
            await asyncio.sleep(0)

    await client.until(lambda: set(asked) <= set(client.answers))
    shown = 0
    for number, (text, place) in asked.items():
        [answer] = client.answers[number]
        if "error" in answer:
            assert answer["error"]["code"] == CANCELLED
            assert number in stopped
        elif answer["result"] is not None:
            for item in answer["result"]["items"]:
                shown += 1
                start = item["range"]["start"]
                assert (start["line"], start["character"]) == place
                assert editing.applied(text, item["range"], item["insertText"], NEOVIM_12)
    assert shown
    assert {note["method"] for note in client.notes} == {"midtoken/status"}


@pytest.mark.model
async def test_the_real_model_stops(report):
    """A request that is cancelled in prefill or decoding is answered, and so is the next one."""
    function = "def area(width, height):\n    return width * height\n\n\n"
    one_line = {"go": {"completion.multiline": "never", "completion.maxTokens": 1}}
    sections = {
        "engine": {"threads": "auto", "contextSize": 4096},
        "completion": {"maxTokensBlock": 200, "contextTokens": 400},
        "languages": {"overrides": one_line},
    }
    async with own_server() as (client, _):
        await client.begin(NEOVIM_12, settings(store.resolve(DEFAULT_MODEL), **sections))
        await client.ready()
        client.open("file:///warm.go", "x := 1\ny", "go")
        await client.inline("file:///warm.go", (1, 1))
        stages = [("prefill", 0.2), *(("later", pause) for pause in (4.0, 2.0, 1.0, 0.5))]
        for number, (stage, pause) in enumerate(stages, 1):
            uri = f"file:///{stage}_{number}.py"
            client.open(uri, function * 8 + f"def {stage}_{number}(items):\n    total")
            running = client.send_inline(uri, (33, 9))
            await asyncio.sleep(pause)  # chooses the stage; any other is right too
            if running in client.answers:  # this machine was quicker: cancel the next one sooner
                continue
            begun = time.perf_counter()
            client.cancel(running)
            await cancelled(client, running)
            answered = time.perf_counter()
            client.change("file:///warm.go", (((1, number), (1, number)), str(number)))
            assert await client.inline("file:///warm.go", (1, number + 1)) is not None
            report(
                f"cancelled in {stage}: answered after {1e3 * (answered - begun):.1f} ms, a short "
                f"request after that in {1e3 * (time.perf_counter() - answered):.0f} ms"
            )
