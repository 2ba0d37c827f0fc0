"""States are written while nobody waits for the model, one after the other, with pauses."""

import asyncio
from dataclasses import dataclass, field

import numpy as np
import pytest

from server import state_keeper
from server.state_keeper import StateKeeper
from server.worker import Worker

PATIENCE_S = 20


@dataclass
class Taken:
    """A state that tells when it was written."""

    written: list
    state: np.ndarray
    failure: Exception | None = None

    def write(self):
        if self.failure:
            raise self.failure
        self.written.append(len(self.state))


@dataclass
class Warm:
    """What a model still has to give."""

    left: list = field(default_factory=list)
    asked: int = 0

    def take(self):
        self.asked += 1
        return self.left.pop(0) if self.left else None


class Model:
    """A completer as far as the keeper knows one."""

    def __init__(self, warm):
        self.warm = warm

    def cancel(self):
        pass

    def resume(self):
        pass

    def close(self):
        pass


@pytest.fixture
def at_once(monkeypatch):
    """Waits are short."""
    monkeypatch.setattr(state_keeper, "IDLE_S", 0.01)
    monkeypatch.setattr(state_keeper, "REST_S_PER_MB", 0.0)


async def begin(warm, is_busy=lambda: False):
    """A keeper whose worker has a model with these states."""
    worker = Worker()
    await worker.load(lambda: Model(warm))
    return StateKeeper(worker, is_busy), worker


async def until(is_true):
    """Wait until something has happened in another thread."""
    async with asyncio.timeout(PATIENCE_S):
        while not is_true():
            await asyncio.sleep(0.005)


async def test_all_of_them(at_once):
    """Once the model is idle, everything is written, newest first, and it ends."""
    written = []
    warm = Warm([Taken(written, np.zeros(n, np.uint8)) for n in (3, 2, 1)])
    keeper, worker = await begin(warm)
    keeper.later()
    keeper.later()
    await until(lambda: warm.asked == 4)
    await asyncio.sleep(0.05)

    assert written == [3, 2, 1]
    assert warm.asked == 4
    worker.close()


async def test_not_while_it_is_used(at_once):
    """A model at work is asked for nothing; its end begins the waiting again."""
    busy, written = [True], []
    warm = Warm([Taken(written, np.zeros(1, np.uint8))])
    keeper, worker = await begin(warm, lambda: bool(busy))
    keeper.later()
    await asyncio.sleep(0.1)
    assert warm.asked == 0

    busy.clear()
    keeper.later()
    await until(lambda: written)
    worker.close()


async def test_a_pause_after_a_large_one(monkeypatch):
    """The disk rests in proportion to what was written."""
    monkeypatch.setattr(state_keeper, "IDLE_S", 0.0)
    monkeypatch.setattr(state_keeper, "REST_S_PER_MB", 1800.0)
    written = []
    warm = Warm([Taken(written, np.zeros(2_000_000, np.uint8)), Taken(written, np.zeros(1))])
    keeper, worker = await begin(warm)
    keeper.later()
    await until(lambda: written and keeper._rest.due is not None)

    assert keeper._rest.due - asyncio.get_running_loop().time() > 3500
    assert warm.asked == 1
    worker.close()


@pytest.mark.parametrize("warm", [None, Warm([Taken([], np.zeros(1), OSError("no"))])])
async def test_nothing_comes_of_it(at_once, warm):
    """No warm start, or a disk that fails: nobody is disturbed."""
    keeper, worker = await begin(warm)
    keeper.later()
    await until(lambda: keeper._task is not None and keeper._task.done())

    assert keeper._task.exception() is None
    worker.close()


async def test_no_model(at_once):
    """Nothing is loaded, or no more."""
    keeper = StateKeeper(Worker(), lambda: False)
    keeper.later()
    await until(lambda: keeper._task is not None and keeper._task.done())

    assert keeper._task.exception() is None
