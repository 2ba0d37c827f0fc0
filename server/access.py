r"""Who may use a server: a secret token, sent as the first line of a connection.

The line looks like a header of the protocol's messages, so whatever sends the token in front of an
editor's bytes needs to know nothing else::

    Authorization: Bearer 2f1c…\r\n
    Content-Length: 5301\r\n
    \r\n
    {"jsonrpc": …

A server that was found by a file (`shared`) proves first that it knows the token, too: the file may
be old and its port somebody else's by now, who must not get to see the token or any document.
Only tokens that were drawn at random are proved, since a proof lets others try words in peace::

    editor: Midtoken-Nonce: <64 digits>
    server: Midtoken-Proof: <HMAC-SHA256 of the nonce, keyed by the token>
    editor: Authorization: Bearer <token>
    server: Midtoken-Welcome: yes

Tokens are compared in constant time. Not here: connections and their limits (`gate`).
"""

import asyncio
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

from server.errors import EngineError, UsageError
from server.private_files import read_private

ENVIRONMENT = "MIDTOKEN_TOKEN"

LEAST_CHARACTERS, MOST_CHARACTERS = 16, 1024
"""A shorter token can be guessed, given time; a longer one is some other file."""

WELCOME = b"Midtoken-Welcome: yes\r\n"

_TOKEN = re.compile(rb"[\x21-\x7e]+")
_AUTHORIZATION = re.compile(rb"authorization:[ \t]*bearer[ \t]+([\x21-\x7e]+)[ \t]*\r?\n", re.I)
_NONCE = re.compile(rb"Midtoken-Nonce: ([0-9a-f]{64})\r\n")

Admit = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]]
"""Reads what comes before a connection's messages. Returns what a welcome sends; may be nothing."""


class Refused(Exception):
    """A connection is not let in; the text is for the person behind it."""


def read_token(path: str | None) -> bytes | None:
    """The token in a file, or in the environment; None if there is neither.

    Raises UsageError if the file can't be read or is not private, or the token can't be one.
    """
    if path is not None:
        where = path
        try:
            content = read_private(Path(path), MOST_CHARACTERS + 2).strip()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "no file has such a name"
            raise UsageError(
                f"the token file {path} can't be used: {reason} (it must be yours, with mode 0600)"
            ) from error
    else:
        where = ENVIRONMENT
        content = os.environ.get(ENVIRONMENT, "").strip().encode(errors="surrogateescape")
        if not content:
            return None
    if not LEAST_CHARACTERS <= len(content) <= MOST_CHARACTERS or not _TOKEN.fullmatch(content):
        raise UsageError(
            f"{where} holds no token: {LEAST_CHARACTERS} to {MOST_CHARACTERS} letters, digits and "
            "marks without blanks, as `openssl rand -hex 32` makes them"
        )
    return content


def authorization(token: bytes) -> bytes:
    """The line that shows a token."""
    return b"Authorization: Bearer %s\r\n" % token


def admission(token: bytes | None, *, proves: bool = False) -> Admit:
    """What reads a connection's token; without one everybody may come in.

    Raises Refused for a wrong token or none.
    """

    async def admit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        if token is None:
            return b""
        line, welcome = await _line(reader), b""
        if proves and (asked := _NONCE.fullmatch(line)):
            writer.write(_proof(token, asked[1]))
            line, welcome = await _line(reader), WELCOME
        given = _AUTHORIZATION.fullmatch(line)
        if given is None:
            raise Refused(
                "this server wants a token: have your editor start "
                "`midtoken connect HOST:PORT --token-file FILE`"
            )
        if not hmac.compare_digest(_digest(given[1]), _digest(token)):
            raise Refused("the token is wrong: ask whoever runs the server for the right one")
        return welcome

    return admit


async def ask_in(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: bytes) -> None:
    """The editor's side with a server that was found: see whether it is ours, then come in.

    Raises EngineError if it is not, or lets nobody in; nothing secret has been said then.
    """
    nonce = secrets.token_hex(32).encode()
    writer.write(b"Midtoken-Nonce: %s\r\n" % nonce)
    if not hmac.compare_digest(await _line(reader), _proof(token, nonce)):
        raise EngineError("what answers there is no server of midtoken's")
    writer.write(authorization(token))
    if await _line(reader) != WELCOME:
        raise EngineError("the server lets nobody in")


async def _line(reader: asyncio.StreamReader) -> bytes:
    """One line; empty or without its end if there is none, or if it goes on and on."""
    try:
        return await reader.readline()
    except ValueError:
        return b""


def _proof(token: bytes, nonce: bytes) -> bytes:
    digest = hmac.digest(token, b"midtoken server " + nonce, "sha256")
    return b"Midtoken-Proof: %s\r\n" % digest.hex().encode()


def _digest(token: bytes) -> bytes:
    """Of the same length for any token, so that comparing tells nothing of it either."""
    return hashlib.sha256(token).digest()
