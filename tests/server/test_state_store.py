"""States on disk: found by what they begin with, given out whole or not at all, and bounded."""

import errno
import logging
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.state_store import (
    HOUR_S,
    MONTH_S,
    PROMPTS,
    StateStore,
    default_folder,
    delete_all,
    files_in,
)
from tests.server.command import REPOSITORY

KEY, OTHER_KEY = "ab" * 32, "cd" * 32
FILE_BYTES = 128
"""A file without ids and state."""
TOKENS = [5, 80, 12, 7, 301, 44]


def state_of(seed, size=1000):
    return np.random.default_rng(seed).integers(0, 256, size).astype(np.uint8)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache" / "states"


@pytest.fixture
def open_store(folder):
    def make(limit=1 << 20, key=KEY):
        return StateStore(folder, key, limit)

    return make


@pytest.fixture
def store(open_store):
    return open_store()


def found(store, tokens, *, longest=1 << 20, whole=False):
    """How much a store has of a text, and the state."""
    best = store.find(tokens, longest=longest, whole=whole)
    if best is None:
        return None
    return best[1], store.read(best[0])


def only_file(folder):
    [(path, _)] = files_in(folder)
    return path


class TestFinding:
    """The state that shares most with a text."""

    def test_after_a_restart(self, open_store):
        """What one store wrote, the next one has, byte for byte."""
        open_store().write("file:///a.py", TOKENS, state_of(1))
        common, state = found(open_store(), [*TOKENS, 9, 9])

        assert common == len(TOKENS)
        assert np.array_equal(state, state_of(1))

    def test_at_once(self, store):
        """What was written is there without another look at the folder."""
        assert found(store, TOKENS) is None
        assert store.write("file:///a.py", TOKENS, state_of(1))
        assert found(store, TOKENS)[0] == len(TOKENS)
        assert store.has("file:///a.py", TOKENS)
        assert not store.has("file:///a.py", TOKENS[:-1])
        assert not store.has("file:///b.py", TOKENS)

    def test_the_longest(self, store):
        """Of several the one that shares most; a longer text is of use as well."""
        store.write("a", [1, 2, 3], state_of(1))
        store.write("b", [1, 2, 3, 4, 5], state_of(2))
        store.write("c", [1, 9, 9, 9, 9, 9, 9], state_of(3))

        assert found(store, [1, 2, 3, 4, 8])[0] == 4
        assert np.array_equal(found(store, [1, 2, 3, 4, 8])[1], state_of(2))
        assert found(store, [1, 9])[0] == 2
        assert found(store, [7, 7]) is None
        assert found(store, []) is None

    def test_only_whole_texts(self, store):
        """Where a state can't be cut, the text must go on from it."""
        store.write("a", [1, 2, 3], state_of(1))
        store.write("b", [1, 2, 3, 4, 5], state_of(2))

        assert found(store, [1, 2, 3, 4, 8], whole=True)[0] == 3
        assert found(store, [1, 2, 9], whole=True) is None

    def test_not_too_long(self, store):
        """A state that the memory has no room for is not read."""
        store.write("a", [1, 2, 3, 4], state_of(1))

        assert found(store, [1, 2, 3, 4], longest=3) is None
        assert found(store, [1, 2, 3, 4], longest=4)[0] == 4

    def test_other_engines(self, open_store):
        """States of another model or another way to run it are not there."""
        open_store(key=OTHER_KEY).write("a", TOKENS, state_of(1))

        assert found(open_store(), TOKENS) is None
        assert found(open_store(key=OTHER_KEY), TOKENS)[0] == len(TOKENS)

    @settings(max_examples=60)
    @given(
        st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), max_size=6),
        st.lists(st.integers(0, 2), max_size=8),
        st.booleans(),
    )
    def test_as_if_looked_at_one_by_one(self, tmp_path_factory, texts, wanted, whole):
        """The slow way: every text compared token by token."""
        store = StateStore(tmp_path_factory.mktemp("states"), KEY, 1 << 20)
        for number, text in enumerate(texts):
            store.write(str(number), text, state_of(number, 10))
        shared = [
            next(n for n in range(len(text), -1, -1) if text[:n] == wanted[:n]) for text in texts
        ]
        if whole:
            shared = [n for n, text in zip(shared, texts, strict=True) if n == len(text)]
        best = store.find(wanted, longest=100, whole=whole)

        assert (best[1] if best else 0) == max(shared, default=0)


