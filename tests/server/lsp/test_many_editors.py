"""Several editors at one server: their own documents and options, limits, and other machines."""

import asyncio
import json
import socket
import threading
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import pytest_asyncio

from server import documents
from server.access import admission, authorization
from server.backend import Backend
from server.completer import load_completer
from server.errors import ModelError
from server.gate import Gate
from server.hosting import ALONE, Hosting
from server.serving import server_for
from server.shared_server import SHARED
from tests.server.lsp.client import AUTOMATIC, PATIENCE_S, AnsweredWithError, Client
from tests.server.lsp.conftest import BUFFER_BYTES, settings
from tests.server.lsp.editors import NEOVIM_12

pytestmark = pytest.mark.asyncio(loop_scope="session")

TOKEN = b"0123456789abcdef-secret"
URI = "file:///a.py"
INVALID_REQUEST, NO_METHOD = -32600, -32601


@pytest_asyncio.fixture(loop_scope="session")
async def backend():
    """A model's backend in this process."""
    backend = Backend()
    yield backend
    backend.close()


@asynccontextmanager
async def hosted(backend: Backend, hosting: Hosting, token: bytes | None = None):
    """A server in this process; gives a function that connects to it."""
    listening = socket.create_server(("127.0.0.1", 0))
    place = listening.getsockname()
    gate = Gate(listening, admission(token), server_for(backend, hosting))
    keeping = asyncio.ensure_future(gate.keep())
    clients = []

    async def connect(options=None) -> Client:
        client = Client(*await asyncio.open_connection(*place, limit=BUFFER_BYTES))
        clients.append(client)
        client.settings = None
        if token is not None:
            client.send_raw(authorization(token))
        if options is not None:
            await client.begin(NEOVIM_12, options)
            await client.ready()
        return client

    try:
        yield connect
        for client in clients:
            await client.end()
    finally:
        keeping.cancel()
        await asyncio.wait({keeping})


async def test_each_has_its_own(backend, tiny_file):
    """The same address is another document in another editor, and options are an editor's own."""
    async with hosted(backend, SHARED) as connect:
        one = await connect(settings(tiny_file()))
        other = await connect(settings(tiny_file(), trigger={"automatic": False}))
        one.open(URI, "import o")
        other.open(URI, "")
        other.close(URI)

        assert await one.inline(URI, (0, 8), 2)
        other.open(URI, "import o")
        assert await other.inline(URI, (0, 8), 2) is None
        assert await other.inline(URI, (0, 8), 1)


async def test_a_flood_does_not_starve_others(backend, tiny_file, endless):
    """While one editor asks in many documents at once, another one's request is soon served."""
    async with hosted(backend, SHARED) as connect:
        greedy = await connect(settings(tiny_file(ends=False), **endless))
        other = await connect(settings(tiny_file(ends=False)))
        uris = [f"file:///{number}.py" for number in range(12)]
        for number, uri in enumerate(uris):
            greedy.open(uri, f"class Flood{number}:\n\nself.")
        flood = [greedy.send_inline(uri, (2, 5)) for uri in uris]
        await greedy.until(lambda: any(number in greedy.answers for number in flood))
        other.open(URI, "import o")

        assert await other.inline(URI, (0, 8))
        assert any(number not in greedy.answers for number in flood)
        for number in flood:
            greedy.cancel(number)
        await greedy.until(lambda: all(number in greedy.answers for number in flood))


async def test_each_keeps_its_place_in_memory(backend, tiny_file):
    """With a memory for all, eight editors who type by turns do not read their texts anew."""
    async with hosted(backend, SHARED) as connect:
        sections = {"engine": {"contextSize": 16384, "idleWork": False}}
        editors = [await connect(settings(tiny_file(), **sections)) for _ in range(8)]
        for number, one in enumerate(editors):
            text = "".join(f"name_{number}_{line} = {line}\n" for line in range(30))
            one.open(URI, text + "import o")
        before = await backend.evaluated_tokens()
        for one in editors:
            await one.inline(URI, (30, 8), AUTOMATIC)
        read = await backend.evaluated_tokens() - before
        for one in editors:
            one.change(URI, (((30, 7), (30, 8)), "p"))
        for one in editors:
            await one.inline(URI, (30, 8), AUTOMATIC)

        assert await backend.evaluated_tokens() - before - read < read / 2


async def test_one_leaves_in_the_middle(backend, tiny_file, endless):
    """An editor that breaks off while the model works for it keeps nobody else waiting."""
    async with hosted(backend, SHARED) as connect:
        leaving = await connect(settings(tiny_file(ends=False), **endless))
        staying = await connect(settings(tiny_file(ends=False)))
        leaving.open(URI, "class Leaving:\n\nself.")
        leaving.send_inline(URI, (2, 5))
        await leaving.writer.drain()
        leaving.writer.transport.abort()

        staying.open(URI, "import o")
        assert await staying.inline(URI, (0, 8))
        while backend.service.is_busy:
            await asyncio.sleep(0.01)
        assert len(backend.listeners) == 1


