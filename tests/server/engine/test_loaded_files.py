"""A model's file that changes while it is in use is noticed before its weights are read."""

import os
import shutil
from pathlib import Path

import pytest

from server.engine import ROOT
from server.engine.llama import load
from server.engine.llama_load import EngineOptions
from server.errors import EngineError
from tests.split_model import split_model


def cut(path: Path) -> None:
    """Truncate in place, as a download that begins anew does."""
    os.truncate(path, path.stat().st_size // 2)


def touch(path: Path) -> None:
    """As if it had been written to."""
    os.utime(path, ns=(1, 1))


def replace(path: Path) -> None:
    """Another file of the same name, size and time."""
    Path(shutil.copy2(path, path.with_suffix(".new"))).replace(path)


def complete(engine) -> int:
    slot = engine.open(engine.encode(b"def read(self):"))
    return int(engine.evaluate(slot, [], [ROOT])[0].argmax())


@pytest.fixture(params=["one file", "the last of several"])
def files(request, tiny, tmp_path):
    """The file to load, and one that is changed."""
    path = Path(shutil.copy(tiny(), tmp_path / "tiny.gguf"))
    if request.param == "one file":
        return path, path
    first = split_model(path, tensors=8)
    return first, max(tmp_path.glob("tiny-*"))


@pytest.mark.parametrize("change", [cut, touch, replace])
def test_changed(files, change):
    """The request ends with a line that names the file, and not the process."""
    path, changed = files
    with load(path, EngineOptions(n_ctx=128, threads=1)) as engine:
        complete(engine)
        change(changed)

        with pytest.raises(EngineError) as refused:
            complete(engine)
    assert str(refused.value) == f"the model file {changed} has changed: it is loaded again"


def test_removed(files):
    """What is mapped stays, whatever becomes of the name."""
    path, removed = files
    with load(path, EngineOptions(n_ctx=128, threads=1)) as engine:
        before = complete(engine)
        removed.unlink()

        assert complete(engine) == before
