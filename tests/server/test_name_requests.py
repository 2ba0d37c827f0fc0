"""When names are ranked for a list, and how much may be done for it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from server import name_requests
from server.completer import Completer
from server.completion_options import CompletionOptions
from server.errors import Cancelled
from server.name_list import TOKENS, Limits
from server.name_requests import AUTOMATIC_S, BY_HAND_S, READING_S, NameRequests, NameWish
from server.service import Request
from server.snapshot import Snapshot

TEXT = b"def reader(number):\n    REASON = number\n    return "


class Model:
    """What stands for a backend: it runs work at once, and counts."""

    def __init__(self, completer: Completer) -> None:
        self.completer = completer
        self.service = self
        self.is_ready = True
        self.is_elsewhere = False
        self.is_asked = False
        self.stopped = 0
        self.failure: Exception | None = None

    def stop_prepared(self) -> None:
        self.stopped += 1

    async def beside(self, work: Callable[[Completer], Any]) -> Any:
        if self.failure is not None:
            raise self.failure
        return work(self.completer)


@pytest.fixture
def model(tiny_completer) -> Model:
    return Model(tiny_completer)


@pytest.fixture
def limits(monkeypatch) -> list[Limits]:
    """The limits of all lists that are made."""
    seen = []
    whole = name_requests.list_names

    def watched(*arguments):
        seen.append(arguments[-1])
        return whole(*arguments)

    monkeypatch.setattr(name_requests, "list_names", watched)
    return seen


def wish(typed: bytes = b"re", patience: float | None = None, ago: float = 0.0) -> NameWish:
    """A list at the end of a text, asked for so many seconds ago."""
    text = TEXT + typed
    snapshot = Snapshot("file:///a.py", 1, text + b"\n", len(text), "python")
    request = Request("a.py", snapshot, CompletionOptions(), patience)
    return NameWish(request, (b"ader",), asyncio.get_running_loop().time() - ago)


async def test_by_hand(model, limits):
    """With or without a word; so many tokens, and a prompt that is not in memory as well."""
    requests = NameRequests(model, list)
    speed = model.completer.prompts.reading

    assert {one.text for one in (await requests.beside(wish())).names} >= {"reader"}
    await requests.beside(wish(b""))
    assert limits == 2 * [
        Limits(min(TOKENS, int(speed.tokens_in(BY_HAND_S))), int(speed.tokens_in(READING_S)))
    ]
    assert not requests.is_active


async def test_automatic(model, limits):
    """While a word is typed, and no longer than is left of the time for it."""
    requests = NameRequests(model, list)
    tokens = model.completer.prompts.reading.tokens_in

    assert await requests.beside(wish(b"", patience=0.6)) is None
    await requests.beside(wish(patience=0.6))
    await requests.beside(wish(patience=0.6, ago=0.5))
    await requests.beside(wish(patience=0.6, ago=9))
    first, second, last = limits
    most = int(tokens(AUTOMATIC_S))
    assert first == Limits(min(TOKENS, most), min(TOKENS, most))
    assert second.tokens == second.reading <= int(tokens(0.1))
    assert last == Limits(0, 0)


async def test_what_is_asked_for_comes_first(model, limits):
    """Names are not begun beside it; what nobody has asked for makes room."""
    requests = NameRequests(model, list)
    model.is_asked = True
    assert await requests.beside(wish()) is None
    assert (limits, model.stopped) == ([], 0)

    model.is_asked = False
    assert await requests.beside(wish()) is not None
    assert model.stopped == 1


async def test_no_model(model, limits):
    """While it is loaded, there are none."""
    model.is_ready = False

    assert await NameRequests(model, list).beside(wish()) is None
    assert limits == []


@pytest.mark.parametrize("failure", [Cancelled("stopped"), RuntimeError("no model is loaded")])
async def test_failures(model, failure, caplog):
    """Nobody but the log is told, and only of what should not be."""
    requests = NameRequests(model, list)
    model.failure = failure

    assert await requests.beside(wish()) is None
    assert ("no model" in caplog.text) == isinstance(failure, RuntimeError)
    assert not requests.is_active


async def test_a_busy_machine(model, monkeypatch):
    """An automatic request does not wait for names that do not come."""
    stopped = []

    async def for_ever(_: object) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopped.append(True)
            raise

    monkeypatch.setattr(name_requests, "LATE_S", 0.01)
    model.beside = for_ever

    assert await NameRequests(model, list).beside(wish(patience=0.01)) is None
    assert stopped == [True]


async def test_documents(model):
    """The names of others are there, too; its own state is the request's."""
    other = Snapshot("file:///b.py", 1, b"reserve = 1\n", 0, "python")
    old = Snapshot("file:///a.py", 0, b"result = 1\n", 0, "python")
    found = await NameRequests(model, lambda: [old, other]).beside(wish())

    names = {one.text for one in found.names}
    assert "reserve" in names
    assert "result" not in names
