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


class TestSeveral:
    async def test_they_work_at_the_same_time(self):
        """Each with its own; what comes later waits for one of them."""
        both = threading.Barrier(2, timeout=9)
        worker: Worker[Owned] = Worker()
        await worker.load(Owned)
        worker.add([Owned()])

        def meet(owned: Owned) -> Owned:
            both.wait()
            return owned

        found = await asyncio.gather(*(worker.submit(Ticket(), meet) for _ in range(4)))
        assert len(set(found)) == 2
        assert set(found) == {*await asyncio.gather(*worker.each(lambda owned: owned))}
        worker.close()

    async def test_one_is_stopped(self):
        """The job whose ticket is cancelled, and no other one."""

        class Stopped(Owned):
            def __init__(self) -> None:
                self.stopped = threading.Event()

            def cancel(self) -> None:
                self.stopped.set()

        first, second = Stopped(), Stopped()
        worker: Worker[Stopped] = Worker()
        await worker.load(lambda: first)
        worker.add([second])
        tickets = [Ticket(), Ticket()]
        both = threading.Barrier(3, timeout=9)

        def work(owned: Stopped) -> None:
            both.wait()
            owned.stopped.wait(9)

        jobs = [worker.submit(ticket, work) for ticket in tickets]
        await asyncio.to_thread(both.wait)
        worker.cancel(tickets[1])
        await jobs[1]
        assert (first.stopped.is_set(), second.stopped.is_set()) == (False, True)
        worker.cancel(tickets[0])
        await jobs[0]
        worker.close()

    async def test_another_one_is_loaded(self):
        """All of the old ones are closed, and their threads end."""
        closed: list[Owned] = []

        class Closed(Owned):
            def close(self) -> None:
                closed.append(self)

        worker: Worker[Owned] = Worker()
        await worker.load(Closed)
        worker.add([Closed(), Closed()])
        threads = [one._thread for one in worker._all]
        await worker.load(Owned)
        for thread in threads[1:]:
            await asyncio.to_thread(thread.join, 9)
        assert len(set(closed)) == 3
        assert [thread.is_alive() for thread in threads] == [True, False, False]
        assert len(worker.each(lambda owned: owned)) == 1
        worker.close()
