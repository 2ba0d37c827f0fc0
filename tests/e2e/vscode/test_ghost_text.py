"""Ghost text of the packaged extension in the real VS Code, with the real model.

`MIDTOKEN_PICTURE=editors/vscode/media/ghost.png make test-vscode` writes the README's picture anew.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from editors.vscode import build
from server import stats
from tests.e2e.cases import CASES, Case, each_case
from tests.e2e.vscode.conftest import Open
from tests.e2e.vscode.window import Window

pytestmark = pytest.mark.model

FIBONACCI = "def fibonacci(n):\n    if n < 2:\n        return n\n    {}\n\n\nprint(fibonacci(10))\n"
BLOCK = "def fibonacci(n):\n    {}\n\n\nprint(fibonacci(10))\n"

WHOLE = {"midtoken.trigger.timeBudget": 60_000, "midtoken.completion.stopUnsure": 0}
"""Whole suggestions, however busy the machine is. It also shows that settings get through."""


GO = "package main\n\nfunc twice(number int) int {{\n\t{}\n}}\n"

TEXTS = {
    "words.py": FIBONACCI,
    "lines.py": BLOCK,
    "next.py": FIBONACCI,
    "list.py": FIBONACCI,
    "names.py": "getVariableName = load()\nprint({})\n",
    "counted.go": GO,
    "explained.py": FIBONACCI,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with all files: those that come later are not found by name for a while."""
    folder = tmp_path_factory.mktemp("workspace")
    for case in CASES:
        case.write(folder)
    for name, text in TEXTS.items():
        (folder / name).write_text(text.format(""))
    return folder


@pytest.fixture(scope="module")
def window(open_vscode: Open, folder: Path) -> Iterator[Window]:
    """A window with the real model loaded."""
    with open_vscode(folder, WHOLE) as window:
        window.do("status", "midtoken ready")
        window.do("press", "Control+b")
        yield window


def test_settings_are_the_servers():
    """The manifest and the page offer exactly the options that the server knows."""
    command = [sys.executable, str(build.FOLDER / "settings.py"), "--check"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)

    assert (done.returncode, done.stdout) == (0, "")


@each_case
def test_accepted_as_a_whole(window: Window, folder: Path, case: Case):
    """The file is what was there, what was typed, and the ghost text; nothing else is changed."""
    path = case.write(folder)
    line = case.before.count("\n") + 1
    left = case.before.rpartition("\n")[2]
    column = len(left.encode("utf-16-le")) // 2 + 1
    window.do("open", f"{path.name}:{line}:{column}", str(len(left) + 1))
    window.do("type", case.typed)
    ghost = window.do("ghost")
    window.do("accept", "Tab")
    written = path.read_bytes() if window.do("save", str(path)) else b""

    assert case.fits(written)
    assert written.startswith(case.as_bytes(case.before + case.typed))
    assert written.endswith(case.as_bytes(case.after.lstrip(")")))
    # Where a bracket follows the cursor, the ghost may stand on both sides of it.
    assert len(written) == len(case.document(ghost, 0))


def test_word_by_word(window: Window, folder: Path):
    """A word is taken, and the rest stays; all together is what was shown."""
    path = folder / "words.py"
    window.do("open", f"{path.name}:4:5")
    window.do("type", "retu")
    ghost = window.do("ghost")
    if "MIDTOKEN_PICTURE" in os.environ:
        window.do("picture", str(Path(os.environ["MIDTOKEN_PICTURE"]).resolve()))
    rest = window.do("accept", "Control+ArrowRight")
    written = window.do("save", str(path))
    window.do("accept", "Tab")

    assert ghost.startswith("rn")
    assert ghost.endswith(rest)
    assert 0 < len(rest) < len(ghost)
    assert written == FIBONACCI.format("retu" + ghost.removesuffix(rest))
    assert window.do("save", str(path)) == FIBONACCI.format("retu" + ghost)


def test_line_by_line(window: Window, folder: Path):
    """The first line of a block is taken with a key that a person has set for it."""
    path = folder / "lines.py"
    window.do("open", f"{path.name}:2:5")
    window.do("type", "if n")
    ghost = window.do("ghost")
    window.do("accept", "Control+Alt+l")
    written = window.do("save", str(path))
    window.do("press", "Escape")

    first, *others = ghost.splitlines()
    assert others
    assert written.startswith(BLOCK.format("if n" + first).partition("\n\n")[0])
    assert others[-1] not in written


def test_next_and_previous(window: Window):
    """Asking for the next or the previous suggestion leaves one on the screen."""
    window.do("open", "next.py:4:5")
    window.do("type", "retu")
    ghost = window.do("ghost")
    for key in ("Alt+]", "Alt+["):
        window.do("press", key)
        assert window.do("ghost").startswith("rn")
    window.do("accept", "Escape")
    window.do("press", "Alt+\\")

    assert window.do("ghost") == ghost


def test_report(window: Window):
    """The report of the last suggestion is a page, light or dark as the editor is."""
    window.do("command", "midtoken: Show Report of the Last Suggestion")
    light = window.do("inside", "All the ways to spell what you typed")
    window.do("command", "Preferences: Toggle between Light/Dark Themes")
    dark = window.do("inside", "All the ways to spell what you typed", light)
    window.do("command", "Preferences: Toggle between Light/Dark Themes")

    assert (light, dark) == ("rgb(251, 250, 248)", "rgb(22, 24, 28)")


def test_explaining_at_the_cursor(window: Window):
    """The page of what would be suggested at the cursor, without a suggestion on the screen."""
    window.do("open", "explained.py:3:11")
    window.do("command", "midtoken: Explain What Is Suggested at the Cursor")

    assert window.do("inside", "explained.py:3:11")


def test_completion_list(window: Window, folder: Path):
    """Who wants suggestions in the completion list gets them there, and their text is the same."""
    path = folder / "list.py"
    settings = window.settings
    window.set(settings | {"midtoken.completionList": True})
    window.do("open", f"{path.name}:4:5")
    window.do("type", "retu")
    window.do("ghost")
    window.do("press", "Control+Space")
    found = window.do("list")
    window.do("press", "Enter")
    written = window.do("save", str(path))
    window.set(settings)

    assert found[0].startswith("return ")
    assert written == FIBONACCI.format(found[0])


def test_names_in_the_list(window: Window, folder: Path):
    """Names stand in the list, those that are meant as well, and one takes the word's place."""
    path = folder / "names.py"
    settings = window.settings
    window.set(settings | {"midtoken.completionList": True, "editor.wordBasedSuggestions": "off"})
    window.do("open", f"{path.name}:2:7")
    window.do("type", "gVN")
    window.do("ghost")
    window.do("press", "Escape")  # the list that came with the letters, if there is one
    window.do("press", "Control+Space")
    window.do("list until", "getVariableName")
    window.do("take", "getVariableName")
    written = window.do("save", str(path))
    window.set(settings)

    assert written == "getVariableName = load()\nprint(getVariableName)\n"


def test_acceptance_is_counted(window: Window):
    """A suggestion that was taken as a whole is counted with its length, and so is its showing."""
    window.do("open", "counted.go:4:2", "5")
    window.do("type", "retu")
    ghost = window.do("ghost")
    window.do("accept", "Tab")
    window.do("file", str(stats.default_file()), '"go"')
    counted = stats.by_language(stats.read())["go"]

    assert counted.accepted == 1
    assert counted.shown >= 1
    assert counted.characters == len(ghost)