class TestDamage:
    """A file that is not exactly what was written gives nothing, and is deleted."""

    def test_any_byte(self, open_store, folder):
        """Wherever a bit falls over: beginning, ids or state."""
        open_store().write("a", TOKENS, state_of(1, 300))
        path = only_file(folder)
        raw = path.read_bytes()
        for place in range(len(raw)):
            damaged = bytearray(raw)
            damaged[place] ^= 1 << (place % 8)
            path.write_bytes(damaged)
            result = found(open_store(), TOKENS)
            assert result is None or result[1] is None, place
        path.write_bytes(raw)
        assert found(open_store(), TOKENS)[1] is not None

    @pytest.mark.parametrize("left", [0, 1, 31, 32, 127, 128, 140, 151, 152, 400])
    def test_torn(self, open_store, folder, left):
        """A file that ends early, as after a power cut."""
        open_store().write("a", TOKENS, state_of(1))
        path = only_file(folder)
        path.write_bytes(path.read_bytes()[:left])

        assert found(open_store(), TOKENS) is None

    def test_torn_after_it_was_found(self, store, folder):
        """The store knows of it, and then it is cut, or longer."""
        for change in (lambda raw: raw[:-1], lambda raw: raw + b"x", lambda _: b""):
            store.write("a", TOKENS, state_of(1))
            path = only_file(folder)
            path.write_bytes(change(path.read_bytes()))

            assert found(store, TOKENS) == (len(TOKENS), None)
            assert not path.exists()
            assert found(store, TOKENS) is None

    def test_another_state_in_its_place(self, open_store, folder):
        """A whole file under a wrong name is not what was looked for."""
        store = open_store()
        store.write("a", TOKENS, state_of(1))
        path = only_file(folder)
        other = open_store()
        other.write("b", [1, 2, 3, 4, 5, 6], state_of(2))
        [moved] = [each for each, _ in files_in(folder) if each != path]
        moved.replace(path)

        assert found(store, TOKENS) == (len(TOKENS), None)

    @given(st.binary(max_size=400))
    def test_any_bytes(self, tmp_path_factory, content):
        """Whatever lies there under such a name."""
        folder = tmp_path_factory.mktemp("states")
        (folder / f"{KEY[:16]}-x.state").write_bytes(content)

        assert found(StateStore(folder, KEY, 1 << 20), TOKENS) is None

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
    def test_things_that_are_no_files(self, open_store, folder, tmp_path):
        """Folders, links and pipes under such names are left alone, and nothing waits."""
        open_store().write("a", TOKENS, state_of(1))
        path = only_file(folder)
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
        (folder / f"{KEY[:16]}-folder.state").mkdir()
        os.mkfifo(folder / f"{KEY[:16]}-pipe.state")

        assert len(open_store()) == 0


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners here")
class TestPrivacy:
    """Nobody else reads or writes what documents say."""

    def test_modes(self, store, folder):
        """The folder and the files are for this user alone, whatever the mask says."""
        before = os.umask(0)
        try:
            store.write("a", TOKENS, state_of(1))
        finally:
            os.umask(before)

        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(only_file(folder).stat().st_mode) == 0o600

    def test_an_open_folder_is_closed(self, open_store, folder):
        """A folder that was restored from a backup with other modes."""
        open_store().write("a", TOKENS, state_of(1))
        folder.chmod(0o755)

        assert len(open_store()) == 1
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    def test_files_that_others_could_write(self, open_store, folder):
        """They are not used, though their hash is right."""
        open_store().write("a", TOKENS, state_of(1))
        only_file(folder).chmod(0o620)

        assert found(open_store(), TOKENS) is None

    def test_files_of_others(self, open_store, folder, monkeypatch, caplog):
        """Neither files nor a folder that belong to somebody else; the log says so, once."""
        open_store().write("a", TOKENS, state_of(1))
        own = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: own + 1)
        store = open_store()

        assert len(store) == 0
        assert not store.write("a", TOKENS, state_of(1))
        assert "belongs to somebody else" in caplog.text

    def test_names_tell_nothing(self, store, folder):
        """Neither the file's name nor its content has the document's address."""
        store.write("file:///home/ada/diary.py", TOKENS, state_of(1))

        assert "diary" not in only_file(folder).name
        assert b"diary" not in only_file(folder).read_bytes()


