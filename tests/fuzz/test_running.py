"""`python -m tests.fuzz`: what it runs, and what it says of it."""

import importlib

import pytest
from hypothesis import is_hypothesis_test

from tests.fuzz import __main__ as fuzzing


@pytest.mark.parametrize("target", fuzzing.TARGETS)
def test_every_property_is_run(target):
    """Those of a target's file, and those that it names in other files."""
    module = importlib.import_module(f"tests.fuzz.test_fuzz_{target}")
    own = [value for value in vars(module).values() if is_hypothesis_test(value)]
    others = getattr(module, "OTHERS", [])

    assert own
    assert all(map(is_hypothesis_test, others))
    assert len(fuzzing.properties(target)) == len(own) + len(others)


def test_what_breaks_is_told(monkeypatch, capsys):
    """By its name; the other properties go on, and hold."""

    def break_down() -> None:
        raise AssertionError("this input")

    checks = [("good", lambda: None), ("bad", break_down), ("fine", lambda: None)]
    monkeypatch.setattr(fuzzing, "properties", lambda _: checks)

    assert fuzzing.fuzz("some", 0) == (3 * fuzzing.ROUND, 1)
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "some: good: held after 1 x 200 inputs",
        "some: bad: BROKE after 1 x 200 inputs",
        "some: fine: held after 1 x 200 inputs",
    ]
    assert "AssertionError: this input" in said.err
