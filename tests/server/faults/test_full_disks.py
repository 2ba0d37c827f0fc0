"""Disks that are full: suggestions come as ever, a line says what is missing, and nothing is left.

What has room again is written again. (Pulling models: `tests/server/models/test_stress.py`.)
"""

import json

import pytest

from server import stats
from tests.server.command import run_process
from tests.server.faults.conftest import begun, fill, limit_files, problems, serve


@pytest.fixture
async def expected(tiny_file, tmp_path):
    """What is suggested where nothing is wrong."""
    (tmp_path / "healthy").mkdir()
    return (await serve(tmp_path / "healthy", tiny_file())).shown


async def test_a_full_disk(disk, tiny_file, expected):
    """States, tables, counts and the log: each says once that it is not kept, or is silent."""
    home = disk("size=512k")
    filling = fill(home)
    session = await serve(home, tiny_file(), logging={"file": str(home / "log")})

    assert (session.shown, session.code, session.messages) == (expected, 0, ())
    reason = "No space left on device"
    assert sorted(problems(session, home)) == [
        "HOME/cache/states: the disk is full, so no state is kept",
        f"HOME/stats.json: what became of suggestions can't be written down ({reason})",
        f"the log file HOME/log can't be written ({reason}): choose another",
    ]
    written = [path for path in home.rglob("*") if path.is_file() and path.stat().st_size]
    assert written == [filling]

    filling.unlink()
    session = await serve(home, tiny_file())
    assert (session.shown, session.code) == (expected, 0)
    assert stats.by_language(stats.read(home / "stats.json"))["python"].shown == 1


async def test_files_that_may_not_grow(tmp_path, tiny_file, expected):
    """A quota, or a limit on files: the same without a disk of its own."""
    session = await serve(
        tmp_path, tiny_file(), before=limit_files(0), logging={"file": str(tmp_path / "log")}
    )

    assert (session.shown, session.code, session.messages) == (expected, 0, ())
    assert sorted(problems(session, tmp_path)) == [
        "HOME/cache/states: states can't be kept (File too large)",
        "HOME/stats.json: what became of suggestions can't be written down (File too large)",
        "the log file HOME/log can't be written (File too large): choose another",
    ]
    written = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert written == []


async def test_room_again(tmp_path, tiny_file, expected):
    """A disk that was full for one session keeps everything in the next."""
    await serve(tmp_path, tiny_file(), before=limit_files(0))
    second = await serve(tmp_path, tiny_file())
    third = await serve(tmp_path, tiny_file())

    assert second.shown == third.shown == expected
    assert second.said == third.said == ()
    assert (second.reused < 2, third.reused > 60) == (True, True)
    assert json.loads((tmp_path / "stats.json").read_text())


async def test_no_room_for_a_shared_server(disk, tiny_file):
    """The server can't say where it is, so the editor has one of its own, and hears why."""
    home = disk("size=64k")
    fill(home)
    session = await serve(home, tiny_file(), how="--shared")

    assert (bool(session.shown), session.code) == (True, 0)
    assert len([line for line in session.said if "a server of its own" in line]) == 1


@pytest.mark.parametrize("command", ["complete", "doctor", "rank"])
def test_commands(disk, tiny_file, tmp_path, command):
    """A full home keeps no command from its work."""
    document = tmp_path / "a.py"
    document.write_text("import o")
    home = disk("size=64k")
    fill(home)
    more = {
        "complete": [f"{document}:1:9"],
        "rank": [f"{document}:1:9", "--labels", "-"],
        "doctor": ["--json"],
    }[command]
    done = run_process(
        command,
        *more,
        *("--model", tiny_file(), "--threads", 1),
        stdin=b"os\nother\n",
        env={"MIDTOKEN_HOME": str(home)},
    )

    assert done.err == ""
    assert done.code == 0
    assert done.out


async def test_a_page_for_an_editor(tmp_path, tiny_file):
    """An editor is told that the page of a suggestion can't be written."""
    async with begun(tmp_path, tiny_file(), before=limit_files(0)) as (client, _, _):
        client.open("file:///a.py", "import o")
        await client.inline("file:///a.py", (0, 8))
        opening = {"command": "midtoken.openReport", "arguments": []}
        assert await client.request("workspace/executeCommand", opening) is None
        [message] = client.messages()

    assert message.startswith("midtoken: the page can't be written (")
    assert message.endswith("): make room for it")


def test_a_page_without_room(disk, tiny_file, tmp_path):
    """`midtoken explain` names the file that can't be written, and leaves none behind."""
    document = tmp_path / "a.py"
    document.write_text("import o")
    folder = disk("size=64k")
    fill(folder)
    page = folder / "page.html"
    done = run_process(
        "explain", f"{document}:1:9", "--model", tiny_file(), "--out", page, "--threads", 1
    )

    assert done.code == 1
    reason = "No space left on device"
    assert done.error == f"{page} can't be written ({reason}): choose another name for --out"
    assert not page.exists()
