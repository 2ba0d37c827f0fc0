"""Down the ladder: the best grammar that the text before the cursor fits.

A person's text is often broken somewhere, and a grammar may be wrong about what it has not seen. So
the first rung whose window fits its grammar in time is taken, and where none does, nothing is
checked. Every rung that was passed leaves a reason, in one line::

    window: line 12 does not fit python

What is not here: the rungs of a language (`languages` and the modules that it names).
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter, thread_time
from typing import Literal

from server.errors import AttachedGrammarError, GrammarError
from server.grammar import templates
from server.grammar.kept import KeptStates
from server.grammar.report import GrammarReport
from server.grammar.rungs import Ladder, Rung
from server.grammar.state import SyntaxState

logger = logging.getLogger("midtoken.grammar")

Mode = Literal["auto", "structural", "off"]
"""As much as is known of the language and fits; only structural rungs; nothing."""

RUNG_S = 0.15
"""The longest that a rung may take to read its window: some 20 kB at the slowest grammar's pace.
What it has read is kept, so that the next request goes on from there."""

CLIMB_S = 0.25
"""The longest that all rungs may take together; what is not tried then has its turn in the next
request, when those before it have read on."""

LONGEST_WINDOW = 1 << 17
"""Bytes of a window that are read. A state keeps some 90 bytes for each of them, and to copy these
takes Python's lock: 5 ms where a window is so long."""

COMPILE_S = 1.0
"""The longest wait for a grammar to be compiled; the largest takes 0.3 s."""


@dataclass(frozen=True)
class Standing:
    """Where a climb ended."""

    state: SyntaxState | None
    """At the cursor, and one's own; None if nothing is checked."""
    report: GrammarReport
    decides: bool = False
    """As in the `Source` of its rung."""


def climb(
    kept: KeptStates,
    document: str,
    language: str,
    ladder: Ladder | None,
    before: bytes,
    mode: Mode = "auto",
) -> Standing:
    r"""Find the best grammar for a cursor.

    Never raises for any text or grammar: what goes wrong is a reason in the report.

    Args:
        kept: States of earlier requests.
        document: The document's name.
        language: Its language identifier.
        ladder: Its language's rungs; None if there are none.
        before: The text before the cursor, with `\n` line ends.
        mode: How much is wanted.
    """
    started = perf_counter()
    failed: dict[str, list[str]] = {}  # levels by what was wrong with them
    wrong: str | None = None
    try:
        with _said("the choice of rungs"):
            rungs = _rungs(ladder, language, before, mode)
    except GrammarError as error:
        return Standing(None, GrammarReport("off", language, reason=str(error)))
    begun = thread_time()
    for number, rung in enumerate(rungs):
        left = CLIMB_S - (thread_time() - begun)
        key = document, f"{number} {rung.source.name}"
        try:
            with _said("the rung"):
                state = _stand(kept, key, rung, before, min(left, RUNG_S))
        except GrammarError as error:
            failed.setdefault(str(error), []).append(rung.level)
            if isinstance(error, AttachedGrammarError):
                wrong = str(error)
            continue
        took = 1e3 * (perf_counter() - started)
        report = GrammarReport(
            "on", language, rung.level, _reason(failed), state.fed, took, wrong=wrong
        )
        return Standing(state, report, rung.source.decides)
    took = 1e3 * (perf_counter() - started)
    off = GrammarReport("off", language, reason=_reason(failed), feed_ms=took, wrong=wrong)
    return Standing(None, off)


@contextmanager
def _said(what: str) -> Iterator[None]:
    """A failure of our own goes to the log, and becomes a reason as all others."""
    try:
        yield
    except GrammarError:
        raise
    except Exception as error:
        logger.exception("%s", what)
        raise GrammarError(f"{what} failed ({type(error).__name__}: {error})") from error


def _reason(failed: dict[str, list[str]]) -> str | None:
    """All reasons in one line: `window, full: line 12 does not fit python`."""
    return "; ".join(f"{', '.join(dict.fromkeys(failed[what]))}: {what}" for what in failed) or None


LARGE = 500_000
"""Bytes before the cursor from which on a text's size may be why no grammar takes it."""


def _rungs(ladder: Ladder | None, language: str, before: bytes, mode: Mode) -> tuple[Rung, ...]:
    """The rungs that are wanted, at least one. Raises GrammarError: why there are none."""
    if mode == "off":
        raise GrammarError("switched off (grammar.mode)")
    if ladder is None:
        raise GrammarError(f"no grammar for {language}")
    rungs = ladder(before)
    if mode == "structural":
        rungs = tuple(rung for rung in rungs if rung.level == "structural")
    if not rungs:
        size = f" of {len(before) / 1e6:.1f} MB" if len(before) > LARGE else ""
        raise GrammarError(f"no grammar for this text{size} in {language}")
    return rungs


def _stand(
    kept: KeptStates, key: tuple[str, str], rung: Rung, before: bytes, seconds: float
) -> SyntaxState:
    """A state of one's own behind a rung's window. Raises GrammarError: why there is none."""
    if seconds <= 0:
        raise GrammarError("no time was left")
    window = rung.window(before)
    if len(window) > LONGEST_WINDOW:
        raise GrammarError(f"what decides is longer than {LONGEST_WINDOW >> 10} KiB")
    template = templates.get(rung.source, COMPILE_S)
    moved = kept.move(key, template, window, seconds)
    if moved.fits < len(window):
        raise GrammarError(f"{_place(before, window, moved.fits)} does not fit {rung.source.name}")
    return moved.state.fork()


def _place(before: bytes, window: bytes, offset: int) -> str:
    """Where in the document a window's byte is.

    A window ends as the text does; what it holds of earlier lines may be changed.
    """
    rest = len(window) - offset
    if before[-rest:] != window[-rest:]:
        return "what is open above the cursor"
    line = before.count(b"\n", 0, len(before) - rest) + 1
    return f"line {line}"
