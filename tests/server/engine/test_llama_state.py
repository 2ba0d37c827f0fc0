"""What the memory holds of a text, taken out and put back: the same logits, or nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.engine import ROOT, state_key
from server.engine.llama_library import load_library
from server.engine.llama_load import EngineOptions
from server.errors import EngineError
from tests.server.engine.fresh import before_pass, held

TEXT = [5, 80, 12, 7, 7, 301, 44, 9, 260, 31, 18, 18, 222, 3, 41, 5, 90, 17, 260, 1, 2, 3]
DIVISIBLE = ["llama", "gemma3"]
INDIVISIBLE = ["mamba", "jamba"]


@pytest.fixture(params=[*DIVISIBLE, *INDIVISIBLE])
def architecture(request):
    return request.param


def read(engine, text):
    """A slot whose text is in memory, its last row known."""
    slot = engine.open(text)
    engine.evaluate(slot, [], [ROOT])
    return slot


def saved(engine, text=TEXT):
    read(engine, text)
    return engine.save(text)


def test_the_same_logits(make_engine, fresh, architecture):
    """Another engine goes on from a state as if it had read the text."""
    state = saved(make_engine(architecture))
    engine = make_engine(architecture)

    assert engine.restore(TEXT, state)
    assert engine.held(TEXT) == len(TEXT)
    slot = engine.open([*TEXT, 6])
    rows = [row.copy() for row in engine.evaluate(slot, [(ROOT, 8), (0, 9)], [ROOT, 0, 1])]

    assert slot.reused == len(TEXT)
    assert engine.evaluated_tokens == 3
    texts = [[*TEXT, 6], [*TEXT, 6, 8], [*TEXT, 6, 8, 9]]
    assert all(fresh(architecture).agrees(*pair) for pair in zip(rows, texts, strict=True))


def test_the_logits_after_it(make_engine, fresh, architecture):
    """They are asked for at once: known, one token read again, or a window's whole text."""
    engine = make_engine(architecture)
    engine.restore(TEXT, saved(make_engine(architecture)))
    [row] = engine.evaluate(engine.open(TEXT), [], [ROOT])

    costs = {"llama": 1, "gemma3": len(TEXT), "mamba": 0, "jamba": 0}
    assert engine.evaluated_tokens == costs[architecture]
    assert fresh(architecture).agrees(row, TEXT)


@pytest.mark.parametrize("architecture", DIVISIBLE)
def test_a_part_of_a_slot(make_engine, fresh, architecture):
    """A slot that has gone on gives the state of its beginning; nothing stays of the taking."""
    first = make_engine(architecture)
    slot = read(first, [*TEXT, 1, 2, 3, 4])
    state = first.save(TEXT)
    engine = make_engine(architecture)

    assert sum(held(first)) == slot.resident == len(TEXT) + 4
    assert engine.restore(TEXT, state)
    assert sum(held(engine)) == len(TEXT)
    [row] = engine.evaluate(engine.open([*TEXT, 6]), [], [ROOT])
    assert fresh(architecture).agrees(row, [*TEXT, 6])


def test_a_part_of_a_state(make_engine, fresh):
    """A text that leaves the saved one goes on from where it does."""
    engine = make_engine()
    engine.restore(TEXT, saved(make_engine()))
    other = [*TEXT[:12], 50, 51]
    slot = engine.open(other)
    [row] = engine.evaluate(slot, [], [ROOT])

    assert slot.reused == 12
    assert engine.evaluated_tokens == 2
    assert fresh().agrees(row, other)


@pytest.mark.parametrize("architecture", ["gemma3", "mamba", "jamba"])
def test_no_part_of_the_end(make_engine, fresh, architecture):
    """A recurrent state, or what a window still sees, goes on from the end of its text alone."""
    engine = make_engine(architecture)
    engine.restore(TEXT, saved(make_engine(architecture)))
    other = [*TEXT[:12], 50]
    slot = engine.open(other)
    [row] = engine.evaluate(slot, [], [ROOT])

    assert slot.reused == 0
    assert fresh(architecture).agrees(row, other)
    assert engine.open([*TEXT, 50]).reused == len(TEXT)


