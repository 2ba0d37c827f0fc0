"""A model whose memory can't be cut: correct for chains, honest about trees."""

import pytest

from server.engine import ROOT
from server.errors import EngineError
from tests.server.engine.fresh import held

TEXT = [5, 80, 12, 7, 7, 301, 44, 9, 260, 31]


@pytest.fixture
def mamba(make_engine):
    return make_engine("mamba")


def test_it_says_that_it_has_no_trees(mamba):
    """The report says so, and branches are refused with a way out."""
    slot = mamba.open(TEXT)

    assert not mamba.info.trees
    with pytest.raises(EngineError, match=r"can't evaluate branches.*without trees"):
        mamba.evaluate(slot, [(ROOT, 1), (ROOT, 2)], [0])


def test_chains_work(mamba, fresh):
    """Decoding and chains are as exact as with any model."""
    slot = mamba.open(TEXT)
    rows = [row.copy() for row in mamba.evaluate(slot, [(ROOT, 1), (0, 2)], [ROOT, 0, 1])]
    mamba.keep(slot, 1)
    [last] = mamba.evaluate(slot, [(ROOT, 3)], [0])

    assert slot.resident == len(TEXT) + 2
    texts = [TEXT, [*TEXT, 1], [*TEXT, 1, 2]]
    assert all(fresh("mamba").agrees(*pair) for pair in zip(rows, texts, strict=True))
    assert fresh("mamba").agrees(last, [*TEXT, 1, 2, 3])


def test_rejecting_a_draft_evaluates_again(mamba, fresh):
    """Keeping part of a chain means a new start, with the right result."""
    slot = mamba.open(TEXT)
    mamba.evaluate(slot, [(ROOT, 1), (0, 2)], [0])
    mamba.keep(slot, 0)

    assert (slot.tokens, slot.resident, sum(held(mamba))) == ([*TEXT, 1], 0, 0)
    assert fresh("mamba").agrees(mamba.evaluate(slot, [(ROOT, 8)], [0])[0], [*TEXT, 1, 8])


def test_cutting_evaluates_again(mamba, fresh):
    """A cut leaves nothing resident, and what follows is right."""
    slot = mamba.open(TEXT)
    mamba.evaluate(slot, [], [ROOT])
    mamba.cut(slot, 4)

    assert (slot.tokens, slot.resident) == (TEXT[:4], 0)
    assert fresh("mamba").agrees(mamba.evaluate(slot, [], [ROOT])[0], TEXT[:4])


def test_only_whole_texts_are_shared(mamba, fresh):
    """A longer text continues a state; one that differs earlier starts anew."""
    first = mamba.open(TEXT)
    mamba.evaluate(first, [], [ROOT])
    longer, other = mamba.open([*TEXT, 8]), mamba.open([*TEXT[:9], 8])

    rows = [mamba.evaluate(slot, [], [ROOT])[0].copy() for slot in (longer, other)]
    again = mamba.evaluate(first, [(ROOT, 3)], [0])[0]

    assert (longer.reused, other.reused) == (len(TEXT), 0)
    assert fresh("mamba").agrees(rows[0], longer.tokens)
    assert fresh("mamba").agrees(rows[1], other.tokens)
    assert fresh("mamba").agrees(again, [*TEXT, 3])
