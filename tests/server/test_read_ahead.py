"""Reading ahead: portion by portion, found again by its text, and stopped without losing any."""

import threading
from contextlib import suppress

import numpy as np
import pytest

from server.completer import load_completer
from server.completion_options import CompletionOptions
from server.engine import ROOT
from server.errors import Cancelled
from server.models import store
from server.models.catalog import DEFAULT_MODEL
from server.read_ahead import CPU_PORTION, DOCUMENTS, ReadAhead
from server.snapshot import Snapshot
from server.speed import Reading
from tests.server.engine.fresh import refuse_cuts
from tests.server.test_window import program

OPTIONS = CompletionOptions(max_tokens=4, grammar="off")
MODELS = {
    "attention": {},
    "recurrent": {"architecture": "mamba"},
    "hybrid": {"architecture": "jamba"},
    "sliding window": {"architecture": "gemma3"},
}


@pytest.fixture
def completer(load_tiny):
    return load_tiny(n_ctx=4096)


@pytest.fixture
def completer_of_the_default_model():
    """A model that takes its time."""
    loaded = load_completer(store.resolve(DEFAULT_MODEL))
    yield loaded
    loaded.close()


@pytest.fixture
def ahead(completer):
    return ReadAhead(completer.engine, Reading(None, 80.0))


def text_of(completer, seed, tokens):
    """A text of so many tokens that has nothing in common with those of other seeds."""
    ids = completer.engine.encode(b"%d " % seed + b"".join(program(seed, 200)))
    return tuple(ids[:tokens])


def read_all(ahead, document, texts):
    return sum(iter(lambda: ahead.portion(document, texts), False))


class TestPortions:
    def test_until_all_is_in_memory(self, completer, ahead):
        """A portion is a forward pass; after the last one there is nothing to do."""
        text = text_of(completer, 1, 3 * CPU_PORTION + 10)
        for portion in range(1, 5):
            assert ahead.portion("a", [text])
            assert completer.engine.held(text) == min(portion * 64, len(text))
        assert not ahead.portion("a", [text])
        assert ahead.tokens == len(text)
        assert completer.engine.forward_passes == 4

    def test_one_after_the_other(self, completer, ahead):
        """The first prompt comes first; what the second shares with it is not read again."""
        first, second = text_of(completer, 1, 100), text_of(completer, 1, 230)

        assert read_all(ahead, "a", [first, second]) == 5
        assert ahead.tokens == 230

    def test_one_slot(self, completer, ahead):
        """However many portions, other texts stay in memory."""
        others = [text_of(completer, seed, 20) for seed in (2, 3, 4)]
        for text in others:
            completer.engine.evaluate(completer.engine.open(text), [], [])
        read_all(ahead, "a", [text_of(completer, 1, 400)])

        assert [completer.engine.held(text) for text in others] == [20, 20, 20]

    @pytest.mark.parametrize("kind", MODELS)
    def test_any_memory(self, load_tiny, kind):
        """Whatever the memory, all of a prompt is read at last, each token once."""
        completer = load_tiny(n_ctx=1024, **MODELS[kind])
        ahead = ReadAhead(completer.engine, Reading(None, 80.0))
        text = text_of(completer, 1, 300)

        assert read_all(ahead, "a", [text]) == 5
        assert completer.engine.evaluated_tokens == 300
        assert completer.engine.held(text) == 300

    def test_speed(self, completer, ahead):
        """The speed is learned by the way."""
        reading = ahead._reading
        read_all(ahead, "a", [text_of(completer, 1, 300)])

        assert reading.is_known


class TestStopped:
    @pytest.mark.parametrize("portions", [0, 1, 3])
    def test_what_was_read_stays(self, completer, ahead, portions):
        """A portion that is stopped is lost; the others are not, and it goes on from there."""
        text = text_of(completer, 1, 300)
        for _ in range(portions):
            ahead.portion("a", [text])
        completer.cancel()
        for _ in range(2):
            with pytest.raises(Cancelled):
                ahead.portion("a", [text])
        completer.resume()

        assert completer.engine.held(text) == portions * CPU_PORTION
        read_all(ahead, "a", [text])
        assert ahead.tokens == completer.engine.evaluated_tokens == 300

    def test_a_request_in_between(self, completer):
        """A request gives the same text, whatever is half read, and reads no more than before."""
        text = b"".join(program(5, 120))
        snapshot = Snapshot("a.py", 0, text + b"total = re", len(text) + 10, "python")
        alone = completer.complete(snapshot, OPTIONS)
        for seed in (6, 7, 8, 9):  # forget it
            completer.engine.open(text_of(completer, seed, 9))
        prompt, *_ = completer.prompts_ahead(snapshot, OPTIONS)
        text = completer.prompts.text(prompt)
        completer.ahead.portion("a.py", [text])
        half = completer.complete(snapshot, OPTIONS)
        read_all(completer.ahead, "a.py", [text])
        whole = completer.complete(snapshot, OPTIONS)

        assert [item.text for item in half.items] == [item.text for item in alone.items]
        assert [item.text for item in whole.items] == [item.text for item in alone.items]
        assert half.tokens.evaluated < alone.tokens.evaluated
        assert whole.tokens.reused > half.tokens.reused


