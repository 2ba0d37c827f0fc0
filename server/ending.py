"""How a server process runs and ends: when its work is done, or when it is told to (SIGTERM).

Told to end, it lets its connections, its socket and its model go, and has ended within a second,
whatever its threads do: one may wait for input for ever, one may be in the middle of a download or
of loading a model, and none of them can be stopped from outside. So the process does not wait.

Not here: what is served (`serving`).
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress

from server.backend import Backend

END_S = 0.7
"""So long a model that is told to stop may take: it stops within 100 ms, and then it writes what it
remembers of documents (`warm_start`)."""


def run(serve: Callable[[Backend], Awaitable[None]]) -> None:
    """Run a server until it ends; SIGTERM ends it, and the process, with exit code 0.

    Args:
        serve: Serves with a backend. When it is cancelled it lets go of everything at once.
    """
    backend = Backend()

    async def until_told() -> None:
        me, told = asyncio.current_task(), False
        loop = asyncio.get_running_loop()

        def stop() -> None:
            nonlocal told
            told = True
            assert me is not None
            me.cancel()

        try:
            loop.add_signal_handler(signal.SIGTERM, stop)
        except NotImplementedError:  # Windows
            signal.signal(signal.SIGTERM, lambda *_: loop.call_soon_threadsafe(stop))
        try:
            await serve(backend)
        except asyncio.CancelledError:
            if not told:
                raise
            backend.close(END_S)
            leave()

    try:
        asyncio.run(until_told())
    finally:
        backend.close()


def leave(code: int = 0) -> None:
    """End the process now; threads that still run are not waited for."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or there is none
            stream.flush()
    os._exit(code)
