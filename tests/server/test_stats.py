"""What became of suggestions: counting, the file, the command."""

import json
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server import stats
from server.own_methods import DID_ACCEPT, DID_REJECT, DID_SHOW, bind_own_methods
from server.stats import Counted, Tally
from tests.server.command import run_here

DAY = "2026-03-14"


@pytest.fixture
def file(tmp_path):
    """A file in a folder that does not exist yet."""
    return tmp_path / "data" / "stats.json"


class TestTally:
    def test_words_are_one_acceptance(self):
        """A suggestion that is accepted word by word counts once, with all its characters."""
        tally = Tally()
        tally.shown("a", "python")
        tally.accepted("a", "python", 3)
        tally.accepted("a", "python", 4)

        assert tally.take(DAY) == {DAY: {"python": Counted(1, 1, 0, 7)}}

    def test_rejected_after_part(self):
        """What was accepted in part is not rejected, whatever the editor says afterwards."""
        tally = Tally()
        tally.shown("a", "python")
        tally.accepted("a", "python", 3)
        tally.rejected("a", "python")

        assert tally.take(DAY)[DAY]["python"].rejected == 0

    def test_documents_apart(self):
        """A rejection in one document says nothing about another."""
        tally = Tally()
        tally.shown("a", "python")
        tally.shown("b", "go")
        tally.rejected("b", "go")
        tally.accepted("a", "python", 1)

        assert tally.take(DAY)[DAY] == {"python": Counted(1, 1, 0, 1), "go": Counted(1, 0, 1, 0)}

    def test_take_once(self):
        """What was taken is not given again."""
        tally = Tally()
        tally.shown("a", "python")
        tally.take(DAY)

        assert tally.take(DAY) == {}

    @given(st.lists(st.tuples(st.sampled_from("sar"), st.sampled_from("ab"))))
    def test_never_more_than_shown(self, notes):
        """Whatever editors say, no more is accepted and rejected than was shown."""
        tally = Tally()
        for note, document in notes:
            if note == "s":
                tally.shown(document, "python")
            elif note == "a":
                tally.accepted(document, "python", 1)
            else:
                tally.rejected(document, "python")

        counted = tally.take(DAY).get(DAY, {}).get("python", Counted())
        assert counted.accepted + counted.rejected <= counted.shown


