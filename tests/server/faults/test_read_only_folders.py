"""Folders that may only be read: what is in them is used, and a line says what is not kept.

(Pulling models into one: `tests/server/models/test_stress.py`.)
"""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.server.command import run_process
from tests.server.faults.conftest import problems, serve

REASONS = {"disk": "Read-only file system", "rights": "Permission denied"}

DROP_FROM_BOUNDING_SET, MAY_WRITE_ANYTHING = 24, 1


def as_others() -> None:
    """For a process that begins: root loses the right to write where rights say otherwise."""
    if os.geteuid() == 0 and sys.platform == "linux":
        assert ctypes.CDLL(None).prctl(DROP_FROM_BOUNDING_SET, MAY_WRITE_ANYTHING, 0, 0, 0) == 0


@pytest.fixture(params=REASONS)
def lock(request, disk, tmp_path) -> Iterator[tuple[Path, str, Callable[[], None]]]:
    """A home, why it can't be written, and what makes it so."""
    home = disk("size=100m") if request.param == "disk" else tmp_path / "home"
    home.mkdir(exist_ok=True)

    def change(folders: int, files: int) -> None:
        if request.param == "disk":
            how = "ro" if files == 0o400 else "rw"
            subprocess.run(["mount", "-o", f"remount,{how}", str(home)], check=True)
            return
        for path in [*home.rglob("*"), home]:
            path.chmod(folders if path.is_dir() else files)

    yield home, REASONS[request.param], lambda: change(0o500, 0o400)
    change(0o700, 0o600)


async def test_a_home_that_was_used(lock, tiny_file):
    """Tables and states are read; nothing is added; each says so once."""
    home, reason, make_read_only = lock
    first = await serve(home, tiny_file())
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    make_read_only()
    second = await serve(home, tiny_file(), before=as_others)

    assert (second.shown, second.code, second.messages) == (first.shown, 0, ())
    assert second.reused > 60
    assert problems(second, home) == [
        f"HOME/stats.json: what became of suggestions can't be written down ({reason})"
    ]
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


async def test_a_home_that_is_new(lock, tiny_file):
    """Nothing can be made: the first suggestion is as good as any."""
    home, reason, make_read_only = lock
    make_read_only()
    session = await serve(home, tiny_file(), before=as_others, logging={"file": str(home / "log")})

    log = f"the log file HOME/log can't be written ({reason}): choose another"
    assert (len(session.shown) > 0, session.code) == (True, 0)
    assert [message.replace(str(home), "HOME") for message in session.messages] == [
        f"midtoken: {log}"
    ]
    assert sorted(problems(session, home)) == [
        f"HOME/cache/states: states can't be kept ({reason})",
        f"HOME/stats.json: what became of suggestions can't be written down ({reason})",
        log,
    ]
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("command", ["complete", "doctor", "model", "shared"])
def test_commands(lock, tiny_file, tmp_path, command):
    """A home that can't be written keeps no command from its work."""
    home, _, make_read_only = lock
    document = tmp_path / "a.py"
    document.write_text("import o")
    make_read_only()
    here = ("--model", tiny_file(), "--threads", 1)
    arguments = {
        "complete": ("complete", f"{document}:1:9", *here),
        "doctor": ("doctor", "--json", *here),
        "model": ("model", "list"),
        "shared": ("serve", "--shared"),
    }[command]
    initialize = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'
    message = b"Content-Length: %d\r\n\r\n%s" % (len(initialize), initialize)
    done = run_process(
        *arguments,
        stdin=message if command == "shared" else b"",
        env={"MIDTOKEN_HOME": str(home)},
        preexec_fn=as_others,
    )

    said = "midtoken: this editor has a server of its own: " if command == "shared" else ""
    assert done.err.startswith(said)
    assert done.err.count("\n") == bool(said)
    assert done.code == 0
    assert done.out


def test_resetting_counts(lock):
    """What can't be done is an error of one line."""
    home, reason, make_read_only = lock
    (home / "stats.json").write_text("{}")
    make_read_only()
    done = run_process("stats", "--reset", env={"MIDTOKEN_HOME": str(home)}, preexec_fn=as_others)

    assert done.code == 1
    assert done.error == f"{home}/stats.json can't be deleted ({reason}): check it"
