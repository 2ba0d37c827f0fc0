"""The server that all editors of a user share: a process of its own, which no editor owns.

`shared` starts it when an editor comes and none is there. It says `ready` on standard output when
it can be joined, and ends some time after the last editor has gone.

Not here: how it is found (`meeting`), and how editors join it (`shared`).
"""

import asyncio
import logging
import os
import secrets
import sys
from pathlib import Path

from server.access import admission
from server.backend import Backend
from server.ending import leave, run
from server.gate import Gate
from server.hosting import LOCAL_MESSAGE_BYTES, Hosting
from server.meeting import Place
from server.private_files import make_private
from server.serving import prepare_process, server_for

logger = logging.getLogger("midtoken.shared")

READY = "ready"

FIRST_S = 30.0
"""Whoever started it comes within this time, or never."""

SHARED = Hosting(keeps_model=True, longest_message=LOCAL_MESSAGE_BYTES)


def host(folder: str, name: str, linger: float) -> None:
    """Serve whoever finds the server, until nobody has been there for `linger` seconds.

    Raises OSError if the folder can't be used.
    """
    place = Place(Path(folder), name, Path.cwd())
    make_private(place.folder)
    prepare_process()
    token = secrets.token_hex(32)
    listening, address = place.listen(token)

    async def serve(backend: Backend) -> None:
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle | None = None

        def look() -> None:
            """Somebody has come or gone."""
            nonlocal timer
            if timer is not None:
                timer.cancel()
            timer = loop.call_later(linger, end)

        def end() -> None:
            if gate.is_empty:
                place.withdraw(address)  # at once: who comes now finds no server and starts one
                keeping.cancel()

        admit = admission(token.encode(), proves=True)
        gate = Gate(listening, admit, server_for(backend, SHARED), changed=look)
        keeping = asyncio.ensure_future(gate.keep())
        timer = loop.call_later(max(linger, FIRST_S), end)
        try:
            place.announce(address)
            _say_ready()
            place.delete_left()
            await asyncio.wait({keeping})
        finally:
            place.withdraw(address)
            keeping.cancel()
            await asyncio.wait({keeping})

    run(serve)
    leave()


def _say_ready() -> None:
    """Tell whoever has started this process, and let go of their pipe."""
    print(READY, flush=True)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    sys.stdout.flush()
