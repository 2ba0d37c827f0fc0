"""Models of several files: pulled, checked and removed as one."""

import hashlib
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from server import commands
from server.completer import load_completer
from server.engine.gguf import read_metadata
from server.engine.gguf_splits import parts
from server.engine.llama_load import EngineOptions
from server.errors import DownloadError, ModelError
from server.models import hub as hub_client
from server.models import store
from server.models.catalog import Model, ModelFile
from server.models.download import pull
from server.snapshot import Snapshot
from tests.server.models.conftest import FakeHub, make_model, put_in_catalog
from tests.split_model import split_model
from tests.tiny_model import write_tiny_model


@pytest.fixture
def split(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """A tiny model in three files, at the hub and in the catalog."""
    first = split_model(write_tiny_model(tmp_path / "tiny.gguf"), tensors=9)
    hub.files = {path.name: path.read_bytes() for path in parts(read_metadata(first))}
    files = tuple(
        ModelFile(name, len(content), hashlib.sha256(content).hexdigest())
        for name, content in hub.files.items()
    )
    assert len(files) == 3
    return put_in_catalog(make_model(files=files), monkeypatch)


def names_in_store() -> list[str]:
    return sorted(path.name for path in store.folder().iterdir() if path.suffix == ".gguf")


def test_pulled(hub: FakeHub, split: Model):
    """All files are fetched, checked and recorded; the first one is the path to load."""
    told: list[tuple[int, int, str]] = []
    path = pull(split, progress=lambda *step: told.append(step))

    assert path == store.resolve("toy") == store.folder() / "tiny-00001-of-00003.gguf"
    assert names_in_store() == list(hub.files)
    assert [store.read_record(file).sha256 for file in split.files] == store.verify(split)
    assert store.installed() == [store.Installed(split, path, split.size_bytes)]
    fetched = [done for done, _, what in told if what.startswith("from")]
    assert fetched == sorted(fetched)
    assert fetched[-1] == split.size_bytes == sum(map(len, hub.files.values()))
    assert {total for _, total, _ in told} == {split.size_bytes}


def test_loaded(split: Model):
    """What was pulled runs."""
    completer = load_completer(pull(split), EngineOptions(n_ctx=256, threads=1))
    assert completer.engine.info.name == "tiny llama"
    completer.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps files that are in use")
def test_removed_while_it_runs(split: Model):
    """Who has the model loaded keeps it; nobody else finds it."""
    completer = load_completer(pull(split), EngineOptions(n_ctx=256, threads=1))
    text = b"def total(self):\n    ret"
    snapshot = Snapshot("a.py", 0, text, len(text), "python")
    [before] = completer.complete(snapshot).items

    assert store.remove(split) > (split.size_bytes or 0)
    assert store.installed() == []
    [after] = completer.complete(snapshot).items
    assert after.text == before.text
    completer.close()


def test_interrupted(hub: FakeHub, split: Model):
    """Files that are here are not fetched again; a file that is half here is gone on with."""
    first, second, third = split.files
    assert second.size_bytes is not None
    cut = second.size_bytes // 2
    hub.breaks = [10**9, cut] + [0] * (hub_client.ATTEMPTS - 1)
    with pytest.raises(DownloadError, match="pull again to go on"):
        pull(split)
    assert not store.is_whole(split)
    assert names_in_store() == [first.name]

    hub.breaks = []
    hub.requests.clear()
    hub.ranges.clear()
    pull(split)
    asked = [request for request in hub.requests if "/cdn/" in request]
    assert asked == [f"GET /cdn/{second.name}", f"GET /cdn/{third.name}"]
    assert hub.ranges[0] not in (None, "bytes=0-")
    assert store.verify(split) == [file.sha256 for file in split.files]


def test_missing_file(split: Model):
    """Without one of its files a model is not here, and the file is named."""
    pull(split)
    store.file_path(split.files[1]).unlink()

    assert not store.is_whole(split)
    with pytest.raises(
        ModelError, match=r"00002-of-00003\.gguf is missing; `midtoken model pull t"
    ):
        store.resolve("toy")


def test_damaged_file(split: Model):
    """The file that is damaged is named."""
    pull(split)
    path = store.file_path(split.files[2])
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(ModelError, match=r"00003-of-00003\.gguf is damaged"):
        store.verify(split)


def test_commands(split: Model, monkeypatch: pytest.MonkeyPatch):
    """`verify` prints a line for each file, `remove` asks about all of them."""
    pull(split)
    verified = CliRunner().invoke(commands.model, ["verify"], standalone_mode=False)
    assert verified.stdout.splitlines() == [f"toy\tok\t{file.sha256}" for file in split.files]

    monkeypatch.setattr(commands, "_can_ask", lambda: True)
    refused = CliRunner().invoke(commands.model, ["remove", "toy"], "\n", standalone_mode=False)
    assert "00001-of-00003.gguf and 2 more files of it? [y/N]" in refused.stderr
    assert len(names_in_store()) == 3
    removed = CliRunner().invoke(commands.model, ["remove", "toy", "--yes"], standalone_mode=False)
    assert removed.exception is None
    assert names_in_store() == []
