"""What only running a model can tell: speed, whether trees are right, and a completion.

The measured speed is remembered (`server.speed`): it decides how much text later prompts hold.
"""

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np

from server import speed
from server.completer import Completer
from server.doctor.finding import Finding
from server.engine import ROOT, TokenEngine
from server.snapshot import Snapshot
from server.terminal import count, duration

SLOW_PREFILL = 40.0
"""Tokens a second below which the smallest prompt takes longer than `READING_SECONDS`."""
TREE_NOISE = 0.2
"""The logits of a tree may differ from those of single tokens by rounding, by 0.03 of their spread
with 4-bit weights; another text changes them by about 1. The share that is taken for a fault."""

_SAMPLE = b"def fahrenheit(celsius):\n    return cels"


def check_trials(completer: Completer, threads: int) -> Iterator[Finding]:
    """Run a loaded model. Raises EngineError if that cannot be done."""
    yield _speed_finding(completer.engine, threads)
    yield from _completion_findings(completer)
    yield _tree_finding(completer.engine)  # last: a memory that can't be cut is noticed on the way


def _speed_finding(engine: TokenEngine, threads: int) -> Finding:
    measured = speed.measure(engine, Path(__file__).read_bytes())
    speed.remember(engine.info, threads, measured.prefill)
    budget = speed.round_budget(measured.prefill * speed.READING_SECONDS)
    slow = measured.prefill < SLOW_PREFILL
    return Finding(
        "warning" if slow else "ok",
        "speed",
        f"reads {measured.prefill:.0f} tokens/s, writes {measured.decoding:.1f} tokens/s: prompts "
        f"of {budget} tokens from now on",
        "close busy programs and run this again; or use a GPU or a smaller model" if slow else "",
        {
            "reading_tokens_per_second": round(measured.prefill, 1),
            "writing_tokens_per_second": round(measured.decoding, 1),
            "prompt_tokens": budget,
        },
    )


def _tree_finding(engine: TokenEngine) -> Finding:
    """Whether tokens in a tree get the logits that they get alone."""
    worst = _tree_noise(engine) if engine.info.trees else None
    memory, trees = engine.info.memory, engine.info.trees  # the trial may have shown otherwise
    facts = {"memory": memory, "trees": trees}
    if worst is None or not trees:
        return Finding(
            "warning",
            "trees",
            f"the memory of this model ({memory}) cannot be cut: healing is by alignment, and "
            "slower",
            "choose a model with attention alone, such as Qwen2.5-Coder",
            facts,
        )
    facts |= {"noise": round(worst, 4)}
    if worst < TREE_NOISE:
        return Finding("ok", "trees", f"several texts in one pass (noise {worst:.1%})", facts=facts)
    return Finding(
        "warning",
        "trees",
        f"tokens in a tree are not scored as they are alone (difference {worst:.0%})",
        "use `--healing align`, and report it with this table",
        facts,
    )


def _tree_noise(engine: TokenEngine) -> float:
    """How far the logits of a tree are from those of single tokens, as a share of their spread."""
    trunk = engine.encode(_SAMPLE)
    left, right, after = engine.vocabulary.text_ids()[[0, len(trunk), 2 * len(trunk)]].tolist()
    slot = engine.open(trunk)
    nodes = [(ROOT, left), (ROOT, right), (1, after)]
    branches = [row.copy() for row in engine.evaluate(slot, nodes, [0, 1, 2])]
    engine.drop(slot)
    worst = 0.0
    for branch, path in zip(branches, [[left], [right], [right, after]], strict=True):
        slot = engine.open([*trunk, *path])
        [alone] = engine.evaluate(slot, [], [ROOT])
        distance = float(np.sqrt(np.square(alone - branch).mean()))
        worst = max(worst, distance / max(float(alone.std()), 1e-9))
        engine.drop(slot)
    return worst


def _completion_findings(completer: Completer) -> Iterator[Finding]:
    started = perf_counter()
    completion = completer.complete(Snapshot("sample.py", 0, _SAMPLE, len(_SAMPLE), "python"))
    milliseconds = 1e3 * (perf_counter() - started)
    healing = completion.healing
    exact = healing.mode == "exact"
    yield Finding(
        "ok" if exact else "warning",
        "healing",
        "exact" if exact else f"{healing.mode}: {healing.note or 'exact healing was not possible'}",
        "" if exact else "choose a model of which the README's table says `exact`",
        {"mode": healing.mode},
    )
    passes = count(healing.forward_passes, "forward pass")
    yield Finding(
        "ok",
        "completion",
        f"{duration(milliseconds)} for a line ({passes} to its first text)",
        facts={"ms": round(milliseconds, 1), "forward_passes": healing.forward_passes},
    )
