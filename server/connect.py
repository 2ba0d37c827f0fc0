"""`midtoken connect`: an editor's way to a server of `midtoken serve --tcp`, elsewhere or here.

Language clients can't show tokens, and most know no TLS; this does both for them.
"""

import asyncio
import os
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from server.access import authorization, read_token
from server.address import is_loopback, parsed
from server.errors import EngineError, UsageError
from server.plain_files import fault_of
from server.relay import ENDED, end_by_signal, relay

PATIENCE_S = 10.0
"""For a connection to come about."""

NO_ANSWER = (
    "{} has closed the connection without an answer: if the server was started with --tls-cert, "
    "give --tls, and --tls-ca for a certificate of its own; if it has ended, start it again"
)


@dataclass(frozen=True)
class ConnectOptions:
    """Which server, and how it is reached."""

    address: str
    token_file: str | None = None
    tls: bool = False
    tls_ca: str | None = None
    insecure: bool = False


def run_connect(options: ConnectOptions) -> None:
    """Pass messages on until the editor ends.

    Raises UsageError for options that can't be used, EngineError if the server can't be reached or
    has gone.
    """
    host, port = parsed(options.address, least_port=1)
    token = read_token(options.token_file)
    encrypted = options.tls or not (options.insecure or is_loopback(host))
    end_by_signal()
    asyncio.run(_connect(host, port, token, _context(options.tls_ca) if encrypted else None))


async def _connect(
    host: str, port: int, token: bytes | None, context: ssl.SSLContext | None
) -> None:
    shown = f"{host}:{port}"
    try:
        async with asyncio.timeout(PATIENCE_S):
            streams = await asyncio.open_connection(host, port, ssl=context)
    except ssl.SSLCertVerificationError as error:
        raise EngineError(
            f"the certificate of {shown} is not trusted ({error.verify_message}): give the right "
            "one by --tls-ca, and the name that it is made out to as the host"
        ) from error
    except ssl.SSLError as error:
        raise EngineError(
            f"{shown} does not speak TLS ({error.reason}): is it a server that was started with "
            "--tls-cert? If it was started with --insecure, give --insecure here as well"
        ) from error
    except TimeoutError as error:
        raise EngineError(f"{shown} does not answer within {PATIENCE_S:.0f} s") from error
    except OSError as error:
        raise EngineError(
            f"no server answers at {shown}{_reason(error)}: is it running?"
        ) from error
    first = b"" if token is None else authorization(token)
    await relay(*streams, first, ENDED if context else NO_ANSWER.format(shown))


def _reason(error: OSError) -> str:
    """Why there is no connection, in parentheses, or nothing.

    asyncio's own texts show calls and tuples. One about several addresses has no number.
    """
    if isinstance(error, socket.gaierror):
        return f" ({error.strerror})"
    return f" ({os.strerror(error.errno)})" if error.errno else ""


def _context(authority: str | None) -> ssl.SSLContext:
    """What is trusted. Raises UsageError."""
    if authority is None:
        return ssl.create_default_context()
    if fault := fault_of(Path(authority)):
        raise UsageError(f"{authority} {fault}")
    try:
        return ssl.create_default_context(cafile=authority)
    except (OSError, ValueError) as error:
        raise UsageError(f"{authority} is no certificate (PEM)") from error
