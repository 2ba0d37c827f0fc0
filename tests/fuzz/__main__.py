"""Run the properties here for some minutes: `python -m tests.fuzz [--minutes N] [TARGET ...]`.

Targets are run in turn, each for its part of the time, always with new inputs. What breaks one is
printed, made as small as can be; it is kept in .hypothesis, where the tests find it, too, and
belongs into the target's file as an example.
"""

import argparse
import importlib
import logging
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, is_hypothesis_test, settings

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before anything loads llama.cpp

FOLDER = Path(__file__).parent
TARGETS = sorted(path.stem.removeprefix("test_fuzz_") for path in FOLDER.glob("test_fuzz_*.py"))
ROUND = 200
"""Inputs between two looks at the clock."""


def properties(target: str) -> list[tuple[str, Callable[[], None]]]:
    """The properties of a target, by name."""
    module = importlib.import_module(f"tests.fuzz.test_fuzz_{target}")
    own = [found for name, found in vars(module).items() if name.startswith("test_")]
    return [
        (check.__name__.removeprefix("test_"), check)
        for check in (*own, *getattr(module, "OTHERS", ()))
        if is_hypothesis_test(check)
    ]


def fuzz(target: str, seconds: float) -> tuple[int, int]:
    """Run a target; returns how many inputs were tried, and how many properties broke."""
    inputs, broken, started = 0, 0, time.monotonic()
    checks = properties(target)
    for number, (name, check) in enumerate(checks, start=1):
        rounds, outcome, end = 0, "held", started + seconds * number / len(checks)
        while rounds == 0 or time.monotonic() < end:
            rounds += 1
            try:
                check()
            except Exception:
                traceback.print_exc()
                outcome, broken = "BROKE", broken + 1
                break
        inputs += rounds * ROUND
        print(f"{target}: {name}: {outcome} after {rounds} x {ROUND} inputs", flush=True)
    return inputs, broken


def main() -> int:
    """Run the targets that are named, or all; the exit code is 1 if one of them broke."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="for all together")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    arguments = parser.parse_args()
    wanted = arguments.targets or TARGETS
    if unknown := set(wanted) - set(TARGETS):
        parser.error(f"there is no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    settings.register_profile(
        "fuzz", max_examples=ROUND, deadline=None, suppress_health_check=checks, print_blob=True
    )
    settings.load_profile("fuzz")
    logging.disable()  # what is wrong with an input is no news here
    with tempfile.TemporaryDirectory() as home:
        os.environ["MIDTOKEN_HOME"] = home
        seconds = 60 * arguments.minutes / len(wanted)
        found = [fuzz(target, seconds) for target in wanted]
    inputs, broken = (sum(numbers) for numbers in zip(*found, strict=True))
    print(f"{inputs:,} inputs in {arguments.minutes:g} minutes; {broken} properties broke")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
