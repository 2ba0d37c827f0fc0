"""`midtoken/rank`, as editors ask it."""

import asyncio

import pytest

from tests.server.lsp.client import AnsweredWithError, Client, place
from tests.server.lsp.test_cancelling import CANCELLED

pytestmark = pytest.mark.asyncio(loop_scope="session")

URI = "file:///a.py"
LABELS = ["reader", "read", "other", "re\nad", "REAL"]


def at(*position: int, **others: object) -> dict[str, object]:
    """The parameters for a place."""
    return {"textDocument": {"uri": URI}, "position": place(position), **others}


async def test_labels_come_back_in_order(client: Client):
    """Each once, ranked or refused, the best first."""
    client.open(URI, "print(re)\n")

    found = await client.request("midtoken/rank", at(0, 8, labels=LABELS))

    assert found["typed"] == "re"
    assert {item["label"] for item in found["items"]} == {"reader", "read", "REAL"}
    assert all(LABELS[item["index"]] == item["label"] for item in found["items"])
    scores = [item["score"] for item in found["items"]]
    assert scores == sorted(scores, reverse=True)
    assert {item["index"] for item in found["refused"]} == {2, 3}


async def test_positions_are_the_clients(connect):
    """A character outside the basic plane before the cursor moves nothing."""
    client = await connect()
    client.open(URI, "a = '😀', re")
    column = len("a = '😀', re".encode())  # this client counts bytes

    found = await client.request("midtoken/rank", at(0, column, labels=["read"]))

    assert [item["label"] for item in found["items"]] == ["read"]


async def test_names_of_open_documents(client):
    """Without labels: names of the document, and of others in its language."""
    client.open("file:///b.py", "reading = 1\n")
    client.open("file:///c.c", "int rest;\n", "c")
    client.open(URI, "read = other\nre\n")

    found = await client.request("midtoken/rank", at(1, 2))

    assert {item["label"] for item in found["items"]} == {"read", "reading"}
    assert found["refused"] == []  # nobody asked for `other`


async def test_bans(connect):
    """They hide names that are found; a client's labels are its own."""
    client = await connect(filters={"bans": ["ader"]})
    client.open(URI, "read = reader\nre\n")

    found = await client.request("midtoken/rank", at(1, 2))
    own = await client.request("midtoken/rank", at(1, 2, labels=["reader"]))

    assert [item["label"] for item in found["items"]] == ["read"]
    assert [item["label"] for item in own["items"]] == ["reader"]


async def test_options(client):
    """Names may be open-ended, and only those that go on from the word."""
    client.open(URI, "print(re)\n")
    options = {"whole": False, "perToken": True, "forgiving": False, "limit": 1, "tokens": 9}

    found = await client.request("midtoken/rank", at(0, 8, labels=LABELS, **options))

    assert {item["label"] for item in found["items"]} == {"reader", "read"}


async def test_no_labels(client):
    """An empty list has an empty answer."""
    client.open(URI, "print(re)\n")

    assert (await client.request("midtoken/rank", at(0, 8, labels=[])))["items"] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"labels": "read"},
        {"labels": [1]},
        {"limit": 0},
        {"limit": True},
        {"tokens": -1},
        {"tokens": "many"},
        {"whole": 1},
        {"position": {"line": 0}},
        {"position": {"line": -1, "character": 0}},
        {"position": {"line": 0, "character": 1 << 40}},
    ],
    ids=str,
)
async def test_wrong_parameters(client, wrong):
    """They are refused, and the server lives."""
    client.open(URI, "print(re)\n")

    with pytest.raises(AnsweredWithError) as refused:
        await client.request("midtoken/rank", at(0, 8) | wrong)

    assert refused.value.code == -32602
    assert await client.request("midtoken/rank", at(0, 8, labels=["read"]))


async def test_a_document_that_is_not_open(client):
    """That is said, in a line."""
    found = await client.request("midtoken/rank", at(0, 0, labels=["read"]))

    assert "a.py" in found["problem"]


async def test_cancelled(connect, endless):
    """A cancelled ranking is answered so, and what comes next works."""
    client = await connect(**endless)
    client.open(URI, "class Stop:\n\nself.")
    client.send_inline(URI, (2, 5))  # the model is busy
    number = client.send("midtoken/rank", at(2, 5, labels=LABELS))
    client.cancel(number)

    with pytest.raises(AnsweredWithError) as refused:
        await client.answer(number)
    assert refused.value.code == CANCELLED
    client.open(URI, "print(re)\n")
    assert (await client.request("midtoken/rank", at(0, 8, labels=LABELS)))["items"]


async def test_the_newest_wins(connect, endless):
    """An older ranking of the same document is answered with null."""
    client = await connect(**endless)
    client.open(URI, "class Stop:\n\nself.")
    busy = client.send_inline(URI, (2, 5))
    older = client.send("midtoken/rank", at(2, 5, labels=LABELS))
    newer = client.send("midtoken/rank", at(2, 5, labels=["read", "reader"]))
    await asyncio.sleep(0.1)
    client.cancel(busy)

    assert await client.answer(older) is None
    assert len((await client.answer(newer))["items"]) == 2


async def test_a_document_that_changes(connect, endless):
    """An answer for an old text is no answer."""
    client = await connect(**endless)
    client.open(URI, "class Stop:\n\nself.")
    busy = client.send_inline(URI, (2, 5))
    number = client.send("midtoken/rank", at(2, 5, labels=LABELS))
    client.change(URI, (None, "something else\n"))
    client.cancel(busy)

    assert await client.answer(number) is None
