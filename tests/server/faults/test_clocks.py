"""The clock on the wall is set while midtoken runs, or was wrong: nothing that is shown changes.

Durations, time limits and pauses are measured by clocks that nobody can set.
"""

import ast
import os
import time
from pathlib import Path

import pytest

from tests.server.command import REPOSITORY
from tests.server.faults.conftest import serve

YEAR_S = 365.25 * 86400

SETTABLE = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.today"}
SETTABLE |= {"date.today", "time.localtime", "time.gmtime", "time.ctime", "time.strftime"}

ALLOWED = {
    "server/private_files.py": "how old a file is that a killed process has left",
    "server/state_store.py": "which states nobody has used for a month",
    "server/stats.py": "the day for which suggestions are counted",
    "server/models/patience.py": "a pause until a date, from a server that does not say its own",
}
"""Where the clock on the wall is asked, and for what."""

JUMPING = """
import itertools, sys, time
now, year = time.time, 365.25 * 86400
jumps = itertools.cycle([0, 10 * year, -10 * year, 1, -3600, 3600])
time.time = lambda: now() + next(jumps)
from server.cli import main
main(sys.argv[1:])
"""
"""Runs midtoken with a clock that is somewhere else each time that it is looked at."""


def asked_in(path: Path) -> set[str]:
    """The functions of clocks that can be set which a file mentions, by whatever name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found.add(ast.unparse(node))
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return {name for name in found for clock in SETTABLE if f".{name}".endswith(f".{clock}")}


def test_who_asks_the_clock():
    """Whoever adds one has to say here what for; benchmarks write dates down."""
    files = [*(REPOSITORY / "server").rglob("*.py"), *(REPOSITORY / "healing").rglob("*.py")]
    asking = {
        str(path.relative_to(REPOSITORY))
        for path in files
        if "bench" not in path.parts and asked_in(path)
    }

    assert asking == set(ALLOWED)


@pytest.mark.parametrize(
    ("code", "asked"),
    [
        ("import time\ntime.time()", True),
        ("from time import time", True),
        ("import datetime\ndatetime.datetime.now()", True),
        ("from datetime import date\ndate.today()", True),
        ("from time import monotonic\nmonotonic()", False),
        ("import time\ntime.perf_counter()", False),
    ],
)
def test_how_it_is_found(tmp_path, code, asked):
    """The test above sees what it is for."""
    path = tmp_path / "a.py"
    path.write_text(code)
    assert bool(asked_in(path)) == asked


async def test_a_clock_that_jumps(tmp_path, tiny_file):
    """Ten years forth and back, an hour, a second: the same text, in time, and not a word."""
    first = await serve(tmp_path / "steady", tiny_file())
    for _ in range(2):
        session = await serve(tmp_path / "jumping", tiny_file(), program=("-c", JUMPING))
        assert (session.shown, session.code) == (first.shown, 0)
        assert (session.said, session.messages) == ((), ())


@pytest.mark.parametrize(("years", "reused"), [(10, True), (-10, False)])
async def test_files_of_another_time(tmp_path, tiny_file, years, reused):
    """Caches from the future are used; what nobody has used for years is made anew."""
    first = await serve(tmp_path, tiny_file())
    moment = time.time() + years * YEAR_S
    for path in tmp_path.rglob("*"):
        os.utime(path, (moment, moment))
    second = await serve(tmp_path, tiny_file())
    third = await serve(tmp_path, tiny_file())

    assert (second.shown, second.said) == (third.shown, third.said) == (first.shown, ())
    assert (second.reused > 60) == reused
    assert third.reused > 60


async def test_a_model_from_the_future(tmp_path, tiny_file):
    """A model file's time is one of the signs of its content, and need not be past."""
    model = tmp_path / "model.gguf"
    model.write_bytes(tiny_file().read_bytes())
    os.utime(model, (0, time.time() + YEAR_S))
    first, second = await serve(tmp_path, model), await serve(tmp_path, model)

    assert (first.shown, first.said) == (second.shown, ())
    assert second.reused > 60
