"""States on disk: found by what they begin with, given out whole or not at all, and bounded."""

import os
import stat
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.private_files import HOUR_S
from server.state_store import (
    MONTH_S,
    PROMPTS,
    StateStore,
    files_in,
)
from tests.server.states.stores import (
    FILE_BYTES,
    KEY,
    OTHER_KEY,
    TOKENS,
    found,
    only_file,
    state_of,
)


def only_newest(folder):
    """The state that was used last."""
    return max(files_in(folder), key=lambda found: found[1].st_mtime)[0]


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

    def test_files_from_the_future(self, open_store, folder):
        """The clock was wrong when they were written: they are used, and are the first to go."""
        store = open_store(limit=3500)
        for name in "abc":
            store.write(name, [ord(name), 1, 2, 3], state_of(1))
        ahead = only_newest(folder)
        os.utime(ahead, (0, time.time() + 400 * MONTH_S))
        half = folder / "x.part"
        half.write_bytes(b"?")
        os.utime(half, (0, time.time() + 2 * HOUR_S))
        later = open_store(limit=3500)

        assert not half.exists()
        assert found(later, [ord("c"), 1, 2, 3])[1] is not None
        os.utime(ahead, (0, time.time() + 400 * MONTH_S))
        later.write("d", TOKENS, state_of(2))
        assert not ahead.exists()
        assert len(files_in(folder)) == 3

    def test_a_smaller_limit(self, open_store, folder):
        """It counts from the start."""
        store = open_store()
        for name in "abc":
            store.write(name, TOKENS, state_of(1))
        open_store(limit=1500)

        assert len(files_in(folder)) == 1
