"""The packaged extension in the real VS Code, with the real server and the real model.

`MIDTOKEN_PICTURE=docs/vscode.png make test-vscode` writes the picture of the documentation anew.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.e2e.vscode.tools import Tools, install
from tests.e2e.vscode.window import EXTENSION, Window, open_window, package_extension

PROGRAM = Path(sys.executable).with_name("midtoken")
FIBONACCI = "def fibonacci(n):\n    if n < 2:\n        return n\n{}\n\n\nprint(fibonacci(10))\n"

Open = Callable[..., AbstractContextManager[Window]]


@pytest.fixture(scope="module")
def tools() -> Tools:
    return install()


@pytest.fixture(scope="module")
def open_vscode(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Open:
    """Opens a window for a workspace and settings of the machine."""
    extension = package_extension(tools)
    return lambda workspace, settings: open_window(
        tools, extension, tmp_path_factory.mktemp("vscode"), workspace, settings
    )


def test_settings_are_the_servers():
    """The manifest and the page offer exactly the options that the server knows."""
    command = [sys.executable, str(EXTENSION / "settings.py"), "--check"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.model
def test_ghost_text_is_the_remainder(open_vscode: Open, tmp_path: Path):
    """Mid-word and mid-indentation, the file is what was there, what was typed, and the ghost."""
    cases = {"word.py": ("    ", "retu"), "indentation.py": ("", "  ")}
    picture = Path(os.environ.get("MIDTOKEN_PICTURE", tmp_path / "vscode.png")).resolve()
    steps: list[tuple[str, ...]] = [("status", "midtoken ready"), ("press", "Control+b")]
    for name, (before, typed) in cases.items():
        (tmp_path / name).write_text(FIBONACCI.format(before))
        steps += [("open", f"{name}:4:{len(before) + 1}"), ("type", typed), ("ghost",)]
        steps += [("picture", str(picture))] if name == "word.py" else []
        steps += [("accept", "Tab"), ("save", str(tmp_path / name))]
    steps += [("command", "midtoken: Show Report"), ("see", '"items"')]
    # Whole suggestions, however busy the machine is. It also shows that settings get through.
    settings = {"midtoken.path": str(PROGRAM), "midtoken.trigger.timeBudget": 60_000}

    with open_vscode(tmp_path, settings) as window:
        seen = [text for text in window.do(*steps) if text is not None]

    ghosts, saved = seen[::2], seen[1::2]
    for (before, typed), ghost, text in zip(cases.values(), ghosts, saved, strict=True):
        assert text == FIBONACCI.format(before + typed + ghost)
        assert "return fibonacci(n" in before + typed + ghost


def test_missing_server_is_told_with_a_remedy(open_vscode: Open, tmp_path: Path):
    """Where there is no server, a message says so, and its button shows how to install it."""
    with open_vscode(tmp_path, {"midtoken.path": "/nowhere/midtoken"}) as window:
        window.do(
            ("see", "there is no program at /nowhere/midtoken"),
            ("status", "midtoken missing"),
            ("click", "How to Install"),
            ("see", "Preview INSTALL.md"),
        )
