"""What is done when nobody has used the model for a while is done then, and only then."""

import asyncio

import pytest

from server.at_rest import AtRest

PATIENCE_S = 20


@pytest.fixture
def done():
    """Times at which it was done, by the event loop's clock."""
    return []


def at_rest(done, seconds, is_busy=lambda: False):
    return AtRest(is_busy, seconds, lambda: done.append(asyncio.get_running_loop().time()))


async def until(is_true):
    async with asyncio.timeout(PATIENCE_S):
        while not is_true():
            await asyncio.sleep(0.005)


async def test_each_use_begins_the_waiting_again(done):
    """Only the last of many counts."""
    watching = at_rest(done, 0.05)
    watching.later()
    first = watching.due
    await asyncio.sleep(0.02)
    watching.later()
    assert watching.due > first
    last = watching.due
    await until(lambda: done)
    await asyncio.sleep(0.1)

    assert len(done) == 1
    assert done[0] >= last - 0.001  # the resolution of a loop's clock
    assert watching.due is None


async def test_not_while_it_is_used(done):
    """Whoever uses it says when that has ended."""
    busy = True
    watching = at_rest(done, 0.0, lambda: busy)
    watching.later()
    await until(lambda: watching.due is None)
    assert not done
    busy = False
    watching.later()
    await until(lambda: done)


async def test_a_pause(done):
    """It lasts also where the model was used in it."""
    watching = at_rest(done, 0.0)
    watching.pause(3600)
    watching.later()

    assert watching.due - asyncio.get_running_loop().time() > 3500
    watching.later()
    assert watching.due - asyncio.get_running_loop().time() > 3500
