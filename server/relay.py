"""Passing an editor's messages on to a server elsewhere, and the server's back: bytes, unread.

The editor talks to this process over standard input and output as if it were the server. When the
server is gone, so is this process, at once and with exit code 1: the editor starts it again, as it
would a server that has crashed.

Not here: finding the server (`shared`, `connect`).
"""

import asyncio
import os
import re
import signal
import threading
from contextlib import suppress
from typing import Any

from server.errors import EngineError
from server.refusal import MOST_BYTES, refusal_in

CHUNK_BYTES = 1 << 16

ENDED = "the server has ended; start it again"

_EXIT = re.compile(rb'"method"\s*:\s*"exit"')
_EXIT_BYTES = 256
"""The last message of a session is an `exit`, which is no longer than this."""


def end_by_signal() -> None:
    """Have SIGTERM end the process with exit code 0: editors end their servers by it."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))


async def relay(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    first: bytes = b"",
    unheard: str = ENDED,
) -> None:
    """Pass on what comes, both ways, until one side ends.

    Args:
        reader: From the server.
        writer: To the server.
        first: What the editor has said already; it is passed on first.
        unheard: What to say if the server goes without a word.

    Raises:
        EngineError: The server lets nobody in, or has gone although the editor wanted to go on.
    """
    loop = asyncio.get_running_loop()
    said = bytearray(first[-_EXIT_BYTES:])
    has_ended = asyncio.Event()

    async def pass_on(data: bytes) -> None:
        said[:] = (said + data)[-_EXIT_BYTES:]
        writer.write(data)
        await writer.drain()

    def read() -> None:
        """In a thread of its own, which nobody waits for."""
        with suppress(OSError, RuntimeError):  # the server or the loop has gone
            while data := os.read(0, CHUNK_BYTES):
                asyncio.run_coroutine_threadsafe(pass_on(data), loop).result()
            loop.call_soon_threadsafe(has_ended.set)

    async def finish() -> None:
        await has_ended.wait()
        if writer.can_write_eof():
            with suppress(OSError):
                writer.write_eof()

    finishing = asyncio.ensure_future(finish())
    try:
        with suppress(OSError):
            await pass_on(first)
        threading.Thread(target=read, name="midtoken input", daemon=True).start()
        heard = await _copy_out(reader, None if writer.can_write_eof() else finishing)
    finally:
        finishing.cancel()
        writer.close()
    if reason := refusal_in(heard):
        raise EngineError(reason)
    if not has_ended.is_set() and _wants_more(said):
        raise EngineError(ENDED if heard else unheard)


async def _copy_out(reader: asyncio.StreamReader, stop: "asyncio.Future[None] | None") -> bytes:
    """Write what the server says to standard output, until it says no more; the beginning of it.

    A connection with TLS can't be ended by one side alone: there it ends with the editor.
    """
    heard = b""
    while True:
        reading = asyncio.ensure_future(reader.read(CHUNK_BYTES))
        ends: set[asyncio.Future[Any]] = {reading, stop} if stop else {reading}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            reading.cancel()
            return heard
        try:
            data = reading.result()
        except OSError:
            return heard
        if not data:
            return heard
        if len(heard) <= MOST_BYTES:
            heard += data
        # A pipe that is full is waited for in a thread: what the editor says goes on meanwhile.
        await asyncio.to_thread(_write_all, data)


def _write_all(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def _wants_more(said: bytes | bytearray) -> bool:
    """Whether the editor has not said that it ends."""
    return _EXIT.search(said) is None
