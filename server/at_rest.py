"""Doing something when nobody has used the model for a while.

What is not here: what is done (`state_keeper`, `trimming`), and reading ahead, which begins much
sooner (`idle`).
"""

import asyncio
from collections.abc import Callable


class AtRest:
    """Watches for one moment after the other. All methods belong to one event loop."""

    def __init__(self, is_busy: Callable[[], bool], seconds: float, do: Callable[[], None]) -> None:
        """Call `do` whenever `is_busy` is False so many seconds after `later`."""
        self._is_busy, self._seconds, self._do = is_busy, seconds, do
        self._timer: asyncio.TimerHandle | None = None
        self._not_before = 0.0

    @property
    def due(self) -> float | None:
        """When it looks next, by the event loop's clock; None if it does not."""
        return None if self._timer is None else self._timer.when()

    def later(self) -> None:
        """The model has been used: wait until nobody uses it any more."""
        loop = asyncio.get_running_loop()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(max(loop.time() + self._seconds, self._not_before), self._look)

    def pause(self, seconds: float) -> None:
        """Do nothing for so long."""
        self._not_before = asyncio.get_running_loop().time() + seconds

    def _look(self) -> None:
        """If somebody uses the model, that one's end is waited for."""
        self._timer = None
        if not self._is_busy():
            self._do()
