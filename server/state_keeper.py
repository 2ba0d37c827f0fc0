"""Writing states for the next start while nobody waits for the model.

Taking a state out of the model's memory is the model thread's work, and takes milliseconds. It is
written in another thread, so that a request never waits for the disk. A state may be large and each
new line makes another prompt: after each one there is a pause in proportion to its size, so that
the disk is not worn by typing. What is left is written when the model ends (`Completer.close`).

What is not here: which states there are (`warm_start`).
"""

import asyncio
import logging
from collections.abc import Callable

from server.at_rest import AtRest
from server.completer import Completer
from server.warm_start import Taken
from server.worker import Worker

logger = logging.getLogger("midtoken.state_keeper")

IDLE_S = 4.0
"""So long after the last answer the model counts as idle."""

REST_S_PER_MB = 4.0
"""The pause after a state: 8 s for one of 2 MB (160 tokens of the default model)."""


class StateKeeper:
    """Watches one worker. All methods belong to one event loop."""

    def __init__(self, worker: Worker[Completer], is_busy: Callable[[], bool]) -> None:
        """Take states from a worker whenever `is_busy` has been False for a while."""
        self._worker = worker
        self._rest = AtRest(is_busy, IDLE_S, self._begin)
        self._task: asyncio.Task[None] | None = None

    def later(self) -> None:
        """The model has been used: wait until nobody uses it any more."""
        self._rest.later()

    def _begin(self) -> None:
        """Write what there is."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        try:
            taken = await self._worker.info(_take)
            if taken is None:
                return
            await asyncio.to_thread(taken.write)
            self._rest.pause(REST_S_PER_MB * len(taken.state) / 1e6)
            self.later()  # there may be more
        except Exception as error:  # a favour that fails is no reason to disturb anybody
            logger.debug("no state is kept: %s", error)


def _take(completer: Completer) -> Taken | None:
    return None if completer.warm is None else completer.warm.take()