class TestFile:
    def test_sums(self, file):
        """Numbers of several writings are added up, by day and language."""
        stats.add({DAY: {"python": Counted(3, 1, 0, 9)}}, file)
        stats.add({DAY: {"python": Counted(1, 1, 0, 1), "go": Counted(1)}}, file)

        assert stats.read(file) == {DAY: {"python": Counted(4, 2, 0, 10), "go": Counted(1)}}
        assert stats.by_language(stats.read(file))["python"].rate == 0.5

    def test_writers_at_once(self, file):
        """Several servers that write at the same moment lose nothing."""
        writers = [
            threading.Thread(target=stats.add, args=({DAY: {"c": Counted(1)}}, file))
            for _ in range(8)
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()

        assert stats.read(file)[DAY]["c"].shown == 8

    @pytest.mark.parametrize(
        "content",
        ["", "[]", '{"2026-03-14": 1}', '{"2026-03-14": {"c": {"shown": "many"}}}', "[" * 100_000],
    )
    def test_damage(self, file, content):
        """A damaged file counts as far as it can be read, and is whole after the next writing."""
        file.parent.mkdir()
        file.write_text(content)
        stats.add({DAY: {"c": Counted(shown=2)}}, file)

        assert stats.read(file) == {DAY: {"c": Counted(shown=2)}}

    def test_on_the_disk_before_in_place(self, file, monkeypatch):
        """A power cut leaves the old counts or the new ones: the content is flushed, then named."""
        stats.add({DAY: {"c": Counted(1)}}, file)
        done, fsync, rename = [], os.fsync, Path.replace

        def flush(descriptor: int) -> None:
            done.append(("flushed", os.fstat(descriptor).st_ino))
            fsync(descriptor)

        def put(path: Path, target: Path) -> Path:
            done.append(("put in place", path.stat().st_ino))
            return rename(path, target)

        monkeypatch.setattr(os, "fsync", flush)
        monkeypatch.setattr(Path, "replace", put)
        stats.add({DAY: {"c": Counted(2)}}, file)

        number = file.stat().st_ino
        assert done == [("flushed", number), ("put in place", number)]
        assert stats.read(file)[DAY]["c"] == Counted(3)

    def test_no_rest(self, file):
        """Writing leaves one file and its lock."""
        stats.add({DAY: {"c": Counted(1)}}, file)

        assert sorted(path.name for path in file.parent.iterdir()) in (
            ["stats.json"],
            ["stats.json", "stats.json.lock"],
        )


class TestNotes:
    @pytest.fixture
    def handlers(self):
        """The notifications' handlers by name, and what they count in."""
        bound = {}

        class Server:
            def feature(self, name):
                return lambda handler: bound.setdefault(name, handler)

        return bound, bind_own_methods(Server(), None, lambda _: "python").notes

    async def test_counted(self, handlers):
        """Shown, accepted with its length, rejected: each counts for the document's language."""
        bound, notes = handlers
        document = SimpleNamespace(uri="file:///a.py")
        bound[DID_SHOW](SimpleNamespace(textDocument=document))
        bound[DID_ACCEPT](SimpleNamespace(textDocument=document, length=5))
        bound[DID_SHOW](SimpleNamespace(textDocument=document))
        bound[DID_REJECT](SimpleNamespace(textDocument=document))

        assert notes.tally.take(DAY)[DAY]["python"] == Counted(2, 1, 1, 5)

    @pytest.mark.parametrize("params", [None, 3, SimpleNamespace(textDocument=None, length="x")])
    async def test_any_shape(self, handlers, params):
        """Notes of any shape are no error."""
        bound, notes = handlers
        for name in (DID_SHOW, DID_ACCEPT, DID_REJECT):
            bound[name](params)

        assert notes.tally.take(DAY)[DAY]["python"] == Counted(1, 1, 0, 0)

    async def test_written(self, handlers, monkeypatch, file):
        """What was counted is written down without the document's name."""
        monkeypatch.setattr(stats, "default_file", lambda: file)
        bound, notes = handlers
        bound[DID_SHOW](SimpleNamespace(textDocument=SimpleNamespace(uri="file:///secret.py")))
        notes.write()

        assert stats.by_language(stats.read(file)) == {"python": Counted(1)}
        assert "secret" not in file.read_text()

    async def test_written_later(self, handlers, monkeypatch, file, caplog):
        """What a disk has refused is said once, kept, and written with what comes next."""
        monkeypatch.setattr(stats, "default_file", lambda: file)
        bound, notes = handlers
        shown = SimpleNamespace(textDocument=SimpleNamespace(uri="file:///a.py"))
        file.parent.write_text("in the folder's place")
        for _ in range(2):
            bound[DID_SHOW](shown)
            notes.write()
        assert [record.message for record in caplog.records] == [
            f"{file}: what became of suggestions can't be written down (File exists)"
        ]

        file.parent.unlink()
        bound[DID_SHOW](shown)
        notes.write()
        notes.write()
        assert stats.by_language(stats.read(file)) == {"python": Counted(3)}


class TestCommand:
    @pytest.fixture
    def run(self, capfdbinary, monkeypatch, file):
        """Runs `midtoken stats` on the file."""
        monkeypatch.setattr(stats, "default_file", lambda: file)
        return lambda *arguments: run_here(capfdbinary, monkeypatch, "stats", *arguments)

    HEADINGS = "day\tlanguage\tshown\taccepted\trejected\tcharacters\trate\n"

    def test_plain(self, run, file):
        """Piped, each day and language is one line with tabs, below the headings."""
        stats.add({DAY: {"python": Counted(4, 1, 2, 9)}}, file)

        assert run().out.decode() == f"{self.HEADINGS}{DAY}\tpython\t4\t1\t2\t9\t25 %\n"

    def test_not_reported(self, run, file):
        """Where editors tell only what is shown, the rate is not known; else it may be nothing."""
        stats.add({DAY: {"python": Counted(shown=4), "go": Counted(characters=3)}}, file)
        assert run().out.decode() == (
            f"{self.HEADINGS}{DAY}\tgo\t0\t0\t0\t3\tnot reported\n"
            f"{DAY}\tpython\t4\t0\t0\t0\tnot reported\n"
        )

        stats.add({DAY: {"c": Counted(2, 0, 1)}}, file)
        rates = [line.rsplit("\t", 1)[1] for line in run().out.decode().splitlines()[1:]]
        assert rates == ["0 %", "not reported", "0 %"]

    def test_json(self, run, file):
        """`--json` prints what the file holds."""
        stats.add({DAY: {"python": Counted(4, 1, 2, 9)}}, file)

        assert json.loads(run("--json").out) == json.loads(file.read_text())

    def test_reset(self, run, file):
        """After `--reset` nothing is known, and that is no error."""
        stats.add({DAY: {"python": Counted(4)}}, file)
        run("--reset")
        result = run()

        assert (result.code, result.out) == (0, b"")
        assert "nothing is counted yet" in result.err

    def test_nothing(self, run, file):
        """Resetting what never was is no error, and makes no folder."""
        assert run("--reset").code == 0
        assert not file.parent.exists()