class TestBounds:
    """All files together stay below the limit; what is not used goes."""

    def test_least_recently_used_goes(self, open_store, folder):
        """Reading counts as use."""
        size = FILE_BYTES + 4 * len(TOKENS) + 1000
        texts = [[number, *TOKENS[1:]] for number in range(4)]
        store = open_store(limit=3 * size)
        for number in range(3):
            store.write(str(number), texts[number], state_of(number))
            os.utime(list(store._kept)[-1], (0, time.time() - 100 + number))
        found(store, texts[0])
        store.write("3", texts[3], state_of(3))

        known = [store.find(text, longest=99, whole=True) is not None for text in texts]
        assert known == [True, False, True, True]
        assert len(files_in(folder)) == 3

    @settings(max_examples=30)
    @given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3000)), max_size=12))
    def test_never_more(self, tmp_path_factory, writes):
        """Whatever is written in whichever order."""
        folder = tmp_path_factory.mktemp("states")
        store = StateStore(folder, KEY, 4000)
        for number, (document, size) in enumerate(writes):
            kept = store.write(str(document), [document, number], state_of(number, size))
            assert kept == (FILE_BYTES + 8 + size <= 4000)
            assert sum(status.st_size for _, status in files_in(folder)) <= 4000
            if kept:
                assert np.array_equal(found(store, [document, number])[1], state_of(number, size))

    def test_a_few_for_a_document(self, store, folder):
        """A document has its last prompts; other documents keep theirs."""
        store.write("other", [9, 9], state_of(0))
        for number in range(5):
            store.write("a", [number, 1, 2], state_of(number))

        assert len(files_in(folder)) == PROMPTS + 1
        assert [found(store, [n, 1, 2]) is not None for n in range(5)] == [False] * 3 + [True] * 2
        assert found(store, [9, 9])[0] == 2

    def test_too_large(self, open_store, folder, caplog):
        """A state above the limit drives nothing out; the log says so, once."""
        store = open_store(limit=2000)
        store.write("a", TOKENS, state_of(1))
        for _ in range(2):
            assert not store.write("b", TOKENS, state_of(2, 3000))

        assert found(store, TOKENS)[0] == len(TOKENS)
        assert len([record for record in caplog.records if "more than" in record.message]) == 1

    def test_old_files_go(self, open_store, folder):
        """States of a month ago and what was left unfinished, of whatever version."""
        open_store().write("a", TOKENS, state_of(1))
        old, new = folder / "another-version.state", folder / "unknown.state"
        part, fresh_part = folder / "x.part", folder / "y.part"
        mine = folder / "notes.txt"
        now = only_file(folder).stat().st_mtime
        for path, age in [(old, MONTH_S), (new, 60), (part, HOUR_S), (fresh_part, 60), (mine, 9e8)]:
            path.write_bytes(b"?")
            os.utime(path, (0, now - age - 60))
        store = open_store()

        assert [path.exists() for path in (old, new, part, fresh_part, mine)] == [
            False,
            True,
            False,
            True,
            True,
        ]
        assert found(store, TOKENS)[0] == len(TOKENS)

    def test_a_smaller_limit(self, open_store, folder):
        """It counts from the start."""
        store = open_store()
        for name in "abc":
            store.write(name, TOKENS, state_of(1))
        open_store(limit=1500)

        assert len(files_in(folder)) == 1


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
