"""Ghost text while typing, with VS Code's own settings about its completion list.

With those VS Code gives up on ghost text 750 ms after a key and opens its list, which is often
empty. Each document is new to the model, and one window has the server wait for longer than that
before it asks the model: how fast the machine is does not matter then.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.vscode.conftest import Open
from tests.e2e.vscode.window import Window

pytestmark = pytest.mark.model

DOCUMENTS = {
    "bracket.py": (
        "import os\n\n\ndef f(names):\n    return [os.path.",
        "get",
        "(name) for name in names]\n",
    ),
    "line_end.py": (
        "def mean(values):\n    total = sum(values)\n    count",
        " = len",
        "\n    return total / count\n",
    ),
    "words.py": ("names = ['a', 'b']\nnumbers = [1, 2]\nfor name in ", "nam", "\n"),
}
"""Text before the cursor, what is typed there, and text after it. Words that begin with what is
typed, which the list offers, are in the last one alone."""

SLOW = {"midtoken.trigger.debounce": 1500}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace")
    for name, (before, _, after) in DOCUMENTS.items():
        (folder / name).write_text(before + after)
    return folder


@pytest.fixture(scope="module", params=[{}, SLOW], ids=["as it comes", "slow server"])
def window(open_vscode: Open, folder: Path, request: pytest.FixtureRequest) -> Iterator[Window]:
    with open_vscode(folder, request.param, own_list=True) as window:
        window.do("status", "midtoken ready")
        window.do("press", "Control+b")
        yield window


@pytest.mark.parametrize("name", DOCUMENTS)
def test_comes_while_typing(window: Window, name: str):
    """Nobody asks for it; no other key is pressed."""
    before, typed, _ = DOCUMENTS[name]
    lines = before.split("\n")
    window.do("open", f"{name}:{len(lines)}:{len(lines[-1]) + 1}")
    window.do("type", typed)

    assert window.do("ghost").strip()


CROSSING_MS = range(560, 700, 20)
"""Pauses of the server with which its answer comes about when the editor gives up."""


def test_an_answer_as_the_editor_gives_up(
    open_vscode: Open,
    quick: dict[str, object],
    tiny_file: Callable[..., Path],
    tmp_path: Path,
):
    """The answer and the news that it is not waited for any more cross: it is shown all the same.

    Without a second request 3 of 52 keys were left without ghost text on a busy machine.
    """
    (tmp_path / "total.py").write_text("def f(names):\n    total = 1\n    return total\n")
    model = str(tiny_file(ends=False))
    own: dict[str, object] = {"midtoken.model.name": model, "midtoken.trigger.minConfidence": 0}
    with open_vscode(tmp_path, quick | own, own_list=True) as window:
        window.do("status", "midtoken ready")
        window.do("open", "total.py:2:14")
        for pause in CROSSING_MS:
            window.set(window.settings | {"midtoken.trigger.debounce": pause})
            for _ in range(3):
                window.do("press", "Escape")
                window.do("type", "z")
                assert window.do("ghost").strip(), pause
