"""Suggestions of the real model in Helix: its menu gives exactly what was typed and the remainder.

Helix hides menu entries whose filter text does not match what is typed, and counts in bytes.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

from tests.e2e.cases import CASES, Case
from tests.e2e.editors import helix
from tests.e2e.screen import Terminal

pytestmark = pytest.mark.model

README = Path(__file__).parents[2] / "editors" / "helix" / "README.md"

SHORT = """
[language-server.midtoken.config.completion]
maxTokens = 16
maxTokensBlock = 32
"""

ALONE = """
[editor.word-completion]
enable = false
"""
"""Helix completes words of open files by itself: not here."""

ASK_EVERY_S = 3.0
"""Longer than an answer takes, so that none is thrown away."""

ENTRY = re.compile(r"\S.* text$")
"""An entry of the menu: its text and kind, over the lines of the file."""

OPENED = "opened"
"""The file that what Helix opens outside itself is written into."""

IDENTIFIER, INDENTATION, CLOSER = CASES[:3]


@pytest.fixture
def editor(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Terminal, Path]]:
    """Helix with a case's file, at the place where typing begins."""
    case: Case = request.param
    config = tmp_path / "config" / "helix"
    config.mkdir(parents=True)
    [setup, *_] = re.findall(
        r"^```toml\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    (config / "languages.toml").write_text(setup + SHORT, encoding="utf-8")
    (config / "config.toml").write_text(ALONE, encoding="utf-8")
    opener = tmp_path / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\necho "$1" > {tmp_path / OPENED}\n', encoding="utf-8")
    opener.chmod(0o755)
    home = {
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
        "PATH": f"{opener.parent}{os.pathsep}{os.environ['PATH']}",
    }
    path = case.write(tmp_path)
    row = case.before.count("\n") + 1
    column = len(case.before[case.before.rfind("\n") + 1 :]) + 1
    terminal = Terminal(helix(), [f"{path}:{row}:{column}"], home)
    yield terminal, path
    terminal.close()


def ask_until_answered(terminal: Terminal) -> None:
    """Open the menu with Ctrl-X. Helix is answered with nothing while the model loads."""
    asked = 0.0

    def shows_an_entry(lines: list[str]) -> bool:
        nonlocal asked
        if time.monotonic() - asked > ASK_EVERY_S:
            asked = time.monotonic()
            terminal.press("\x18")
        return any(map(ENTRY.search, lines))

    terminal.wait("the menu", shows_an_entry)


def type_typed(terminal: Terminal, path: Path, case: Case) -> None:
    """Type what is typed of a case."""
    terminal.wait("the file", lambda lines: any(path.name in line for line in lines))
    terminal.press("i" + case.typed)
    typed = re.escape(case.typed.strip())
    terminal.wait("what was typed", lambda lines: re.search(f"{typed}", "\n".join(lines)))


def to_normal_mode(terminal: Terminal) -> None:
    """Leave insert mode."""
    terminal.press("\x1b")  # alone, or it would be the Alt of the next key
    terminal.wait("normal mode", lambda lines: any(line.startswith(" NOR") for line in lines))


def content_of(path: Path) -> bytes:
    """What is in a file; nothing while Helix puts a new one in its place."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


@pytest.mark.parametrize(
    ("editor", "case"),
    [pytest.param(case, case, id=case.name) for case in (IDENTIFIER, INDENTATION, CLOSER)],
    indirect=["editor"],
)
def test_menu(editor: tuple[Terminal, Path], case: Case) -> None:
    """The entry that is chosen gives the remainder; what follows the cursor stays."""
    terminal, path = editor
    type_typed(terminal, path, case)
    ask_until_answered(terminal)
    terminal.press("\t\r")
    terminal.wait("acceptance", lambda lines: not any(map(ENTRY.search, lines)))
    to_normal_mode(terminal)
    terminal.press(":w\r")
    untouched = case.as_bytes(case.before + case.after)
    terminal.wait("the file to be written", lambda _: content_of(path) not in {b"", untouched})

    written = path.read_bytes()
    assert case.fits(written), case.accepted_line(written)
    assert written.startswith((case.before + case.typed).encode())
    assert written.endswith(case.after[case.after.index("\n") :].encode())


@pytest.mark.parametrize("editor", [IDENTIFIER], ids=["killed"], indirect=True)
def test_a_server_that_is_killed(editor: tuple[Terminal, Path]) -> None:
    """Typing goes on; a command of the README starts it again, and what was typed is completed."""
    terminal, path = editor
    command = ":lsp-restart"
    assert f"`{command}`" in README.read_text(encoding="utf-8")
    type_typed(terminal, path, replace(IDENTIFIER, typed=IDENTIFIER.typed[:-2]))
    find = ["pgrep", "-P", str(terminal.pid), "-f", "serve"]
    [server] = subprocess.run(find, capture_output=True, check=True, text=True).stdout.split()
    terminal.press("\x18")
    os.kill(int(server), signal.SIGKILL)
    terminal.press(IDENTIFIER.typed[-2:])
    to_normal_mode(terminal)
    terminal.press(f"{command}\r")
    terminal.press("A")
    ask_until_answered(terminal)
    terminal.press("\t\r")
    terminal.wait("acceptance", lambda lines: not any(map(ENTRY.search, lines)))
    to_normal_mode(terminal)
    terminal.press(":w\r")
    untouched = IDENTIFIER.as_bytes(IDENTIFIER.before + IDENTIFIER.after)
    terminal.wait("the file to be written", lambda _: content_of(path) not in {b"", untouched})

    written = path.read_bytes()
    assert IDENTIFIER.fits(written), IDENTIFIER.accepted_line(written)
    assert written.startswith((IDENTIFIER.before + IDENTIFIER.typed).encode())


@pytest.mark.parametrize("editor", [IDENTIFIER], ids=["page"], indirect=True)
def test_the_page_of_a_suggestion(editor: tuple[Terminal, Path]) -> None:
    """A command of the README opens the page outside Helix."""
    terminal, path = editor
    command = ":lsp-workspace-command midtoken.openReport"
    assert f"`{command}`" in README.read_text(encoding="utf-8")
    type_typed(terminal, path, IDENTIFIER)
    ask_until_answered(terminal)
    to_normal_mode(terminal)
    terminal.press(f"{command}\r")
    terminal.wait("the page", lambda _: content_of(path.parent / OPENED).endswith(b"\n"))

    opened = urlparse(content_of(path.parent / OPENED).decode().strip())
    page = Path(unquote(opened.path)).read_text(encoding="utf-8")
    assert opened.scheme == "file"
    assert f"{path.name}:" in page
