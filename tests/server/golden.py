"""Golden cases: documents with a cursor, what a model wrote there, and what they become.

`tests/golden/README.md` tells what is in a case.
"""

import tomllib
from pathlib import Path

import pytest

from server.blocks import finish_block, inside_at, line_end_of, restore_line_ends
from server.rules import Finished, place_at
from server.snapshot import Snapshot

FOLDER = Path(__file__).parents[1] / "golden"


def golden_cases() -> list:
    """All cases of `tests/golden/*/*.toml` as parameters of tests."""
    return [
        pytest.param(case, id=f"{path.stem}: {case['name']}")
        for path in sorted(FOLDER.glob("*/*.toml"))
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]
    ]


def snapshot(document: str, language: str, line_end: str = "\n") -> Snapshot:
    """A snapshot of a document with the cursor at `║`."""
    before, after = document.replace("\n", line_end).split("║")
    return Snapshot("a", 0, (before + after).encode(), len(before.encode()), language)


def snapshot_of(case: dict) -> Snapshot:
    """A case's document."""
    return snapshot(case["document"], case["language"], case.get("line_end", "\n"))


def finished(case: dict, generated: bytes, *, ended: bool) -> Finished:
    """What is shown in a case if the model wrote this; `ended` says that it was not cut off."""
    where = snapshot_of(case)
    wish = case.get("multiline", "auto")
    return finish_block(place_at(where), generated, ended, inside_at(where), wish)


def applied(where: Snapshot, result: Finished) -> str:
    """The document with the suggestion in it, between marks."""
    text = restore_line_ends(result.text, line_end_of(where))
    before, after = where.text[: where.cursor], where.text[where.cursor + result.range_end :]
    return b"".join([before, "⟦".encode(), text, "⟧".encode(), after]).decode()
