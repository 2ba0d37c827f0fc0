"""How a server process runs and ends: when its work is done, or when it is told to by a signal.

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

logger = logging.getLogger("midtoken.ending")

END_S = 0.7
"""So long a model that is told to stop may take: it stops within 100 ms, and then it writes what it
remembers of documents (`warm_start`)."""


def run(serve: Callable[[Backend], Awaitable[None]]) -> None:
    """Run a server until it ends. SIGTERM ends it and the process, with exit code 0.

    So does Ctrl-C, with exit code 1 as in other commands.

    Args:
        serve: Serves with a backend. When it is cancelled it lets go of everything at once.
    """
    backend = Backend()

    async def until_told() -> None:
        me, code = asyncio.current_task(), None
        assert me is not None

        def stop(with_code: int) -> None:
            nonlocal code
            code = with_code
            me.cancel()

        _on_signal(signal.SIGTERM, lambda: stop(0))
        _on_signal(signal.SIGINT, lambda: stop(1))
        try:
            await serve(backend)
        except BaseException as error:
            if code is None:
                raise
            if not isinstance(error, asyncio.CancelledError):  # a fault, and no reason to stay
                logger.exception("letting go has failed")
            backend.close(END_S)
            if code:
                print("midtoken: cancelled", file=sys.stderr)
            leave(code)

    try:
        asyncio.run(until_told())
    finally:
        backend.close()


def _on_signal(number: signal.Signals, act: Callable[[], None]) -> None:
    """Have something done in the running event loop at a signal, unless the signal is ignored."""
    loop = asyncio.get_running_loop()
    if signal.getsignal(number) is signal.SIG_IGN:  # as in the background of a script
        return
    try:
        loop.add_signal_handler(number, act)
    except NotImplementedError:  # Windows
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(act))


def leave(code: int = 0) -> None:
    """End the process now; threads that still run are not waited for."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or there is none
            stream.flush()
    os._exit(code)
