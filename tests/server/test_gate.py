"""The way in: limits, and what connections can do before and after they have shown a token."""

import asyncio
import json
import socket
import ssl
from contextlib import asynccontextmanager, suppress

import pytest

from server import gate as gate_module
from server.access import admission, authorization
from server.gate import ENTERING, BoundedWriter, Gate

TOKEN = b"0123456789abcdef-secret"
PATIENCE_S = 60


async def echo(reader, writer):
    """Says back every line."""
    while line := await reader.readline():
        writer.write(line)


@asynccontextmanager
async def running(serve=echo, token=TOKEN, **options):
    """A gate, and a function that connects to it."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    gate = Gate(listening, admission(token), serve, **options)
    keeping = asyncio.ensure_future(gate.keep())
    writers = []

    async def connect(said: bytes = b"", **how):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, **how)
        writers.append(writer)
        writer.write(said)
        return reader, writer

    try:
        async with asyncio.timeout(PATIENCE_S):
            yield gate, connect
    finally:
        keeping.cancel()
        await asyncio.wait({keeping})
        for writer in writers:
            writer.close()


async def message(reader) -> str:
    """What an editor would show of what it is told; the connection ends with it."""
    data = await reader.read()
    head, _, body = data.partition(b"\r\n\r\n")
    assert head == b"Content-Length: %d" % len(body)
    shown = json.loads(body)
    assert shown["method"] == "window/showMessage"
    return shown["params"]["message"]


async def test_let_in():
    """With the token what follows is served."""
    async with running() as (gate, connect):
        reader, _ = await connect(authorization(TOKEN) + b"hello\n")

        assert await reader.readline() == b"hello\n"
        assert not gate.is_empty


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"Authorization: Bearer wrong-wrong-wrong\r\n" + b"x" * 100_000, "the token is wrong"),
        (b"Content-Length: 999999999\r\n\r\n" + b"{" * 300_000, "wants a token"),
        (b"GET / HTTP/1.1\r\n\r\n", "wants a token"),
        (b"y" * 1_000_000, "wants a token"),
        (b"\x16\x03\x01\x02\x00\x01\n", "wants a token"),
    ],
    ids=["wrong token", "no token", "HTTP", "a line without end", "TLS"],
)
async def test_refused(said, told):
    """Garbage and wrong tokens are told so in a message that editors show; others go on."""
    async with running() as (_, connect):
        reader, _ = await connect(said)
        assert told in await message(reader)

        other, _ = await connect(authorization(TOKEN) + b"hello\n")
        assert await other.readline() == b"hello\n"


async def test_slow_ones(monkeypatch):
    """Who sends the token's line byte by byte is thrown out in time."""
    monkeypatch.setattr(gate_module, "ENTRY_S", 0.2)
    async with running() as (gate, connect):
        reader, writer = await connect()
        dripping = asyncio.ensure_future(drip(writer))
        with suppress(ConnectionError):
            assert await reader.read() == b""
        await dripping
        assert gate.is_empty


async def drip(writer):
    """Send a byte now and then, until that is not possible any more."""
    with suppress(ConnectionError):
        while True:
            writer.write(b"A")
            await writer.drain()
            await asyncio.sleep(0.01)


async def test_many_slow_ones_keep_nobody_out(monkeypatch):
    """Of those who have not shown a token the oldest go when there are too many, at once."""
    monkeypatch.setattr(gate_module, "ENTRY_S", 10 * PATIENCE_S)
    async with running() as (gate, connect):
        slow = [await connect(b"Auth") for _ in range(2 * ENTERING)]
        reader, _ = await connect(authorization(TOKEN) + b"hello\n")

        assert await reader.readline() == b"hello\n"
        for thrown_out, _ in slow[:ENTERING]:
            assert await thrown_out.read() == b""
        assert len(gate._entering) <= ENTERING


