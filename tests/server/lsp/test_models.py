"""The list of models for an editor, and fetching one from it: progress, cancelling, refusals."""

import asyncio
import threading

import pytest

from server.errors import Cancelled
from server.model_methods import fetched
from server.models import download, store
from tests.server.lsp.client import PATIENCE_S, AnsweredWithError
from tests.server.lsp.conftest import own_server, settings
from tests.server.lsp.editors import OLD
from tests.server.models.conftest import CONTENT, FakeHub, home, hub  # noqa: F401 (fixtures)

pytestmark = pytest.mark.asyncio(loop_scope="session")

NAME = "codellama-7b"
"""Its size and sum are the hub's to say: any bytes will do."""


async def test_list(connect, tiny_file):
    """Every model of the catalog is listed, and whether it is here; and which one is in use."""
    client = await connect()
    found = await client.request("midtoken/models")

    assert found["current"] == str(tiny_file())
    assert [model["name"] for model in found["models"]] == list(store.CATALOG)
    for model in found["models"]:
        assert model["here"] == store.is_whole(store.CATALOG[model["name"]])
        assert model["licence"]
        assert model["description"]


async def test_an_engine_elsewhere():
    """Its address is what is in use, and no model of the list."""
    url = "http://127.0.0.1:9"
    async with own_server() as (client, _):
        await client.begin(OLD, {"remote": {"url": url}}, capabilities={})
        found = await client.request("midtoken/models")

    assert found["current"] == url


async def test_pull(hub: FakeHub, tiny_file):  # noqa: F811
    """The file is fetched, and its progress told from 0 to 100 for each stage."""
    async with own_server() as (client, _):
        await client.begin(OLD, settings(tiny_file()), capabilities={})
        answer = await client.request("midtoken/pullModel", {"name": NAME, "workDoneToken": "mine"})
        told = client.told("$/progress")
        again = await client.request("midtoken/models")

    assert store.path_of(store.CATALOG[NAME]).read_bytes() == CONTENT
    assert answer == {"path": str(store.path_of(store.CATALOG[NAME]))}
    assert {one["token"] for one in told} == {"mine"}
    kinds = [one["value"]["kind"] for one in told]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    last = told[-2]["value"]
    assert (last["percentage"], last["message"]) == (100, "checking: 300.0 kB of 300.0 kB")
    assert [one["here"] for one in again["models"] if one["name"] == NAME] == [True]


async def test_cancelled_pull(hub: FakeHub, tiny_file):  # noqa: F811
    """A cancelled request is answered at once; the next one goes on from what has arrived."""
    hub.breaks, hub.hold = [1000], threading.Event()
    async with own_server() as (client, _):
        await client.begin(OLD, settings(tiny_file()), capabilities={})
        number = client.send("midtoken/pullModel", {"name": NAME, "workDoneToken": 7})
        await client.until(lambda: len(client.told("$/progress")) > 1)
        client.cancel(number)
        with pytest.raises(AnsweredWithError) as refused:
            await client.answer(number)
        hub.hold.set()
        answer = await client.request("midtoken/pullModel", {"name": NAME})

    assert refused.value.code == -32800
    assert client.told("$/progress")[-1]["value"]["kind"] == "end"
    assert "path" in answer
    assert len(hub.ranges) > 1


async def test_thread_stops(monkeypatch):
    """When whoever asked is gone, the download ends at its next piece."""
    arrived, stopped = asyncio.Event(), threading.Event()

    def pull(_model, *, mirror, progress):
        try:
            while True:
                progress(1, 2, f"from {mirror}")
        except Cancelled:
            stopped.set()
            raise

    monkeypatch.setattr(download, "pull", pull)
    entry = store.CATALOG[NAME]
    task = asyncio.ensure_future(fetched(entry, lambda *_: arrived.set(), mirror=False))
    await arrived.wait()
    task.cancel()

    assert await asyncio.to_thread(stopped.wait, PATIENCE_S)
    assert task.cancelled()


@pytest.mark.parametrize("params", [None, {}, {"name": None}])
async def test_no_name(connect, params):
    """It is said that a name is wanted, and which there are."""
    client = await connect()
    answer = await client.request("midtoken/pullModel", params)

    assert answer["problem"].startswith("which model? Its name is missing: there are qwen")
    assert client.told("$/progress") == []


@pytest.mark.parametrize("params", [{"name": "no-such-model"}, {"name": 5}])
async def test_unknown_model(connect, params):
    """What is no name of a model is refused in words, and nothing is told of a progress."""
    client = await connect()
    answer = await client.request("midtoken/pullModel", params)

    assert "there is no model called" in answer["problem"]
    assert client.told("$/progress") == []
