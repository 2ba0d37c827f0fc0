"""Warm start: what was read before a restart is not read again, and changes no answer."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.completion_options import CompletionOptions
from server.engine import ROOT
from server.errors import EngineError
from server.models.catalog import DEFAULT_MODEL
from server.models.store import resolve
from server.snapshot import Snapshot
from server.state_store import StateStore, files_in
from server.warm_start import DOCUMENTS, LEAST_ON_CPU, may_be_kept, warm_start
from tests.server.engine.fresh import refuse_cuts

KINDS = {
    "attention": {},
    "sliding window": {"architecture": "gemma3"},
    "recurrent": {"architecture": "mamba"},
    "hybrid": {"architecture": "jamba"},
    "recurrent, no middle mark": {"architecture": "mamba", "dialect": "Codestral"},
}
OPTIONS = CompletionOptions(max_tokens=6, grammar="off")  # a tiny model wants what none allows
LINES = [f"    reader_{n} = Reader(path, numbers[{n}])\n" for n in range(40)]
MEGABYTES = 4


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "states"


@pytest.fixture
def start(load_tiny, folder):
    """A model that was just loaded, with what earlier ones left in the folder."""

    def begin(megabytes=MEGABYTES, **kind):
        completer = load_tiny(**kind)
        completer.warm = warm_start(completer.engine, folder, megabytes)
        return completer

    return begin


def snapshot_of(before, line="    return sum(", after="\n\ndef other():\n    pass\n", uri="a.py"):
    start = before + line
    return Snapshot(uri, 0, (start + after).encode(), len(start.encode()), "python")


DOCUMENT = snapshot_of("def f(path, numbers):\n" + "".join(LINES[:5]))


def text_of(completion):
    return completion.items[0].text if completion.items else ""


def restart(start, document=DOCUMENT, **kind):
    """Complete, end, begin again: the completion before, the new completer."""
    first = start(**kind)
    completion = first.complete(document, OPTIONS)
    first.close()
    return completion, start(**kind)


@pytest.mark.parametrize("kind", KINDS)
def test_after_a_restart(start, kind):
    """Nearly all of the prompt is there at once, and the text is the same."""
    before, completer = restart(start, **KINDS[kind])
    after = completer.complete(DOCUMENT, OPTIONS)

    assert before.tokens.reused < 2
    assert after.tokens.reused >= after.tokens.prompt - 16
    assert before.tokens.evaluated - after.tokens.evaluated > 60
    assert text_of(after) == text_of(before) != ""


def test_a_memory_that_refuses(start, monkeypatch):
    """A model whose memory can't be cut although it should: states of whole texts only."""
    refuse_cuts(monkeypatch)
    options = replace(OPTIONS, context_tokens=160)  # one size: what is in memory decides nothing
    first = start()
    texts = [text_of(first.complete(DOCUMENT, options)) for _ in range(2)]
    first.close()
    completer = start()

    assert text_of(completer.complete(DOCUMENT, options)) in texts
    assert text_of(completer.complete(DOCUMENT, options)) in texts


def test_reading_ahead(start):
    """What would be read ahead is taken from disk as well."""
    _, completer = restart(start)
    [prompt, *_] = completer.prompts_ahead(DOCUMENT, OPTIONS)

    text = completer.prompts.text(prompt)
    assert completer.engine.held(text) == len(text) - 1
    assert completer.engine.evaluated_tokens == 0


def test_elsewhere_in_the_document(start):
    """A prompt that begins alike uses what it shares; where memory can be cut."""
    _, completer = restart(start)
    below = snapshot_of("def f(path, numbers):\n" + "".join(LINES[:5]) + "    x = 1\n")
    found = completer.complete(below, OPTIONS)

    assert found.tokens.reused > 60


def test_not_for_a_small_part(start):
    """A state that saves less than half of a prompt does not take another text's place."""
    _, completer = restart(start)
    engine = completer.engine
    kept = next(iter(completer.warm._store._kept.values()))
    shared = kept.tokens.tolist()[:60]

    assert completer.warm.recall([*shared, *range(80, 145)]) == 0
    assert engine.held(shared) == 0
    assert completer.warm.recall([*shared, *range(80, 135)]) == 60
    assert engine.held(shared) == 60


def test_a_document_that_comes_back(start):
    """When others have taken its place in memory, it is put back, too."""
    completer = start()
    first = completer.complete(DOCUMENT, OPTIONS)
    completer.warm.finish()
    for number in range(5):
        other = snapshot_of(f"# {number}\n" + "".join(LINES[number:][:5]), uri=f"{number}.py")
        completer.complete(other, OPTIONS)
    assert completer.engine.held(completer.engine.encode(b"def f(path, numbers):\n")) < 4
    again = completer.complete(snapshot_of(DOCUMENT.text.decode().split("    return")[0]), OPTIONS)

    assert again.tokens.reused >= again.tokens.prompt - 16
    assert text_of(again) == text_of(first)


