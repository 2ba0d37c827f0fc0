"""What the names of documents are, as far as their declarations tell."""

from dataclasses import replace

import pytest

from server import name_kinds
from server.name_kinds import LARGEST, NameKinds, kinds_in
from server.snapshot import Snapshot

OWN = Snapshot("file:///a.py", 1, b"def one(): ...\n", 0, "python")
OTHER = Snapshot("file:///b.py", 1, b"class one: ...\nclass two: ...\n", 0, "python")

SAME = "Shape class sides field corners field area method load function largest variable"
PYTHON = b"""
import os.path
import numpy as np
@cached
class Shape(Base):
    sides: int = 4
    corners = count(2)
    @property
    def area(self): ...
async def load(path): ...
largest = max(1, 2)
retu"""
SCRIPT = b"""
import * as fs from 'fs';
export class Shape { sides = count(1); private corners: string; area(a: string): void { } }
export const load = async (path) => 1;
const largest = max(1);
interface Base { name: string; draw(): void }
"""
GO = b"""package a
type Shape struct { sides int }
func (s *Shape) Area() int { return 1 }
func load() {}
var largest = max(1, 2)
"""


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "python",
            PYTHON,
            f"os module np module {SAME}",
        ),
        (
            "typescript",
            SCRIPT,
            f"fs module {SAME} Base class",
        ),
        ("go", GO, "Shape class Area method load function largest variable"),
        ("cobol", b"load", ""),
        ("python", b"\xff\x00((", ""),
    ],
    ids=["python", "typescript", "go", "unknown", "broken"],
)
def test_kinds(language, text, expected):
    """Of all languages whose files are read."""
    words = expected.encode().split()

    assert kinds_in(language, text) == {
        name: kind.decode() for name, kind in zip(words[::2], words[1::2], strict=True)
    }


def test_own_document_first():
    """Its names are what they are there; documents of other languages say nothing."""
    go = replace(OTHER, uri="file:///c.go", language="go", text=b"package a\nfunc three() {}\n")

    assert NameKinds().at(OWN, [OTHER, go]) == {b"one": "function", b"two": "class"}


def test_line_ends():
    """Those of other systems are line ends, too."""
    crlf = replace(OWN, text=b"def one():\r\n    pass\r\nclass two: ...\r\n")

    assert NameKinds().at(crlf) == {b"one": "function", b"two": "class"}


def test_documents_are_read_once(monkeypatch):
    """Until they change."""
    read = []

    def watched(language, text):
        read.append(text)
        return {}

    monkeypatch.setattr(name_kinds, "kinds_in", watched)
    kinds = NameKinds()
    for text in (b"one", b"one", b"two"):
        kinds.at(replace(OWN, text=text), [OTHER])

    assert read == [b"one", OTHER.text, b"two"]


def test_large_documents():
    """What is around the cursor is read."""
    line = b"call(" + b"1, " * 50 + b")\n"
    text = b"def first(): ...\n" + line * (LARGEST // 40) + b"def last(): ...\n"

    for cursor, name in ((0, b"first"), (len(text), b"last")):
        assert NameKinds().at(replace(OWN, text=text, cursor=cursor)) == {name: "function"}


def test_endless_lines():
    """What is around the cursor is read there as well."""
    before = b"def first(): ...\n" + b"# " * LARGEST
    here = replace(OWN, text=before + b"\ndef last(): ...\n", cursor=len(before))

    assert NameKinds().at(here) == {b"last": "function"}
