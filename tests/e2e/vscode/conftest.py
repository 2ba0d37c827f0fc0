"""Windows of VS Code for the tests of this folder."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from editors.vscode import build
from tests.e2e.vscode.tools import Tools, install
from tests.e2e.vscode.window import NO_LIST, PROGRAM, Window, open_window

Open = Callable[..., AbstractContextManager[Window]]


@pytest.fixture(scope="session")
def tools() -> Tools:
    """VS Code and what drives it."""
    return install()


@pytest.fixture(scope="session")
def extension() -> Path:
    """The extension as people get it, built from the sources."""
    return build.package()


@pytest.fixture(scope="session")
def open_vscode(tools: Tools, extension: Path, tmp_path_factory: pytest.TempPathFactory) -> Open:
    """Opens a window for a workspace; settings and other extensions may be given.

    VS Code's own completion list opens while somebody types only if `own_list` says so.
    """

    def opened(
        workspace: Path,
        settings: dict[str, object] | None = None,
        user: dict[str, object] | None = None,
        others: Sequence[Path] = (),
        own_list: bool = False,
    ) -> AbstractContextManager[Window]:
        machine = {"midtoken.path": str(PROGRAM)} | (settings or {})
        folder = tmp_path_factory.mktemp("vscode")
        chosen = ({} if own_list else NO_LIST) | (user or {})
        return open_window(tools, [extension, *others], folder, workspace, machine, chosen)

    return opened


@pytest.fixture(scope="session")
def quick(tiny_file: Callable[..., Path]) -> dict[str, object]:
    """Settings for a tiny model, which is loaded in no time and writes nonsense."""
    return {"midtoken.model.name": str(tiny_file()), "midtoken.engine.contextSize": 1024}
