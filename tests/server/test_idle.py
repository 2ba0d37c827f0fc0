"""What the model does when nobody asks: reading on, stopping for requests, and coming to rest."""

import asyncio
import threading
from dataclasses import replace

import pytest
import pytest_asyncio

from server import idle as idle_module
from server.completer import Completer
from server.completion_options import CompletionOptions
from server.errors import EngineError
from server.idle import Idle, Spot
from server.read_ahead import ReadAhead
from server.service import Request, Service
from server.snapshot import Snapshot
from server.speed import Reading
from server.worker import Worker
from tests.server.test_window import program

pytestmark = pytest.mark.asyncio(loop_scope="session")

OPTIONS = CompletionOptions(max_tokens=4, grammar="off")
BEFORE = b"".join(program(1, 300))
AFTER = b"\n" + b"".join(program(2, 60))
PATIENCE_S = 30


def snapshot_of(line: bytes, uri: str = "a.py") -> Snapshot:
    return Snapshot(uri, 0, BEFORE + line + AFTER, len(BEFORE + line), "python")


def request_of(line: bytes, uri: str = "a.py", *, ahead: bool = True) -> Request:
    return Request(uri, snapshot_of(line, uri), OPTIONS, ahead=ahead)


class Model:
    """A service with a model of its own; it reads 45 tokens a second, as far as it knows."""

    def __init__(self, completer: Completer) -> None:
        self.completer = completer
        self.learned = completer.prompts.reading
        self.slow = completer.prompts.reading = Reading(45.0, 45.0)
        self.slow.saw = lambda tokens, seconds: None  # type: ignore[method-assign]
        completer.ahead = ReadAhead(completer.engine, self.slow)
        self.worker: Worker[Completer] = Worker()
        self.service = Service(self.worker)

    async def load(self) -> None:
        await self.worker.load(lambda: self.completer)

    @property
    def idle_tokens(self) -> int:
        return self.completer.ahead.tokens

    def missing(self, line: bytes, uri: str = "a.py") -> list[int]:
        """What is not read of each prompt that is worth it at a place."""
        prompts = self.completer.prompts_ahead(snapshot_of(line, uri), OPTIONS)
        return [self.completer.prompts.missing(prompt) for prompt in prompts]

    async def until(self, what) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not what():
                await asyncio.sleep(0.005)

    async def at_rest(self) -> None:
        """Wait until nothing is planned, and nothing runs."""
        await self.until(lambda: not self.service.is_busy and not self.service.idle.is_active)


@pytest_asyncio.fixture(loop_scope="session")
async def model(load_tiny, monkeypatch):
    monkeypatch.setattr(idle_module, "PAUSE_S", 0.01)
    model = Model(load_tiny(n_ctx=4096))
    await model.load()
    yield model
    model.service.idle.stop()
    await model.at_rest()


class TestGrowth:
    async def test_until_all_is_read(self, model):
        """After an answer the larger prompts are read, once, and then there is rest."""
        await model.service.complete(request_of(b"total = si"))
        await model.at_rest()
        assert not any(model.missing(b"total = si"))
        read = model.idle_tokens
        assert read > 700

        await asyncio.sleep(0.1)
        model.service.idle.rest()
        await model.at_rest()
        assert model.idle_tokens == read

    async def test_the_next_request_has_it(self, model):
        """A request takes the larger prompt, and reads next to nothing of it."""
        small = await model.service.complete(request_of(b"total = si"))
        await model.at_rest()
        large = await model.service.complete(request_of(b"total = x"))

        assert small.tokens.prompt < 100
        assert large.tokens.prompt > 700
        assert large.tokens.evaluated < 20

    async def test_after_a_new_line(self, model):
        """The next line costs what is new of it, and the text after it."""
        await model.service.complete(request_of(b"total = size\n"))
        await model.at_rest()
        later = await model.service.complete(request_of(b"total = size\nx\n  x"))

        assert later.tokens.prompt > 700
        assert later.tokens.evaluated - later.tokens.generated < 60

    async def test_not_where_it_is_forbidden(self, model):
        """Without leave nothing is read, not even at an earlier place."""
        await model.service.complete(request_of(b"total = si"))
        await model.service.complete(request_of(b"total = x", ahead=False))
        await model.at_rest()

        assert model.idle_tokens == 0

    async def test_before_a_key_comes(self, model):
        """Where somebody has gone without asking for anything, the first answer is prepared."""
        model.service.idle.at("a.py", lambda: Spot(snapshot_of(b""), OPTIONS))
        model.service.idle.rest()
        await model.at_rest()
        first = await model.service.complete(request_of(b""))

        assert first.tokens.prompt > 700
        assert first.tokens.evaluated - first.tokens.generated < 5

    async def test_only_the_largest(self, model):
        """Of a document that was opened, one prompt is read, and all places begin like it."""
        short = Snapshot("b.py", 0, BEFORE[:1500], 1500, "python")
        model.service.idle.at("b.py", lambda: Spot(short, OPTIONS, only_largest=True))
        model.service.idle.rest()
        await model.at_rest()
        middle = replace(short, cursor=short.text.index(b"\n", 1000))
        prompts = model.completer.prompts_ahead(middle, OPTIONS)
        largest = max(prompts, key=lambda prompt: len(prompt.head))

        assert model.idle_tokens < 1400
        assert len(largest.head) > 400
        assert model.completer.prompts.missing(largest) < 200


