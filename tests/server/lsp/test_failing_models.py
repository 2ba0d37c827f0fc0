"""Models that are missing, vanish, or fail: the server lives, says it once, and works again."""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from server import backend as backend_module
from server.backend import Backend, Status
from server.completion_options import CompletionOptions
from server.errors import EngineError, ModelError
from server.options import Options, with_values
from server.service import Request
from server.snapshot import Snapshot
from tests.server.engines import Wrapped
from tests.server.lsp.client import STATUS
from tests.server.lsp.conftest import own_server, settings
from tests.server.lsp.editors import NEOVIM_12, OLD

pytestmark = pytest.mark.asyncio(loop_scope="session")

URI = "file:///a.py"


async def test_a_model_that_is_not_there(tiny_file, tmp_path):
    """The status names the file and the remedy; other settings load the other model."""
    async with own_server() as (client, _):
        await client.begin(OLD, settings(tmp_path / "none.gguf"))
        await client.until(lambda: client.states()[-1:] == ["error"])
        error = client.told(STATUS)[-1]["message"]
        assert "none.gguf" in error
        client.open(URI, "import o")
        assert await client.inline(URI, (0, 8)) is None
        assert client.messages() == [f"midtoken: {error}"]

        pushed = {"settings": {"midtoken": {"model": {"name": str(tiny_file())}}}}
        client.notify("workspace/didChangeConfiguration", pushed)
        await client.ready()
        assert await client.inline(URI, (0, 8))


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "not a GGUF file"), (b"GGUF\3\0\0\0", "GGUF"), (b"text" * 99, "GGUF")],
)
async def test_a_model_that_is_none(tmp_path, content, said):
    """A file that is no model is an error with the file's name, not the end of the server."""
    (tmp_path / "bad.gguf").write_bytes(content)
    async with own_server() as (client, _):
        await client.begin(OLD, settings(tmp_path / "bad.gguf"))
        await client.until(lambda: client.states()[-1:] == ["error"])
        assert "bad.gguf" in client.told(STATUS)[-1]["message"]
        assert said.lower() in client.told(STATUS)[-1]["message"].lower()
        client.open(URI, "import o")
        assert await client.inline(URI, (0, 8)) is None


async def test_a_model_that_disappears(tiny_file, tmp_path):
    """A restart without the file fails and says so; with the file there again it works."""
    path = shutil.copy(tiny_file(), tmp_path / "model.gguf")
    async with own_server() as (client, _):
        await client.begin(NEOVIM_12, settings(path))
        await client.ready()
        client.open(URI, "import o")
        before = await client.inline(URI, (0, 8))
        path.unlink()
        assert await client.inline(URI, (0, 8)) == before

        restart = {"command": "midtoken.restartModel"}
        await client.request("workspace/executeCommand", restart)
        assert client.states()[-1] == "error"
        assert await client.inline(URI, (0, 8)) is None

        shutil.copy(tiny_file(), path)
        await client.request("workspace/executeCommand", restart)
        assert client.states()[-1] == "ready"
        assert await client.inline(URI, (0, 8)) == before


async def test_a_model_that_is_cut_short(tiny_file, tmp_path):
    """The server lives, says it, and goes on when the file is whole again."""
    path = Path(shutil.copy(tiny_file(), tmp_path / "model.gguf"))
    whole = path.read_bytes()
    async with own_server() as (client, process):
        await client.begin(NEOVIM_12, settings(path))
        await client.ready()
        client.open(URI, "import o")
        assert await client.inline(URI, (0, 8))

        os.truncate(path, len(whole) // 3)
        client.change(URI, (None, "import s"))
        assert await client.inline(URI, (0, 8)) is None
        error = client.told(STATUS)[-1]
        assert error["state"] == "error"
        assert error["message"] == f"the model file {path} has changed: it is loaded again"

        path.write_bytes(whole)
        while client.states()[-1] != "ready":  # requests after a pause begin it
            await client.inline(URI, (0, 8))
            await asyncio.sleep(0.05)
        assert await client.inline(URI, (0, 8))
        assert process.returncode is None


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
@pytest.mark.parametrize("name", ["name", "lora"])
async def test_a_pipe(tiny_file, tmp_path, name):
    """As a model or an adapter it is refused; the server does not wait for it."""
    os.mkfifo(tmp_path / "pipe")
    async with own_server() as (client, _):
        model = {"name": str(tiny_file()), name: str(tmp_path / "pipe")}
        await client.begin(OLD, settings(tiny_file()) | {"model": model})
        await client.until(lambda: client.states()[-1:] == ["error"])
        assert "pipe" in client.told(STATUS)[-1]["message"]
        assert "is not a regular file" in client.told(STATUS)[-1]["message"]

        good = {"settings": {"midtoken": {"model": {"name": str(tiny_file()), "lora": ""}}}}
        client.notify("workspace/didChangeConfiguration", good)
        await client.ready()


async def test_requests_before_the_model_is_loaded(connect, tiny_file):
    """They are answered with null at once, while the status says what is going on."""
    async with own_server() as (client, _):
        await client.request("initialize", NEOVIM_12.initialize(settings(tiny_file())))
        client.open(URI, "import o")
        assert await client.inline(URI, (0, 8)) is None
        assert await client.menu(URI, (0, 8)) is None
        client.notify("initialized", {})
        await client.ready()
        assert await client.inline(URI, (0, 8))


class Failing(Wrapped):
    """An engine that fails on demand: `failures` more times, at a later pass than the first."""

    failures = 0
    every = 4
    passes = 0
    error: Exception = EngineError("the model stopped computing: restart it")

    def evaluate(self, *arguments: object) -> object:
        type(self).passes += 1
        if Failing.failures and self.passes % self.every == 0:
            Failing.failures -= 1
            raise Failing.error
        return self.engine.evaluate(*arguments)


@pytest_asyncio.fixture(loop_scope="session")
async def backend(
    load_tiny: Callable, tiny_file: Callable, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Backend]:
    """A backend in this process with an engine that can be made to fail; it never pauses."""
    monkeypatch.setattr(backend_module, "FIRST_PAUSE_S", 0.0)
    monkeypatch.setattr(Failing, "failures", 0)
    monkeypatch.setattr(Failing, "every", 4)
    monkeypatch.setattr(Failing, "passes", 0)
    monkeypatch.setattr(Failing, "error", Failing.error)

    def load(*_: object) -> object:
        completer = load_tiny()
        completer.engine = Failing(completer.engine)
        return completer

    backend = Backend(load)
    backend.told: list[Status] = []
    backend.listeners.add(backend.told.append)
    await backend.load(with_values(Options(), {"model.name": str(tiny_file())}))
    yield backend
    backend.close()


def request(text: str = "import o", name: str = "a") -> Request:
    """A request at the end of a text."""
    snapshot = Snapshot(name, 1, text.encode(), len(text), "python")
    return Request(name, snapshot, CompletionOptions(max_tokens=12))


async def settle(backend: Backend) -> None:
    """Wait until the model is loaded, or is not to be had."""
    await asyncio.gather(backend._loading)


@pytest.mark.parametrize(
    "error", [EngineError("the model stopped computing: restart it"), ZeroDivisionError("x")]
)
async def test_an_engine_that_fails(backend, caplog, error):
    """One failure: null, one error status, one line in the log; the next request loads again."""
    Failing.failures, Failing.error = 1, error
    assert await backend.complete(request()) is None
    assert [status.state for status in backend.told] == ["loading", "ready", "error"]
    assert str(error) in backend.status.message

    assert await backend.complete(request()) is None  # begins to load
    assert backend.status.state == "loading"
    await settle(backend)
    assert backend.status.state == "ready"
    assert await backend.complete(request()) is not None
    shown = [record for record in caplog.records if record.getMessage() == backend.told[2].message]
    assert len(shown) == 1


async def test_all_who_wait_are_answered(backend):
    """A failure while several documents wait answers all of them, and is said once."""
    Failing.failures, Failing.every = 5, 1
    found = await asyncio.gather(*(backend.complete(request(name=str(n))) for n in range(5)))

    assert found == [None] * 5
    assert [status.state for status in backend.told] == ["loading", "ready", "error"]


async def test_back_off(backend, monkeypatch):
    """Failures in a row make the pauses longer, loading does not count as success."""
    monkeypatch.setattr(backend_module, "FIRST_PAUSE_S", 1.0)
    backend._pause = 1.0
    loop = asyncio.get_running_loop()
    pauses = []
    for _ in range(8):
        Failing.failures = 1
        assert await backend.complete(request()) is None
        pauses.append(backend._retry_at - loop.time())
        assert await backend.complete(request()) is None
        assert backend.status.state == "error"  # too early: nothing is tried
        backend._retry_at = 0.0
        await backend.complete(request())
        await settle(backend)
    assert [round(pause) for pause in pauses] == [1, 2, 4, 8, 16, 32, 60, 60]

    Failing.failures = 0
    assert await backend.complete(request()) is not None
    assert backend._pause == 1.0


async def test_a_new_model_knows_nothing_of_the_old_one(backend):
    """Answers of the model before are not given out as the new one's."""
    await backend.complete(request())
    assert backend.service.counts.started == 1
    await backend.load(backend.options)
    await backend.complete(request())

    assert backend.service.counts.started == 2
    assert backend.service.counts.from_memory == 0


async def test_restarting_answers_what_runs(backend):
    """Requests that wait when the model is replaced are answered with null at once."""
    running = asyncio.ensure_future(backend.complete(request("self.")))
    await asyncio.sleep(0)
    loading = backend._begin_loading(backend.options)

    assert await running is None
    await loading
    assert await backend.complete(request("self.")) is not None


async def test_loading_goes_on_without_its_caller(backend):
    """Who wanted the model may go: it is loaded for the others."""
    caller = asyncio.ensure_future(backend.load(backend.options))
    await asyncio.sleep(0)
    caller.cancel()
    await settle(backend)

    assert backend.status.state == "ready"
    assert await backend.complete(request()) is not None


async def test_the_newest_settings_count(backend, tiny_file, tmp_path):
    """Of two models that are asked for at the same time the later one runs, whoever is faster."""
    missing = with_values(backend.options, {"model.name": str(tmp_path / "none.gguf")})
    await asyncio.gather(backend.load(missing), backend.load(backend.options))
    assert backend.status.state == "ready"

    await asyncio.gather(backend.load(backend.options), backend.load(missing))
    assert backend.status.state == "error"
    assert await backend.complete(request()) is None


async def test_a_loader_that_fails(backend):
    """Any error of loading becomes the status."""

    def broken(*_: object) -> object:
        raise ModelError("model.gguf is damaged: fetch it again")

    backend._load, works = broken, backend._load
    await backend.load(backend.options)
    assert backend.status == Status("error", "model.gguf is damaged: fetch it again")

    backend._load = works
    await backend.load(backend.options)
    assert backend.status.state == "ready"
