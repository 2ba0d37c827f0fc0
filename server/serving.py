"""`midtoken serve`: the language server over standard input and output, or over TCP."""

import asyncio
import contextlib
import errno
import faulthandler
import logging
import socket
import ssl
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

from pygls.io_ import StdinAsyncReader, StdoutWriter

from server.access import admission, read_token
from server.address import is_loopback, parsed
from server.backend import Backend
from server.ending import run
from server.engine.llama_library import protect_stdout
from server.errors import EngineError, NoEditorError, UsageError
from server.gate import CONNECTIONS, BoundedWriter, Gate, Serve, close_gently
from server.handlers import create_server
from server.hosting import LOCAL_MESSAGE_BYTES, NETWORK_MESSAGE_BYTES, Hosting
from server.option_layers import HOST, merge, toml_of
from server.plain_files import fault_of

logger = logging.getLogger("midtoken.serving")

GIVE_WAY_S = 1e-3
"""After so long a thread that computes lets the event loop go on; Python's own 5 ms are felt where
several such waits come together."""

WAITING = 128
"""Connections that the system keeps until they are looked at."""


@dataclass(frozen=True)
class TcpOptions:
    """How to serve on a port."""

    address: str
    token_file: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    insecure: bool = False
    settings: str | None = None
    connections: int = CONNECTIONS


class OpenWriter(StdoutWriter):
    """Writes while it is open: what is taken back by an `exit` is answered after the end.

    An editor that does not read any more may still have its end of standard input open.
    """

    def write(self, data: bytes) -> None:
        """Send, unless it is closed or nobody reads."""
        if self._stdout.closed:
            return
        try:
            super().write(data)
        except BrokenPipeError:
            logger.warning("the editor has gone without a word")
            with contextlib.suppress(BrokenPipeError):  # of what is left to be written
                self._stdout.close()


def serve_stdio(source: BufferedReader | None = None) -> None:
    """Serve one editor over standard input and output, until it says exit.

    Args:
        source: Where the editor's messages come from, if not from standard input.

    Raises:
        NoEditorError: Something was said, and no message was in it.
    """
    prepare_process()
    output = protect_stdout()
    reading = ThreadPoolExecutor(1, "midtoken input")

    async def connection(backend: Backend) -> None:
        server = create_server(backend)
        server.protocol.set_writer(OpenWriter(output))
        try:
            await server.protocol.read_all(StdinAsyncReader(source or sys.stdin.buffer, reading))
        finally:
            server.leave()
        if server.protocol.heard is False:
            raise NoEditorError

    try:
        run(connection)
    finally:
        reading.shutdown()


def serve_tcp(options: TcpOptions) -> None:
    """Serve any number of editors on a port, with one model.

    Raises UsageError for options that do not go together or can't be used, and EngineError if the
    port can't be had.
    """
    host, port = parsed(options.address)
    is_local = is_loopback(host)
    token = read_token(options.token_file)
    tls = _tls(options)
    if not is_local and token is None:
        raise UsageError(
            f"{host} can be reached from other machines: give --token-file (or MIDTOKEN_TOKEN), or "
            "serve on 127.0.0.1 and reach it through a tunnel (ssh -L)"
        )
    if not is_local and tls is None and not options.insecure:
        raise UsageError(
            f"{host} can be reached from other machines: give --tls-cert and --tls-key, or "
            "--insecure where the network itself is encrypted"
        )
    hosting = Hosting(
        settings=_settings(options.settings),
        remote=not is_local,
        longest_message=LOCAL_MESSAGE_BYTES if is_local else NETWORK_MESSAGE_BYTES,
    )
    prepare_process()
    try:
        listening = _listening(host, port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise EngineError(f"{options.address} is in use: choose another port") from error
        reason = (error.strerror or "").partition(" (while")[0]  # Python repeats the address there
        raise EngineError(f"{options.address} can't be served: {reason}") from error
    shown = listening.getsockname()
    ways = ["with TLS"] * (tls is not None) + ["with a token"] * (token is not None)
    how = f", {' and '.join(ways)}" if ways else ""

    async def serve(backend: Backend) -> None:
        gate = Gate(
            listening,
            admission(token),
            server_for(backend, hosting),
            tls=tls,
            most=options.connections,
        )
        print(f"midtoken serves{how} on {shown[0]}:{shown[1]}", file=sys.stderr, flush=True)
        if hosting.settings or hosting.remote:  # else the first editor says which model
            loaded, _ = merge([(HOST, hosting.settings)])
            starting = asyncio.ensure_future(backend.start(loaded))
            starting.add_done_callback(lambda _: None)  # what is wrong is told by the backend
        await gate.keep()

    run(serve)


def server_for(backend: Backend, hosting: Hosting) -> Serve:
    """What serves a connection that was let in."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server = create_server(backend, hosting)
        server.protocol.set_writer(BoundedWriter(writer))
        try:
            with contextlib.suppress(ConnectionError, SystemExit):
                await server.protocol.read_all(reader)
                await close_gently(reader, writer)
        finally:
            server.leave()

    return serve


def prepare_process() -> None:
    """Let threads give way, and C code that fails say so on standard error before the end."""
    sys.setswitchinterval(GIVE_WAY_S)
    if sys.stderr is not None:
        faulthandler.enable(sys.stderr, all_threads=False)


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises OSError."""
    family, _, _, _, place = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    return socket.create_server(place[:2], family=family, backlog=WAITING)


def _tls(options: TcpOptions) -> ssl.SSLContext | None:
    """How connections are encrypted; None if they are not. Raises UsageError."""
    if options.tls_cert is None or options.tls_key is None:
        if options.tls_cert or options.tls_key:
            raise UsageError("--tls-cert and --tls-key go together")
        return None
    for path in (options.tls_cert, options.tls_key):
        if fault := fault_of(Path(path)):
            raise UsageError(f"{path} {fault}")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(options.tls_cert, options.tls_key, password=lambda: "")
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise UsageError(
            f"{options.tls_cert} and {options.tls_key} are no certificate and its key ({reason}): "
            "both are to be PEM, and the key without a password"
        ) from error
    return context


def _settings(path: str | None) -> Mapping[str, Any]:
    """The settings in a file, as in `midtoken.toml`. Raises UsageError, also for what is wrong."""
    if path is None:
        return {}
    if fault := fault_of(Path(path)):
        raise UsageError(f"{path} {fault}")
    try:
        found = toml_of(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} can't be used: {error}") from error
    _, problems = merge([(HOST, found)])
    if problems:
        raise UsageError(f"{path}: {problems[0].message}")
    return found
