"""Telling an editor that the model computes for it, without flicker.

Most requests are answered before anybody could read a status, and while somebody types one follows
the other. So a change is told only when it has lasted for a moment.

Not here: how the model is (`backend`).
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SETTLED_S = 0.15
"""A change counts when it has lasted so long. VS Code asks again 50 ms after it has cancelled."""


class BusyStatus:
    """Whether requests of one editor wait, as far as it is worth telling."""

    def __init__(self, tell: Callable[[bool], None]) -> None:
        """`tell` is given each change: first True, then False, and so on."""
        self._tell = tell
        self._waiting = 0
        self._told = False
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A request waits while the block runs."""
        self._waiting += 1
        self._look()
        try:
            yield
        finally:
            self._waiting -= 1
            self._look()

    def close(self) -> None:
        """The connection has ended: nothing more is told."""
        self._stop_timer()

    def _look(self) -> None:
        if bool(self._waiting) == self._told:
            self._stop_timer()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SETTLED_S, self._change)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _change(self) -> None:
        self._timer = None
        self._told = not self._told
        self._tell(self._told)
