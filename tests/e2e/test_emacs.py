"""Suggestions of the real model in Emacs: the file is what was typed and the remainder, exactly.

Eglot, set up as `editors/emacs/README.md` says, counts in code points (UTF-32) and has a menu only.
All cases are typed in one batch run: Emacs and the model start once.
"""

import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.cases import CASES, DASHED, MEANT, Case
from tests.e2e.editors import emacs

pytestmark = pytest.mark.model

README = Path(__file__).parents[2] / "editors" / "emacs" / "README.md"
DRIVE = Path(__file__).with_name("drive.el")

LIMIT_S = 300

KILLED = replace(CASES[0], name="killed")
"""The server is killed while it answers, and this is typed meanwhile."""

TYPED = (*CASES, DASHED, MEANT, KILLED)

ENTRIES = {MEANT.name: "spin-slowly"}
"""What is taken from the list; else it has one entry, which is taken."""

SHORT = """
(setq-default eglot-workspace-configuration
              '(:midtoken (:completion (:maxTokens 16 :maxTokensBlock 32 :candidates 1
                                        :names :json-false)
                           :languages (:overrides (:css (:completion (:names t)))))))
"""
"""Lists have one entry, but for names in CSS."""


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, dict[str, str]]]:
    """For each case's name: the file as Emacs wrote it, and what was accepted."""
    folder = tmp_path_factory.mktemp("emacs")
    setup, *_ = re.findall(
        r"^```elisp\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    init = folder / "init.el"
    init.write_text(";; -*- lexical-binding: t; -*-\n" + setup + SHORT, encoding="utf-8")
    files = {case.name: case.write(folder) for case in TYPED}
    asked = [
        {"file": str(files[case.name]), "offset": len(case.before), "typed": case.typed}
        | ({"entry": ENTRIES[case.name]} if case.name in ENTRIES else {})
        | ({"kill": True} if case is KILLED else {})
        for case in TYPED
    ]
    cases = folder / "cases.json"
    cases.write_text(json.dumps(asked), encoding="utf-8")
    program = emacs()
    home = {"HOME": str(folder), "MIDTOKEN_CASES": str(cases), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [*program.command, "-Q", "--batch", "-l", str(init), "-l", str(DRIVE)],
        env=os.environ | program.environment | home,
        capture_output=True,
        check=False,
        encoding="utf-8",
        errors="replace",
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(answers) == len(TYPED), done.stderr[-2000:]
    return {
        name: (path.read_bytes(), answer)
        for (name, path), answer in zip(files.items(), answers, strict=True)
    }


def test_a_server_that_is_killed(accepted: dict[str, tuple[bytes, dict[str, str]]]) -> None:
    """Eglot starts it again by itself; what was typed is there, and is completed."""
    written, answer = accepted[KILLED.name]

    assert written == KILLED.document(answer["item"], 0)
    assert KILLED.fits(written), KILLED.accepted_line(written)


@pytest.mark.parametrize("case", [*CASES, DASHED], ids=lambda case: case.name)
def test_completion_at_point(accepted: dict[str, tuple[bytes, dict[str, str]]], case: Case) -> None:
    """Completing puts exactly the remainder into the file; closers after the cursor stay single."""
    written, answer = accepted[case.name]
    closers = len(case.after.split("\n")[0])

    assert written == case.document(answer["item"], closers)
    assert case.fits(written), case.accepted_line(written)


def test_names_that_are_meant(accepted: dict[str, tuple[bytes, dict[str, str]]]) -> None:
    """Initials find a name in Emacs' list, and the name takes their place."""
    written, answer = accepted[MEANT.name]

    assert answer["item"].startswith("name · ")
    assert MEANT.fits(written), MEANT.accepted_line(written)


def test_code_points(accepted: dict[str, tuple[bytes, dict[str, str]]]) -> None:
    """Emacs and the server agree to count in code points."""
    encodings = {answer["encoding"] for _, answer in accepted.values()}

    assert encodings == {"eglot-utf-32-linepos"}
