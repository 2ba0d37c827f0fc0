"""VS Code itself for tests, in pinned versions, installed once into a folder of the user's cache.

The editor is the one inside code-server: VS Code's own server, whose window is a page in Chromium.
It wants exactly Node.js 24, which the extension is built with as well. Install scripts are not run:
they would compile parts (terminal, log files) that are not used here.

Chromium is the system's. What can't be had fails the tests that need it, with what to do.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import pytest
from filelock import FileLock

from editors.vscode import build

PACKAGES = Path(__file__).with_name("package.json")
EDITOR = Path("node_modules/code-server/lib/vscode")


@dataclass(frozen=True)
class Tools:
    """Programs that the tests run."""

    node: Path
    folder: Path
    """The editor's."""
    chromium: Path

    @property
    def server(self) -> tuple[str, str]:
        """VS Code's server as a command."""
        return str(self.node), str(self.folder / EDITOR / "out/server-main.js")

    @property
    def playwright(self) -> Path:
        """The module that drives Chromium."""
        return self.folder / "node_modules/playwright-core/index.mjs"


def install() -> Tools:
    """All tools, installed if they are not yet."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        pytest.fail("Chromium is needed on the PATH (Debian: apt-get install chromium)")
    cache = platformdirs.user_cache_path("midtoken-tests", ensure_exists=True)
    tools = Tools(build.node() / "node", cache / "vscode", Path(chromium))
    wanted = build.NODE + PACKAGES.read_text()
    # A folder is whole when it says which versions it holds; that is written last.
    whole = tools.folder / "installed.txt"
    with FileLock(cache / "vscode.lock"):
        if not whole.is_file() or whole.read_text() != wanted:
            shutil.rmtree(tools.folder, ignore_errors=True)
            _install(tools.folder)
            whole.write_text(wanted)
    return tools


def _install(folder: Path) -> None:
    folder.mkdir(parents=True)
    shutil.copy(PACKAGES, folder)
    command = ["install", "--ignore-scripts", "--no-audit", "--no-fund"]
    for part in (folder, folder / EDITOR, folder / EDITOR / "extensions"):
        whose = [] if part == folder else ["--omit=dev"]
        build.npm(*command, *whose, problem="VS Code can't be installed", folder=part)