@settings(max_examples=12)
@given(st.data())
def test_answers_do_not_depend_on_it(load_tiny, tmp_path_factory, data):
    """Any places in any order, with restarts in between: as from a fresh start."""
    folder = tmp_path_factory.mktemp("states")
    kind = KINDS[data.draw(st.sampled_from(sorted(KINDS)))]
    completer = load_tiny(**kind)
    completer.warm = warm_start(completer.engine, folder, MEGABYTES)
    fresh = load_tiny(**kind)
    for _ in range(data.draw(st.integers(1, 5))):
        if data.draw(st.booleans()):
            completer.close()
            completer = load_tiny(**kind)
            completer.warm = warm_start(completer.engine, folder, MEGABYTES)
        first, count = data.draw(st.integers(0, 2)), data.draw(st.integers(2, 5))
        document = snapshot_of("".join(LINES[first:][:count]), uri="abc"[first] + ".py")
        found = text_of(completer.complete(document, OPTIONS))
        expected = text_of(fresh.complete(document, OPTIONS))
        if found != expected:  # two texts may be as good as equally likely
            assert found in {expected, text_of(load_tiny(**kind).complete(document, OPTIONS))}


class TestWhatIsKept:
    """Prompts of files, the last ones, and not twice."""

    def test_nothing_while_it_is_used(self, start, folder):
        """Answering writes nothing."""
        completer = start()
        completer.complete(DOCUMENT, OPTIONS)

        assert not folder.exists()
        completer.warm.finish()
        assert len(files_in(folder)) == 1

    def test_not_twice(self, start, folder):
        """What is there already is not taken again; it counts as used."""
        completer = start()
        completer.complete(DOCUMENT, OPTIONS)
        assert completer.warm.take() is not None
        assert completer.warm.take() is None
        completer.complete(DOCUMENT, OPTIONS)
        completer.warm.finish()
        [(path, _)] = files_in(folder)
        os.utime(path, (0, path.stat().st_mtime - 1000))
        old = path.stat().st_mtime
        completer.complete(DOCUMENT, OPTIONS)

        assert completer.warm.take() is None
        assert path.stat().st_mtime > old

    def test_not_for_a_line_more(self, start, folder):
        """What is mostly on disk is written at the end only, and then it is."""
        completer = start()
        completer.complete(DOCUMENT, OPTIONS)
        completer.warm.take().write()
        longer = snapshot_of("def f(path, numbers):\n" + "".join(LINES[:5]) + "    x = 1\n")
        completer.complete(longer, OPTIONS)

        assert completer.warm.take() is None
        completer.close()
        assert len(files_in(folder)) == 2
        again = start().complete(longer, OPTIONS)
        assert again.tokens.reused >= again.tokens.prompt - 16

    def test_the_last_prompts(self, start, folder):
        """Of a document two, newest first; of documents as many as there are slots."""
        completer = start()
        for number in range(4):
            completer.complete(snapshot_of("".join(LINES[number:][:4])), OPTIONS)
        taken = []
        while (one := completer.warm.take()) is not None:
            taken.append(bytes(completer.engine.vocabulary.decode(list(one.tokens))))

        assert ["reader_3" in str(text) for text in taken] == [True, True]
        assert ["reader_2" in str(text) for text in taken] == [False, True]
        for number in range(DOCUMENTS + 2):
            completer.warm.note(f"{number}.py", tuple(range(50)))
        assert len(completer.warm._noted) == DOCUMENTS

    def test_not_for_little(self, start, folder):
        """A short prompt is read as fast."""
        completer = start()
        completer.complete(snapshot_of("x = 1\n", "y", ""), OPTIONS)

        assert completer.warm.take() is None
        completer.warm.note("a.py", tuple(range(LEAST_ON_CPU)))
        assert not completer.warm._noted

    def test_secrets(self, start, folder):
        """Files of secrets, and documents that are none, leave nothing."""
        completer = start()
        for uri in (".env", "file:///p/.env.local", "untitled:Untitled-1", "git:/a.py", "key.pem"):
            completer.complete(
                snapshot_of("def f(path, numbers):\n" + "".join(LINES[:5]), uri=uri), OPTIONS
            )
        completer.close()

        assert not folder.exists()

    def test_switched_off(self, start, folder):
        """Without room, nothing is kept and nothing stays of what was."""
        restart(start)
        assert files_in(folder)
        completer = start(megabytes=0)

        assert completer.warm is None
        assert not folder.exists()
        completer.complete(DOCUMENT, OPTIONS)
        completer.close()
        assert not folder.exists()

    def test_the_end_is_not_put_off(self, start, folder, monkeypatch):
        """A slow disk gets what was used last, and no more is begun after a while."""
        completer = start()
        for number in range(3):
            document = snapshot_of("".join(LINES[number:][:4]), uri=f"{number}.py")
            completer.complete(document, OPTIONS)
        monkeypatch.setattr("server.warm_start.FINISH_S", 0.0)
        monkeypatch.setattr("server.warm_start.perf_counter", iter((0.0, -1.0, 1.0)).__next__)
        completer.close()

        assert len(files_in(folder)) == 1