@pytest.mark.model
def test_stopped_inside_a_portion(completer_of_the_default_model, report):
    """The real model, stopped in the middle of a forward pass: what it knows is what it read."""
    completer = completer_of_the_default_model
    engine = completer.engine
    ahead, text = ReadAhead(engine, Reading(None, 80.0)), text_of(completer, 1, 200)
    assert ahead.portion("a", [text])
    timer = threading.Timer(0.2, completer.cancel)
    timer.start()
    try:
        with suppress(Cancelled):  # a quick machine is done by then
            read_all(ahead, "a", [text])
    finally:
        timer.join()
        completer.resume()
    held = engine.held(text)
    assert held in {64, 128, 192, 200}
    read_all(ahead, "a", [text])
    slot = engine.open(text)
    [row] = engine.evaluate(slot, [], [ROOT])
    along = row.copy()
    engine.drop(slot)
    ahead.forget("a")
    [alone] = engine.evaluate(engine.open(text), [], [ROOT])
    noise = float(np.sqrt(np.square(along - alone).mean()) / alone.std())
    report(f"stopped after {held} tokens; the row at the end differs by {noise:.4f} of its spread")

    assert noise < 0.1  # what the shapes of batches make of it; another text differs by about 1


class TestHeld:
    def test_requests_do_not_push_it_out(self, completer):
        """What was read ahead is there after any number of keys, and for another document."""
        texts = {name: text_of(completer, seed, 300) for seed, name in enumerate("ab")}
        for name, text in texts.items():
            read_all(completer.ahead, name, [text])
        text = b"".join(program(7, 20))
        for typed in range(1, 9):
            cursor = len(text) + typed
            snapshot = Snapshot("c.py", 0, text + b"total = si"[:typed], cursor, "python")
            completer.complete(snapshot, OPTIONS)

        held = [completer.engine.held(text) for text in texts.values()]
        assert held == [300, 300]
        assert len(held) == DOCUMENTS

    def test_forgotten(self, completer, ahead):
        """A closed document's text is free; one of which nothing was read is no error."""
        text = text_of(completer, 1, 100)
        read_all(ahead, "a", [text])
        ahead.forget("b")
        ahead.forget("a")

        assert completer.engine.held(text) == 0

    def test_memory_for_something_else(self, load_tiny):
        """Where there is no room for all, requests have it, and reading ahead begins again."""
        completer = load_tiny(n_ctx=512)
        text = text_of(completer, 1, 400)
        read_all(completer.ahead, "a", [text])
        completer.engine.evaluate(completer.engine.open(text_of(completer, 2, 300)), [], [])
        completer.ahead.hold()

        assert completer.engine.held(text) == 0
        assert read_all(completer.ahead, "a", [text])
        assert completer.engine.held(text) == 400

    def test_nothing_is_read_to_hold_it(self, completer, monkeypatch):
        """A memory that turns out to refuse cuts: what it lost is not read on a request's way."""
        text = text_of(completer, 1, 130)
        read_all(completer.ahead, "a", [text])
        refuse_cuts(monkeypatch)
        slot = completer.ahead._held["a"]
        completer.engine.cut(slot, 100)
        before = completer.engine.evaluated_tokens
        completer.ahead.hold()

        assert completer.engine.evaluated_tokens == before


class TestMeasuring:
    def test_once(self, completer, ahead):
        """Some portions of any text, no more than a hundred tokens; then the speed is known."""
        assert sum(iter(ahead.measure, False)) == 3
        assert ahead.tokens <= 100
        assert ahead._reading.is_known
        assert not ahead.measure()
        assert completer.engine.evaluated_tokens == ahead.tokens

    def test_a_known_speed(self, completer):
        """What was measured before is not measured again."""
        ahead = ReadAhead(completer.engine, Reading(100.0, 80.0))

        assert not ahead.measure()
        assert not completer.engine.evaluated_tokens
