"""A window of the real VS Code with the packaged extension in it, and steps to be done there.

Each window has folders of its own for settings and extensions, and a server of its own, which ends
with it: its whole session of processes, and with it our language server.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from editors.vscode import build
from tests.e2e.vscode.tools import Tools

PROGRAM = Path(sys.executable).with_name("midtoken")
DRIVER = Path(__file__).with_name("drive.mjs")
START_SECONDS, END_SECONDS = 60, 10

QUIET = {
    "editor.cursorBlinking": "solid",
    "editor.minimap.enabled": False,
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
"""A person's settings: nothing that moves by itself, and no network."""

NO_LIST = {
    "editor.quickSuggestions": {"other": "off", "comments": "off", "strings": "off"},
    "editor.wordBasedSuggestions": "off",
}
"""VS Code's own completion list stays closed. By default it opens where ghost text takes 750 ms,
and ghost text then continues the entry that is selected: what is shown would depend on how busy
the machine is. `test_default_settings.py` is about the default."""

KEYS = [
    {
        "key": "ctrl+alt+l",
        "command": "editor.action.inlineSuggest.acceptNextLine",
        "when": "inlineSuggestionVisible",
    },
    {
        "key": "alt+\\",
        "command": "editor.action.inlineSuggest.trigger",
        "when": "editorTextFocus",
    },
]
"""As the extension's page proposes them."""


@dataclass(frozen=True)
class Window:
    """An editor that is running."""

    process: subprocess.Popen[bytes]
    driver: subprocess.Popen[str]
    folder: Path
    """Everything that the editor writes, and a picture of the window when a step fails."""

    def do(self, name: str, *values: str) -> Any:
        """Do a step (see drive.mjs); what it has seen."""
        answer = self._ask(name, *values)
        if "error" in answer:
            picture = self.folder / f"failed-{len(list(self.folder.glob('failed*')))}.png"
            self._ask("screen", str(picture))
            pytest.fail(f"VS Code, {name} {' '.join(values)}: {answer['error']} ({picture})")
        return answer["seen"]

    def _ask(self, *step: str) -> dict[str, Any]:
        assert self.driver.stdin
        assert self.driver.stdout
        self.driver.stdin.write(json.dumps(step) + "\n")
        self.driver.stdin.flush()
        line = self.driver.stdout.readline()
        return json.loads(line) if line else {"error": "the browser's remote control has ended"}

    def set(self, settings: dict[str, object]) -> None:
        """Write settings of the machine; the editor notices by itself."""
        (self.folder / "Machine/settings.json").write_text(json.dumps(settings))

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the machine."""
        settings: dict[str, Any] = json.loads(
            (self.folder / "Machine/settings.json").read_text() or "{}"
        )
        return settings

    def language_servers(self) -> list[int]:
        """The process ids of our language servers in this window."""
        pids = [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdecimal()]
        return [
            pid
            for pid in pids
            if _command(pid)[-2:] == ["serve", "--stdio"] and _session(pid) == self.process.pid
        ]


@contextlib.contextmanager
def open_window(
    tools: Tools,
    extensions: Sequence[Path],
    folder: Path,
    workspace: Path,
    settings: dict[str, object],
    user: Mapping[str, object],
) -> Iterator[Window]:
    """VS Code's server on a free port with a workspace, and a page that shows it.

    Args:
        tools: The programs.
        extensions: Packaged extensions, which are installed first.
        folder: An empty folder for everything that the editor writes.
        workspace: The folder that is open, or the file of a workspace of several folders.
        settings: Settings of the machine, as those about programs have to be.
        user: Settings of the user, beside those that keep the editor quiet.
    """
    for name, values in (("User", QUIET | user), ("Machine", settings)):
        (folder / name).mkdir(parents=True)
        (folder / name / "settings.json").write_text(json.dumps(values))
    (folder / "User/keybindings.json").write_text(json.dumps(KEYS))
    own = ["--server-data-dir", folder, "--user-data-dir", folder]
    own += ["--extensions-dir", folder / "extensions", "--accept-server-license-terms"]
    command = [*tools.server, *map(str, own)]
    for extension in extensions:
        install = [*command, "--install-extension", str(extension)]
        build.run(install, f"{extension.name} can't be installed")
    port = free_port()
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
            kind = "workspace" if workspace.is_file() else "folder"
            with _driver(tools, f"{address}/?{kind}={workspace}") as driver:
                yield Window(process, driver, folder)
        finally:
            _end(process)


@contextlib.contextmanager
def _driver(tools: Tools, url: str) -> Iterator[subprocess.Popen[str]]:
    """The browser and its remote control."""
    orders = {"url": url, "chromium": str(tools.chromium), "playwright": str(tools.playwright)}
    with subprocess.Popen(
        [str(tools.node), str(DRIVER), json.dumps(orders)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as driver:
        try:
            line = driver.stdout.readline() if driver.stdout else ""
            if not line or "error" in json.loads(line):
                pytest.fail(f"VS Code's window does not open: {line}")
            yield driver
        finally:
            if driver.stdin:
                driver.stdin.close()
            try:
                driver.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                driver.kill()


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


def free_port() -> int:
    """A port of this machine where nothing listens."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


def _command(pid: int) -> list[str]:
    """A process's command line; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode().strip("\0").split("\0")
    except OSError:
        return []


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None
