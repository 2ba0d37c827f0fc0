"""What a new user sees of the extension in the real VS Code, and a workspace of several folders."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.vscode.conftest import Open
from tests.e2e.vscode.window import Window


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two folders, the second of which switches midtoken off, and the file that joins them."""
    place = tmp_path_factory.mktemp("folders")
    for name in ("first", "second"):
        (place / name).mkdir()
        (place / name / f"{name}.py").write_text("\n")
    (place / "second/.vscode").mkdir()
    (place / "second/.vscode/settings.json").write_text('{"midtoken.enable": false}')
    both = place / "both.code-workspace"
    both.write_text(json.dumps({"folders": [{"path": "first"}, {"path": "second"}]}))
    return both


@pytest.fixture(scope="module")
def window(open_vscode: Open, folders: Path, quick: dict[str, object]) -> Iterator[Window]:
    with open_vscode(folders, quick) as window:
        window.do("status", "midtoken ready")
        window.do("press", "Control+b")
        yield window


def test_folders_differ(window: Window, folders: Path):
    """Each folder of a workspace has its own switch, and the menu writes to that folder."""
    window.do("open", "first.py:1:1")
    window.do("status", "midtoken ready")
    window.do("open", "second.py:1:1")
    window.do("status", "midtoken off: off in this workspace")
    window.do("menu")
    window.do("choose", "Enable in This Workspace")
    window.do("status", "midtoken ready")

    settings = json.loads((folders.parent / "second/.vscode/settings.json").read_text())
    assert settings == {}


def test_walkthrough(window: Window):
    """The walkthrough leads from the server to the first suggestion."""
    window.do("command", "Welcome: Open Walkthrough...")
    window.do("choose", "Get Started with midtoken")
    for step in ("Install the server", "Get a model", "Type, and take a suggestion"):
        window.do("see", step)
    window.do("click", "Type, and take a suggestion")

    assert window.do("image", "ghost.png") > 0
