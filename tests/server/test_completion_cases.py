"""Completions of the default model that must come out: all with exact healing.

The other methods run on the same cases, to be compared: the table is printed after the run.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from server.completer import Completer, load_completer
from server.completion_options import CompletionOptions
from server.decoding import METHODS
from server.models.catalog import DEFAULT_MODEL
from server.models.store import resolve
from server.report import Item
from server.snapshot import Snapshot
from tests.server.engines import Watched, around

REPOSITORY = Path(__file__).parents[2]
GOLDEN = REPOSITORY / "tests" / "golden" / "completions.jsonl"
PLANNED = REPOSITORY.parent / "shared" / "cases" / "completions.jsonl"
"""A newer list, where one lies beside the repository."""

MAX_TOKENS = 24

pytestmark = pytest.mark.model


@dataclass(frozen=True)
class Case:
    """One line of the file."""

    id: str
    language: str
    prompt: str
    text: str
    must_match: str
    must_not_match: str | None
    result_must_not_contain: tuple[str, ...]

    def faults(self, item: Item | None) -> list[str]:
        """What is wrong with a suggestion (None: there is none); empty if the case passes."""
        before, after = self.text.split("║")
        text = item.text if item else ""
        width = item.end[1] - item.start[1] if item else 0
        original, result = before + after, before + text + after[width:]
        faults = []
        if not re.match(self.must_match, text):
            faults.append(f"{text!r} does not match {self.must_match!r}")
        if self.must_not_match and re.match(self.must_not_match, text):
            faults.append(f"{text!r} matches {self.must_not_match!r}")
        faults += [
            f"{text!r} makes one more {phrase!r}"
            for phrase in self.result_must_not_contain
            if result.count(phrase) > original.count(phrase)
        ]
        return faults


CASES = [
    Case(**fields | {"result_must_not_contain": tuple(fields["result_must_not_contain"])})
    for fields in map(json.loads, GOLDEN.read_text(encoding="utf-8").splitlines())
]


@pytest.fixture(scope="module")
def alone() -> Iterator[Completer]:
    """A default model that no other test has used."""
    loaded = load_completer(resolve(DEFAULT_MODEL))
    yield loaded
    loaded.close()


@pytest.fixture(scope="module")
def faults(alone: Completer) -> Callable[[Case, str], list[str]]:
    """What is wrong with a method's suggestion in a case; each is asked for once.

    Each begins with nothing in memory, as the command does. What was read before in batches of
    other shapes differs in the last bits, and on some processors one case is that close a call.
    """

    @cache
    def of(case: Case, method: str) -> list[str]:
        before, after = (part.encode() for part in case.text.split("║"))
        snapshot = Snapshot("case", 0, before + after, len(before), case.language)
        options = CompletionOptions(method, case.prompt, MAX_TOKENS)
        engine = Watched(alone.engine)
        completion = around(alone, engine).complete(snapshot, options)
        engine.forget()
        return case.faults(completion.items[0] if completion.items else None)

    return of


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_exact_healing(faults, case):
    """Exact healing passes every case."""
    assert faults(case, "exact") == []


def test_methods_compared(faults, report):
    """No other method passes more cases, left to right or with the text on both sides."""
    report(f"{'passed cases':14}" + "".join(f"{kind:>9}" for kind in ("fim", "left", "total")))
    passed = {}
    for method in METHODS:
        fine = [case.prompt for case in CASES if not faults(case, method)]
        passed[method] = {kind: fine.count(kind) for kind in ("fim", "left")}
        counts = [*passed[method].values(), len(fine)]
        wholes = [sum(c.prompt == kind for c in CASES) for kind in passed[method]] + [len(CASES)]
        cells = "".join(f"{f'{n}/{of}':>9}" for n, of in zip(counts, wholes, strict=True))
        report(f"{method:14}{cells}")

    assert all(
        passed["exact"][kind] >= passed[method][kind]
        for method in METHODS
        for kind in passed[method]
    )


def test_the_planned_cases_are_these():
    """The copy in this repository is no older than a list that lies beside it."""
    planned = PLANNED if PLANNED.is_file() else GOLDEN
    assert planned.read_bytes() == GOLDEN.read_bytes()
