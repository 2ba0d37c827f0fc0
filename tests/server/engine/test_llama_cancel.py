"""Stopping the model, each time just before a chosen forward pass, so that it happens inside it."""

import threading

import pytest

from server.engine import ROOT
from server.errors import Cancelled
from tests.server.engine.fresh import before_pass, held

TEXT = [(7 * index) % 470 for index in range(100)]
TREE = [(ROOT, 5), (0, 6), (0, 7), (ROOT, 8), (3, 9)]
STOPPED = 2
"""llama.cpp's answer to a batch that its abort callback stopped."""


@pytest.mark.parametrize("architecture", ["llama", "gemma3", "mamba", "jamba"])
@pytest.mark.parametrize("number", [0, 1, 6])
def test_in_prefill(make_engine, fresh, architecture, number):
    """Micro-batches that were finished stay in memory where it can be cut; the text goes on."""
    engine = make_engine(architecture)
    slot = engine.open(TEXT)
    codes = before_pass(engine, number, engine.cancel)

    with pytest.raises(Cancelled):
        engine.evaluate(slot, [], [ROOT])

    assert codes == [0] * number + [STOPPED]
    assert slot.resident == (16 * number if engine.info.trees else 0)
    assert sum(held(engine)) == slot.resident
    engine.resume()
    again = engine.open(TEXT)
    assert fresh(architecture).agrees(engine.evaluate(again, [], [ROOT])[0], TEXT)


def test_in_a_tree(engine, fresh):
    """A stopped tree is gone as a whole, and the slot is what it was."""
    slot = engine.open(TEXT)
    engine.evaluate(slot, [], [ROOT])
    codes = before_pass(engine, 0, engine.cancel)

    with pytest.raises(Cancelled):
        engine.evaluate(slot, TREE, [0, 4])

    assert codes == [STOPPED]
    assert (slot.tokens, slot.resident, sum(held(engine))) == (TEXT, len(TEXT), len(TEXT))
    engine.resume()
    assert fresh().agrees(engine.evaluate(slot, TREE, [4])[0], [*TEXT, 8, 9])


def test_in_a_tree_with_pending_text(engine, fresh):
    """Text in the same pass as the tree is pending again."""
    slot = engine.open(TEXT)
    before_pass(engine, 6, engine.cancel)

    with pytest.raises(Cancelled):
        engine.evaluate(slot, TREE, [0])

    assert (slot.resident, sum(held(engine))) == (96, 96)
    engine.resume()
    assert fresh().agrees(engine.evaluate(slot, TREE, [2])[0], [*TEXT, 5, 7])


def test_in_decoding(engine, fresh):
    """Kept tokens stay; the stopped one can be asked for again."""
    slot = engine.open(TEXT)
    engine.evaluate(slot, [], [])
    codes = before_pass(engine, 3, engine.cancel)

    for _ in range(3):
        engine.evaluate(slot, [(ROOT, 5)], [0])
        engine.keep(slot, 0)
    with pytest.raises(Cancelled):
        engine.evaluate(slot, [(ROOT, 5)], [0])

    assert codes == [0, 0, 0, STOPPED]
    assert slot.tokens == [*TEXT, 5, 5, 5]
    assert slot.resident == sum(held(engine)) == len(TEXT) + 3
    engine.resume()
    assert fresh().agrees(engine.evaluate(slot, [(ROOT, 6)], [0])[0], [*TEXT, 5, 5, 5, 6])


def test_it_holds_until_it_is_forgotten(engine):
    """A cancel that comes between two passes counts for all later ones, until `resume`."""
    slot = engine.open(TEXT)
    engine.cancel()

    for text in (TEXT, TEXT[:9]):
        slot = engine.open(text)
        with pytest.raises(Cancelled):
            engine.evaluate(slot, [], [ROOT])
    assert engine.forward_passes == 0

    engine.resume()
    engine.evaluate(slot, [], [ROOT])


def test_from_another_thread(make_engine):
    """The flag may be set while the model computes, without waiting for anything."""
    engine = make_engine(n_ctx=4096, n_ubatch=2)
    started = threading.Event()
    before_pass(engine, 3, started.set)
    canceller = threading.Thread(target=lambda: (started.wait(), engine.cancel()))
    canceller.start()
    slot = engine.open(TEXT * 30)

    with pytest.raises(Cancelled):
        engine.evaluate(slot, [], [ROOT])
    canceller.join()

    assert 6 <= slot.resident < len(TEXT) * 30
    assert sum(held(engine)) == slot.resident
