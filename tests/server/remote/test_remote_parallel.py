"""Several requests at an engine elsewhere at once: of other documents, up to a limit."""

import asyncio
import threading
from contextlib import asynccontextmanager

import pytest

from server.backend import Backend
from server.completion_options import CompletionOptions
from server.option_sections import RemoteSection
from server.options import Options
from server.service import Request
from server.snapshot import Snapshot
from tests.server.remote.fake_engine import decode

WAIT_S = 60.0


@asynccontextmanager
async def asking(engine, **remote):
    """A backend that asks an engine."""
    backend = Backend()
    try:
        await backend.load(Options(remote=RemoteSection(url=engine.url, **remote)))
        yield backend
    finally:
        backend.close()


def ask(backend, document, text=b"    retu", connection="one", **options):
    """A request under way."""
    snapshot = Snapshot(f"file:///{document}.py", 0, text, len(text), "python")
    completion = CompletionOptions(grammar="off", **options)
    wish = Request((connection, document), snapshot, completion, connection=connection)
    return asyncio.ensure_future(backend.complete(wish))


async def reached(engine, count):
    """Wait until the engine has so many requests for text, and see that no more come."""
    async with asyncio.timeout(WAIT_S):
        while len(engine.completions) < count:
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    assert len(engine.completions) == count


async def texts(*asked):
    return [completion.items[0].text for completion in await asyncio.gather(*asked)]


@pytest.mark.parametrize("tokenizer", ["file", "engine"])
async def test_documents_are_served_together(serve, tokenizer_json, tokenizer):
    """As many as the option says; the others come when one of them is done."""
    engine = serve(hold=threading.Event())
    file = str(tokenizer_json) if tokenizer == "file" else ""
    async with asking(engine, tokenizer=file, parallel=3) as backend:
        asked = [ask(backend, name) for name in "abcde"]
        await reached(engine, 3)
        engine.hold.set()
        assert await texts(*asked) == ["rn fibonacci(n - 1)"] * 5
        assert await backend.forward_passes() == 5 + 1  # one has measured the speed


async def test_one_after_the_other(serve, tokenizer_json):
    """With 1, as with a model in this process."""
    engine = serve(hold=threading.Event())
    async with asking(engine, tokenizer=str(tokenizer_json), parallel=1) as backend:
        asked = [ask(backend, name) for name in "ab"]
        await reached(engine, 1)
        engine.hold.set()
        await texts(*asked)
        assert len(engine.completions) == 2


async def test_the_newest_of_a_document_wins(serve, tokenizer_json):
    """An older request is answered with nothing, whatever is free, and its connection closed."""
    engine = serve(wish="    return n", goes_on=True, chunk=1)
    async with asking(engine, tokenizer=str(tokenizer_json)) as backend:
        older = ask(backend, "a", max_tokens=100_000)
        await reached(engine, 1)
        newer = ask(backend, "a", b"    prin", max_tokens=100_000)
        assert await older is None
        assert await asyncio.to_thread(engine.left.wait, WAIT_S)
        assert not newer.done()
        newer.cancel()


async def test_cancelling_closes_one_connection(serve, tokenizer_json):
    """The others go on: more of them is written."""
    engine = serve(wish="    return n", goes_on=True, chunk=1)
    async with asking(engine, tokenizer=str(tokenizer_json)) as backend:
        first, second = (ask(backend, name, max_tokens=100_000) for name in "ab")
        await reached(engine, 2)
        first.cancel()
        assert await asyncio.to_thread(engine.left.wait, WAIT_S)

        job = backend.service._jobs["one", "b"]
        before = job.so_far
        async with asyncio.timeout(WAIT_S):
            while job.so_far is before:
                await asyncio.sleep(0.01)
        assert not second.done()
        second.cancel()


async def test_a_flood_of_one_editor(serve, tokenizer_json):
    """Whoever has waited longest has the next turn, though another has more to do."""
    engine = serve(hold=threading.Event())
    async with asking(engine, tokenizer=str(tokenizer_json), parallel=2) as backend:
        flood = [ask(backend, str(number)) for number in range(6)]
        await reached(engine, 2)
        other = ask(backend, "x", b"    import numpy\n    retu", connection="other")
        await asyncio.sleep(0.05)
        engine.hold.set()
        await texts(other, *flood)
    prompts = [decode(body["prompt"]) for body in engine.completions]
    assert ["numpy" in prompt for prompt in prompts].index(True) in {2, 3}  # both came free


async def test_another_engine_takes_over(serve, tokenizer_json):
    """What asked the first one is gone: as many ask the second as it may get."""
    first, second = serve(hold=threading.Event()), serve(hold=threading.Event())
    section = {"tokenizer": str(tokenizer_json), "parallel": 2}
    async with asking(first, **section) as backend:
        asked = [ask(backend, name) for name in "ab"]
        await reached(first, 2)
        await backend.load(Options(remote=RemoteSection(url=second.url, **section)))
        assert await asyncio.gather(*asked) == [None, None]
        again = [ask(backend, name) for name in "abc"]
        await reached(second, 2)
        first.hold.set()
        second.hold.set()
        assert len(await texts(*again)) == 3


async def test_what_is_found_out_once(serve, tokenizer_json):
    """How this engine is told to begin is not tried again for each of those who ask."""
    engine = serve(kind="other", knows=("regex",), unforced="nothing")
    async with asking(engine, tokenizer=str(tokenizer_json)) as backend:
        await texts(ask(backend, "a"))
        tried = len(engine.completions)
        engine.hold = threading.Event()
        asked = [ask(backend, name) for name in "bcde"]
        await reached(engine, tried + 4)
        engine.hold.set()
        await texts(*asked)
        assert len(engine.completions) == tried + 4
