"""States on a disk that is full, read-only, shared, or gone."""

import errno
import logging
import os
import shutil
import subprocess
import sys
import threading
from collections import namedtuple

import numpy as np

from server.state_store import (
    default_folder,
    delete_all,
    files_in,
)
from tests.server.command import REPOSITORY
from tests.server.states.stores import (
    KEY,
    TOKENS,
    found,
    only_file,
    state_of,
)


class TestDisk:
    """Whatever the disk does: no state, one line in the log, and no error."""

    def test_no_folder(self, folder, open_store):
        """Nothing is made before there is something to write."""
        assert len(open_store()) == 0
        assert not folder.exists()

    def test_a_file_in_its_place(self, folder, open_store, caplog):
        """A folder that can't be made."""
        folder.parent.mkdir()
        folder.write_text("not a folder")
        store = open_store()
        for _ in range(2):
            assert not store.write("a", TOKENS, state_of(1))

        assert len(caplog.records) == 1
        assert "states can't be kept" in caplog.text

    def test_read_only(self, folder, open_store, monkeypatch, caplog):
        """States are read from a folder that can't be written, and none is added."""
        open_store().write("a", TOKENS, state_of(1))

        def fail(*_, **__):
            raise OSError(errno.EROFS, "Read-only file system")

        for name in ("os.utime", "tempfile.NamedTemporaryFile", "pathlib.Path.unlink"):
            monkeypatch.setattr(name, fail)
        store = open_store()

        assert found(store, TOKENS)[1] is not None
        for _ in range(2):
            assert not store.write("b", TOKENS, state_of(1))
        assert len(caplog.records) == 1
        assert "Read-only" in caplog.text

    def test_a_full_disk(self, store, folder, monkeypatch, caplog):
        """Space is looked at before anything is written."""
        usage = namedtuple("Usage", "total used free")
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1, 1, 1000))
        for _ in range(2):
            assert not store.write("a", TOKENS, state_of(1))

        assert list(folder.iterdir()) == []
        assert [record.levelno for record in caplog.records] == [logging.WARNING]
        assert "the disk is full" in caplog.text

    def test_a_disk_that_fills_up(self, store, folder, monkeypatch, caplog):
        """Nothing half written stays."""

        def fail(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("pathlib.Path.replace", fail)
        assert not store.write("a", TOKENS, state_of(1))

        assert list(folder.iterdir()) == []
        assert "No space left" in caplog.text

    def test_gone_meanwhile(self, store, folder):
        """Another process deleted it."""
        store.write("a", TOKENS, state_of(1))
        only_file(folder).unlink()

        assert not store.has("a", TOKENS)
        assert found(store, TOKENS) == (len(TOKENS), None)
        assert found(store, TOKENS) is None
        assert store.write("a", TOKENS, state_of(2))
        assert np.array_equal(found(store, TOKENS)[1], state_of(2))

    def test_two_at_once(self, folder, open_store):
        """Two stores that write and read the same names: each state is one that was written."""
        states = {number: state_of(number, 20_000) for number in range(4)}
        wrong = []

        def work(start):
            store = open_store(limit=100_000)
            for number in range(start, start + 25):
                tokens = [number % 4, 1, 2]
                store.write("ab"[number % 2], tokens, states[number % 4])
                got = found(store, tokens)
                if got and got[1] is not None and not np.array_equal(got[1], states[number % 4]):
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(start,)) for start in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert not wrong
        assert not list(folder.glob("*.part"))

    def test_two_processes(self, folder):
        """The same with processes, which know nothing of each other's index."""
        code = (
            "import sys, random, numpy as np\n"
            "from pathlib import Path\n"
            "from server.state_store import StateStore\n"
            "folder, seed = Path(sys.argv[1]), int(sys.argv[2])\n"
            "draw, read = random.Random(seed), 0\n"
            "for number in range(150):\n"
            f"    store = StateStore(folder, '{KEY}', 300_000) if number % 30 == 0 else store\n"
            "    one = draw.randrange(6)\n"
            "    state, tokens = np.full(40_000 + one, one, np.uint8), [one, 1, 2]\n"
            "    if draw.random() < 0.4:\n"
            "        store.write(str(one % 3), tokens, state)\n"
            "    found = store.find(tokens, longest=9, whole=True)\n"
            "    got = found and store.read(found[0])\n"
            "    assert got is None or np.array_equal(got, state)\n"
            "    read += got is not None\n"
            "assert read > 20, read\n"
        )
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
        processes = [
            subprocess.Popen([sys.executable, "-c", code, str(folder), seed], env=environment)
            for seed in "12"
        ]

        assert [process.wait(timeout=100) for process in processes] == [0, 0]
        assert sum(status.st_size for _, status in files_in(folder)) <= 300_000
        assert not list(folder.glob("*.part"))

    def test_delete_all(self, store, folder):
        """Every state goes, and nothing else."""
        delete_all(folder)
        store.write("a", TOKENS, state_of(1))
        (folder / "x.part").write_bytes(b"")
        delete_all(folder)
        assert not folder.exists()

        store.write("a", TOKENS, state_of(1))
        (folder / "notes.txt").write_bytes(b"mine")
        delete_all(folder)
        assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_where_it_is(midtoken_home):
    """Beside the other caches."""
    assert default_folder() == midtoken_home / "cache" / "states"
