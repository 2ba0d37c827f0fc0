"""When there is time for known names in a completion list, and how much.

What the model writes comes first. Names are ranked when it is there, if the model has nothing else
to do, and whatever comes then stops it: they keep nothing waiting, and a list without them is a
list. Clients ask for each key again, so they come with the next one.

Somebody who asks by hand waits for them a moment. Automatic requests have names only while a word
is typed, and only for what is in memory, or read in a fifth of a second of their time budget.

What is not here: the ranking (`name_list`), and an editor's items (`name_items`).
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from server.backend import Backend
from server.completer import Completer
from server.errors import Cancelled
from server.name_list import TOKENS, Limits, NameList, NameSources, list_names
from server.names import word_start
from server.service_request import Request
from server.snapshot import Snapshot

logger = logging.getLogger("midtoken.names")

BY_HAND_S, READING_S = 0.6, 1.5
"""So much of the model's time names may take that are asked for by hand, and so much the prompt
before them, if it is not in memory."""

AUTOMATIC_S = 0.2
"""So much both may take together for an automatic request, of its time budget."""

LATE_S = 0.1
"""So much later than that an automatic request is answered without names: the machine is busy."""


@dataclass(frozen=True)
class NameWish:
    """Names that are wanted beside what was written."""

    request: Request
    """What was asked of the model; by hand if it has patience for all of it."""
    written: tuple[bytes, ...]
    """The texts that are in the list."""
    began: float
    """When the request came, by the event loop's clock."""


class NameRequests:
    """The names of one connection's lists. All methods belong to one event loop."""

    def __init__(self, backend: Backend, opened: Callable[[], Sequence[Snapshot]]) -> None:
        """Rank with the backend's model the names of the documents that are open."""
        self._backend, self._opened = backend, opened
        self._sources = NameSources()
        self._running = 0

    @property
    def is_active(self) -> bool:
        """Whether names are being ranked."""
        return self._running > 0

    async def beside(self, wish: NameWish) -> NameList | None:
        """The names for a list; None if there are none, or there is no time for them."""
        request, snapshot = wish.request, wish.request.snapshot
        seconds = _seconds(wish, asyncio.get_running_loop().time())
        if seconds is None or not self._backend.is_ready or self._backend.service.is_asked:
            return None
        if self._backend.is_elsewhere:  # it can't rank them: nothing makes room for that
            return None
        self._backend.service.stop_prepared()
        is_automatic = request.patience is not None
        others = [other for other in self._opened() if other.uri != snapshot.uri]

        def work(completer: Completer) -> NameList | None:
            reading = completer.prompts.reading
            tokens = min(TOKENS, int(reading.tokens_in(seconds)))
            read = tokens if is_automatic else int(reading.tokens_in(READING_S))
            return list_names(
                completer,
                self._sources,
                snapshot,
                others,
                wish.written,
                request.options,
                Limits(tokens, read),
            )

        self._running += 1
        try:
            async with asyncio.timeout(seconds + LATE_S if is_automatic else None):
                return await self._backend.beside(work)
        except (Cancelled, TimeoutError):
            return None
        except Exception as error:  # a list without them is as good as one can be then
            logger.warning("no names: %s", error)
            return None
        finally:
            self._running -= 1


def _seconds(wish: NameWish, now: float) -> float | None:
    """The model's time for names; None for no names at all."""
    request, snapshot = wish.request, wish.request.snapshot
    if request.patience is None:
        return BY_HAND_S
    if word_start(snapshot.text, snapshot.cursor, snapshot.language) == snapshot.cursor:
        return None
    return min(AUTOMATIC_S, max(0.0, wish.began + request.patience - now))
