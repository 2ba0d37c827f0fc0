"""Evaluating trees and texts, compared with an evaluation from scratch."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.engine import ROOT, TokenEngine
from server.engine.llama_load import BRANCHES
from server.errors import EngineError
from tests.server.engine.fresh import before_pass, held, path_tokens

TEXT = [5, 80, 12, 7, 7, 301, 44, 9, 260, 31]
TREE = [(ROOT, 5), (0, 6), (0, 7), (ROOT, 8), (3, 9), (1, 10), (4, 11), (4, 12)]


def test_it_is_a_token_engine(engine):
    """The class has everything that the protocol promises."""
    typed: TokenEngine = engine

    assert len(typed.vocabulary) == 488
    assert typed.info.trees
    assert typed.fim.prefix in typed.stops


@pytest.mark.parametrize("architecture", ["llama", "gemma3"])
@pytest.mark.parametrize("length", [1, 10, 15, 16, 17, 40])
def test_a_tree_equals_its_paths(make_engine, fresh, architecture, length):
    """Every node of a tree gets the logits that its path gets as plain text."""
    engine, oracle = make_engine(architecture), fresh(architecture)
    text = (TEXT * 4)[:length]
    slot = engine.open(text)

    rows = engine.evaluate(slot, TREE, range(ROOT, len(TREE)))

    for node, row in zip(range(ROOT, len(TREE)), rows, strict=True):
        assert oracle.agrees(row, text + path_tokens(TREE, node)), node


def test_flash_attention_changes_last_bits_only(make_engine, fresh):
    """With flash attention trees are right, too; sums in 16 bits differ a little more."""
    engine = make_engine(flash_attn="on")
    slot = engine.open(TEXT)

    rows = engine.evaluate(slot, TREE, range(len(TREE)))

    for node, row in enumerate(rows):
        assert fresh().agrees(row, TEXT + path_tokens(TREE, node)), node


@given(
    st.lists(st.integers(0, 479), min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 479)), max_size=20),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_tree_equals_its_paths(engine, fresh, text, grown):
    """The same for random texts and trees."""
    nodes = [(parent % (index + 1) - 1, token) for index, (parent, token) in enumerate(grown)]
    slot = engine.open(text)

    rows = engine.evaluate(slot, nodes, range(ROOT, len(nodes)))

    for node, row in zip(range(ROOT, len(nodes)), rows, strict=True):
        assert fresh().agrees(row, text + path_tokens(nodes, node)), node


def test_more_branches_than_sequences(engine, fresh):
    """A tree with many leaves takes several rounds, and its rows all stay valid."""
    nodes = [(ROOT, 3), *((0, token) for token in range(10, 14 + 2 * BRANCHES))]
    slot = engine.open(TEXT)

    rows = engine.evaluate(slot, nodes, range(ROOT, len(nodes)))
    engine.keep(slot, 1)

    for node in range(ROOT, len(nodes)):
        assert fresh().agrees(rows[node + 1], TEXT + path_tokens(nodes, node)), node
    # The kept branch belongs to the first round and has to be evaluated again.
    assert (slot.resident, slot.tokens) == (len(TEXT), [*TEXT, 3, 10])
    assert fresh().agrees(engine.evaluate(slot, [], [ROOT])[0], [*TEXT, 3, 10])


def test_pending_text_and_tree_share_a_pass(engine):
    """A text and a tree that fit one micro-batch are one forward pass."""
    slot = engine.open(TEXT[:8])

    engine.evaluate(slot, TREE, [0])

    assert (engine.forward_passes, engine.evaluated_tokens) == (1, 16)


def test_long_text_takes_as_few_passes_as_hold_it(engine):
    """40 tokens and a tree of 8 are 48, three micro-batches of 16."""
    slot = engine.open(TEXT * 4)

    engine.evaluate(slot, TREE, [0])

    assert (engine.forward_passes, engine.evaluated_tokens) == (3, 48)


def test_warming_evaluates_without_rows(engine):
    """Nothing wanted is a prefill; a second one costs nothing."""
    slot = engine.open(TEXT)

    assert engine.evaluate(slot, [], []) == []
    assert engine.evaluate(slot, [], []) == []
    assert (slot.resident, engine.forward_passes) == (len(TEXT), 1)


def test_row_of_the_root_is_remembered(engine, fresh):
    """The row after the text is computed once, also when trees come and go after it."""
    slot = engine.open(TEXT)
    engine.evaluate(slot, TREE, [ROOT])
    passes = engine.forward_passes

    engine.evaluate(slot, [(ROOT, 1)], [0])
    tokens = engine.evaluated_tokens
    [row] = engine.evaluate(slot, [], [ROOT])

    assert (engine.forward_passes, engine.evaluated_tokens) == (passes + 1, tokens)
    assert fresh().agrees(row, TEXT)


def test_row_of_the_root_after_warming_costs_one_token(engine, fresh):
    """Where it was not asked for, only the last token is evaluated again."""
    slot = engine.open(TEXT)
    engine.evaluate(slot, [], [])

    [row] = engine.evaluate(slot, [], [ROOT])

    assert engine.evaluated_tokens == len(TEXT) + 1
    assert fresh().agrees(row, TEXT)


def test_keeping_a_branch(engine, fresh):
    """The kept path becomes text, resident and with its row known; other branches are freed."""
    slot = engine.open(TEXT)
    engine.evaluate(slot, TREE, [7])
    engine.keep(slot, 7)
    tokens = engine.evaluated_tokens

    [row] = engine.evaluate(slot, [], [ROOT])

    assert slot.tokens == [*TEXT, 8, 9, 12]
    assert slot.resident == len(slot.tokens)
    assert sum(held(engine)) == len(slot.tokens)
    assert engine.evaluated_tokens == tokens
    assert fresh().agrees(row, slot.tokens)


@pytest.mark.parametrize("node", [ROOT, *range(len(TREE))])
def test_text_goes_on_after_any_kept_node(engine, fresh, node):
    """Whichever branch was kept, the next token sees exactly the slot's text."""
    slot = engine.open(TEXT)
    engine.evaluate(slot, TREE, [0])
    engine.keep(slot, node)

    [row] = engine.evaluate(slot, [(ROOT, 77)], [0])

    assert fresh().agrees(row, [*TEXT, *path_tokens(TREE, node), 77])