async def test_another_model_while_others_work(backend, tiny_file):
    """The model of a shared server stays while other editors use it, and the person is told."""
    async with hosted(backend, SHARED) as connect:
        one = await connect(settings(tiny_file()))
        other = await connect(settings(tiny_file(), engine={"contextSize": 2048}))

        assert backend.options.engine.context_size == 1024
        assert [text for text in other.messages() if "other editors use this server" in text]
        assert one.messages() == []
        await one.end()
        while len(backend.listeners) > 1:
            await asyncio.sleep(0.01)
        other.notify("workspace/didChangeConfiguration", {"settings": None})
        await other.until(lambda: other.states()[-2:] == ["loading", "ready"])
        assert backend.options.engine.context_size == 2048


async def test_a_model_that_is_not_there(backend, tiny_file):
    """Who asks for it is told, and served with what runs; others and who comes later are not."""
    async with hosted(backend, ALONE) as connect:
        one = await connect(settings(tiny_file()))
        told = len(one.states())
        other = await connect(settings("/nonexistent.gguf"))
        assert other.messages() == ["midtoken: there is no file /nonexistent.gguf"]
        assert "error" in other.states()
        await _is_served(other)
        await _is_served(one)
        assert {*one.states()[told:]} <= {"busy", "ready"}

        await other.end()
        later = await connect({})
        await _is_served(later)
        await _is_served(one)
        assert one.messages() == later.messages() == []
        assert "error" not in later.states()


async def test_a_model_that_is_not_there_while_another_is_loaded(tiny_file):
    """It does not keep the one from being loaded that the other editor has asked for."""
    go_on = threading.Event()

    def load(*arguments):
        go_on.wait(PATIENCE_S)
        return load_completer(*arguments)

    backend = Backend(load)
    async with hosted(backend, ALONE) as connect:
        one, other = await connect(), await connect()
        await one.begin(NEOVIM_12, settings(tiny_file()))
        await one.until(lambda: "loading" in one.states())
        await other.begin(NEOVIM_12, settings("/nonexistent.gguf"))
        await other.until(other.messages)
        go_on.set()
        await one.ready()
        await _is_served(one)
        assert "error" not in one.states()
    backend.close()


async def test_a_model_that_fails_late(tiny_file):
    """If it seemed right and can't be loaded, the others' model is loaded again."""
    broken = tiny_file(ends=False)

    def load(path, options):
        if path == broken:
            raise ModelError("llama.cpp can't load it")
        return load_completer(path, options)

    backend = Backend(load)
    async with hosted(backend, ALONE) as connect:
        one = await connect(settings(tiny_file()))
        other = await connect(settings(broken))
        await one.ready()
        assert other.messages() == ["midtoken: llama.cpp can't load it"]
        await _is_served(one)
        assert one.messages() == []
        assert "error" not in one.states()

        await one.end()
        while len(backend.listeners) > 1:
            await asyncio.sleep(0.01)
        other.notify("workspace/didChangeConfiguration", {"settings": None})
        await other.until(lambda: other.states()[-1] == "error")
        assert backend.status.state == "error"
    backend.close()


async def _is_served(client: Client) -> None:
    client.open(URI, "import o")
    assert await client.inline(URI, (0, 8))
    client.close(URI)


async def test_a_message_that_is_too_long(backend, tiny_file):
    """It is answered with an error, and the connection ends; nothing of it is kept."""
    async with hosted(backend, Hosting(longest_message=1 << 20)) as connect:
        client, other = await connect(settings(tiny_file())), await connect(settings(tiny_file()))
        client.send_raw(b"Content-Length: %d\r\n\r\n%s" % (1 << 22, b"x" * (1 << 22)))
        await client.until(lambda: client.answers[None])

        [answer] = client.answers[None]
        assert answer["error"]["code"] == INVALID_REQUEST
        assert "1 MiB" in answer["error"]["message"]
        await client.end()
        assert client.reader.at_eof()
        other.open(URI, "import o")
        assert await other.inline(URI, (0, 8))


async def test_too_many_documents(backend, tiny_file, monkeypatch):
    """What is over the limit is not followed; closing one makes room."""
    monkeypatch.setattr(documents, "MOST_DOCUMENTS", 2)
    async with hosted(backend, SHARED) as connect:
        client = await connect(settings(tiny_file()))
        for name in "abcd":
            client.open(f"file:///{name}.py", "import o")
        assert await client.inline("file:///b.py", (0, 8))
        assert await client.inline("file:///c.py", (0, 8)) is None
        client.change("file:///c.py", (((0, 0), (0, 0)), "x"))
        assert [text for text in client.messages() if "2 documents are open" in text] != []
        assert len(client.messages()) == 1

        client.close("file:///a.py")
        client.open("file:///c.py", "import o")
        assert await client.inline("file:///c.py", (0, 8))


