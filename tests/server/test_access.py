"""Tokens: where they are read from, who is let in, and servers that are not ours."""

import asyncio
import hmac
import os
from contextlib import nullcontext

import pytest

from server import access
from server.access import Refused, admission, ask_in, authorization, read_token
from server.errors import EngineError, UsageError

TOKEN = b"0123456789abcdef-secret"


def connected() -> tuple[asyncio.StreamReader, "Written"]:
    reader = asyncio.StreamReader()
    return reader, Written()


class Written:
    """What was written to a connection."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data


@pytest.fixture
def token_file(tmp_path):
    path = tmp_path / "token"
    path.write_bytes(TOKEN + b"\n")
    path.chmod(0o600)
    return path


def test_from_a_file(token_file):
    """Blanks and line ends around it do not count."""
    assert read_token(str(token_file)) == TOKEN


def test_from_the_environment(monkeypatch):
    """If no file is named; without a token there is none."""
    monkeypatch.delenv("MIDTOKEN_TOKEN", raising=False)
    assert read_token(None) is None
    monkeypatch.setenv("MIDTOKEN_TOKEN", TOKEN.decode())
    assert read_token(None) == TOKEN


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666, 0o620])
def test_others_may_read_it(token_file, mode):
    """Such a file is no secret."""
    token_file.chmod(mode)
    with pytest.raises(UsageError, match=r"may be read by others.*0600"):
        read_token(str(token_file))


def test_somebody_elses(token_file, monkeypatch):
    """Nor is one that another user wrote."""
    owner = os.getuid()
    os.chown(token_file, 4711, -1) if owner == 0 else monkeypatch.setattr(os, "getuid", lambda: 1)
    with pytest.raises(UsageError, match="belongs to somebody else"):
        read_token(str(token_file))


@pytest.mark.parametrize(
    "content",
    [b"", b"short", b"with blanks in between it", b"x" * 1025, b"\xff" * 20, b"a" * 15, b"\0" * 32],
    ids=["empty", "short", "blanks", "long", "bytes", "15", "zeros"],
)
def test_no_token(token_file, content):
    """What can't be sent in a header, or can be guessed, is refused when it is read."""
    token_file.write_bytes(content)
    with pytest.raises(UsageError, match="holds no token: 16 to 1024"):
        read_token(str(token_file))


def test_no_file(tmp_path):
    """A missing file, a folder and a pipe are told, and not waited for."""
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("missing", ".", "pipe", "\0"):
        with pytest.raises(UsageError, match="can't be used"):
            read_token(str(tmp_path / name))


@pytest.mark.parametrize(
    "line",
    [
        authorization(TOKEN),
        b"authorization:bearer " + TOKEN + b"\n",
        b"AUTHORIZATION: \tBearer  " + TOKEN + b" \r\n",
    ],
)
async def test_let_in(line):
    """The right token, as header fields may be written; what follows is left for the server."""
    reader, writer = connected()
    reader.feed_data(line + b"Content-Length: 2\r\n")

    assert await admission(TOKEN)(reader, writer) == b""
    assert await reader.readline() == b"Content-Length: 2\r\n"
    assert writer.data == b""


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\r\n",
        b"Content-Length: 5\r\n\r\n{}",
        b"Authorization: Bearer \r\n",
        b"Authorization: Basic " + TOKEN + b"\r\n",
        b"Authorization: Bearer " + TOKEN + b"x\r\n",
        b"Authorization: Bearer " + TOKEN[:-1] + b"\r\n",
        b"Authorization: Bearer " + TOKEN + b" " + TOKEN + b"\r\n",
        b"Authorization: Bearer " + TOKEN,
        b"x" * 200_000,
        b"GET / HTTP/1.1\r\nAuthorization: Bearer " + TOKEN + b"\r\n",
        b"Midtoken-Nonce: " + b"0" * 64 + b"\r\nAuthorization: Bearer " + TOKEN + b"\r\n",
        bytes(range(256)),
    ],
    ids=lambda line: repr(line[:30]),
)
async def test_refused(line):
    """Whatever else comes first is refused, and nothing is said of the token."""
    reader, writer = connected()
    reader.feed_data(line)
    reader.feed_eof()

    with pytest.raises(Refused) as refused:
        await admission(TOKEN)(reader, writer)
    assert TOKEN.decode() not in str(refused.value)
    assert writer.data == b""


