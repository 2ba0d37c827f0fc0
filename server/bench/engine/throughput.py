"""Tokens a second: our engine's loop against the bare loop of llama.cpp's own `llama-bench`.

Both run in the same context of the same process, in turns, the first one a different one each time:
what differs is our part alone. As in `llama-bench`, a prompt is random tokens in batches of the
micro-batch's size, writing is one random token after the other, and nothing is chosen.

What is not here: choosing, grammars, healing (`steps`), and `llama-bench` itself (`llama_bench`).
"""

import ctypes
import random
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from server.bench.engine.loading import Model
from server.bench.engine.timing import spread
from server.engine import ROOT
from server.engine.llama_library import load_library
from server.errors import EngineError


@dataclass(frozen=True)
class Sizes:
    """How much is read and written."""

    prompt: int
    """Tokens of a prompt."""
    written: int
    """Tokens that are written, from nothing."""
    repetitions: int
    """How often each loop runs; once more to warm up."""


def measure(model: Model, sizes: Sizes, seed: int) -> dict[str, Any]:
    """Speeds in tokens a second, each summed up, and their ratio: median, least and most of turns.

    Raises EngineError if the context is too small or a batch fails.
    """
    chance = random.Random(seed)  # noqa: S311 (no secrets here)
    most = len(model.engine.vocabulary)

    def tokens(count: int) -> list[int]:
        return [chance.randrange(most) for _ in range(count)]

    return {
        "prompt_tokens": sizes.prompt,
        "written_tokens": sizes.written,
        "micro_batch": model.loaded.n_ubatch,
        "reading": _compare(
            {"bare": lambda: _read_bare(model, tokens(sizes.prompt)),
             "engine": lambda: _read(model, tokens(sizes.prompt))},
            sizes.prompt,
            sizes.repetitions,
        ),
        "writing": _compare(
            {"bare": lambda: _write_bare(model, tokens(sizes.written)),
             "engine": lambda: _write(model, tokens(sizes.written))},
            sizes.written,
            sizes.repetitions,
        ),
    }  # fmt: skip


def _compare(
    loops: dict[str, Callable[[], float]], tokens: int, repetitions: int
) -> dict[str, Any]:
    speeds: dict[str, list[float]] = {name: [] for name in loops}
    for number in range(repetitions + 1):
        for name in sorted(loops, reverse=bool(number % 2)):
            seconds = loops[name]()
            if number:  # the first one warms up
                speeds[name].append(tokens / seconds)
    # Neighbours in time are compared: a machine that is busy for a while is so for both.
    pairs = zip(speeds["engine"], speeds["bare"], strict=True)
    ratios = sorted(round(engine / bare, 4) for engine, bare in pairs)
    return {
        **{name: spread(found) for name, found in speeds.items()},
        "engine_to_bare": round(median(ratios), 4),
        "engine_to_bare_ends": [ratios[0], ratios[-1]],
    }


def _read_bare(model: Model, tokens: list[int]) -> float:
    with Bare(model) as bare:
        started = perf_counter()
        bare.decode(tokens)
        bare.finish()
        return perf_counter() - started


def _write_bare(model: Model, tokens: list[int]) -> float:
    with Bare(model) as bare:
        started = perf_counter()
        for token in tokens:
            bare.decode([token])
            bare.finish()
        return perf_counter() - started


def _read(model: Model, tokens: list[int]) -> float:
    engine = model.engine
    started = perf_counter()
    slot = engine.open(tokens)
    engine.evaluate(slot, [], [ROOT])
    took = perf_counter() - started
    engine.drop(slot)
    return took


def _write(model: Model, tokens: list[int]) -> float:
    engine = model.engine
    started = perf_counter()
    slot = engine.open(tokens[:1])
    engine.evaluate(slot, [], [ROOT])
    for token in tokens[1:]:
        engine.evaluate(slot, [(ROOT, token)], [0])
        engine.keep(slot, 0)
    took = perf_counter() - started
    engine.drop(slot)
    return took


class Bare:
    """The engine's context as `llama-bench` uses one; the engine must hold no text meanwhile."""

    def __init__(self, model: Model) -> None:
        self._library = load_library()
        self._context = model.loaded.context
        self._most = model.loaded.n_ubatch
        self._size = len(model.engine.vocabulary)

    def __enter__(self) -> "Bare":
        return self

    def __exit__(self, *_: object) -> None:
        memory = self._library.llama_get_memory(self._context)
        self._library.llama_memory_clear(memory, True)

    def decode(self, tokens: list[int]) -> None:
        """Put tokens through the model, with the logits after the last of each batch."""
        for start in range(0, len(tokens), self._most):
            chunk = tokens[start : start + self._most]
            array = (ctypes.c_int32 * len(chunk))(*chunk)
            batch = self._library.llama_batch_get_one(array, len(chunk))
            code = self._library.llama_decode(self._context, batch)
            if code:
                raise EngineError(
                    f"llama.cpp could not evaluate {len(chunk)} tokens (code {code}); choose a "
                    "larger context size"
                )

    def finish(self) -> None:
        """Wait until the device has done it."""
        self._library.llama_synchronize(self._context)

    def row(self) -> NDArray[np.float32]:
        """The logits after the last token: a copy, shape (vocabulary,)."""
        row = self._library.llama_get_logits_ith(self._context, -1)
        return np.ctypeslib.as_array(row, (self._size,)).copy()
