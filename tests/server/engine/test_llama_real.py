"""The default model: the same promises as with tiny ones, where rounding is not so kind."""

import contextlib
import statistics
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from server.engine import ROOT
from server.engine.llama import load
from server.engine.llama_load import EngineOptions
from server.errors import Cancelled
from server.models.store import resolve
from tests.server.engine.fresh import before_pass, path_tokens

pytestmark = pytest.mark.model

CODE = Path(__file__).read_bytes()
TREE = [(ROOT, 262), (0, 11), (0, 25), (ROOT, 481), (3, 13), (1, 220)]
NOISE = 1.0
"""The largest difference of logits between shapes of a batch, with room.

Measured over 100 rows: 0.45 at most and 0.07 on average (rows have a standard deviation of 2.4).
It is the price of 8-bit activations: the library rounds them in groups of rows, and a batch of
other length groups them differently. The same shape gives the same bits.
"""


@pytest.fixture(scope="module")
def real():
    with load(resolve("qwen2.5-coder-0.5b"), EngineOptions()) as engine:
        yield engine


@pytest.fixture
def engine(real):
    yield real
    while oldest := real._slots.oldest():
        real.drop(oldest)


def agree(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether two rows are the same but for noise, with one best token unless two are close."""
    second, first = np.partition(left, -2)[-2:]
    noise = float(np.abs(left - right).max())
    return noise < NOISE and (first - second < 2 * noise or left.argmax() == right.argmax())


def test_a_tree_equals_its_paths(engine):
    """One pass over a tree gives the rows that its paths get one by one."""
    text = engine.encode(CODE)[:24]
    slot = engine.open(text)
    rows = [row.copy() for row in engine.evaluate(slot, TREE, range(len(TREE)))]
    engine.drop(slot)

    trunk = engine.open(text)
    engine.evaluate(trunk, [], [])
    for node, row in enumerate(rows):
        path = engine.open(text + path_tokens(TREE, node))
        assert agree(row, engine.evaluate(path, [], [ROOT])[0]), node
        engine.drop(path)


def test_reuse_equals_a_fresh_start(engine):
    """A text that shares its beginning with one in memory gets the row of a fresh evaluation."""
    ids = engine.encode(CODE)
    text = ids[:20] + ids[40:44]
    alone = engine.open(text)
    expected = engine.evaluate(alone, [], [ROOT])[0].copy()
    engine.drop(alone)
    engine.evaluate(engine.open(ids[:30]), [], [])

    slot = engine.open(text)

    assert slot.reused == 20
    assert agree(expected, engine.evaluate(slot, [], [ROOT])[0])


def test_greedy_text_goes_on_after_a_kept_branch(engine):
    """A kept branch continues as the same text would from a fresh start."""
    text = engine.encode(b"def add(a, b):\n    ret")
    slot = engine.open(text)
    engine.evaluate(slot, [(ROOT, token) for token in engine.encode(b"x y z")], [0])
    engine.keep(slot, ROOT)
    urn = engine.encode(b"urn")
    engine.evaluate(slot, [(ROOT, 0), (ROOT, 1), *((ROOT, token) for token in urn)], [2])
    engine.keep(slot, 2)
    written = []
    for _ in range(4):
        [row] = engine.evaluate(slot, [], [ROOT])
        written.append(int(row.argmax()))
        engine.evaluate(slot, [(ROOT, written[-1])], [0])
        engine.keep(slot, 0)

    assert engine.vocabulary.decode(written).startswith(b" a + b")


def test_special_text_is_text(engine):
    """What spells the model's own marks, or text added to it, gets ordinary ids."""
    for text in (b"<|endoftext|>", b"x<|fim_middle|>", b"<tool_call>", b"<|im_end|>\n"):
        ids = engine.encode(text)
        assert engine.vocabulary.decode(ids) == text
        assert set(ids) <= set(engine.vocabulary.text_ids().tolist())


@pytest.mark.parametrize("where", ["prefill", "tree", "decoding"])
def test_cancelling(engine, where, capsys):
    """A cancel ends the pass that is running and leaves memory and text equal; prints how soon."""
    text = engine.encode(CODE)[:70]
    nodes = {"prefill": [], "tree": TREE, "decoding": TREE[:1]}[where]
    engine.resume()
    trunk = engine.open(text[:6])
    engine.evaluate(trunk, [], [])
    latencies = []
    for _ in range(5):
        engine.resume()
        slot = engine.open(text if where == "prefill" else text[:6])
        latencies.append(_cancelled_after(engine, slot, nodes))
        assert slot.resident == engine._memory.length(slot.sequence)
        engine.drop(slot)

    with capsys.disabled():
        middle = statistics.median(latencies)
        print(f"\ncancelled in {where}: {middle * 1e3:.0f} ms (at most {max(latencies) * 1e3:.0f})")


def _cancelled_after(engine, slot, nodes) -> float:
    """Seconds from a cancel, 20 ms into a forward pass, to the end of `evaluate`."""
    decode = engine._passes._batch.decode
    cancelled_at = []

    def cancel() -> None:
        cancelled_at.append(time.perf_counter())
        engine.cancel()

    timer = threading.Timer(0.02, cancel)
    codes = before_pass(engine, 0, timer.start)
    try:
        while codes != [2] and not cancelled_at:  # on a very fast machine: until it comes in time
            with contextlib.suppress(Cancelled):
                engine.evaluate(slot, nodes, [])
        return time.perf_counter() - cancelled_at[0]
    finally:
        engine._passes._batch.decode = decode
        timer.join()
