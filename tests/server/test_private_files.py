"""Files that are put in a place in one step, whenever the process that writes them is killed."""

import os
import signal
import subprocess
import sys
import time

import pytest

from server.private_files import HOUR_S, UNFINISHED, delete_unfinished, is_older
from tests.server.command import REPOSITORY

SIZE = 1 << 20
PARTS = 4

WRITING = f"""
import itertools, sys
from pathlib import Path
from server.private_files import write_private
for letter in itertools.cycle([b"a", b"b"]):
    write_private(Path(sys.argv[1]), *[letter * {SIZE}] * {PARTS})
    print("written", flush=True)
"""
"""Writes a file again and again, in several parts of another letter each time."""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal")
@pytest.mark.parametrize("after_ms", [0, 1, 2, 3, 5, 7])
def test_killed_while_it_writes(tmp_path, after_ms):
    """The file is one of those that were written, as a whole: then, and at each look before."""
    path = tmp_path / "file"
    process = subprocess.Popen(
        [sys.executable, "-c", WRITING, str(path)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
    )
    try:
        assert process.stdout.readline() == b"written\n"
        seen = [path.read_bytes() for _ in range(20)]
        time.sleep(after_ms / 1000)
    finally:
        process.kill()
        process.communicate()
    seen.append(path.read_bytes())

    assert {len(content) for content in seen} == {PARTS * SIZE}
    assert {content.count(content[:1]) for content in seen} == {PARTS * SIZE}
    others = {found.suffix for found in tmp_path.iterdir() if found != path}
    assert others <= {UNFINISHED}


def test_what_is_left_goes_later(tmp_path):
    """An hour before or after now by the clock, which may have been set; what is new stays."""
    ages = {"old": 2 * HOUR_S, "ahead": -2 * HOUR_S, "new": 60, "soon": -60}
    for name, age in ages.items():
        (tmp_path / f"{name}{UNFINISHED}").touch()
        os.utime(tmp_path / f"{name}{UNFINISHED}", (0, time.time() - age))
    (tmp_path / "old.other").touch()
    os.utime(tmp_path / "old.other", (0, 0))
    delete_unfinished(tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == {"new.part", "soon.part", "old.other"}
    assert is_older(tmp_path / "old.other", HOUR_S)
    assert is_older(tmp_path / "none", HOUR_S)
