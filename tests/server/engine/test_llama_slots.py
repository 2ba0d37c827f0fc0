"""Which texts stay in memory, and what a new one gets from them."""

import pytest

from server.engine import ROOT
from server.errors import EngineError
from tests.server.engine.fresh import held

TEXT = [(7 * index) % 470 for index in range(60)]


def opened(engine, text):
    """A slot whose text is evaluated."""
    slot = engine.open(text)
    engine.evaluate(slot, [], [ROOT])
    return slot


@pytest.mark.parametrize("architecture", ["llama", "gemma3"])
def test_longest_prefix_of_all_slots_is_reused(make_engine, fresh, architecture):
    """The new text gets everything from the slot that has most of it, and goes on exactly."""
    engine = make_engine(architecture)
    opened(engine, TEXT[:10])
    opened(engine, [*TEXT[:30], 5, 5, 5])
    opened(engine, [9, *TEXT])
    tokens = engine.evaluated_tokens

    slot = engine.open(TEXT)
    [row] = engine.evaluate(slot, [], [ROOT])

    assert slot.reused == 30
    assert engine.evaluated_tokens == tokens + 30
    assert fresh(architecture).agrees(row, TEXT)


def test_what_a_sliding_window_forgot_is_not_reused(make_engine, fresh):
    """Cells that fell out of a slot's window may be taken by others: its old text is not there."""
    engine, oracle = make_engine("gemma3"), fresh("gemma3")
    opened(engine, [1] * 60)
    second = opened(engine, [2] * 100)
    third, fourth = opened(engine, [3, *TEXT]), opened(engine, [4, *TEXT])
    engine.drop(second)
    opened(engine, [5] * 150)  # fills the gap, then takes what `third` no longer looks at

    slot = engine.open([3, *TEXT[:49]])
    [row] = engine.evaluate(slot, [], [ROOT])
    engine.cut(fourth, 50)
    [cut_row] = engine.evaluate(fourth, [(ROOT, 8)], [0])

    assert slot.reused == 0 < third.resident
    assert oracle.agrees(row, slot.tokens)
    assert oracle.agrees(cut_row, [4, *TEXT[:49], 8])


def test_sharing_takes_no_cells(engine):
    """Four texts of 400 tokens with a common beginning of 390 fit a context of 512."""
    slots = [opened(engine, [*([3] * 390), *([token] * 10)]) for token in range(4)]

    assert [slot.reused for slot in slots] == [0, 390, 390, 390]
    assert all(slot.resident == 400 for slot in slots)


def test_sharing_does_not_tie_slots_together(engine, fresh):
    """A slot goes on and is dropped without a change to those that share its beginning."""
    first, second = opened(engine, TEXT), opened(engine, [*TEXT, 8])
    engine.evaluate(first, [(ROOT, 1), (ROOT, 2)], [0])
    engine.keep(first, 1)
    engine.cut(first, 5)
    engine.drop(first)

    [row] = engine.evaluate(second, [(ROOT, 9)], [0])

    assert fresh().agrees(row, [*TEXT, 8, 9])


def test_the_same_text_again_costs_nothing(engine, fresh):
    """A text that is resident as a whole brings its row along."""
    opened(engine, TEXT)
    passes = engine.forward_passes

    [row] = engine.evaluate(engine.open(TEXT), [], [ROOT])

    assert engine.forward_passes == passes
    assert fresh().agrees(row, TEXT)


def test_a_shorter_text_is_resident_at_once(engine, fresh):
    """Deleting back over what is in memory costs the one token whose row is needed."""
    opened(engine, TEXT)
    tokens = engine.evaluated_tokens
    slot = engine.open(TEXT[:20])

    [row] = engine.evaluate(slot, [], [ROOT])

    assert (slot.reused, engine.evaluated_tokens) == (20, tokens + 1)
    assert fresh().agrees(row, TEXT[:20])


def test_the_least_recently_used_slot_makes_room(engine):
    """With four slots the fifth takes the place of the one that was used longest ago."""
    slots = [opened(engine, [token, token]) for token in range(4)]
    engine.evaluate(slots[0], [(ROOT, 1)], [0])

    opened(engine, [9, 9])

    with pytest.raises(EngineError, match="slot is gone"):
        engine.evaluate(slots[1], [], [ROOT])
    for slot in (slots[0], slots[2], slots[3]):
        engine.evaluate(slot, [], [ROOT])


def test_the_oldest_slot_hands_its_memory_over(make_engine, fresh):
    """If the slot that must go is the one to share with, nothing is evaluated again."""
    engine = make_engine(slots=1)
    old = opened(engine, [*TEXT, 5])
    engine.evaluate(old, [(ROOT, 6), (ROOT, 7)], [0])
    tokens = engine.evaluated_tokens

    slot = engine.open([*TEXT, 8])
    [row] = engine.evaluate(slot, [], [ROOT])

    assert (slot.reused, engine.evaluated_tokens) == (60, tokens + 1)
    assert sum(held(engine)) == 61
    assert fresh().agrees(row, [*TEXT, 8])


def test_tree_of_another_slot_is_forgotten(engine, fresh):
    """There is one tree at a time: an evaluation elsewhere ends it, and its slot stays whole."""
    first = opened(engine, TEXT)
    engine.evaluate(first, [(ROOT, 1), (ROOT, 2), (0, 3)], [0])
    opened(engine, [9, 9])

    with pytest.raises(EngineError, match="no tree to keep"):
        engine.keep(first, 0)
    assert (first.resident, sum(held(engine))) == (60, 62)
    assert fresh().agrees(engine.evaluate(first, [(ROOT, 4)], [0])[0], [*TEXT, 4])


def test_memory_is_taken_from_older_slots(make_engine, fresh):
    """A text that needs the cells of others gets them, oldest first; what is left still works."""
    engine = make_engine(n_ctx=256)
    first, second = opened(engine, [1] * 100), opened(engine, [2] * 100)

    third = opened(engine, [3] * 120)

    with pytest.raises(EngineError, match="slot is gone"):
        engine.evaluate(first, [], [ROOT])
    for slot in (second, third):
        [row] = engine.evaluate(slot, [(ROOT, 7)], [0])
        assert fresh().agrees(row, [*slot.tokens, 7])


def test_a_text_longer_than_the_context_is_refused(make_engine):
    """It is refused before anything is evicted for it."""
    engine = make_engine(n_ctx=256)
    slot = opened(engine, TEXT)

    with pytest.raises(EngineError, match="257 tokens do not fit the context of 256"):
        engine.open([1] * 256)
    with pytest.raises(EngineError, match="261 tokens do not fit"):
        engine.evaluate(slot, [(ROOT, 1)] * 201, [0])

    assert engine.evaluate(slot, [(ROOT, 1)] * 196, [195])[0].shape == (488,)


def test_dropped_memory_can_be_used_again(make_engine):
    """A slot that fills the context can be dropped and filled again, many times."""
    engine = make_engine(n_ctx=256)

    for token in range(5):
        slot = opened(engine, [token] * 250)
        assert slot.resident == 250
        engine.drop(slot)

    assert sum(held(engine)) == 0
