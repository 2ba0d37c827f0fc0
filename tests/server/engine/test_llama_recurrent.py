"""Models whose memory can't be cut: correct for chains, honest about trees.

One is recurrent in all layers, one in every other layer; one is said to have a memory that can be
cut, and refuses it.
"""

import pytest

from server.engine import ROOT
from server.errors import EngineError
from tests.server.engine.fresh import held

TEXT = [5, 80, 12, 7, 7, 301, 44, 9, 260, 31]


@pytest.fixture(params=["mamba", "jamba"])
def architecture(request):
    return request.param


@pytest.fixture
def mamba(make_engine, architecture):
    return make_engine(architecture)


def test_it_says_that_it_has_no_trees(mamba, architecture):
    """The report says so, and branches are refused with a way out."""
    slot = mamba.open(TEXT)

    assert not mamba.info.trees
    assert mamba.info.memory == {"mamba": "recurrent", "jamba": "hybrid"}[architecture]
    with pytest.raises(EngineError, match=r"can't evaluate branches.*without trees"):
        mamba.evaluate(slot, [(ROOT, 1), (ROOT, 2)], [0])


def test_chains_work(mamba, fresh, architecture):
    """Decoding and chains are as exact as with any model."""
    slot = mamba.open(TEXT)
    rows = [row.copy() for row in mamba.evaluate(slot, [(ROOT, 1), (0, 2)], [ROOT, 0, 1])]
    mamba.keep(slot, 1)
    [last] = mamba.evaluate(slot, [(ROOT, 3)], [0])

    assert slot.resident == len(TEXT) + 2
    texts = [TEXT, [*TEXT, 1], [*TEXT, 1, 2]]
    assert all(fresh(architecture).agrees(*pair) for pair in zip(rows, texts, strict=True))
    assert fresh(architecture).agrees(last, [*TEXT, 1, 2, 3])


def test_rejecting_a_draft_evaluates_again(mamba, fresh, architecture):
    """Keeping part of a chain means a new start, with the right result."""
    slot = mamba.open(TEXT)
    mamba.evaluate(slot, [(ROOT, 1), (0, 2)], [0])
    mamba.keep(slot, 0)

    assert (slot.tokens, slot.resident, sum(held(mamba))) == ([*TEXT, 1], 0, 0)
    assert fresh(architecture).agrees(mamba.evaluate(slot, [(ROOT, 8)], [0])[0], [*TEXT, 1, 8])


def test_cutting_evaluates_again(mamba, fresh, architecture):
    """A cut leaves nothing resident, and what follows is right."""
    slot = mamba.open(TEXT)
    mamba.evaluate(slot, [], [ROOT])
    mamba.cut(slot, 4)

    assert (slot.tokens, slot.resident) == (TEXT[:4], 0)
    assert fresh(architecture).agrees(mamba.evaluate(slot, [], [ROOT])[0], TEXT[:4])


def test_only_whole_texts_are_shared(mamba, fresh, architecture):
    """A longer text continues a state; one that differs earlier starts anew."""
    first = mamba.open(TEXT)
    mamba.evaluate(first, [], [ROOT])
    longer, other = mamba.open([*TEXT, 8]), mamba.open([*TEXT[:9], 8])

    rows = [mamba.evaluate(slot, [], [ROOT])[0].copy() for slot in (longer, other)]
    again = mamba.evaluate(first, [(ROOT, 3)], [0])[0]

    assert (longer.reused, other.reused) == (len(TEXT), 0)
    assert fresh(architecture).agrees(rows[0], longer.tokens)
    assert fresh(architecture).agrees(rows[1], other.tokens)
    assert fresh(architecture).agrees(again, [*TEXT, 3])


class TestRefusal:
    """A memory that is not known to be indivisible, and refuses a cut."""

    @pytest.fixture
    def engine(self, make_engine, refusing_cuts):
        return make_engine()

    def test_it_is_noticed(self, engine, fresh):
        """From the first refusal on the report says that there are no trees, and there are none."""
        slot = engine.open(TEXT)
        assert engine.info.trees
        rows = [row.copy() for row in engine.evaluate(slot, [(ROOT, 1), (ROOT, 2)], [0, 1])]
        engine.keep(slot, 1)

        assert not engine.info.trees
        with pytest.raises(EngineError, match="can't evaluate branches"):
            engine.evaluate(slot, [(ROOT, 1), (ROOT, 2)], [0])
        assert all(
            fresh().agrees(row, [*TEXT, last]) for row, last in zip(rows, (1, 2), strict=True)
        )

    @pytest.mark.parametrize("node", [0, 1, 2])
    def test_what_is_kept_is_right(self, engine, fresh, node):
        """Whichever branch is kept when it happens, the text goes on from it."""
        slot = engine.open(TEXT)
        engine.evaluate(slot, [(ROOT, 1), (ROOT, 2), (1, 3)], [0])
        engine.keep(slot, node)
        text = TEXT + [[1], [2], [2, 3]][node]

        assert slot.tokens == text
        assert fresh().agrees(engine.evaluate(slot, [(ROOT, 9)], [0])[0], [*text, 9])
        assert sum(held(engine)) == len(text) + 1

    def test_cutting(self, engine, fresh):
        """A cut text is evaluated again as a whole."""
        slot = engine.open(TEXT)
        engine.evaluate(slot, [], [ROOT])
        engine.cut(slot, 4)

        assert (slot.resident, engine.info.trees) == (0, False)
        assert fresh().agrees(engine.evaluate(slot, [(ROOT, 9)], [0])[0], [*TEXT[:4], 9])
