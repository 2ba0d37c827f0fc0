"""What the model does when nobody asks: it reads more of the document where somebody works.

After a pause without requests, the prompts that are worth it at the last place are read, portion by
portion, the one first that the next request would take. When all of them are in memory, there is
rest: a machine that nobody uses does nothing. Without a place, the speed of reading is measured, if
it is not known.

A request comes first: the portion that is being read is stopped, and the others are not begun.

What is not here: the reading (`read_ahead`), and which requests there are (`service`).
"""

import asyncio
import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from server.completer import Completer
from server.completion_options import CompletionOptions
from server.errors import Cancelled
from server.snapshot import Snapshot
from server.worker import Ticket, Worker

logger = logging.getLogger("midtoken.idle")

PAUSE_S = 0.5
"""So long after the last answer or edit nothing else is wanted."""


@dataclass(frozen=True)
class Spot:
    """Where to read."""

    snapshot: Snapshot
    options: CompletionOptions
    only_largest: bool = False
    """For a place that is as good as any other: only the prompt that others share much with."""


Where = Callable[[], Spot | None]
"""Tells where to read, when it is time; None if that place is gone."""


class Idle:
    """Watches one worker. All methods belong to one event loop."""

    def __init__(self, worker: Worker[Completer], is_busy: Callable[[], bool]) -> None:
        """Read ahead with a worker whenever `is_busy` has been False for a while."""
        self._worker, self._is_busy = worker, is_busy
        self._place: tuple[Hashable, Where] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._ticket = Ticket()

    @property
    def is_active(self) -> bool:
        """Whether something is planned or being read."""
        return self._timer is not None or not (self._task is None or self._task.done())

    def at(self, document: Hashable, where: Where | None) -> None:
        """Somebody works at a place: read there, when there is time. None forbids it."""
        self.stop()
        self._place = None if where is None else (document, where)

    def rest(self) -> None:
        """Nothing is asked for now: begin when that lasts."""
        self.stop()
        if self._place is not None:
            self._timer = asyncio.get_running_loop().call_later(PAUSE_S, self._begin)

    def measure(self) -> None:
        """A model was loaded: learn how fast it reads, unless somebody works already."""
        if self._place is None:
            self.at(None, lambda: None)
            self.rest()

    def stop(self) -> None:
        """Something else comes first: from now on, and before what is being read."""
        self._worker.cancel(self._ticket)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def forget(self, document: Hashable = None) -> None:
        """A document was closed; None for all of them."""
        if self._place is not None and document in {None, self._place[0]}:
            self.stop()
            self._place = None

    def _begin(self) -> None:
        self._timer = None
        if not self._is_busy() and self._place is not None:
            _, where = self._place
            self._task = asyncio.get_running_loop().create_task(self._read(where))

    async def _read(self, where: Where) -> None:
        try:
            spot = where()
            more = True
            while more and not self._is_busy():
                self._ticket = Ticket()
                more = await self._worker.submit(
                    self._ticket, lambda model: _portion(model, spot), gives_way=True
                )
        except Cancelled:
            pass
        except Exception as error:  # a favour that fails is no reason to disturb anybody
            logger.debug("nothing is read ahead: %s", error)


def _portion(completer: Completer, spot: Spot | None) -> bool:
    if completer.engine.info.remote:  # others use it: it is asked for what somebody wants
        return False
    if spot is None:
        return completer.ahead.measure()
    prompts = completer.prompts_ahead(spot.snapshot, spot.options)
    if spot.only_largest:
        prompts = [max(prompts, key=lambda prompt: len(prompt.head))]
    texts = [completer.prompts.text(prompt) for prompt in prompts]
    return completer.ahead.portion(spot.snapshot.uri, texts)
