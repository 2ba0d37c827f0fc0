"""What our part of a step costs: everything between two passes of the model but the passes.

Functions of Python's standard library are gone on with, under their grammar, as the server does it,
for dozens of tokens each. A step is from one call of the engine to the next one; those that heal or
check a draft are left out. The watch tells what each part takes; `loop` is what is left.

Beside a model on the CPU everything of ours comes from memory anew in each step, as the weights go
through all caches in between. So the same is measured beside a model whose answers are remembered:
that is what is left of it beside a GPU (without what is in `engine`).

What is not here: what a keystroke costs before the first pass (`keystrokes`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter, thread_time
from typing import Any, cast

import server.choosing
from server.bench.engine.remembering import Remembering
from server.bench.engine.timing import spread
from server.bench.engine.watch import WORK, Part, Watch, cost
from server.bench.holes import Hole, holes, standard_library
from server.block_stop import BlockStop
from server.choosing import Chooser
from server.completer import Completer
from server.completion_options import CompletionOptions
from server.drafting import Drafting, drafter_for
from server.engine import TokenEngine
from server.engine.llama import LlamaEngine
from server.engine.llama_library import load_library
from server.grammar.grammar_mask import GrammarMask
from server.grammar.ladder import Mode
from server.snapshot import Snapshot

MODEL, LOOP = "model", "loop"
STEP_TOKENS = 48
"""Tokens that are written in a hole at most."""
CONTEXT_TOKENS = 100
"""Tokens of text in a prompt: what is written counts, not what is read."""
MODES: Mapping[str, Mode] = {"grammar": "auto", "no_grammar": "off"}


def parts() -> tuple[Part, ...]:
    """The functions that a step consists of."""
    library = load_library()
    return (
        Part(MODEL, library, "llama_decode", work=True),
        Part(MODEL, library, "llama_get_logits_ith", work=True),  # waits for a GPU
        Part("engine", LlamaEngine, "evaluate"),
        Part("engine", LlamaEngine, "keep"),
        Part("engine", Remembering, "evaluate"),
        Part("engine", Remembering, "keep"),
        Part("choice", Chooser, "__call__"),
        Part("confidence", server.choosing, "log_normaliser"),
        *(
            Part("grammar", GrammarMask, name)
            for name in ("fitting", "may_end", "could_end", "push")
        ),
        Part("drafts", Drafting, "guess"),
        Part("stop rules", BlockStop, "__call__"),
        Part("progress", GrammarMask, "report"),
    )


NAMES = ("engine", "choice", "confidence", "grammar", "drafts", "stop rules", "progress", LOOP)
"""The parts in the order of tables."""


@dataclass(frozen=True)
class Step:
    """From one call of the engine to the next one; in seconds."""

    whole: float
    work: float
    """Processor time of this thread, without that of the passes: what is left of the step on a
    machine that does nothing else."""
    parts: Mapping[str, float]

    @property
    def ours(self) -> float:
        """All but the passes of the model."""
        return self.whole - self.parts.get(MODEL, 0.0)

    @property
    def above(self) -> float:
        """All that is ours, but for the engine."""
        return self.ours - self.parts["engine"]


class _Recorder:
    """Cuts what a watch sees into steps."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.watch = Watch(parts(), self._on_enter)
        self._began: tuple[float, float] | None = None
        self._is_plain = False

    def _on_enter(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name != "engine" or len(arguments) < 4:  # `evaluate` has four, with `self`
            return
        now, worked, times = perf_counter(), thread_time(), self.watch.take()
        if self._began is not None and self._is_plain:
            whole, work = now - self._began[0], worked - self._began[1] - times.pop(WORK, 0.0)
            rest = whole - sum(times.values())
            self.steps.append(Step(whole, work, {**times, LOOP: rest}))
        _, _, nodes, want = arguments
        self._is_plain = len(nodes) == len(want) == 1
        self._began = perf_counter(), thread_time()

    def forget(self) -> None:
        """What was begun is not followed by another step."""
        self._began = None


def measure(completer: Completer, count: int, seed: int) -> dict[str, Any]:
    """The cost of so many steps, with the grammar and without, by part, in microseconds."""
    recorders, warm = {name: _Recorder() for name in MODES}, _Recorder()
    for number, hole in enumerate(_blocks(seed)):
        # Turns at being first: what is found out of a token is remembered.
        for name in sorted(MODES, reverse=bool(number % 2)):
            _write(completer, hole, MODES[name], recorders[name])
        engine = cast("TokenEngine", Remembering(completer.engine))
        remembering = Completer(engine, completer.tokenization, exact=True)
        for recorder in (_Recorder(), warm):  # the first time, the model is asked
            _write(remembering, hole, "auto", recorder)
        if all(len(recorder.steps) >= count for recorder in recorders.values()):
            break
    return {
        "clock_us_a_call": round(1e6 * cost(), 3),
        **{name: _figures(recorder.steps[:count]) for name, recorder in recorders.items()},
        "warm_us": spread([1e6 * step.above for step in warm.steps]),
    }


def _write(completer: Completer, hole: Hole, mode: Mode, recorder: _Recorder) -> None:
    options = CompletionOptions(
        max_tokens=STEP_TOKENS, context_tokens=CONTEXT_TOKENS, multiline="always", grammar=mode
    )
    completer.drafter = drafter_for(completer.tokenization, completer.engine.info)  # knows nothing
    with recorder.watch.worn():
        completer.answer(_snapshot(hole), options)
    recorder.forget()


def _blocks(seed: int) -> Iterator[Hole]:
    return (hole for hole in holes(standard_library(), seed) if hole.kind == "block")


def _snapshot(hole: Hole) -> Snapshot:
    return Snapshot(hole.name, 0, hole.before + hole.after, len(hole.before), "python")


def _figures(steps: Sequence[Step]) -> dict[str, Any]:
    whole, ours = sum(step.whole for step in steps), sum(step.ours for step in steps)
    return {
        "ours_us": spread([1e6 * step.ours for step in steps]),
        "work_us": spread([1e6 * step.work for step in steps]),
        "model_us": spread([1e6 * (step.whole - step.ours) for step in steps]),
        "share": round(ours / whole, 5),
        "parts_us": {
            name: spread([1e6 * step.parts.get(name, 0.0) for step in steps]) for name in NAMES
        },
    }
