"""Menus whose items are sent as a part of the answer, where a client asks for that."""

import pytest

from tests.server.lsp.client import Client, place

pytestmark = pytest.mark.asyncio(loop_scope="session")

URI = "file:///a.py"


def parts(client: Client, *tokens: object) -> list:
    """What was sent under these tokens: the loading of the model is a progress as well."""
    return [told for told in client.told("$/progress") if told["token"] in tokens]


async def menu(client: Client, position: tuple[int, int], token: object):
    """The answer to a request for a menu with a token for parts."""
    where = {"textDocument": {"uri": URI}, "position": place(position)}
    return await client.request("textDocument/completion", where | {"partialResultToken": token})


@pytest.mark.parametrize("token", ["part", 7, 0, ""])
async def test_parts(client: Client, token):
    """Everything is in the part, under the client's token, and nothing of it comes again."""
    client.open(URI, "import o")
    whole = await client.menu(URI, (0, 8))
    answer = await menu(client, (0, 8), token)

    assert parts(client, token) == [{"token": token, "value": whole}]
    assert whole["items"]
    assert answer == {"isIncomplete": True, "items": []}


async def test_nothing_to_send(client: Client):
    """Where there is nothing, no part is sent."""
    assert await menu(client, (0, 0), "part") is None
    client.open(URI, "zqzqzqzq\n")
    assert await menu(client, (0, 4), "part") == {"isIncomplete": True, "items": []}
    assert parts(client, "part") == []


async def test_cancelled(client: Client):
    """A request that was cancelled or superseded sends no part."""
    client.open(URI, "class Parts:\n\nself.\nimport o")
    where = {"textDocument": {"uri": URI}, "position": place((2, 5)), "partialResultToken": "a"}
    cancelled, older = (client.send("textDocument/completion", where) for _ in range(2))
    client.cancel(cancelled)
    newest = await menu(client, (3, 8), "b")

    await client.until(lambda: cancelled in client.answers and older in client.answers)
    assert newest == {"isIncomplete": True, "items": []}
    assert [part["token"] for part in parts(client, "a", "b")] == ["b"]