class TestYielding:
    async def test_a_request_while_it_reads(self, model):
        """A request is answered before the rest is read; what was read by then stays."""
        await model.service.complete(request_of(b"total = si"))
        await model.until(lambda: model.idle_tokens > 200)
        answer = await model.service.complete(request_of(b"total = x"))
        prompts = model.completer.prompts_ahead(snapshot_of(b""), OPTIONS)

        assert answer is not None
        assert any(model.missing(b"total = x"))  # it was not waited for
        await model.at_rest()
        assert not any(model.missing(b"total = x"))
        assert model.idle_tokens <= sum(len(prompt.head) for prompt in prompts[1:]) + 64

    async def test_a_portion_that_does_not_end(self, model, monkeypatch):
        """What runs is stopped, not only what is planned: a request waits for no portion."""
        engine = model.completer.engine
        stopped, begun = threading.Event(), threading.Event()
        portion, cancel = model.completer.ahead.portion, engine.cancel

        def endless(*arguments):
            begun.set()
            assert stopped.wait(PATIENCE_S)
            return portion(*arguments)

        monkeypatch.setattr(model.completer.ahead, "portion", endless)
        monkeypatch.setattr(engine, "cancel", lambda: (cancel(), stopped.set()))
        model.service.idle.at("a.py", lambda: Spot(snapshot_of(b""), OPTIONS))
        model.service.idle.rest()
        await model.until(begun.is_set)
        async with asyncio.timeout(PATIENCE_S / 2):
            assert await model.service.complete(request_of(b"total = x", ahead=False))

        assert model.idle_tokens == 0

    async def test_busy_typing(self, model):
        """While requests come faster than the pause, nothing is read; each is answered."""
        for typed in range(1, 12):
            line = b"total = size"[:typed]
            assert await model.service.complete(request_of(line)) is not None
            model.service.idle.rest()
        read = model.idle_tokens
        await model.at_rest()

        assert model.idle_tokens > read

    async def test_closed(self, model):
        """A document that is closed is read no further."""
        await model.service.complete(request_of(b"total = si"))
        model.service.forget("a.py")
        await model.at_rest()

        assert any(model.missing(b"total = si"))

    async def test_another_one_is_closed(self, model):
        """Another document's end changes nothing."""
        await model.service.complete(request_of(b"total = si"))
        model.service.forget("b.py")
        await model.at_rest()

        assert not any(model.missing(b"total = si"))

    async def test_what_fails(self, model, monkeypatch, caplog):
        """A model that can't read ahead disturbs nobody."""

        def fail(*_):
            raise EngineError("no")

        monkeypatch.setattr(model.completer.ahead, "portion", fail)
        assert await model.service.complete(request_of(b"total = si"))
        await model.at_rest()
        assert await model.service.complete(request_of(b"total = x"))
        assert not caplog.records

    async def test_other_work_in_between(self, model):
        """What does not cancel anything waits for one portion, not for all of them."""
        await model.service.complete(request_of(b"total = si"))
        await model.until(lambda: model.idle_tokens > 100)
        await model.worker.info(lambda _: None)

        assert any(model.missing(b"total = si"))
        await model.at_rest()


class TestMeasuring:
    async def test_without_a_place(self, model):
        """A loaded model's speed is measured while nobody works."""
        reading = Reading(None, 80.0)
        model.completer.ahead = ReadAhead(model.completer.engine, reading)
        model.service.idle.measure()
        await model.at_rest()

        assert reading.is_known
        assert 0 < model.idle_tokens <= 100

    async def test_somebody_works_already(self, model):
        """A place that is known goes first, and teaches the speed as well."""
        model.service.idle.at("a.py", lambda: None)
        model.service.idle.measure()

        assert not model.service.idle.is_active


async def test_memory_is_by_what_is_typed(model):
    """An answer that was given stays while it is typed along, though a larger prompt is there."""
    request = request_of(b"total = si")
    small = await model.service.complete(request)
    await model.at_rest()

    assert await model.service.complete(request) == replace(
        small, tokens=replace(small.tokens, evaluated=0, drafted=0, accepted=0)
    )
    assert model.service.counts.from_memory == 1


async def test_idle_alone():
    """Without a model nothing happens, and nothing is raised."""
    worker: Worker[Completer] = Worker()
    idle = Idle(worker, lambda: False)
    idle.rest()
    idle.stop()
    idle.forget("a")
    idle.forget()
    idle.measure()
    idle.stop()
    worker.close()