def test_plain_decoding(engine, fresh):
    """A chain of kept single tokens costs one token each and no branch."""
    slot = engine.open(TEXT)
    [row] = engine.evaluate(slot, [], [ROOT])
    for _ in range(8):
        [row] = engine.evaluate(slot, [(ROOT, int(row.argmax()))], [0])
        engine.keep(slot, 0)

    assert engine.evaluated_tokens == len(TEXT) + 8
    assert fresh().agrees(row, slot.tokens)


def test_rejected_drafts(engine, fresh):
    """Of a drafted chain any beginning can be kept."""
    draft = [(ROOT, 1), (0, 2), (1, 3), (2, 4)]
    slot = engine.open(TEXT)
    rows = engine.evaluate(slot, draft, [0, 1, 2, 3])
    wanted = rows[1].copy()
    engine.keep(slot, 1)

    assert slot.tokens == [*TEXT, 1, 2]
    assert sum(held(engine)) == len(slot.tokens)
    assert fresh().agrees(wanted, slot.tokens)
    assert fresh().agrees(engine.evaluate(slot, [(ROOT, 9)], [0])[0], [*TEXT, 1, 2, 9])


def test_kept_row_survives_another_slot(engine, fresh):
    """A row that was only a view is copied before the next pass overwrites it."""
    slot = engine.open(TEXT)
    engine.evaluate(slot, [(ROOT, 1)], [0])
    engine.keep(slot, 0)
    other = engine.open([1, 2, 3])
    engine.evaluate(other, [], [ROOT])
    tokens = engine.evaluated_tokens

    [row] = engine.evaluate(slot, [], [ROOT])

    assert engine.evaluated_tokens == tokens
    assert fresh().agrees(row, [*TEXT, 1])


