"""Tests of the extension from inside its host: mocha's, in editors/vscode/test/host.

They are an extension of their own, installed beside the packaged one. What a person sees, and what
only the world outside can do, is in the other files of this folder.
"""

import json
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from editors.vscode import build
from tests.e2e.vscode.conftest import Open
from tests.e2e.vscode.window import Window

RUN_SECONDS = 240
"""All tests of a window on a busy machine; usually a quarter of it."""


@pytest.fixture(scope="module")
def host_tests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension that runs mocha."""
    folder = build.bundle_host_tests()
    path = tmp_path_factory.mktemp("host_tests") / "midtoken-tests.vsix"
    with zipfile.ZipFile(path, "w") as package:
        package.write(build.FOLDER / "test/host/package.json", "extension/package.json")
        for file in folder.rglob("*.cjs"):
            package.write(file, Path("extension", file.relative_to(folder)))
    return path


@pytest.mark.model
def test_trusted_folder(
    open_vscode: Open, host_tests: Path, tmp_path: Path, subtests: pytest.Subtests
):
    """Ghost text, the completion list and the server's states, with the real model."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    results = tmp_path / "results.json"
    settings = {
        "midtokenTests.folder": "trusted",
        "midtokenTests.results": str(results),
        "midtoken.trigger.timeBudget": 60_000,
        "midtoken.completion.stopUnsure": 0,
    }
    with open_vscode(workspace, settings, others=[host_tests]) as window:
        outcomes = wait_for(results, window)

    tell(outcomes, subtests)


def test_untrusted_folder(
    open_vscode: Open,
    host_tests: Path,
    tmp_path: Path,
    quick: dict[str, object],
    subtests: pytest.Subtests,
):
    """What a folder says about programs and models does not count; the person's server runs."""
    workspace = tmp_path / "workspace"
    (workspace / ".vscode").mkdir(parents=True)
    evil = workspace / "midtoken"
    evil.write_text(f"#!/bin/sh\ntouch {workspace}/it_ran\n")
    evil.chmod(0o755)
    said = {"midtoken.path": str(evil), "midtoken.model.name": "/evil.gguf"}
    (workspace / ".vscode/settings.json").write_text(json.dumps(said))
    results = tmp_path / "results.json"
    settings = {"midtokenTests.folder": "untrusted", "midtokenTests.results": str(results)}
    trust = {
        "security.workspace.trust.enabled": True,
        "security.workspace.trust.startupPrompt": "never",
    }
    with open_vscode(workspace, quick | settings, trust, [host_tests]) as window:
        window.do("see", "Restricted Mode")
        window.do("status", "midtoken ready")
        outcomes = wait_for(results, window)

    tell(outcomes, subtests)
    assert not (workspace / "it_ran").exists()


def wait_for(results: Path, window: Window) -> list[tuple[str, str]]:
    """Each test of a window that has run, and what is wrong; fails if they do not end."""
    end = time.monotonic() + RUN_SECONDS
    while not results.is_file():
        if time.monotonic() > end or window.process.poll() is not None:
            picture = window.folder / "no-results.png"
            window.do("screen", str(picture))
            pytest.fail(f"mocha has no results after {RUN_SECONDS} s ({picture})")
        time.sleep(0.1)
    report = json.loads(results.read_text())
    assert report["passes"] or report["failures"]
    return [*told(report["passes"]), *told(report["failures"])]


def tell(outcomes: list[tuple[str, str]], subtests: pytest.Subtests) -> None:
    """Have each of mocha's tests reported by its own name."""
    for title, problem in outcomes:
        with subtests.test(title):
            if problem:
                pytest.fail(problem, pytrace=False)


def told(tests: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Titles of mocha's tests and hooks, with their errors."""
    for test in tests:
        error = test["err"]
        yield test["fullTitle"], error.get("stack", error.get("message", ""))
