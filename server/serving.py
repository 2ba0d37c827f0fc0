"""`midtoken serve`: the language server over standard input and output, or over TCP."""

import asyncio
import contextlib
import faulthandler
import logging
import re
import sys
from concurrent.futures import ThreadPoolExecutor

from pygls.io_ import StdinAsyncReader, StdoutWriter

from server.backend import Backend
from server.engine.llama_library import protect_stdout
from server.errors import EngineError, UsageError
from server.handlers import create_server

logger = logging.getLogger("midtoken.serving")

GIVE_WAY_S = 1e-3
"""After so long a thread that computes lets the event loop go on; Python's own 5 ms are felt where
several such waits come together."""

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def serve_stdio() -> None:
    """Serve one editor over standard input and output, until it says exit."""
    _prepare_process()
    output = protect_stdout()
    backend = Backend()
    with ThreadPoolExecutor(1, "midtoken input") as reading:

        async def connection() -> None:
            server = create_server(backend)
            server.protocol.set_writer(StdoutWriter(output))
            try:
                await server.protocol.read_all(StdinAsyncReader(sys.stdin.buffer, reading))
            finally:
                server.leave()

        try:
            asyncio.run(connection())
        except BrokenPipeError:
            logger.warning("the editor has gone without a word")
        finally:
            backend.close()


def serve_tcp(address: str) -> None:
    """Serve any number of editors on a port of this machine, with one model.

    Raises UsageError for an address that is not `HOST:PORT` or not of this machine, and EngineError
    if the port can't be had.
    """
    _prepare_process()
    host, _, port = address.rpartition(":")
    if not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535:
        raise UsageError(f"{address} is not an address: write HOST:PORT, as in 127.0.0.1:7777")
    host = host.strip("[]") or "127.0.0.1"
    if host not in LOOPBACK:
        raise UsageError(
            f"{host} is not this machine: serve on 127.0.0.1 and reach it through a tunnel (ssh -L)"
        )
    try:
        asyncio.run(_serve_tcp(host, int(port)))
    except OSError as error:
        raise EngineError(f"{address} can't be served ({error.strerror}): is it in use?") from error


def _prepare_process() -> None:
    """Let threads give way, and C code that fails say so on standard error before the end."""
    sys.setswitchinterval(GIVE_WAY_S)
    if sys.stderr is not None:
        faulthandler.enable(sys.stderr, all_threads=False)


async def _serve_tcp(host: str, port: int) -> None:
    backend = Backend()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server = create_server(backend)
        server.protocol.set_writer(writer)
        try:
            with contextlib.suppress(ConnectionError, SystemExit, asyncio.CancelledError):
                await server.protocol.read_all(reader)
        finally:
            server.leave()
            writer.close()

    listener = await asyncio.start_server(connection, host, port)
    shown = listener.sockets[0].getsockname()
    print(f"midtoken serves on {shown[0]}:{shown[1]}", file=sys.stderr, flush=True)
    try:
        async with listener:
            await listener.serve_forever()
    finally:
        backend.close()
