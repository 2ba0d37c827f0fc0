"""Several connections at one service: what one asks for does not undo another's work."""

import asyncio
from collections.abc import Hashable
from dataclasses import replace
from types import SimpleNamespace

import pytest

from server.completion_options import CompletionOptions
from server.errors import Cancelled
from server.job import Job
from server.service import Service
from server.service_request import Request
from server.snapshot import Snapshot


class FakeWorker:
    """Jobs that run until they are cancelled."""

    def __init__(self) -> None:
        self.running: list[object] = []
        self.futures: dict[object, asyncio.Future[None]] = {}

    def submit(self, ticket, work):
        future = self.futures[ticket] = asyncio.get_running_loop().create_future()
        self.running.append(ticket)
        return future

    def cancel(self, ticket) -> None:
        ticket.cancelled = True
        future = self.futures.get(ticket)
        if future is not None and not future.done():
            future.set_exception(Cancelled("the request was cancelled"))

    def info(self, look):
        return asyncio.get_running_loop().create_future()


def request(connection: str, document: str, text: bytes = b"import o") -> Request:
    snapshot = Snapshot(f"{document}.py", 0, text, len(text), "python")
    options = CompletionOptions(grammar="off")
    key: Hashable = (connection, document)
    return Request(key, snapshot, options, connection=connection)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture
def service():
    return Service(FakeWorker())


async def ask(service: Service, *what) -> "asyncio.Task[object]":
    asked = asyncio.ensure_future(service.complete(request(*what)))
    await settle()
    return asked


async def leave(*asked: "asyncio.Task[object]") -> None:
    for task in asked:
        task.cancel()
    await asyncio.gather(*asked, return_exceptions=True)


async def test_a_cancelled_job_may_be_joined_again(service):
    """Whatever another editor asks for meanwhile: VS Code cancels at each key and asks again."""
    one = await ask(service, "A", "a")
    await leave(one)
    other = await ask(service, "B", "b")
    again = await ask(service, "A", "a", b"import os")

    assert service.counts.joined == 1
    assert [ticket.cancelled for ticket in service._worker.running] == [False]
    await leave(other, again)


async def test_the_same_editor_elsewhere(service):
    """Who has moved to another document does not come back for the cancelled job."""
    one = await ask(service, "A", "a")
    await leave(one)
    other = await ask(service, "A", "b")

    assert [ticket.cancelled for ticket in service._worker.running] == [True, False]
    await leave(other)


async def test_what_nobody_has_asked_for_makes_room(service):
    """What is written ahead for one editor is given up for another one's request."""
    service.prepare(request("A", "a"))
    await settle()
    asked = await ask(service, "B", "b")

    assert [ticket.cancelled for ticket in service._worker.running] == [True, False]
    await leave(asked)


async def test_what_is_waited_for_stays(service):
    """A request stops nobody else's, of whichever editor; it waits for its turn."""
    first = await ask(service, "A", "a")
    others = [await ask(service, *who) for who in (("A", "b"), ("B", "a"), ("C", "c"))]

    assert [ticket.cancelled for ticket in service._worker.running] == [False]
    assert not first.done()
    await leave(first, *others)


async def test_one_model_for_all_turns(service):
    """When a job ends, the next one is another editor's, though the first has more to do."""
    asked = [await ask(service, *who) for who in (("A", "a"), ("A", "b"), ("B", "c"))]
    running = service._worker.running
    service.forget(("A", "a"))
    await settle()

    assert len(running) == 2
    assert service._jobs[("B", "c")].ticket is running[1]
    await leave(*asked)


@pytest.fixture
def half_written(tiny_completer, monkeypatch):
    """Slices of time are over at once; what a job has written when one ends."""
    monkeypatch.setattr("server.service.SLICE_S", 0.01)
    wish = request("A", "a")
    answer = tiny_completer.answer(wish.snapshot, wish.options)
    text = b"s, sys, rand"
    return replace(
        answer,
        generation=replace(
            answer.generation,
            text=text,
            logprobs=(-0.1,) * len(text),
            ends=tuple(range(1, len(text) + 1)),
            ended="unfinished",
        ),
    )


async def test_others_wait_long(service, half_written):
    """Then whole words that are written have to do, and the next editor has its turn."""
    first = await ask(service, "A", "a")
    running = service._worker.running
    second = await ask(service, "B", "b")
    await asyncio.sleep(0.05)
    assert not first.done()  # nothing is written yet that could be shown

    job = service._jobs["A", "a"]
    job.so_far = half_written
    job.wake()
    [item] = (await first).items
    await settle()
    assert item.text == "s, sys,"
    assert [ticket.cancelled for ticket in running] == [True, False]
    await leave(second)


async def test_ones_own_other_documents_wait(service, half_written):
    """Nobody is hurried by requests of the same editor."""
    first = await ask(service, "A", "a")
    second = await ask(service, "A", "b")
    service._jobs["A", "a"].so_far = half_written
    await asyncio.sleep(0.05)

    assert not first.done()
    assert [ticket.cancelled for ticket in service._worker.running] == [False]
    await leave(first, second)


async def test_what_nobody_waits_for_any_more(service, half_written):
    """A job that goes on for whoever types along is stopped at once for somebody else."""
    first = await ask(service, "A", "a")
    job = service._jobs["A", "a"]
    job.waiting = 0  # as after an answer in time, while more is written
    second = await ask(service, "B", "b")

    assert job.ticket.cancelled
    await leave(first, second)


async def test_a_part_with_nothing_to_show_is_no_answer(service, monkeypatch):
    """Patience ends when an opening bracket is all there is: the request waits for the next word.

    An editor that is given nothing does not ask again.
    """
    part = b"("
    monkeypatch.setattr(Job, "whole_words", lambda *_: part)
    monkeypatch.setattr(
        Service,
        "_shown",
        lambda _, request, since, left: SimpleNamespace(
            items=[left] if left != b"(" else [], withheld=None
        ),
    )
    patient = replace(request("A", "a"), patience=0.0)
    asked = asyncio.ensure_future(service.complete(patient))
    await settle()
    service._jobs["A", "a"].wake()
    await settle()
    assert not asked.done()
    part = b"(values"
    service._jobs["A", "a"].wake()

    assert (await asyncio.wait_for(asked, 20)).items == [b"(values"]
