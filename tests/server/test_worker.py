"""The worker's thread: what a job leaves behind."""

import gc
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