@pytest.mark.parametrize("given", [TOKEN, b"x", TOKEN[:-1], TOKEN[:-1] + b"x", b"y" * 1024])
@pytest.mark.parametrize("says", [True, False])
async def test_compared_in_constant_time(monkeypatch, given, says):
    """One comparison decides, whose time depends neither on the bytes nor on the length."""
    compared = []
    monkeypatch.setattr(hmac, "compare_digest", lambda *both: compared.append(both) or says)
    reader, writer = connected()
    reader.feed_data(authorization(given))

    with nullcontext() if says else pytest.raises(Refused, match="the token is wrong"):
        await admission(TOKEN)(reader, writer)
    [(one, other)] = compared
    assert len(one) == len(other)
    assert (one == other) == (given == TOKEN)


@pytest.mark.parametrize("says", [True, False])
async def test_proofs_are_compared_in_constant_time(monkeypatch, says):
    """The same on an editor's side: nobody finds a proof byte by byte."""
    compared = []
    monkeypatch.setattr(hmac, "compare_digest", lambda *both: compared.append(both) or says)
    reader, writer = connected()
    reader.feed_data(b"Midtoken-Proof: 00\r\n" + access.WELCOME)

    with nullcontext() if says else pytest.raises(EngineError, match="no server of midtoken's"):
        await ask_in(reader, writer, TOKEN)
    assert len(compared) == 1


async def test_without_a_token():
    """Everybody is let in, and nothing is read."""
    reader, writer = connected()
    reader.feed_data(b"Content-Length: 2\r\n")

    assert await admission(None)(reader, writer) == b""
    assert await reader.readline() == b"Content-Length: 2\r\n"


async def over_sockets(server_token: bytes, editor_token: bytes) -> list[bytes]:
    """A server that proves itself, and an editor that asks in. Gives all that the editor sent."""
    sent: list[bytes] = []

    async def serve(reader, writer):
        readline = reader.readline

        async def noted():
            sent.append(await readline())
            return sent[-1]

        reader.readline = noted
        try:
            writer.write(await admission(server_token, proves=True)(reader, writer))
        except Refused:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        streams = await asyncio.open_connection(*server.sockets[0].getsockname())
        try:
            await ask_in(*streams, editor_token)
        finally:
            streams[1].close()
    return sent


async def test_proved():
    """A server that knows the token lets an editor in that knows it."""
    assert authorization(TOKEN) in await over_sockets(TOKEN, TOKEN)


async def test_somebody_else_has_the_port():
    """A server that does not know the token never gets to see it."""
    with pytest.raises(EngineError, match="no server of midtoken's"):
        await over_sockets(b"another secret of sixteen", TOKEN)


@pytest.mark.parametrize(
    "answer",
    [b"", b"\r\n", b"HTTP/1.1 400 Bad Request\r\n", b"x" * 100_000, b"Midtoken-Proof: 00\r\n"],
    ids=lambda answer: repr(answer[:20]),
)
async def test_strange_servers(answer):
    """Nor does one that says anything else."""
    reader, writer = connected()
    reader.feed_data(answer)
    reader.feed_eof()

    with pytest.raises(EngineError):
        await ask_in(reader, writer, TOKEN)
    assert TOKEN not in writer.data


async def test_proofs_are_fresh():
    """Who has listened in can't answer the next nonce; and a proof is not the token."""
    one, two = (access._proof(TOKEN, nonce) for nonce in (b"0" * 64, b"1" * 64))

    assert one != two
    assert TOKEN not in one
