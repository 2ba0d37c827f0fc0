"""Giving memory back to the system while nobody waits for the model.

What was freed between pieces that are in use stays with the process: malloc gives it out again, but
other programs can't have it. Rows of logits, states of grammars and texts of all sizes come and go,
so servers that were used for an hour kept some 100 MB more than they had in use, with the default
model (`make soak`). glibc gives whole pages of it back when it is asked to, in one or two
milliseconds; other systems' malloc do so by themselves, or can't.
"""

import asyncio
import ctypes
import sys
from collections.abc import Callable
from functools import cache

from server.completer import Completer
from server.worker import Worker

IDLE_S = 1.0
"""So long after the last answer the model counts as idle."""

PAUSE_S = 30.0
"""It is not asked more often: what comes and goes all the time had better stay."""


class Trimming:
    """Watches one worker. All methods belong to one event loop."""

    def __init__(self, worker: Worker[Completer], is_busy: Callable[[], bool]) -> None:
        """Have the worker's thread do it whenever `is_busy` has been False for a while."""
        self._worker, self._is_busy = worker, is_busy
        self._timer: asyncio.TimerHandle | None = None
        self._rests_until = 0.0

    def later(self) -> None:
        """The model has been used: wait until nobody uses it any more."""
        loop = asyncio.get_running_loop()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(max(loop.time() + IDLE_S, self._rests_until), self._begin)

    def _begin(self) -> None:
        """Do it; if somebody uses the model, that one's end is waited for."""
        self._timer = None
        if not self._is_busy():
            self._rests_until = asyncio.get_running_loop().time() + PAUSE_S
            done = self._worker.info(lambda _: give_back())  # else a job would wait for the lock
            done.add_done_callback(lambda done: done.cancelled() or done.exception())


def give_back() -> None:
    """Give what malloc has and nobody uses back to the system, where that can be asked for."""
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim
