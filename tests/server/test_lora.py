"""A LoRA adapter from the command line and from settings: what it changes, and who may set it."""

import json
from dataclasses import replace

import pytest

from server.backend import Backend
from server.completer import load_completer
from server.completion_options import CompletionOptions
from server.engine import Lora
from server.model_options import engine_options
from server.option_layers import merge
from server.options import Options, with_values
from server.service import Request
from server.snapshot import Snapshot
from server.speed import remember, remembered
from tests.lora import write_lora
from tests.server.command import run_here, run_process
from tests.server.test_explain import INFO


@pytest.fixture
def adapter(tmp_path):
    return write_lora(tmp_path / "adapter.gguf")


@pytest.fixture
def arguments(tmp_path, tiny_file):
    """A completion in a file, with a tiny model."""
    path = tmp_path / "a.py"
    path.write_text("def total(a, b):\n    return sum(a")
    return ("complete", f"{path}:2:17", "--model", tiny_file(), "--context-size", 512)


def test_command(capfdbinary, monkeypatch, arguments, adapter):
    """The adapter changes the text, and the report names it."""
    plain = json.loads(run_here(capfdbinary, monkeypatch, *arguments, "--json").out)
    given = (*arguments, "--lora", adapter, "--lora-scale", 1.5)
    changed = json.loads(run_here(capfdbinary, monkeypatch, *given, "--json").out)
    page = run_here(capfdbinary, monkeypatch, *given, "--explain").out.decode()

    assert plain["model"]["lora"] is None
    assert changed["model"]["lora"] == {"path": str(adapter), "scale": 1.5}
    assert changed["items"] != plain["items"]
    assert "adapter.gguf (scale 1.5)" in " ".join(page.split())


def test_via_server(arguments, adapter):
    """A server process is told of it."""
    given = (*arguments, "--lora", adapter, "--json")
    direct, via = (json.loads(run_process(*given, *more).out) for more in ((), ("--via-server",)))

    assert via["model"]["lora"] == direct["model"]["lora"]
    assert via["items"] == direct["items"]


def test_scale_of_nothing(capfdbinary, monkeypatch, arguments):
    """A scale without an adapter is one line and exit code 2."""
    result = run_here(capfdbinary, monkeypatch, *arguments, "--lora-scale", 0.5)
    assert (result.code, result.error) == (2, "--lora-scale goes with --lora")


def test_wrong_file(capfdbinary, monkeypatch, arguments, tmp_path):
    """A file that is missing is one line and exit code 1."""
    result = run_here(capfdbinary, monkeypatch, *arguments, "--lora", tmp_path / "no.gguf")

    assert (result.code, result.error) == (1, f"{tmp_path}/no.gguf: there is no such adapter file")


def test_settings():
    """A user's settings name it; without a path there is none."""
    wanted = {"model": {"lora": "/a.gguf", "loraScale": 0.5}}
    options, problems = merge([("initializationOptions", wanted)])

    assert problems == []
    assert engine_options(options).lora == Lora("/a.gguf", 0.5)
    assert engine_options(merge([])[0]).lora is None


@pytest.mark.parametrize("key", ["lora", "loraScale"])
def test_a_workspace_cannot_set_it(key):
    """A folder that was only opened does not choose weights."""
    value = {"lora": "/a.gguf", "loraScale": 0.5}[key]
    options, [problem] = merge([("midtoken.toml", {"model": {key: value}})])

    assert options == merge([])[0]
    assert f"midtoken.model.{key} can't be set by a workspace" in str(problem)


@pytest.mark.asyncio(loop_scope="session")
async def test_changed_in_a_server(tiny_file, adapter):
    """With another adapter the model is loaded anew; what was written before is not used."""
    loaded = []

    def load(path, options):
        loaded.append(options.lora)
        return load_completer(path, replace(options, on_progress=None))

    base = with_values(Options(), {"model.name": str(tiny_file()), "engine.contextSize": 512})
    text = b"def total(a, b):\n    return sum(a"
    snapshot = Snapshot("a.py", 1, text, len(text), "python")
    backend, texts = Backend(load), []
    try:
        for path in ("", str(adapter), str(adapter), ""):
            await backend.start(with_values(base, {"model.lora": path}))
            found = await backend.complete(Request("a", snapshot, CompletionOptions(max_tokens=8)))
            texts.append(found.items[0].text)
    finally:
        backend.close()

    assert loaded == [None, Lora(str(adapter)), None]
    assert texts[0] == texts[3] != texts[1] == texts[2]


def test_speeds_are_remembered_apart(tmp_path):
    """With an adapter a model is another one: it is slower."""
    file = tmp_path / "speed.json"
    remember(INFO, 2, 400.0, file)

    assert remembered(replace(INFO, lora=Lora("/x/adapter.gguf")), 2, file) is None
