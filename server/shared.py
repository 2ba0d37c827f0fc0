"""`midtoken serve --shared`: an editor's way to the server that all editors of a user share.

The editor starts this process as its server. It looks for one that runs a model as the editor wants
it, starts one if there is none, and passes on what is said. Of many editors at once one starts the
server, and the others join it. Where sharing is not possible, the editor gets a server of its own,
here, and standard error says why.

What the editor wants is in its first message: the model and its engine in `initializationOptions`.

Not here: the files by which a server is found (`meeting`), and the server (`shared_server`).
"""

import asyncio
import io
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable

from filelock import FileLock, Timeout

from server.access import ask_in
from server.errors import EngineError, MidtokenError, NoEditorError
from server.meeting import Place, place_for
from server.option_layers import merge
from server.options import Options
from server.relay import end_by_signal, relay

JOIN_S = 5.0
"""A server that does not answer in this time is stuck."""

START_S = 120.0
"""A server starts in some seconds, also on a busy machine; it loads its model later."""

LONGEST_FIRST = 64 << 20
LONGEST_HEAD = 1 << 16
"""Bytes; what is longer is passed on as it is, and the server says what is wrong with it."""

_HEAD = re.compile(
    rb"content-length:[ \t]*(\d{1,9})[ \t]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n", re.IGNORECASE
)

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def serve_shared(linger: float) -> None:
    """Serve an editor over standard input and output, until it ends.

    Args:
        linger: If a server has to be started: so many seconds it stays when the last has gone.

    Raises:
        EngineError: The server has gone; the editor should start this process again.
        NoEditorError: Something was said, and no message was in it; nothing was started.
    """
    first = first_message()
    if not first:
        return
    if not _HEAD.search(first, 0, LONGEST_HEAD):
        raise NoEditorError
    end_by_signal()
    try:
        place = place_for(options_of(first))
        asyncio.run(_share(place, first, linger))
    except (NotShared, OSError) as error:
        reason = " ".join(str(error).split())
        print(f"midtoken: this editor has a server of its own: {reason}", file=sys.stderr)
        _serve_alone(first)


class NotShared(MidtokenError):
    """No server can be shared."""


async def _share(place: Place, first: bytes, linger: float) -> None:
    streams = await joined(place)
    if streams is None:
        streams = await _started(place, linger)
    try:
        await relay(*streams, first)
    except OSError as error:
        raise EngineError(f"the editor or its server has gone ({error.strerror})") from error


async def _started(place: Place, linger: float) -> Streams:
    """Join a server that somebody else has started meanwhile, or start one. Raises NotShared."""
    try:
        with FileLock(place.lock, timeout=START_S, mode=0o600):
            streams = await joined(place)
            if streams is None:
                start(place, linger)
                streams = await joined(place)
    except Timeout:
        raise NotShared(f"{place.lock} is locked by a process that is stuck") from None
    if streams is None:
        raise NotShared(f"a server was started and does not answer: {place.log} says why")
    return streams


async def joined(place: Place) -> Streams | None:
    """A connection to the server that is found at a place; None if there is none to be had."""
    address = place.address()
    if address is None:
        return None
    writer = None
    try:
        async with asyncio.timeout(JOIN_S):
            if address.path:
                reader, writer = await asyncio.open_unix_connection(address.path)
            else:
                reader, writer = await asyncio.open_connection("127.0.0.1", address.port)
            await ask_in(reader, writer, address.token.encode())
    except (OSError, EngineError):  # TimeoutError is one of the first
        if writer is not None:
            writer.close()
        return None
    return reader, writer


def start(place: Place, linger: float) -> None:
    """Start a server, and wait until it can be joined or has failed. Raises OSError.

    The process is its own: it outlives this one, and no signal to the editor's processes reaches
    it. `-P` keeps Python from importing modules of the folder that the editor is in.
    """
    arguments = ["serve-shared", str(place.folder), place.name, "--linger", str(linger)]
    log = os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "server.cli", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=place.work,
            env={"OMP_WAIT_POLICY": "passive", **os.environ},
            start_new_session=True,
            creationflags=getattr(subprocess, "DETACHED_PROCESS", 0),
        )
    finally:
        os.close(log)
    assert process.stdout is not None
    limit = threading.Timer(START_S, process.kill)
    limit.start()
    try:
        process.stdout.readline()  # or the end of what it says, if it has failed
    finally:
        limit.cancel()
        process.stdout.close()


def first_message(read: Callable[[int], bytes] | None = None) -> bytes:
    """What the editor says, up to the end of its first message at least; less if it ends before.

    Args:
        read: Gives some bytes, and none at the end; standard input if not given.
    """
    read = read or (lambda size: os.read(0, size))
    said = bytearray()
    while len(said) < LONGEST_FIRST:
        head = _HEAD.search(said, 0, LONGEST_HEAD)
        if head is None and len(said) >= LONGEST_HEAD:
            break
        if head is not None and len(said) >= head.end() + int(head[1]):
            break
        chunk = read(1 << 16)
        if not chunk:
            break
        said += chunk
    return bytes(said)


def options_of(first: bytes) -> Options:
    """The options that an `initialize` asks for; those of nobody's wishes for anything else."""
    head = _HEAD.search(first, 0, LONGEST_HEAD)
    layer: object = None
    if head is not None:
        try:
            message = json.loads(first[head.end() : head.end() + int(head[1])])
            layer = message["params"]["initializationOptions"]
        except (ValueError, LookupError, TypeError, RecursionError):
            layer = None
    return merge([("initializationOptions", layer)])[0]


def _serve_alone(first: bytes) -> None:
    from server.serving import serve_stdio

    serve_stdio(io.BufferedReader(_Replayed(first)))


class _Replayed(io.RawIOBase):
    """Standard input with what was read of it before."""

    def __init__(self, first: bytes) -> None:
        super().__init__()
        self._first = memoryview(first)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._first[: len(buffer)] or memoryview(os.read(0, len(buffer)))
        self._first = self._first[len(data) :]
        buffer[: len(data)] = data
        return len(data)
