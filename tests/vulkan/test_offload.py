"""Models on Vulkan: all, some and no layers give the same text; the report says where they are."""

from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest

from server.engine import ROOT
from server.engine.llama import LlamaEngine, load
from server.engine.llama_load import EngineOptions
from server.errors import Cancelled
from server.models.store import resolve
from tests.server.engine.fresh import path_tokens

TINY_NOISE = 6e-2
"""The most that logits of the tiny models (weights of 32 bits) may differ from those of a CPU.

A device adds in another order, and keeps some sums in 16 bits. Measured with Mesa's software
driver: 0.028. One token at a wrong place moves a row of `llama` by 0.7 at least, and one of `mamba`
by 0.1.
"""
REAL_NOISE = 1.0
"""The same for the default model (weights of 4 to 8 bits); its rows have a deviation of 2.4.

A CPU rounds activations to 8 bits, which alone makes 0.45 between shapes of a batch
(`test_llama_real.py`); a device need not round. Measured with Mesa's software driver: 0.47.
"""
CODE = b"def mean(numbers):\n    return sum(numbers) /"
TREE = [(ROOT, 262), (0, 11), (0, 25), (ROOT, 481), (3, 13), (1, 220)]

Engines = Callable[[Path, int], LlamaEngine]


def loading() -> Iterator[Engines]:
    """Loads a model with a number of layers on the device, once."""
    loaded: dict[tuple[Path, int], LlamaEngine] = {}

    def engine(path: Path, layers: int) -> LlamaEngine:
        if (path, layers) not in loaded:
            options = EngineOptions(n_ctx=512, n_ubatch=64, gpu_layers=layers)
            loaded[path, layers] = load(path, options)
        return loaded[path, layers]

    yield engine
    for each in loaded.values():
        each.close()


on = pytest.fixture(loading, scope="module", name="on")
oracle = pytest.fixture(loading, scope="module", name="oracle")


@pytest.fixture
def real() -> Path:
    """The default model's file."""
    return resolve("qwen2.5-coder-0.5b")


def check_report(engine: LlamaEngine, layers: int, name: str) -> None:
    """The report says how many layers are on the device, and that they take of its memory."""
    info = engine.info
    assert info.offloaded_layers == layers
    assert info.backend == (name if layers else "CPU")
    assert (info.device_bytes > 0) == (layers > 0)


def largest_difference(engine: LlamaEngine, oracle: LlamaEngine, tokens: int) -> float:
    """How far the logits of two engines are apart along the oracle's own text.

    Where their best tokens differ, the oracle's two best must have been closer than that.
    """
    ids = oracle.encode(CODE)
    slot, wanted = engine.open(ids), oracle.open(ids)
    [row], [expected] = engine.evaluate(slot, [], [ROOT]), oracle.evaluate(wanted, [], [ROOT])
    largest = 0.0
    for _ in range(tokens):
        difference = float(np.abs(row - expected).max())
        largest = max(largest, difference)
        second, first = np.partition(expected, -2)[-2:]
        best = int(expected.argmax())
        assert row.argmax() == best or first - second <= 2 * difference
        [row] = engine.evaluate(slot, [(ROOT, best)], [0])
        [expected] = oracle.evaluate(wanted, [(ROOT, best)], [0])
        engine.keep(slot, 0)
        oracle.keep(wanted, 0)
    engine.drop(slot)
    oracle.drop(wanted)
    return largest


@pytest.mark.parametrize("architecture", ["llama", "gemma3", "mamba"])
@pytest.mark.parametrize("layers", [3, 2, 1, 0])
def test_tiny_models(on, oracle, tiny_file, name, report, architecture, layers):
    """Each kind of memory, on the device as on a CPU."""
    path = tiny_file(architecture=architecture, vocabulary="bpe", fim=True)
    engine = on(path, layers)
    difference = largest_difference(engine, oracle(path, 0), tokens=16)

    report(f"tiny {architecture}, {layers} of 3 layers: logits differ by {difference:.1e}")
    check_report(engine, layers, name)
    assert engine.info.note is None or architecture == "mamba"  # not all drivers scan states
    assert difference < TINY_NOISE


@pytest.mark.model
@pytest.mark.parametrize("layers", [25, 12, 0])
def test_the_default_model(on, oracle, real, name, report, layers):
    """All layers, about half of them, none: the same text."""
    engine = on(real, layers)
    started = perf_counter()
    difference = largest_difference(engine, oracle(real, 0), tokens=6)
    took = perf_counter() - started

    report(
        f"default model, {layers} of 25 layers: logits differ by {difference:.2f}, "
        f"{engine.info.device_bytes / 1e6:.0f} MB of the device, {took:.1f} s"
    )
    check_report(engine, layers, name)
    assert difference < REAL_NOISE


@pytest.mark.model
def test_a_weight_that_stays_behind_is_noted(on, real):
    """Where a driver allows 128 MiB for a tensor, the larger output layer stays on the CPU."""
    info = on(real, 25).info

    assert (info.note is None) == (info.device_bytes > 350e6)
    assert info.note is None or info.note.startswith("1 tensor is larger than the GPU allows")
    assert on(real, 12).info.note is None


@pytest.mark.model
def test_a_tree_equals_its_paths(on, real):
    """One pass over a tree gives the rows that its paths get one by one."""
    engine = on(real, 25)
    text = engine.encode(CODE)
    slot = engine.open(text)
    rows = [row.copy() for row in engine.evaluate(slot, TREE, range(len(TREE)))]
    engine.keep(slot, ROOT)

    for node, row in enumerate(rows):
        path = engine.open(text + path_tokens(TREE, node))
        [alone] = engine.evaluate(path, [], [ROOT])
        assert np.abs(row - alone).max() < REAL_NOISE
        engine.drop(path)
    engine.drop(slot)


def test_cancelling(on, tiny_file):
    """A device is not interrupted: the next pass is not begun, and text and memory agree."""
    engine = on(tiny_file(architecture="llama", vocabulary="bpe", fim=True), 3)
    slot = engine.open(engine.encode(CODE * 4))
    engine.evaluate(slot, [], [])
    slot.tokens.extend(engine.encode(CODE))
    engine.cancel()
    with pytest.raises(Cancelled):
        engine.evaluate(slot, [], [])
    engine.resume()

    assert slot.resident == engine._memory.length(slot.sequence)
    engine.drop(slot)
