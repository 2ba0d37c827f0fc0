"""Power cuts, other versions, and processes that were killed: files that are not what they were.

Whatever midtoken has written is damaged here as a power cut does it. The next session suggests the
same without a word, and the one after that has everything again.
"""

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from server import stats
from server.private_files import HOUR_S, UNFINISHED
from server.speed import default_file
from tests.server.command import run_process
from tests.server.faults.conftest import serve

DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "zeros": lambda content: bytes(len(content)),
    "other bytes": lambda content: random.Random(7).randbytes(len(content)),
}
"""What is left of a file's content."""

SPEEDS = '{\n  "a model, 1 bytes, CPU, 0 of 3 layers, 1 threads": 77.0\n}'


def written(home: Path) -> dict[str, bytes]:
    """All files by their names in the home, but locks, which have no content."""
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


@pytest.mark.parametrize("kind", DAMAGE)
async def test_every_file(tmp_path, tiny_file, kind):
    """Caches are made anew; counts that are lost begin anew."""
    model = tiny_file()
    first = await serve(tmp_path, model)
    (tmp_path / "cache" / "speed.json").write_text(SPEEDS)
    good = written(tmp_path)
    kinds = {Path(name).suffix for name in good}
    assert kinds == {".tables", ".state", ".json"}

    for name, content in good.items():
        (tmp_path / name).write_bytes(DAMAGE[kind](content))
    second = await serve(tmp_path, model)
    assert (second.shown, second.code, second.said, second.messages) == (first.shown, 0, (), ())
    assert second.reused < 2

    third = await serve(tmp_path, model)
    assert (third.shown, third.said) == (first.shown, ())
    assert third.reused > 60
    again = written(tmp_path)
    for name in good:
        if name.endswith((".tables", ".state")):
            assert again[name] == good[name], name
    assert stats.by_language(stats.read(tmp_path / "stats.json"))["python"].shown >= 2


def test_speeds(tmp_path, tiny_file):
    """`doctor` measures the speed and writes it down over whatever was there."""
    speeds = tmp_path / "cache" / default_file().name
    speeds.parent.mkdir()
    speeds.write_bytes(bytes(200))
    done = run_process(
        "doctor", "--json", "--model", tiny_file(), env={"MIDTOKEN_HOME": str(tmp_path)}
    )

    assert (done.code, done.err) == (0, "")
    assert b"threads" in speeds.read_bytes()


async def test_files_of_killed_processes(tmp_path, tiny_file):
    """What was half written goes when it is old, in each folder; what is new may be in use."""
    model = tiny_file()
    await serve(tmp_path, model)
    folders = [tmp_path / "cache" / "tables", tmp_path / "cache" / "states"]
    left = [folder / f"tmpabc{UNFINISHED}" for folder in folders]
    in_use = [folder / f"tmpdef{UNFINISHED}" for folder in folders]
    for path in (*left, *in_use):
        path.write_bytes(b"half")
    for path in left:
        os.utime(path, (0, time.time() - HOUR_S - 60))
    for entry in folders[0].glob("*.tables"):  # they are made anew, and so the folder is looked at
        entry.unlink()
    await serve(tmp_path, model)

    assert [path.exists() for path in (*left, *in_use)] == [False, False, True, True]


async def test_another_version(tmp_path, tiny_file):
    """Files of another version stand beside ours, unread and untouched."""
    model = tiny_file()
    first = await serve(tmp_path, model)
    [table], [state] = tmp_path.rglob("*.tables"), tmp_path.rglob("*.state")
    # What stands for the version in their names: the last of a table's, and the first of a state's.
    others = [table.with_stem(f"{table.stem[:-1]}9"), state.with_stem("0" * 16 + state.stem[16:])]
    for ours, other in zip((table, state), others, strict=True):
        ours.rename(other)
        other.write_bytes(b"of another version")
    second = await serve(tmp_path, model)
    third = await serve(tmp_path, model)

    assert (first.shown, second.said) == (second.shown, ())
    assert (second.reused < 2, third.reused > 60) == (True, True)
    assert [path.read_bytes() for path in others] == [b"of another version"] * 2
