"""The packaged extension in the real VS Code, with the real server and the real model."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.e2e.vscode.tools import Tools, install
from tests.e2e.vscode.window import Window, open_window, package_extension

PROGRAM = Path(sys.executable).with_name("midtoken")
PICTURE = Path(__file__).parents[2] / "docs/vscode.png"
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


@pytest.mark.model
def test_ghost_text_is_the_remainder(open_vscode: Open, tmp_path: Path):
    """Mid-word and mid-indentation, the file is what was there, what was typed, and the ghost."""
    cases = {"word.py": ("    ", "retu"), "indentation.py": ("", "  ")}
    steps: list[tuple[str, ...]] = [("status", "midtoken ready")]
    for name, (before, typed) in cases.items():
        (tmp_path / name).write_text(FIBONACCI.format(before))
        steps += [("open", f"{name}:4:{len(before) + 1}"), ("type", typed), ("ghost",)]
        steps += [("picture", str(PICTURE))] if name == "word.py" else []
        steps += [("press", "Tab"), ("save",)]

    with open_vscode(tmp_path, {"midtoken.path": str(PROGRAM)}) as window:
        ghosts = [text for text in window.do(*steps) if text is not None]

    for (name, (before, typed)), ghost in zip(cases.items(), ghosts, strict=True):
        accepted = FIBONACCI.format(before + typed + ghost)
        assert (tmp_path / name).read_text() == accepted
        assert "\n    return " in accepted


@pytest.mark.model
def test_missing_server_is_told_with_a_remedy(open_vscode: Open, tmp_path: Path):
    """Where there is no server, a message says so, and its button shows how to install it."""
    with open_vscode(tmp_path, {"midtoken.path": "/nowhere/midtoken"}) as window:
        window.do(
            ("see", "there is no program at /nowhere/midtoken"),
            ("status", "midtoken missing"),
            ("click", "How to Install"),
            ("see", "Preview INSTALL.md"),
        )