async def test_memory_of_those_who_wait():
    """What is kept of a connection that has not shown a token is bounded, whatever it sends."""
    held = []

    async def admit(reader, writer):
        held.append(reader)
        await asyncio.sleep(3600)

    listening = socket.create_server(("127.0.0.1", 0))
    gate = Gate(listening, admit, echo)
    keeping = asyncio.ensure_future(gate.keep())
    _, writer = await asyncio.open_connection(*listening.getsockname())
    for _ in range(64):
        writer.write(b"x" * (1 << 20))
        await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(writer.drain(), 0.3)

    assert len(held[0]._buffer) < 1 << 19
    writer.transport.abort()
    keeping.cancel()
    await asyncio.wait({keeping})


async def test_too_many():
    """One more than may be inside is told so, and comes in when another has gone."""
    async with running(most=2) as (_, connect):
        inside = [await connect(authorization(TOKEN) + b"hello\n") for _ in range(2)]
        for reader, _ in inside:
            assert await reader.readline() == b"hello\n"
        refused, _ = await connect(authorization(TOKEN))
        assert "2 editors are connected already" in await message(refused)

        inside[0][1].close()
        assert await inside[0][0].read() == b""
        while True:  # until the server has seen it
            reader, _ = await connect(authorization(TOKEN) + b"again\n")
            if await reader.readline() == b"again\n":
                break


async def test_a_failure_is_nobody_elses():
    """A connection that fails harms no other."""

    async def serve(reader, writer):
        if await reader.readline() == b"fail\n":
            raise RuntimeError
        writer.write(b"well\n")

    async with running(serve, token=None) as (_, connect):
        failed, _ = await connect(b"fail\n")
        assert await failed.read() == b""
        reader, _ = await connect(b"go on\n")
        assert await reader.read() == b"well\n"


async def test_the_end():
    """When the gate closes, all connections end, and what served them has cleaned up."""
    cleaned = []

    async def serve(reader, writer):
        try:
            await echo(reader, writer)
        finally:
            cleaned.append(True)

    async with running(serve) as (gate, connect):
        streams = [await connect(authorization(TOKEN) + b"hello\n") for _ in range(3)]
        for reader, _ in streams:
            await reader.readline()
    assert cleaned == [True] * 3
    assert gate.is_empty
    for reader, _ in streams:
        assert await reader.read() == b""


async def test_who_does_not_read(monkeypatch):
    """A connection whose other side takes nothing is given up instead of kept in memory."""
    monkeypatch.setattr(gate_module, "UNREAD_BYTES", 1 << 20)
    most = []

    async def serve(reader, writer):
        bounded = BoundedWriter(writer)
        while not writer.is_closing() and len(most) < 10_000 and sum(most[-1:]) < 1 << 23:
            bounded.write(b"x" * (1 << 18))
            most.append(writer.transport.get_write_buffer_size())
            await asyncio.sleep(0)

    async with running(serve) as (gate, connect):
        await connect(authorization(TOKEN), limit=16)
        while not gate.is_empty or not most:
            await asyncio.sleep(0)
    assert max(most) < 1 << 22


async def test_tls(certificate):
    """Encrypted connections are served; one that is not encrypted gets nothing."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)
    trusting = ssl.create_default_context(cafile=certificate[0])
    async with running(tls=context) as (_, connect):
        plain, _ = await connect(authorization(TOKEN) + b"hello\n")
        assert await plain.read() == b""
        reader, _ = await connect(authorization(TOKEN) + b"hello\n", ssl=trusting)
        assert await reader.readline() == b"hello\n"


async def test_slow_handshakes(certificate, monkeypatch):
    """A TLS handshake that does not go on is not waited for."""
    monkeypatch.setattr(gate_module, "ENTRY_S", 0.2)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)
    async with running(tls=context) as (gate, connect):
        reader, _ = await connect(b"\x16\x03\x01")
        assert await reader.read() == b""
        while not gate.is_empty:
            await asyncio.sleep(0.01)