def test_saved_again(make_engine, architecture):
    """What was restored can be saved, and is the same."""
    state = saved(make_engine(architecture))
    engine = make_engine(architecture)
    engine.restore(TEXT, state)

    assert np.array_equal(engine.save(TEXT), state)


def test_only_what_is_there(make_engine, architecture):
    """What no slot holds has no state: never read, half of it, or gone."""
    engine = make_engine(architecture)

    assert engine.save(TEXT) is None
    slot = read(engine, TEXT)
    assert engine.save([*TEXT, 1]) is None
    engine.drop(slot)
    assert engine.save(TEXT) is None
    assert engine.held(TEXT) == 0


def test_a_row_that_is_a_view(make_engine, fresh):
    """A state keeps the row after it, also where llama.cpp owns it for the moment."""
    first = make_engine("mamba")
    slot = first.open(TEXT)
    first.evaluate(slot, [(ROOT, 8)], [0])
    first.keep(slot, 0)
    state = first.save([*TEXT, 8])
    first.evaluate(slot, [(ROOT, 9)], [0])
    engine = make_engine("mamba")

    assert engine.restore([*TEXT, 8], state)
    [row] = engine.evaluate(engine.open([*TEXT, 8]), [], [ROOT])
    assert engine.evaluated_tokens == 0
    assert fresh("mamba").agrees(row, [*TEXT, 8])


def test_a_tree_is_forgotten(make_engine):
    """Saving ends the tree that was there, and takes it out of memory."""
    engine = make_engine()
    slot = engine.open(TEXT)
    engine.evaluate(slot, [(ROOT, 1), (ROOT, 2)], [0, 1])

    assert engine.save(TEXT) is not None
    assert sum(held(engine)) == len(TEXT)
    with pytest.raises(EngineError, match="no tree"):
        engine.keep(slot, 0)


def test_room_is_made(make_engine, fresh):
    """A full memory gives up other texts, oldest first, as for any new text."""
    state = saved(make_engine())
    engine = make_engine(n_ctx=256)
    slots = [read(engine, [number] * 80) for number in (1, 2, 3)]

    assert engine.restore(TEXT, state)
    assert [engine.held([number] * 80) for number in (1, 2, 3)] == [0, 80, 80]
    assert slots[0] not in engine._slots
    [row] = engine.evaluate(engine.open([*TEXT, 6]), [], [ROOT])
    assert fresh().agrees(row, [*TEXT, 6])


def test_no_room_at_all(make_engine):
    """A text that does not fit is refused like any other."""
    long = TEXT * 20
    state = saved(make_engine(), long)
    engine = make_engine(n_ctx=256)

    with pytest.raises(EngineError, match="do not fit"):
        engine.restore(long, state)


def test_not_after_the_end(make_engine):
    """A closed engine says so."""
    engine = make_engine()
    state = saved(engine)
    engine.close()

    assert engine.held(TEXT) == 0
    for call in (lambda: engine.save(TEXT), lambda: engine.restore(TEXT, state)):
        with pytest.raises(EngineError, match="closed"):
            call()