def test_cutting(engine, fresh):
    """A shortened slot holds the beginning of its text, and nothing is evaluated twice."""
    slot = engine.open(TEXT)
    engine.evaluate(slot, TREE, [ROOT])
    engine.cut(slot, 4)

    assert (slot.tokens, slot.resident, sum(held(engine))) == (TEXT[:4], 4, 4)
    assert fresh().agrees(engine.evaluate(slot, [], [ROOT])[0], TEXT[:4])
    assert fresh().agrees(engine.evaluate(slot, [(ROOT, 8)], [0])[0], [*TEXT[:4], 8])


def test_dropping_frees(engine):
    """A dropped slot leaves nothing in memory; dropping it again does no harm."""
    slot = engine.open(TEXT)
    engine.evaluate(slot, TREE, [ROOT])
    engine.drop(slot)
    engine.drop(slot)

    assert sum(held(engine)) == 0
    with pytest.raises(EngineError, match="slot is gone"):
        engine.evaluate(slot, [], [ROOT])


def test_misuse_is_refused(engine):
    """Wrong arguments are named, and nothing is evaluated."""
    slot = engine.open(TEXT)

    with pytest.raises(EngineError, match="at least one token"):
        engine.open([])
    with pytest.raises(EngineError, match="outside the vocabulary of 488"):
        engine.open([488])
    with pytest.raises(EngineError, match="outside the vocabulary"):
        engine.evaluate(slot, [(ROOT, -1)], [0])
    with pytest.raises(ValueError, match="wanted node"):
        engine.evaluate(slot, [(ROOT, 1)], [1])
    with pytest.raises(EngineError, match="no tree to keep"):
        engine.keep(slot, 0)
    with pytest.raises(ValueError, match="can't be cut to 11"):
        engine.cut(slot, 11)
    assert engine.forward_passes == 0


def test_a_failed_pass_leaves_text_and_memory_equal(engine, fresh):
    """When llama.cpp refuses a batch, the slot goes on as if nothing had been asked."""
    slot = engine.open(TEXT)
    engine.evaluate(slot, [], [])
    decode = engine._passes._batch.decode
    engine._passes._batch.decode = lambda context, entries: -3

    with pytest.raises(EngineError, match="could not evaluate 8 tokens"):
        engine.evaluate(slot, TREE, [0])
    engine._passes._batch.decode = decode

    assert slot.resident == len(TEXT) == sum(held(engine))
    assert fresh().agrees(engine.evaluate(slot, [(ROOT, 8)], [0])[0], [*TEXT, 8])


def test_a_failure_in_the_middle_keeps_what_was_done(engine, fresh):
    """Micro-batches that went through stay; the failed one and the tree are gone."""

    def fail() -> None:
        raise MemoryError

    slot = engine.open(TEXT * 4)
    before_pass(engine, 2, fail)

    with pytest.raises(MemoryError):
        engine.evaluate(slot, TREE, [0])

    assert (slot.resident, sum(held(engine))) == (32, 32)


def test_a_closed_engine_says_so(engine):
    """After `close` every method gives one clear line, and closing again does nothing."""
    slot = engine.open(TEXT)
    engine.close()
    engine.close()

    for call in (
        lambda: engine.open(TEXT),
        lambda: engine.evaluate(slot, [], [ROOT]),
        lambda: engine.encode(b"x"),
        lambda: engine.keep(slot, 0),
    ):
        with pytest.raises(EngineError, match="was closed"):
            call()


def test_rows_are_float32_of_the_vocabulary(engine):
    """Rows have one logit for each token."""
    [row] = engine.evaluate(engine.open(TEXT), [], [ROOT])

    assert (row.shape, row.dtype) == ((488,), np.float32)
