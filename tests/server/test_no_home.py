"""Where the system knows no home folder: no HOME, and a user without an entry."""

import pwd
from pathlib import Path

import pytest

from server.option_sections import LoggingSection
from server.server_log import set_log
from server.terminal import shown_path
from tests.server.command import run_here


@pytest.fixture
def no_home(monkeypatch):
    """As in a container that runs as a number."""

    def unknown(_user: int) -> None:
        raise KeyError

    for name in ("HOME", "MIDTOKEN_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


@pytest.fixture
def command(capfdbinary, monkeypatch, no_home):
    """Runs `midtoken` in this process, without a home."""
    return lambda *arguments: run_here(capfdbinary, monkeypatch, *arguments)


@pytest.mark.parametrize("arguments", [("model", "list"), ("stats",), ("serve",), ("doctor",)])
def test_is_told(command, arguments):
    """One line says what to set."""
    result = command(*arguments)

    assert result.error == (
        "no home folder is known: set HOME, or MIDTOKEN_HOME to a folder for models and caches"
    )
    assert result.code == 1


def test_a_folder_of_our_own(command, monkeypatch, tmp_path):
    """`MIDTOKEN_HOME` is enough; so are the folders of the desktop's standard."""
    monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path))
    assert command("model", "list").code == 0

    monkeypatch.delenv("MIDTOKEN_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert command("model", "list").code == 0


def test_what_needs_none(command):
    """Help, and what keeps nothing on the disk."""
    assert command("--help").code == 0
    assert "no server answers at 127.0.0.1:1" in command("connect", "127.0.0.1:1").error


def test_paths_are_shown(no_home, tmp_path):
    """As they are: there is no folder to shorten."""
    assert shown_path(str(tmp_path)) == str(tmp_path)


def test_a_log_in_the_home_of_nobody(monkeypatch, tmp_path: Path):
    """The name stays as it was written, and the file can't be made."""
    monkeypatch.chdir(tmp_path)
    problem = set_log(LoggingSection(file="~who-is-this/midtoken.log"))

    assert problem is not None
    assert "~who-is-this/midtoken.log can't be written (No such file or directory)" in problem