async def test_too_much_text(backend, tiny_file, monkeypatch):
    """A document that outgrows the limit is followed no more; the others are."""
    monkeypatch.setattr(documents, "MOST_BYTES", 1000)
    async with hosted(backend, SHARED) as connect:
        client = await connect(settings(tiny_file()))
        client.open("file:///a.py", "import o")
        client.open("file:///b.py", "import o")
        client.change("file:///b.py", (((0, 0), (0, 0)), "#" * 1000))
        client.change("file:///b.py", (((0, 0), (0, 1000)), ""))

        assert await client.inline("file:///b.py", (0, 8)) is None
        assert await client.inline("file:///a.py", (0, 8))
        client.open("file:///c.py", "#" * 1001)
        assert await client.inline("file:///c.py", (0, 0)) is None
        client.open("file:///b.py", "import o")
        assert await client.inline("file:///b.py", (0, 8))


@pytest.fixture
def team(tiny_file):
    """A server that editors on other machines may use."""
    return Hosting(settings=settings(tiny_file()), remote=True, longest_message=1 << 20)


async def test_other_machines_complete(backend, team):
    """An editor without settings of the model is served with the server's."""
    loading = asyncio.ensure_future(_load(backend, team))
    async with hosted(backend, team, TOKEN) as connect:
        client = await connect({})
        client.open(URI, "import o")
        assert await client.inline(URI, (0, 8))
        assert client.messages() == []
    await loading


async def _load(backend, team):
    from server.option_layers import HOST, merge

    await backend.start(merge([(HOST, team.settings)])[0])


async def test_other_machines_decide_nothing_here(backend, team, tmp_path):
    """Their settings change neither the model nor files; they are told once, the rest counts."""
    await _load(backend, team)
    log = tmp_path / "log"
    wishes = {
        "model": {"name": "/etc/passwd", "autoPull": True},
        "engine": {"contextSize": 16},
        "logging": {"file": str(log), "level": "debug"},
        "grammar": {"schemas": {"*.json": "/etc/passwd"}},
        "trigger": {"automatic": False},
    }
    async with hosted(backend, team, TOKEN) as connect:
        client = await connect(wishes)
        client.open(URI, "import o")
        assert await client.inline(URI, (0, 8), 2) is None
        assert await client.inline(URI, (0, 8), 1)

        assert backend.options.engine.context_size == 1024
        assert not log.exists()
        assert len(client.messages()) == 1
        assert "on another machine" in client.messages()[0]


@pytest.mark.parametrize("remote", [True, False])
async def test_other_machines_read_no_files(backend, team, tmp_path, remote):
    """No workspace's settings and no schema are read for them: the paths are of their machine."""
    await _load(backend, team)
    hosting = replace(team, remote=remote)
    (tmp_path / "midtoken.toml").write_text("[trigger]\nautomatic = false\n[model]\nname = 'x'\n")
    schema = tmp_path / "schema.json"
    names = {"$schema": {}, "number": {"const": 1}}
    schema.write_text(
        json.dumps({"type": "object", "properties": names, "additionalProperties": False})
    )
    async with hosted(backend, hosting, TOKEN) as connect:
        client = await connect()
        await client.begin(NEOVIM_12, {}, rootUri=tmp_path.as_uri(), workspaceFolders=None)
        await client.ready()
        client.open(URI, "import o")
        assert bool(await client.inline(URI, (0, 8), 2)) == remote

        uri = (tmp_path / "settings.json").as_uri()
        client.open(uri, f'{{"$schema": "{schema}",\n"', "json")
        items = await client.inline(uri, (1, 1))
        texts = [item["insertText"] for item in items]
        assert texts
        assert all("number".startswith(text[:6]) for text in texts) == (not remote), texts
        assert bool(client.messages()) == (not remote)  # its `model.name` is refused


@pytest.mark.parametrize("method", ["midtoken/models", "midtoken/pullModel"])
async def test_other_machines_fetch_nothing(backend, team, method):
    """Models are the business of whoever runs the server."""
    await _load(backend, team)
    async with hosted(backend, team, TOKEN) as connect:
        client = await connect({})
        with pytest.raises(AnsweredWithError) as refused:
            await client.request(method, {"name": "qwen2.5-coder-0.5b"})
        assert refused.value.code == NO_METHOD
        assert client.capabilities["executeCommandProvider"]["commands"] == [
            "midtoken.showReport",
            "midtoken.openReport",
        ]


async def test_a_wrong_length_where_there_is_no_limit(backend, tiny_file):
    """An editor that is alone with its server loses a message, and not the connection."""
    async with hosted(backend, Hosting()) as connect:
        client = await connect(settings(tiny_file()))
        client.send_raw(b"Content-Length: 99999999999999\r\n\r\n\n")
        client.notify("$/lost", {})

        client.open(URI, "import o")
        assert await client.inline(URI, (0, 8))
