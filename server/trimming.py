"""Giving memory back to the system while nobody waits for the model.

What was freed between pieces that are in use stays with the process: malloc gives it out again, but
other programs can't have it. Rows of logits, states of grammars and texts of all sizes come and go,
so servers that were used for an hour kept some 100 MB more than they had in use, with the default
model (`make soak`). glibc gives whole pages of it back when it is asked to, in one or two
milliseconds; elsewhere nothing is asked.
"""

import ctypes
import sys
from collections.abc import Callable
from functools import cache

from server.at_rest import AtRest
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
        self._worker = worker
        self._rest = AtRest(is_busy, IDLE_S, self._begin)

    def later(self) -> None:
        """The model has been used: wait until nobody uses it any more."""
        self._rest.later()

    def _begin(self) -> None:
        self._rest.pause(PAUSE_S)
        done = self._worker.info(lambda _: give_back())  # else a job would wait for malloc's lock
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
