"""Holes in the standard library, filled by the default model under Python's grammar."""

from collections.abc import Callable
from itertools import islice

import pytest

from server.bench.grammar_command import Filled, fill
from server.bench.holes import holes, standard_library
from server.completer import Completer
from server.completion_options import CompletionOptions
from server.errors import GrammarError
from server.grammar import languages, templates

HOLES = 60
SHORT = CompletionOptions(max_tokens=16, context_tokens=80)

pytestmark = pytest.mark.model


def leaves_a_viable_text(filled: Filled) -> bool:
    """Whether Python's whole grammar, read afresh, goes over all up to the end of what is shown.

    The text before the hole has to fit by itself: it does, for the file compiles. Where a statement
    is too long for the grammar, its brackets are read.
    """
    text = filled.hole.before + filled.shown
    ladder = languages.LADDERS["python"](text)
    full = next((rung for rung in ladder if rung.level == "full"), ladder[0])
    try:
        rung, window = full, full.window(text)
    except GrammarError:
        rung = next(rung for rung in ladder if rung.level == "structural")
        window = rung.window(text)
    return templates.get(rung.source, 10).state().feed(window) == len(window)


def test_completions_are_grammatical(completer: Completer, report: Callable[[str], None]):
    """Every completion can be gone on from; where what follows fits, the file still compiles.

    CPython is the judge; the grammar knows less than it (names bound twice, `return` at top level),
    so one in twenty may not compile though it fits.
    """
    chosen = list(islice(holes(standard_library(), 7), HOLES))

    filled = fill(completer, chosen, SHORT)

    for mode, some in filled.items():
        shown = [one for one in some if one.shown]
        stopped = [one for one in shown if one.completion.ended != "token limit"]
        report(
            f"{HOLES} holes, grammar {mode}: {len(shown)} completions, "
            f"{sum(one.dead_end for one in shown)} cannot be gone on from; the file compiles with "
            f"{sum(one.compiles for one in shown)}, of {len(stopped)} that came to an end with "
            f"{sum(one.compiles for one in stopped)}"
        )
    masked = [one for one in filled["auto"] if one.completion.grammar.state == "on"]
    fitting = [one for one in masked if one.completion.grammar.fits]
    whole = sum(one.compiles for one in fitting)
    report(f"  what follows fits after {len(fitting)}; the file compiles with {whole} of these")
    assert len(masked) > 0.9 * HOLES
    assert len(fitting) > 0.5 * HOLES
    assert [one.shown for one in masked if one.dead_end] == []
    assert all(leaves_a_viable_text(one) for one in masked)
    assert whole >= 0.95 * len(fitting)
    with_mask, without = (sum(one.compiles for one in filled[mode]) for mode in ("auto", "off"))
    assert with_mask >= without
