"""A version is said in several places, and is the same in all of them."""

import json
import re

from server import __version__
from tests.server.command import REPOSITORY, run_process

EXTENSION = REPOSITORY / "editors/vscode"


def test_the_command_says_it():
    """On one line of standard output."""
    done = run_process("--version")

    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(
        rf"midtoken,? (?:version )?{re.escape(__version__)}\r?\n", done.out.decode()
    )


def test_the_extension_has_it():
    """In its own file, and twice in that of its packages."""
    package = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    lock = json.loads((EXTENSION / "package-lock.json").read_text("utf-8"))

    assert package["version"] == lock["version"] == lock["packages"][""]["version"] == __version__


def test_the_changelogs_begin_with_it():
    """What comes next has been told, in both; the extension's may have no number yet."""
    for folder, allowed in ((REPOSITORY, ()), (EXTENSION, ("Unreleased",))):
        text = (folder / "CHANGELOG.md").read_text("utf-8")
        first = next(line for line in text.splitlines() if line.startswith("## "))

        assert re.split(r"[ ,]+", first)[1] in (__version__, *allowed), folder
