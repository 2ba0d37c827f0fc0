"""The way in to a server of several editors: who has come, who may stay, and how many.

A connection first enters: the TLS handshake and the token's line, for which it has ten seconds and
half a megabyte of memory at most. So many may be entering at once; another one has the oldest of
them thrown out, so that whoever is slow on purpose keeps nobody out who is not. Then it is inside,
where places are limited as well, and its messages are served.

Whoever is not let in is told why in a message that every editor shows (`window/showMessage`).
Not here: what a token is (`access`), and what messages mean.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress

from server.access import Admit, Refused
from server.refusal import refusal

logger = logging.getLogger("midtoken.gate")

CONNECTIONS = 32
"""Editors inside: each may have documents of 256 MiB, and all of them wait for one model."""

ENTERING = 32
"""Connections that have not shown their token yet."""

ENTRY_S = 10.0
"""A slow handshake over a slow line takes two."""

UNREAD_BYTES = 64 << 20
"""What is kept for an editor that does not read: more than any answer, so it has stopped."""

LINGER_S = 1.0
"""So long what a refused one still sends is read and thrown away, or it would not see our words:
closing a socket with unread data resets the connection."""

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Gate:
    """Lets connections of one listening socket in. All methods belong to one event loop."""

    def __init__(
        self,
        listening: socket.socket,
        admit: Admit,
        serve: Serve,
        *,
        tls: ssl.SSLContext | None = None,
        most: int = CONNECTIONS,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare; `keep` begins.

        Args:
            listening: A socket that listens; it is closed at the end.
            admit: Reads what comes before a connection's messages.
            serve: Serves a connection until it ends; whatever it raises is logged.
            tls: How to encrypt; None for not at all.
            most: So many are inside at once.
            changed: Called when somebody has come or gone.
        """
        self._listening = listening
        self._admit, self._serve, self._tls, self._most = admit, serve, tls, most
        self._changed = changed
        self._entering: dict[asyncio.Task[None], None] = {}
        """Oldest first."""
        self._inside: set[asyncio.Task[None]] = set()

    @property
    def is_empty(self) -> bool:
        """Whether nobody is inside or about to be."""
        return not self._entering and not self._inside

    async def keep(self) -> None:
        """Let connections in until this task is cancelled; then all of them end."""
        loop = asyncio.get_running_loop()
        self._listening.setblocking(False)
        try:
            while True:
                try:
                    connected, _ = await loop.sock_accept(self._listening)
                except OSError as error:  # too many files are open, for instance
                    logger.warning("nobody can be let in for now: %s", error.strerror or error)
                    await asyncio.sleep(1)
                    continue
                self._entering[loop.create_task(self._connection(connected))] = None
                if len(self._entering) > ENTERING:
                    oldest = next(iter(self._entering))
                    del self._entering[oldest]
                    oldest.cancel()
                await asyncio.sleep(0)  # others have their turn even if many come at once
        finally:
            self._listening.close()
            ending = [*self._entering, *self._inside]
            for task in ending:
                task.cancel()
            if ending:
                await asyncio.wait(ending)

    async def _connection(self, connected: socket.socket) -> None:
        me = asyncio.current_task()
        assert me is not None
        streams = None
        try:
            try:
                async with asyncio.timeout(ENTRY_S):
                    streams = await opened(connected, self._tls)
                    welcome = await self._admit(*streams)
                if len(self._inside) >= self._most:
                    inside = "1 editor is" if self._most == 1 else f"{self._most} editors are"
                    raise Refused(f"{inside} connected already, which is the limit")
                self._inside.add(me)
            finally:
                self._entering.pop(me, None)
            streams[1].write(welcome)
            self._changed()
            await self._serve(*streams)
        except Refused as refused:
            logger.info("a connection is refused: %s", refused)
            assert streams is not None
            streams[1].write(refusal(str(refused)))
            await close_gently(*streams)
        except (OSError, EOFError) as error:  # TimeoutError and errors of TLS are among the first
            logger.info("a connection ends: %s", error or type(error).__name__)
        except asyncio.CancelledError:
            logger.debug("a connection is ended")
        except Exception:
            logger.exception("a connection ends by a failure")
        finally:
            self._inside.discard(me)
            if streams is None:
                connected.close()
            else:
                streams[1].close()
            self._changed()


class BoundedWriter:
    """Writes to a connection, and gives up one whose editor does not read."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        """Send, without waiting."""
        if self._writer.transport.get_write_buffer_size() > UNREAD_BYTES:
            logger.warning("an editor does not read what it is sent: its connection is ended")
            self._writer.transport.abort()
        elif not self._writer.is_closing():
            self._writer.write(data)

    def close(self) -> None:
        """End the connection when all is sent."""
        self._writer.close()


async def opened(
    connected: socket.socket, tls: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Streams of a socket that was accepted, encrypted if so wished. Raises OSError."""
    if connected.family != getattr(socket, "AF_UNIX", None):
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await loop.connect_accepted_socket(
        lambda: protocol,
        connected,
        ssl=tls,
        ssl_handshake_timeout=None if tls is None else ENTRY_S,
    )
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def close_gently(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """End a connection so that the other side gets to read what was written."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(LINGER_S):
            await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
            while await reader.read(1 << 16):
                pass
    writer.close()
