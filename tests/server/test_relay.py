"""What passes messages on: every byte, both ways, and an end when one side ends."""

import asyncio
import random
import sys
from contextlib import asynccontextmanager

import pytest

from server.refusal import refusal
from tests.server.command import REPOSITORY

PATIENCE_S = 60


@asynccontextmanager
async def passing_on(serve, *arguments: str):
    """A process that passes on to a server which is a function of its streams."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server.cli", "connect", f"127.0.0.1:{port}", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=REPOSITORY,
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
        server.close()


async def echo(reader, writer):
    """Says all back, and ends when the other side does."""
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    writer.close()


async def test_every_byte():
    """Of megabytes in one piece, whatever they are, while nobody waits for anybody."""
    data = random.Random(1).randbytes(5 << 20)
    async with passing_on(echo) as process:
        out, err = await process.communicate(data)

    assert out == data
    assert (process.returncode, err) == (0, b"")


async def test_the_end_of_the_input():
    """When the editor ends, what the server has still to say is passed on."""

    async def slow(reader, writer):
        said = await reader.read()
        await asyncio.sleep(0.2)
        writer.write(said[::-1])
        writer.close()

    async with passing_on(slow) as process:
        out, _ = await process.communicate(b"last words")

    assert out == b"sdrow tsal"
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("said", "code", "told"),
    [
        (b'{"jsonrpc": "2.0", "method": "exit"}\n', 0, b""),
        (b'{"method":"exit","params":null}\n', 0, b""),
        (b'{"text": "\\"method\\": \\"exit\\""}\n', 1, b"has closed the connection"),
        (b'{"method": "exited"}\n', 1, b"has closed the connection without an answer"),
    ],
    ids=["exit", "no blanks", "in a text", "another"],
)
async def test_the_server_ends(said, code, told):
    """After `exit` that is in order; before, the editor is to see that its server has gone."""

    async def serve(reader, writer):
        await reader.readline()
        writer.close()

    async with passing_on(serve) as process:
        process.stdin.write(said)
        assert await process.wait() == code
        heard = await process.stderr.read()
        assert told in heard
        assert bool(told) == bool(heard)


@pytest.mark.parametrize("is_open", [True, False], ids=["an editor that waits", "no input"])
async def test_nobody_is_let_in(is_open):
    """Why is told to the editor and on standard error, and the exit code says so as well."""

    async def serve(reader, writer):
        writer.write(refusal("the token is wrong"))
        await writer.drain()
        await asyncio.sleep(0.2)
        writer.close()

    async with passing_on(serve) as process:
        if not is_open:
            process.stdin.close()
        assert await process.wait() == 1
        assert await process.stdout.read() == refusal("the token is wrong")
        assert await process.stderr.read() == b"midtoken: the token is wrong\n"


async def test_a_message_to_a_person_is_no_refusal():
    """If a server says more than that, it has let the editor in."""

    async def serve(reader, writer):
        await reader.read()
        writer.write(refusal("a setting is wrong") + b"Content-Length: 2\r\n\r\n{}")
        writer.close()

    async with passing_on(serve) as process:
        out, err = await process.communicate(b"hello")
    assert (process.returncode, err) == (0, b"")
    assert out.endswith(b"{}")


async def test_an_editor_that_does_not_read():
    """What it says is passed on all the same."""
    heard = asyncio.Event()

    async def serve(reader, writer):
        writer.write(b"x" * (4 << 20))
        await reader.readline()
        heard.set()
        writer.close()

    async with passing_on(serve) as process:
        process.stdin.write(b"hello\n")
        await heard.wait()