class TestFailing:
    """A favour that fails is none: the prompt is read as ever."""

    def test_a_damaged_file(self, start, folder):
        """It is deleted, and written again later."""
        before, completer = restart(start)
        [(path, _)] = files_in(folder)
        raw = bytearray(path.read_bytes())
        raw[len(raw) // 2] ^= 1
        path.write_bytes(raw)
        after = completer.complete(DOCUMENT, OPTIONS)

        assert not path.exists()
        assert (after.tokens.reused, text_of(after)) == (before.tokens.reused, text_of(before))
        completer.warm.finish()
        assert path.exists()

    def test_damage_never_reaches_the_engine(self, start, folder, monkeypatch):
        """The hash is looked at before llama.cpp gets a byte."""
        _, completer = restart(start)
        [(path, _)] = files_in(folder)
        raw = bytearray(path.read_bytes())
        given = []
        monkeypatch.setattr(completer.engine, "restore", lambda *state: given.append(state))
        for place in (0, 40, 128, 200, len(raw) // 2, len(raw) - 1):
            raw[place] ^= 128
            path.write_bytes(raw)
            completer.warm._store = StateStore(folder, completer.engine.state_key, 1 << 20)
            completer.warm.recall(completer.engine.encode(DOCUMENT.text))
            raw[place] ^= 128

        assert given == []

    def test_a_state_that_is_refused(self, start, folder, monkeypatch):
        """It is deleted: it would be refused again."""
        before, completer = restart(start)
        monkeypatch.setattr(completer.engine, "restore", lambda *_: False)

        assert text_of(completer.complete(DOCUMENT, OPTIONS)) == text_of(before)
        assert not files_in(folder)

    def test_a_state_that_ends_the_process(self, start, folder, monkeypatch):
        """It does so once: who starts again does not find it."""
        _, completer = restart(start)
        engine, seen = completer.engine, []
        restore = engine.restore

        def dies(*state):
            seen.append(len(StateStore(folder, engine.state_key, 1 << 20)))
            return restore(*state)

        monkeypatch.setattr(engine, "restore", dies)
        completer.complete(DOCUMENT, OPTIONS)

        assert seen == [0]
        assert len(StateStore(folder, engine.state_key, 1 << 20)) == 1

    def test_too_long_for_the_memory(self, start, folder, load_tiny):
        """A state of a larger context is left for later."""
        _, small = restart(start)
        long = small.engine.encode("".join(LINES).encode() * 2)
        assert len(long) > 1024
        store = StateStore(folder, small.engine.state_key, 1 << 20)
        store.write("a.py", long, np.zeros(10, np.uint8))
        small.warm = warm_start(small.engine, folder, MEGABYTES)

        assert small.warm.recall(long) == 0
        assert len(files_in(folder)) == 2

    def test_a_model_file_that_changed(self, start, folder, monkeypatch):
        """What is in memory may be of neither model: nothing is kept, and it ends in order."""
        completer = start()
        completer.complete(DOCUMENT, OPTIONS)

        def changed(_):
            raise EngineError("the model file has changed: it is loaded again")

        monkeypatch.setattr(completer.engine, "save", changed)
        assert completer.warm.take() is None
        completer.close()
        assert not folder.exists()

    def test_no_key(self, start, monkeypatch, caplog):
        """A model that can't be told from others has no states."""

        def fail(*_):
            raise OSError(5, "Input/output error")

        monkeypatch.setattr("server.engine.llama.state_key", fail)

        assert start().warm is None
        assert "Input/output error" in caplog.text


@pytest.mark.model
class TestRealModel:
    """The default model: rounding is not so kind there."""

    SOURCE = Path(may_be_kept.__code__.co_filename).read_text(encoding="utf-8")

    @pytest.fixture
    def begin(self, folder):
        """Loads the model as a server does."""
        from server.completer import load_completer

        loaded = []

        def load():
            loaded.append(load_completer(resolve(DEFAULT_MODEL)))
            loaded[-1].warm = warm_start(loaded[-1].engine, folder, 64)
            return loaded[-1]

        yield load
        for completer in loaded:
            completer.close()

    def test_the_same_text_and_logits(self, begin, report):
        """After a restart: greedy text as before, logits within the noise of a batch."""
        before, line, after = self.SOURCE.partition("        held = engine.")
        after = after[after.index("\n") :]
        document = snapshot_of(before, line, after, uri="file:///a.py")
        first = begin()
        cold = first.complete(document, CompletionOptions(max_tokens=16))
        [head] = first.warm._noted["file:///a.py"]
        [row] = first.engine.evaluate(first.engine.open(head), [], [ROOT])
        row = row.copy()
        first.close()

        second = begin()
        warm = second.complete(document, CompletionOptions(max_tokens=16))
        slot = second.engine.open(head)
        [again] = second.engine.evaluate(slot, [], [ROOT])

        assert text_of(warm) == text_of(cold) != ""
        assert warm.tokens.reused >= len(head) - 1
        assert slot.reused == len(head)
        noise = float(np.abs(row - again).max())
        assert noise < 1.0  # see NOISE in test_llama_real.py
        assert row.argmax() == again.argmax()
        report(
            f"warm start: {cold.tokens.evaluated} tokens evaluated before a restart, "
            f"{warm.tokens.evaluated} after it; logits differ by {noise:.3f} at most"
        )
