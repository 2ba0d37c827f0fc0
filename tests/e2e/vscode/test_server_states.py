"""The server's life in the real VS Code: starting, missing, crashing, elsewhere."""

import json
import os
import re
import signal
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.vscode.conftest import Open
from tests.e2e.vscode.window import PROGRAM, free_port


@pytest.mark.model
def test_states_until_ready(open_vscode: Open, tmp_path: Path):
    """Starting, loading with per cent, ready: in this order, and the per cent only grow."""
    with open_vscode(tmp_path) as window:
        window.do("status", "midtoken ready: Qwen2.5")
        said = window.do("said")

    states = [label.split()[1].rstrip(":") for label in said]
    assert list(dict.fromkeys(states)) == ["starting", "loading", "ready"]
    percents = [int(found[1]) for label in said if (found := re.search(r"loading (\d+) %", label))]
    assert percents
    assert percents == sorted(percents)


def test_missing_server_is_told_with_a_remedy(open_vscode: Open, tmp_path: Path):
    """Where there is no server, a message says so once, and its button shows how to install it."""
    with open_vscode(tmp_path, {"midtoken.path": "/nowhere/midtoken"}) as window:
        window.do("see", "there is no program at /nowhere/midtoken")
        window.do("status", "midtoken missing")
        window.do("click", "How to Install")
        window.do("see", "Preview INSTALL.md")
        title, *entries = window.do("menu")
        window.do("press", "Escape")

        window.set({"midtoken.path": "/still/nowhere"})
        window.do("status", "midtoken missing: there is no program at /still/nowhere")
        window.do("unsee", "there is no program at /still/nowhere")

        window.set({"midtoken.path": str(PROGRAM), "midtoken.model.name": "/no/such.gguf"})
        window.do("status", "midtoken error: there is no file /no/such.gguf")

    assert title.startswith("midtoken missing")
    assert entries[0].endswith("How to Install the Server")


def test_crash(open_vscode: Open, tmp_path: Path, quick: dict[str, object]):
    """A server that dies is started anew, and the status bar says what is going on."""
    with open_vscode(tmp_path, quick) as window:
        window.do("status", "midtoken ready")
        [before] = window.language_servers()
        count = len(window.do("said"))
        os.kill(before, signal.SIGKILL)
        window.do("status again", "midtoken ready", str(count))
        said = window.do("said")[count:]
        [after] = window.language_servers()

    assert after != before
    assert any(label.startswith("midtoken starting") for label in said)


def test_killed_while_it_writes(open_vscode: Open, tmp_path: Path, tiny_file: Callable[..., Path]):
    """Typing goes on over the end of a server: no key is lost, and the next server has the text."""
    path = tmp_path / "a.py"
    path.write_text("total = 1\n\n")
    endless: dict[str, object] = {
        "midtoken.model.name": str(tiny_file(ends=False)),
        "midtoken.grammar.mode": "off",
        "midtoken.completion.maxTokens": 4000,
        "midtoken.completion.maxTokensBlock": 4000,
        "midtoken.trigger.timeBudget": 60_000,
    }
    with open_vscode(tmp_path, endless) as window:
        window.do("status", "midtoken ready")
        window.do("open", "a.py:2:1")
        window.do("type", "retu")
        window.do("status", "midtoken busy")
        [before] = window.language_servers()
        count = len(window.do("said"))
        os.kill(before, signal.SIGKILL)
        window.do("type", "rn total")
        window.do("status again", "midtoken ready", str(count))
        [after] = window.language_servers()
        window.do("press", "Escape")
        written = window.do("save", str(path))

    assert after != before
    assert written == "total = 1\nreturn total\n"


def test_server_that_runs_already(open_vscode: Open, tmp_path: Path, quick: dict[str, object]):
    """A server on a port is used and left running; where there is none, the status names it."""
    port = free_port()
    address = f"127.0.0.1:{port}"
    command = [str(PROGRAM), "serve", "--tcp", address]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert process.stderr
        assert address in process.stderr.readline().decode()
        with open_vscode(tmp_path, quick | {"midtoken.address": address}) as window:
            window.do("status", "midtoken ready")
            assert window.language_servers() == []
            assert process.poll() is None
            process.kill()
            window.do("status", "midtoken error")
            window.do("command", "midtoken: Restart")
            window.do("status", f"midtoken error: there is no server at {address}")


def test_python_environment(open_vscode: Open, tmp_path: Path, quick: dict[str, object]):
    """The selected environment's server is taken; when another one is selected, that one's."""
    environments = [tmp_path / name / "bin/python" for name in ("first", "second")]
    for python in environments:
        python.parent.mkdir(parents=True)
        python.with_name("midtoken").symlink_to(PROGRAM)
    selected = tmp_path / "selected.txt"
    selected.write_text(str(environments[0]))
    settings = quick | {"midtoken.path": ""}
    others = [python_extension(tmp_path / "python.vsix", selected)]
    with open_vscode(tmp_path, settings, others=others) as window:
        window.do("status", "midtoken ready")
        [first] = window.language_servers()
        count = len(window.do("said"))
        command = programs(first)
        selected.write_text(str(environments[1]))
        window.do("status again", "midtoken ready", str(count))
        [second] = window.language_servers()
        commands = [command, programs(second)]

    assert commands == [str(python.with_name("midtoken")) for python in environments]


def programs(pid: int) -> str:
    """The script that a Python process runs."""
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[1]


def python_extension(path: Path, selected: Path) -> Path:
    """Something that looks like the Python extension; a file says which interpreter is selected."""
    manifest = {
        "name": "python",
        "publisher": "ms-python",
        "version": "1.0.0",
        "engines": {"vscode": "^1.91.0"},
        "main": "./main.js",
        "activationEvents": [],
    }
    main = f"""
        const fs = require("fs"), vscode = require("vscode");
        exports.activate = () => {{
          const changed = new vscode.EventEmitter();
          fs.watchFile({json.dumps(str(selected))}, {{ interval: 100 }}, () => changed.fire());
          const path = () => fs.readFileSync({json.dumps(str(selected))}, "utf8");
          return {{ environments: {{
            getActiveEnvironmentPath: () => ({{ path: path() }}),
            resolveEnvironment: async ({{ path }}) =>
              ({{ executable: {{ uri: vscode.Uri.file(path) }} }}),
            onDidChangeActiveEnvironmentPath: changed.event,
          }} }};
        }};"""
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("extension/package.json", json.dumps(manifest))
        package.writestr("extension/main.js", main)
    return path
