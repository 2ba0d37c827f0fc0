"""The worker's thread: what a job leaves behind."""

import asyncio
import gc
import threading
import weakref

import pytest

from server.errors import Cancelled
from server.worker import Ticket, Worker


class Owned:
    """Something with the methods that a worker needs."""

    def cancel(self) -> None: ...

    def resume(self) -> None: ...

    def close(self) -> None: ...


class Large:
    """What a job works with, as a grammar's state: most of it is no memory of Python's."""


async def test_a_cancelled_job_leaves_nothing_behind():
    """Its memory is free at once, and not when Python next looks for garbage."""
    worker: Worker[Owned] = Worker()
    await worker.load(Owned)
    kept: list[weakref.ref[Large]] = []

    def work(_: Owned) -> None:
        large = Large()
        kept.append(weakref.ref(large))
        raise Cancelled("the request was cancelled")

    gc.disable()
    try:
        with pytest.raises(Cancelled):
            await worker.submit(Ticket(), work)
        await worker.submit(Ticket(), lambda _: None)
        assert kept[0]() is None
    finally:
        gc.enable()
        worker.close()


@pytest.mark.parametrize("has_begun", [True, False])
async def test_a_job_that_gives_way(has_begun: bool):
    """Another job stops it, or keeps it from being begun; a short look does not."""
    begun, stopped = threading.Event(), threading.Event()

    class Stopped(Owned):
        def cancel(self) -> None:
            stopped.set()

    def work(_: Owned) -> None:
        begun.set()
        stopped.wait(9)
        raise Cancelled("the request was cancelled")

    worker: Worker[Owned] = Worker()
    await worker.load(Stopped)
    blocked = threading.Event()
    first = worker.submit(Ticket(), lambda _: blocked.wait(9))
    giving_way = worker.submit(Ticket(), work, gives_way=True)
    looked = worker.info(lambda _: "looked")
    if has_begun:
        blocked.set()
        await asyncio.to_thread(begun.wait, 9)
    assert not stopped.is_set()
    other = worker.submit(Ticket(), lambda _: "done")
    blocked.set()

    with pytest.raises(Cancelled):
        await giving_way
    assert (await first, await looked, await other) == (True, "looked", "done")
    assert begun.is_set() == has_begun
    worker.close()


async def test_a_job_that_has_given_way_is_forgotten():
    """What is done is not stopped by what comes later."""
    worker: Worker[Owned] = Worker()
    await worker.load(Owned)
    for _ in range(3):
        assert await worker.submit(Ticket(), lambda _: 1, gives_way=True) == 1
        assert await worker.submit(Ticket(), lambda _: 2) == 2
    await asyncio.sleep(0)

    assert worker._giving_way == set()
    worker.close()
