"""The mask over real code: the text that was there is allowed, may end, and is kept whole."""

from itertools import islice
from random import Random

import pytest

from server.bench.holes import holes, standard_library
from server.grammar import grammar_mask, ladder
from server.grammar.fit import fitting_length
from server.grammar.grammar_mask import GrammarMask
from server.grammar.kept import KeptStates
from server.grammar.ladder import climb
from server.grammar.languages import LADDERS


@pytest.fixture(autouse=True)
def time_enough(monkeypatch):
    """How long a file takes to read is no matter here."""
    for module, limit in ((ladder, "RUNG_S"), (ladder, "CLIMB_S"), (grammar_mask, "PATIENCE_S")):
        monkeypatch.setattr(module, limit, 60.0)


WHERE = {"line": "end", "inside": "inside", "block": "lines"}


def fill(hole, kept, random):
    """Write a hole's own text; what goes wrong, if anything does.

    Of statements that are too long for a window, brackets are watched.
    """
    standing = climb(kept, hole.name, "python", LADDERS["python"], hole.before)
    reason = standing.report.reason
    if reason not in {None, "window: the statement is longer than 20 kB"}:
        return reason
    mask = GrammarMask(standing, [hole.after], inside=hole.kind == "inside")
    written = 0
    while written < len(hole.text):
        piece = hole.text[written : written + random.randint(1, 8)]
        if not mask.allows(piece):
            return f"refused {piece!r} after {hole.text[:written]!r}"
        mask.push(piece)
        written += len(piece)
    if not mask.may_end():
        return "may not end"
    fits = mask.fits(written)
    length = fitting_length(hole.text, written, fits, WHERE[hole.kind])
    return None if length == written else f"only {length} of {written} bytes fit"


def wrong(count, seed):
    kept, random = KeptStates(), Random(seed)
    found = [
        (hole, fill(hole, kept, random)) for hole in islice(holes(standard_library(), seed), count)
    ]
    return [(hole.name, hole.kind, hole.before[-40:], reason) for hole, reason in found if reason]


def test_real_text():
    """Sixty holes of all kinds."""
    assert wrong(60, 0) == []


@pytest.mark.corpus
def test_much_real_text():
    """Some hundreds more."""
    found = wrong(600, 1)
    print(f"\n600 holes: {len(found)} not as they were")
    assert found == []
