"""Pipes, devices, folders and links that go round: said at once, wherever a file may be named."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from server.engine import Lora
from server.engine.llama import load
from server.engine.llama_load import EngineOptions
from server.errors import MidtokenError
from server.grammar.json_grammar import LADDERS
from server.grammar.schemas import with_schema
from server.grammar.user_grammars import read_grammar
from server.models import store
from server.plain_files import SHOWN, fault_of, shortened

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such files there")

FAULTS = {
    "pipe": "is not a regular file",
    "device": "is not a regular file",
    "folder": "is a folder",
    "circle": "is a link that leads back to itself",
    "missing": "is missing",
    "under a file": "is missing",
    "x" * 5000: "is missing: no file has such a long name",
    "nul\0": "is missing: no file has such a name",
}


@pytest.fixture(params=FAULTS)
def path(request, tmp_path: Path) -> Path:
    """A path where no plain file is; its name is a key of the table."""
    path = tmp_path / request.param
    if request.param == "pipe":
        os.mkfifo(path)
    elif request.param == "device":
        path.symlink_to("/dev/zero")
    elif request.param == "folder":
        path.mkdir()
    elif request.param == "circle":
        path.symlink_to(path)
    elif request.param == "under a file":
        (tmp_path / "file").write_bytes(b"")
        return tmp_path / "file" / request.param
    return path


def said_of(action: Callable[[], object]) -> str:
    """The line that refuses a file."""
    with pytest.raises(MidtokenError) as refused:
        action()
    message = str(refused.value)
    assert message.isprintable() or "\0" in message
    assert len(message) < 2 * SHOWN + 100
    return message


def test_faults(path):
    """The reason is said in words."""
    assert fault_of(path) == FAULTS[path.name]


def test_files(tmp_path):
    """A file has no fault, nor has a link to one."""
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to("file")

    assert fault_of(tmp_path / "file") is None
    assert fault_of(tmp_path / "link") is None


def test_models(path):
    """As the name of a model."""
    fault = FAULTS[path.name]
    said = said_of(lambda: store.resolve(str(path)))

    if fault.startswith("is missing"):
        assert said.startswith("there is no file ")
    else:
        assert said == f"{path} {fault}: give the path of a GGUF file"


def test_adapters(path, tiny_file):
    """As a LoRA adapter; the model is not loaded first."""
    options = EngineOptions(n_ctx=64, threads=1, lora=Lora(str(path)))
    fault = FAULTS[path.name]
    said = said_of(lambda: load(tiny_file(), options))

    assert said.startswith(shortened(path))
    assert ("there is no such adapter file" if fault == "is missing" else fault) in said


def test_grammars(path):
    """As a grammar."""
    named = path.with_name(f"{path.name}.lark")
    if os.path.lexists(path) and path.name != "circle":
        path.rename(named)
    elif path.name == "circle":
        named.symlink_to(named)

    assert said_of(lambda: read_grammar(named)) == (
        f"the grammar {shortened(named)} {FAULTS[path.name]}"
    )


def test_schemas(path):
    """As a JSON Schema."""
    [rung, *_] = with_schema(path, LADDERS["json"])(b"{")

    assert said_of(rung.source.lark) == f"the schema {shortened(path)} {FAULTS[path.name]}"


def test_long_names():
    """They are cut in the middle; others are as they are."""
    assert shortened("a" * SHOWN) == "a" * SHOWN
    assert shortened("a" * 500 + "b" * 500) == f"{'a' * 100}…{'b' * 100}"
