"""A window of the real VS Code with the packaged extension in it, and steps to be done there.

Each window has folders of its own for settings and extensions, and a server of its own, which ends
with it: its whole process group, and with it our language server.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.vscode.tools import Tools, run

EXTENSION = Path(__file__).parents[3] / "editors/vscode"
DRIVER = Path(__file__).with_name("drive.mjs")
START_SECONDS, END_SECONDS = 60, 10

QUIET = {
    "editor.cursorBlinking": "solid",
    "editor.minimap.enabled": False,
    "editor.quickSuggestions": {"other": "off", "comments": "off", "strings": "off"},
    "extensions.autoCheckUpdates": False,
    "files.autoSave": "off",
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "workbench.enableExperiments": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
}
"""A person's settings: nothing of the editor's own in the way, and no network."""


def package_extension(tools: Tools) -> Path:
    """The extension as people get it, built from the sources."""
    npm = str(tools.npm)
    wanted, there = EXTENSION / "package-lock.json", EXTENSION / "node_modules/.package-lock.json"
    if not there.is_file() or there.stat().st_mtime < wanted.stat().st_mtime:
        install = [npm, "ci", "--no-audit", "--no-fund"]
        problem = "the extension's tools can't be installed"
        run(install, problem, EXTENSION, tools.environment)
    run([npm, "test"], "the extension's own tests fail", EXTENSION, tools.environment)
    run([npm, "run", "package"], "the extension can't be packaged", EXTENSION, tools.environment)
    return EXTENSION / "out/midtoken.vsix"


@dataclass(frozen=True)
class Window:
    """An editor that is running."""

    tools: Tools
    url: str
    picture: Path
    """Where the window is kept as a picture when a step fails."""

    def do(self, *steps: tuple[str, ...]) -> list[str | None]:
        """Do steps (see drive.mjs) in a fresh page; the text that each has seen, or None."""
        orders = {
            "url": self.url,
            "chromium": str(self.tools.chromium),
            "playwright": str(self.tools.playwright),
            "picture": str(self.picture),
            "steps": steps,
        }
        command = [str(self.tools.node), str(DRIVER), json.dumps(orders)]
        seen: list[str | None] = json.loads(run(command, "in the VS Code window"))
        return seen


@contextlib.contextmanager
def open_window(
    tools: Tools, extension: Path, folder: Path, workspace: Path, settings: dict[str, object]
) -> Iterator[Window]:
    """VS Code's server on a free port with a workspace.

    Args:
        tools: The programs.
        extension: A packaged extension, which is installed first.
        folder: An empty folder for everything that the editor writes.
        workspace: The folder that is open.
        settings: Settings of the machine, as those about programs have to be.
    """
    for name, values in (("User", QUIET), ("Machine", settings)):
        (folder / name).mkdir(parents=True)
        (folder / name / "settings.json").write_text(json.dumps(values))
    own = ["--server-data-dir", folder, "--user-data-dir", folder]
    own += ["--extensions-dir", folder / "extensions", "--accept-server-license-terms"]
    command = [*tools.server, *map(str, own)]
    run([*command, "--install-extension", str(extension)], "the extension can't be installed")
    port = _free_port()
    command += ["--host", "127.0.0.1", "--port", str(port), "--without-connection-token"]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [*command, "--telemetry-level", "off"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(process, address)
            yield Window(tools, f"{address}/?folder={workspace}", folder / "failed.png")
        finally:
            _end(process)


def _wait(process: subprocess.Popen[bytes], address: str) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/version", timeout=5):
            return
        time.sleep(0.1)
    pytest.fail(f"VS Code's server does not answer at {address} (exit code: {process.poll()})")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the whole group to end, then make it."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)


def _free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])
