"""When an editor is told that the model computes, with a clock that only the test moves."""

import asyncio
from types import SimpleNamespace

import pytest

from server.busy_status import AGAIN_S, SETTLED_S, BusyStatus


class Clock:
    """An event loop's timers: they ring when time passes."""

    def __init__(self):
        self.now = 0.0
        self.timers = []

    def call_later(self, delay, callback):
        timer = SimpleNamespace(due=self.now + delay, callback=callback)
        timer.cancel = lambda: self.timers.remove(timer)
        self.timers.append(timer)
        return timer

    def pass_by(self, seconds):
        self.now += seconds
        for timer in [timer for timer in self.timers if timer.due <= self.now]:
            self.timers.remove(timer)
            timer.callback()


@pytest.fixture
def clock(monkeypatch):
    """The clock that timers are set by."""
    clock = Clock()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: clock)
    return clock


def test_long(clock):
    """A request that waits is told of, and so is its end."""
    told = []
    busy = BusyStatus(told.append)
    with busy.waiting():
        clock.pass_by(SETTLED_S)
        assert told == [True]
    clock.pass_by(SETTLED_S)

    assert told == [True, False]


def test_short(clock):
    """Of requests that are answered soon nothing is told, however many there are."""
    told = []
    busy = BusyStatus(told.append)
    for _ in range(9):
        with busy.waiting():
            clock.pass_by(SETTLED_S / 2)
        clock.pass_by(SETTLED_S / 2)

    assert told == []


def test_one_after_the_other(clock):
    """While somebody types, the end of one request is not told if the next one comes soon."""
    told = []
    busy = BusyStatus(told.append)
    for _ in range(9):
        with busy.waiting():
            clock.pass_by(SETTLED_S)
        clock.pass_by(SETTLED_S / 2)

    assert set(told) == {True}


def test_overlapping(clock):
    """As long as one request waits, nothing changes; a failing one has ended as well."""
    told = []
    busy = BusyStatus(told.append)

    def fail():
        with busy.waiting():
            clock.pass_by(SETTLED_S)
            raise ValueError("the model")

    with busy.waiting():
        with pytest.raises(ValueError, match="the model"):
            fail()
        clock.pass_by(9)
        assert set(told) == {True}
    clock.pass_by(SETTLED_S)

    assert (told[-1], told.count(False)) == (False, 1)


def test_closed(clock):
    """Nothing is told after the connection has ended."""
    told = []
    busy = BusyStatus(told.append)
    with busy.waiting():
        busy.close()
        clock.pass_by(9)

    assert told == []


def test_it_is_told_again(clock):
    """As long as a request waits: what is said of it depends on the time it takes."""
    told = []
    busy = BusyStatus(told.append)
    with busy.waiting():
        clock.pass_by(SETTLED_S)
        clock.pass_by(AGAIN_S)
        clock.pass_by(AGAIN_S)
        assert told == [True] * 3
    clock.pass_by(SETTLED_S)
    clock.pass_by(AGAIN_S)

    assert told == [True] * 3 + [False]


def test_nothing_is_told_after_the_end(clock):
    """A connection that has ended while a request waited hears of it no more."""
    told = []
    busy = BusyStatus(told.append)
    with busy.waiting():
        clock.pass_by(SETTLED_S)
        busy.close()
        clock.pass_by(AGAIN_S)

        assert told == [True]
