"""Several continuations at once against one, and against as many one after the other.

Places in real code are completed with 1, 2, 3 and 5 continuations asked for, once with all of them
in one forward pass a token, and once with a pass for each. How many are found depends on the place.
Each place has been read before, so that what is compared is the writing; there are no drafts.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from server.bench.engine.timing import milliseconds, spread
from server.bench.holes import holes, standard_library
from server.completer import Completer
from server.completion_options import CompletionOptions
from server.engine import ROOT, Slot, TokenEngine
from server.snapshot import Snapshot

COUNTS = (1, 2, 3, 5)
MOST_TOKENS = 16
CONTEXT_TOKENS = 128
NEAR_BYTES = 4000
"""Of a file, on either side of a place."""

Row = NDArray[np.float32]
JSON = dict[str, Any]


class Apart:
    """An engine that lets texts grow one after the other."""

    def __init__(self, engine: TokenEngine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (all else is the other engine's)
        return getattr(self._engine, name)

    def evaluate_each(self, slots: Sequence[Slot], tokens: Sequence[int]) -> list[Row]:
        """The same rows, each from a pass of its own."""
        rows = []
        for slot, token in zip(slots, tokens, strict=True):
            [row] = self._engine.evaluate(slot, [(ROOT, token)], [0])
            rows.append(row.copy())
            self._engine.keep(slot, 0)
        return rows


def measure(completer: Completer, places: int, seed: int) -> JSON:
    """What it costs to ask for more than one: passes, tokens and milliseconds, by their number.

    Args:
        completer: A loaded model that can evaluate trees.
        places: How many places are completed.
        seed: Of the places.
    """
    ways = {
        "together": _without_drafts(completer, completer.engine),
        "apart": _without_drafts(completer, Apart(completer.engine)),
    }
    found: dict[tuple[str, int], dict[str, list[float]]] = {}
    for number, hole in enumerate(islice(holes(standard_library(), seed), places)):
        before = hole.before[-NEAR_BYTES:]
        text = before + hole.after[:NEAR_BYTES]
        snapshot = Snapshot(hole.name, 0, text, len(before), "python")
        for way in ways.values():
            _request(way, snapshot, 1)
        turns = [(name, count) for name in ways for count in COUNTS]
        for name, count in turns if number % 2 else turns[::-1]:
            for what, value in _request(ways[name], snapshot, count).items():
                found.setdefault((name, count), {}).setdefault(what, []).append(value)
    one = spread(found["together", 1]["ms"])["mean"]
    summed = {
        count: {name: {what: spread(values) for what, values in found[name, count].items()}
                for name in ways}
        for count in COUNTS
    }  # fmt: skip
    return {
        str(count): {
            **parts,
            "to_one": round(parts["together"]["ms"]["mean"] / one, 3),
            "gain": round(parts["apart"]["ms"]["mean"] / parts["together"]["ms"]["mean"], 3),
        }
        for count, parts in summed.items()
    }


def _without_drafts(completer: Completer, engine: TokenEngine | Apart) -> Completer:
    made = Completer(engine, completer.tokenization, exact=completer.exact)
    made.drafter = None
    return made


def _request(completer: Completer, snapshot: Snapshot, count: int) -> dict[str, float]:
    engine = completer.engine
    passes, tokens, texts = engine.forward_passes, engine.evaluated_tokens, 0
    options = CompletionOptions(
        max_tokens=MOST_TOKENS, context_tokens=CONTEXT_TOKENS, candidates=count
    )

    def run() -> None:
        nonlocal texts
        texts = 1 + len(completer.answer(snapshot, options).others)

    took = milliseconds(run)
    return {
        "texts": texts,
        "passes": engine.forward_passes - passes,
        "tokens": engine.evaluated_tokens - tokens,
        "ms": took,
    }