def test_states_of_another_kind(make_engine, architecture):
    """States that llama.cpp can tell are wrong leave nothing: cut short, or of another text."""
    state = saved(make_engine(architecture))
    engine = make_engine(architecture)
    wrong = [state[:0], state[:7], state[:8], state[:-1], state[: len(state) // 2]]

    assert not any(engine.restore(TEXT, each) for each in wrong)
    assert not engine.restore(TEXT[:-1], state)
    assert sum(held(engine)) == 0
    assert engine.restore(TEXT, state)


def test_cancelled_before(make_engine):
    """A text of which only a part was read has no state; that part is still used."""
    engine = make_engine()
    slot = engine.open(TEXT)
    before_pass(engine, 1, engine.cancel)
    with pytest.raises(Exception, match="cancelled"):
        engine.evaluate(slot, [], [ROOT])
    engine.resume()

    assert engine.save(TEXT) is None
    assert engine.save(TEXT[:16]) is not None


@settings(max_examples=30)
@given(st.data())
def test_any_order(make_engine_once, fresh, data):
    """Texts that share beginnings, saved and restored in any order: each row as from a start."""
    engine, states = make_engine_once, {}
    beginning = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=20))
    for _ in range(data.draw(st.integers(1, 6))):
        cut = data.draw(st.integers(1, len(beginning)))
        text = tuple(beginning[:cut] + data.draw(st.lists(st.integers(0, 4), max_size=8)))
        if text in states and data.draw(st.booleans()):
            assert engine.restore(text, states[text])
        slot = engine.open(text)
        row = engine.evaluate(slot, [], [ROOT])[0].copy()
        assert fresh().agrees(row, text)
        states[text] = engine.save(text)
        assert states[text] is not None


@pytest.fixture(scope="module")
def make_engine_once(tiny_file):
    """One engine for many examples; slots are evicted as they come."""
    from server.engine.llama import load

    with load(tiny_file(), EngineOptions(n_ctx=128, threads=1, flash_attn="off")) as engine:
        yield engine


class TestKey:
    """Another key wherever a state would be of no use."""

    def test_the_same(self, make_engine):
        """The same file run the same way, loaded twice."""
        assert make_engine().state_key == make_engine().state_key
        assert len(make_engine().state_key) == 64

    def test_what_makes_no_difference(self, make_engine):
        """Room for texts, threads, and the size of a pass."""
        other = make_engine(n_ctx=256, n_ubatch=8, slots=2, threads=2)

        assert other.state_key == make_engine().state_key

    def test_what_makes_one(self, make_engine, tiny_file, monkeypatch):
        """The model, how it is run, the library, and the version of what is kept."""
        keys = [
            make_engine().state_key,
            make_engine("gemma3").state_key,
            make_engine(flash_attn="on").state_key,
            make_engine(files=True).state_key,
        ]
        monkeypatch.setattr("llama_cpp.__version__", "0.0.0")
        keys.append(make_engine().state_key)
        monkeypatch.setattr(load_library(), "llama_print_system_info", lambda: b"another")
        keys.append(make_engine().state_key)
        monkeypatch.setattr(state_key, "FORMAT", state_key.FORMAT + 1)
        keys.append(make_engine().state_key)

        assert len(set(keys)) == len(keys)

    def test_weights(self, make_engine, tiny_file, tmp_path):
        """A file of the same size and time whose weights differ is another model."""
        import os

        from server.engine.llama import load

        options = EngineOptions(n_ctx=256, threads=1)
        first, second = tiny_file(), tiny_file(seed=1)
        keys = []
        for number, path in enumerate((first, second)):
            copy = tmp_path / f"{number}.gguf"
            copy.write_bytes(path.read_bytes())
            os.utime(copy, (1e9, 1e9))
            with load(copy, options) as engine:
                keys.append(engine.state_key)

        assert (tmp_path / "0.gguf").stat().st_size == (tmp_path / "1.gguf").stat().st_size
        assert keys[0] != keys[1]

    def test_a_file_that_changed(self, tiny_file, tmp_path):
        """What is loaded is not what lies there now: no key."""
        from server.engine.llama import load

        copy = tmp_path / "model.gguf"
        copy.write_bytes(tiny_file().read_bytes())
        with load(copy, EngineOptions(n_ctx=256, threads=1)) as engine:
            read(engine, TEXT)
            other = tmp_path / "other.gguf"
            other.write_bytes(tiny_file(seed=1).read_bytes())
            other.replace(copy)

            with pytest.raises(EngineError, match="has changed"):
                _ = engine.state_key
            with pytest.raises(EngineError, match="has changed"):
                engine.save(TEXT)
