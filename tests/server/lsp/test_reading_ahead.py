"""Reading while nobody asks: after opening, after an edit, and never where it is switched off."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.server.lsp.client import PATIENCE_S, Client
from tests.server.test_window import program

pytestmark = pytest.mark.asyncio(loop_scope="session")

URI = "file:///ahead.py"


async def counters(client: Client) -> dict[str, Any]:
    return await client.request("midtoken/counters", {})


async def until(is_true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await is_true():
            await asyncio.sleep(0.05)


async def at_rest(client: Client) -> int:
    """Wait until nothing more is read; the tokens that were read ahead by then."""
    read, still = -1, 0
    while still < 4:  # longer than the pause before it begins
        last, read = read, (await counters(client))["idleTokens"]
        still = still + 1 if read == last else 0
        await asyncio.sleep(0.2)
    return read


def text_of(seed: int, count: int) -> str:
    return f"# {seed}\n" + b"".join(program(seed, count)).decode()


async def test_opened(connect):
    """A short document is read when it is opened: a suggestion in it costs the hole's lines."""
    client = await connect()
    before = await at_rest(client)
    client.open(URI, text_of(11, 30))
    assert await at_rest(client) > before

    evaluated = (await counters(client))["evaluatedTokens"]
    await client.inline(URI, (20, 0))
    # What comes after the cursor, up to 100 tokens of lines before it, and the suggestion.
    assert (await counters(client))["evaluatedTokens"] - evaluated < 200
    client.close(URI)


async def test_edited(connect):
    """After an edit, the place is read before anybody asks for something there."""
    client = await connect()
    client.open(URI, text_of(12, 500))
    before = await at_rest(client)
    client.change(URI, (((250, 0), (250, 0)), "size = "))
    assert await at_rest(client) > before

    evaluated = (await counters(client))["evaluatedTokens"]
    await client.inline(URI, (250, 7))
    assert (await counters(client))["evaluatedTokens"] - evaluated < 60
    client.close(URI)


async def test_switched_off(connect):
    """Without idle work, nothing is evaluated that was not asked for, not even what comes next."""
    client = await connect(engine={"idleWork": False})
    await at_rest(client)
    client.open(URI, text_of(13, 40))
    client.change(URI, (((20, 0), (20, 0)), "size = "))
    before = await at_rest(client)
    assert await client.inline(URI, (20, 7)) is not None
    evaluated, requests = await at_rest(client), (await counters(client))["requests"]
    await client.inline(URI, (20, 7))

    assert evaluated == before
    assert (await counters(client))["requests"]["prepared"] == requests["prepared"]
    client.close(URI)
