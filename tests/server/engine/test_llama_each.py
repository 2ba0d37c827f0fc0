"""Several texts that grow at a time, and slots beside the others: exact, and nothing is left."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.engine import ROOT
from server.engine.llama_load import BESIDE
from server.errors import Cancelled, EngineError
from tests.server.engine.fresh import before_pass, held

TEXT = [(7 * index) % 470 for index in range(60)]


@given(
    st.integers(1, 60),
    st.lists(st.lists(st.integers(0, 400), max_size=3), min_size=1, max_size=4),
    st.lists(st.lists(st.integers(0, 400), min_size=4, max_size=4), max_size=3),
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_rows_are_those_of_each_text(engine, fresh, trunk, ends, steps):
    """Whatever the texts share, and whatever of them is in memory, each has its own row."""
    first = engine.open(TEXT[:trunk])
    engine.evaluate(first, [], [])
    slots = [first, *(engine.open_beside([*TEXT[:trunk], *end]) for end in ends)]

    for tokens in steps:
        rows = engine.evaluate_each(slots, tokens[: len(slots)] + [9] * (len(slots) - 4))
        rows = [row.copy() for row in rows]
        for slot, row in zip(slots, rows, strict=True):
            assert slot.resident == len(slot.tokens)
            assert fresh().agrees(row, slot.tokens)

    for slot in slots:
        engine.drop(slot)
    assert sum(held(engine)) == 0


def test_one_pass(engine):
    """A step of all texts is one forward pass, with what is not yet in memory of them."""
    first = engine.open(TEXT)
    engine.evaluate(first, [], [])
    second = engine.open_beside([*TEXT, 8, 9])
    before = engine.forward_passes, engine.evaluated_tokens

    engine.evaluate_each([first, second], [1, 2])

    assert (engine.forward_passes, engine.evaluated_tokens) == (before[0] + 1, before[1] + 4)
    assert (first.tokens, second.tokens) == ([*TEXT, 1], [*TEXT, 8, 9, 2])


def test_more_than_a_pass_holds(engine, fresh):
    """What is not in memory is evaluated before, where it is too much for one pass."""
    texts = [TEXT, [5, *TEXT]]
    slots = [engine.open_beside(text) for text in texts]

    rows = engine.evaluate_each(slots, [1, 2])

    assert fresh().agrees(rows[0].copy(), [*TEXT, 1])
    assert fresh().agrees(rows[1].copy(), [5, *TEXT, 2])


def test_a_trees_path_is_shared(engine, fresh):
    """A text that goes along a tree evaluates nothing of it again, and the tree stays."""
    slot = engine.open(TEXT)
    engine.evaluate(slot, [(ROOT, 5), (0, 6), (0, 7), (ROOT, 8)], [1, 2, 3])
    beside = [engine.open_beside([*TEXT, *end]) for end in ([5, 7], [8], [5, 6, 1], [9])]

    assert [one.resident - len(TEXT) for one in beside] == [2, 1, 2, 0]
    engine.keep(slot, 1)
    rows = engine.evaluate_each([slot, *beside], [1, 2, 3, 4, 5])

    for one, row in zip([slot, *beside], [row.copy() for row in rows], strict=True):
        assert fresh().agrees(row, one.tokens)


def test_nothing_makes_room_for_them(engine):
    """Remembered texts stay, and there is an end to what is written beside them."""
    kept = [engine.open([token, token]) for token in range(4)]
    for slot in kept:
        engine.evaluate(slot, [], [])

    beside = [engine.open_beside([1, 1, token]) for token in range(BESIDE)]
    engine.evaluate_each(beside, [3] * BESIDE)

    with pytest.raises(EngineError, match="no more texts"):
        engine.open_beside([1])
    opened = engine.open([9, 9])  # takes the place of the oldest, and of none beside
    assert engine.held([0, 0]) == 0
    assert engine.evaluate_each([*kept[1:], *beside, opened], [4] * (BESIDE + 4))
    engine.drop(beside[0])
    assert engine.open_beside([1]).resident == 1


def test_a_stopped_step_changes_nothing(engine, fresh):
    """After a cancel each slot is what it was, and goes on."""
    first, second = engine.open(TEXT), engine.open_beside([*TEXT, 8])
    engine.evaluate(first, [], [])
    before_pass(engine, 0, engine.cancel)

    with pytest.raises(Cancelled):
        engine.evaluate_each([first, second], [1, 2])

    assert (first.tokens, second.tokens) == (TEXT, [*TEXT, 8])
    assert sum(held(engine)) == len(TEXT)
    engine.resume()
    rows = engine.evaluate_each([first, second], [3, 4])
    assert fresh().agrees(rows[1].copy(), [*TEXT, 8, 4])
    assert fresh().agrees(rows[0], [*TEXT, 3])


def test_a_full_context(make_engine, fresh):
    """Where cells are missing, remembered texts give theirs up, and then it is an error."""
    engine = make_engine(n_ctx=256)
    remembered = engine.open([4] * 100)
    engine.evaluate(remembered, [], [])
    first = engine.open([1] * 150)
    engine.evaluate(first, [], [])
    second = engine.open_beside([1] * 150)

    for token in range(53):
        engine.evaluate_each([first, second], [token, token + 1])
    with pytest.raises(EngineError, match="is full"):
        engine.evaluate_each([first, second], [9, 9])

    assert engine.held([4]) == 0
    assert len(first.tokens) == len(second.tokens) == 203
    engine.drop(second)
    [row] = engine.evaluate(first, [(ROOT, 7)], [0])
    assert fresh().agrees(row, [*first.tokens, 7])


def test_wrong_uses_are_refused(engine, make_engine):
    """A slot grows once a step, and a memory that can't be cut holds no texts beside others."""
    slot = engine.open(TEXT)
    with pytest.raises(ValueError, match="one token"):
        engine.evaluate_each([slot, slot], [1, 2])
    with pytest.raises(ValueError, match="one token"):
        engine.evaluate_each([slot], [])
    with pytest.raises(EngineError, match="outside the vocabulary"):
        engine.evaluate_each([slot], [10**6])
    assert engine.evaluate_each([], []) == []

    recurrent = make_engine("mamba")
    with pytest.raises(EngineError, match="no more texts"):
        recurrent.open_beside(TEXT)
    with pytest.raises(EngineError, match="several texts"):
        recurrent.evaluate_each([recurrent.open(TEXT)], [1])
