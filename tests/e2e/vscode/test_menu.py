"""The menu of the status bar item in the real VS Code: switches, settings, models, doctor, log."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.models import store
from server.models.catalog import CATALOG
from tests.e2e.vscode.conftest import Open
from tests.e2e.vscode.window import Window
from tests.server.models.conftest import CONTENT, FakeHub, run_hub

FETCHED = "codellama-7b"
"""A model whose size and sum are the hub's to say: any bytes will do."""


@pytest.fixture(scope="module")
def hub() -> Iterator[FakeHub]:
    """A hub on this machine, which the windows' servers use."""
    with pytest.MonkeyPatch.context() as patch, run_hub() as fake:
        patch.setenv("HF_ENDPOINT", fake.url)
        patch.setenv("NO_PROXY", "127.0.0.1,localhost")
        yield fake


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace")
    for name in ("a.py", "b.txt"):
        (folder / name).write_text("\n")
    return folder


@pytest.fixture(scope="module")
def window(
    open_vscode: Open, folder: Path, hub: FakeHub, quick: dict[str, object]
) -> Iterator[Window]:
    with open_vscode(folder, quick | {"midtoken.trigger.debounce": 0}) as window:
        window.do("status", "midtoken ready")
        window.do("press", "Control+b")
        yield window


def test_entries(window: Window):
    """The menu is titled with the status, and offers what can be done about midtoken."""
    window.do("open", "a.py:1:1")
    title, *entries = window.do("menu")
    window.do("leave")

    assert title.startswith("midtoken ready: ")
    assert [entry.strip() for entry in entries] == [
        "Disable in This Workspace",
        "Disable for python",
        "Disable Everywhere",
        "Choose a Model…",
        "Restart",
        "Run Doctor",
        "Show Report of the Last Suggestion",
        "Show Log",
        "Settings",
    ]


def test_workspace_is_switched(window: Window, folder: Path):
    """Off in a workspace: nothing is suggested, and the workspace's own settings say so."""
    window.do("open", "a.py:1:1")
    window.do("menu")
    window.do("choose", "Disable in This Workspace")
    window.do("status", "midtoken off: off in this workspace")
    settings = json.loads((folder / ".vscode/settings.json").read_text())
    window.do("type", "import o")
    window.do("noGhost")

    window.do("menu")
    window.do("choose", "Enable in This Workspace")
    window.do("status", "midtoken ready")
    window.do("press", "Backspace")
    window.do("type", "o")
    window.do("ghost")

    assert settings == {"midtoken.enable": False}


def test_language_is_switched(window: Window):
    """Off for a language: other languages are not."""
    window.do("open", "a.py:1:1")
    window.do("menu")
    window.do("choose", "Disable for python")
    window.do("status", "midtoken off: off for python")
    window.do("open", "b.txt:1:1")
    window.do("status", "midtoken ready")
    window.do("open", "a.py:1:1")
    window.do("status", "midtoken off: off for python")
    window.do("menu")
    window.do("choose", "Enable for python")
    window.do("status", "midtoken ready")


def test_everything_is_switched(window: Window):
    """Off everywhere."""
    window.do("command", "midtoken: Enable or Disable Everywhere")
    window.do("status", "midtoken off: off")
    window.do("command", "midtoken: Enable or Disable Everywhere")
    window.do("status", "midtoken ready")


def test_settings_take_effect(window: Window):
    """A model that is set is loaded at once; one that is not there is an error with its remedy."""
    settings = window.settings
    window.set(settings | {"midtoken.model.name": FETCHED})
    window.do("status", f"midtoken error: {FETCHED} is not on this machine")
    title, first, *_ = window.do("menu")
    window.do("leave")
    window.set(settings)
    window.do("status", "midtoken ready")

    assert title.startswith(f"midtoken error: {FETCHED} is not on this machine")
    assert first.strip() == f"Fetch {FETCHED}"


def test_fetching_is_cancelled_and_goes_on(window: Window, hub: FakeHub):
    """A download shows its progress and can be stopped; the next one fetches the rest."""
    settings = window.settings
    hub.breaks, hub.hold = [150_000], threading.Event()
    choose_and_fetch(window)
    window.do("see", f"midtoken: fetching {FETCHED}")
    window.do("see", "150.0 kB of 300.0 kB")
    window.do("click", "Cancel")
    window.do("unsee", f"midtoken: fetching {FETCHED}")
    assert window.settings == settings

    hub.hold.set()
    choose_and_fetch(window)
    window.do("status", "midtoken error")  # its bytes are no model
    chosen = window.settings["midtoken.model.name"]
    window.set(settings)
    window.do("status", "midtoken ready")

    assert chosen == FETCHED
    assert store.path_of(CATALOG[FETCHED]).read_bytes() == CONTENT
    store.remove(CATALOG[FETCHED])


def choose_and_fetch(window: Window) -> None:
    """Choose the model that is not here, and agree to have it fetched."""
    window.do("command", "midtoken: Choose a Model")
    window.do("choose", FETCHED)
    window.do("click", "Fetch")


def test_doctor(window: Window):
    """What the doctor finds is a page."""
    window.do("command", "midtoken: Run Doctor")
    window.do("see", "llama-cpp-python")


def test_restart_and_log(window: Window):
    """A restart loads the model anew; the log is an output channel."""
    count = len(window.do("said"))
    window.do("command", "midtoken: Restart")
    window.do("status again", "midtoken ready", str(count))
    window.do("command", "midtoken: Show Log")
    window.do("see", "Output")

    assert "midtoken" in window.do("panel")
