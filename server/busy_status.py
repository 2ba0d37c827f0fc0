"""Telling an editor that the model computes for it, without flicker.

Most requests are answered before anybody could read a status, and while somebody types one follows
the other. So a change is told only when it has lasted for a moment. While a request waits that is
told again from time to time: what there is to say of it changes with the time that it takes.

Not here: how the model is (`backend`).
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SETTLED_S = 0.15
"""A change counts when it has lasted so long. VS Code asks again 50 ms after it has cancelled."""

AGAIN_S = 1.0
"""How often it is told again."""


class BusyStatus:
    """Whether requests of one editor wait, as far as it is worth telling."""

    def __init__(self, tell: Callable[[bool], None]) -> None:
        """`tell` is given each change: first True, perhaps again, then False, and so on."""
        self._tell = tell
        self._waiting = 0
        self._told = False
        self._timer: asyncio.TimerHandle | None = None
        self._again: asyncio.TimerHandle | None = None

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
        self._stop_again()

    def _look(self) -> None:
        if bool(self._waiting) == self._told:
            self._stop_timer()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SETTLED_S, self._change)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_again(self) -> None:
        if self._again is not None:
            self._again.cancel()
            self._again = None

    def _change(self) -> None:
        self._timer = None
        self._told = not self._told
        self._stop_again()
        self._tell_now()

    def _tell_now(self) -> None:
        self._tell(self._told)
        loop = asyncio.get_running_loop()
        self._again = loop.call_later(AGAIN_S, self._tell_now) if self._told else None
