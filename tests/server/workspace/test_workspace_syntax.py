"""What source files declare and import, in all languages, broken ones included."""

import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.snapshot import language_of
from server.workspace import syntax
from server.workspace.source_parts import WHOLE_LINES
from server.workspace.syntax import is_known, read

LANGUAGES = ["python", "javascript", "javascriptreact", "typescript", "typescriptreact", "go"]
SAMPLES = Path(__file__).parents[3]
REAL = {
    path: path.read_bytes()[:8000]
    for path in [
        SAMPLES / "server/completer.py",
        *sorted(SAMPLES.glob("editors/vscode/src/*.ts"))[:4],
    ]
}

PYTHON = b'''"""A module."""
import os.path as p, sys
from . import shapes
from ..shapes.round import (Circle, area as circle_area)
from colours import *

LIMIT = 10
_hidden: int = 3
TABLE = {
    1: 2,
}
__all__ = ["LIMIT"]

if True:
    from early import late

    def inside(a):  # a comment: with a colon
        return a

@dataclass(frozen=True)
class Box(Shape):
    """A box.

    More of it.
    """

    width: float
    height: float = 1.0

    def __init__(self, width: float) -> None:
        pass

    @property
    def area(self) -> float:
        return self.width * self.height

    def _secret(self):
        from late import secret

async def load(
    path: str,
    *,
    times: int = 3,
) -> bytes:
    """Read it."""
    return b""
'''

SCRIPT = b"""import d, { a as b, c } from './x';
import * as ns from "../y";
const { q, r: s } = require('./z');
const whole = require("./w")
export * from './v';
export { u as t } from './u';

/** Doc. */
export async function load(path: string, times = 3): Promise<void> {
  return;
}
export default class Box<T> extends Shape {
  width = 1;
  private secret = 2;
  constructor(readonly height: number) { super(); }
  area(): number { return this.width * this.height; }
  #hidden() { return 1; }
}
export const twice = (x: number): number => x * 2, three = 3;
export type Id = string | number;
interface Point { x: number; y?: number }
"""

GO = b"""package shapes

import (
	f "fmt"
	"example.org/m/colours"
)

const Limit = 10

type (
	Box struct {
		Width float64
	}
	Id = string
)

// Area is its area.
func (b *Box) Area() float64 { return b.Width }

func New[T any](width float64) (*Box, error) {
	return &Box{width}, nil
}

func hidden() {}
"""


def brief(language, text, **how):
    declared = read(language, text).declared
    return b"".join(one.brief(**how) for one in declared if not one.private).decode()


def imports(language, text):
    return [(one.module, one.names, one.alias) for one in read(language, text).imports]


def test_python_declarations():
    assert brief("python", PYTHON) == (
        "LIMIT = 10\n"
        "TABLE = ...\n"
        "def inside(a): ...\n"
        "@dataclass(frozen=True)\n"
        "class Box(Shape):\n"
        '    """A box."""\n'
        "    width: float\n"
        "    height: float = 1.0\n"
        "    def __init__(self, width: float) -> None: ...\n"
        "    @property\n"
        "    def area(self) -> float: ...\n"
        "async def load(\n"
        "    path: str,\n"
        "    *,\n"
        "    times: int = 3,\n"
        ") -> bytes:\n"
        '    """Read it."""\n'
    )
    assert "_secret" in brief("python", PYTHON, inside=True)


def test_python_imports():
    assert imports("python", PYTHON) == [
        ("os.path", (), "p"),
        ("sys", (), "sys"),
        (".", ("shapes",), ""),
        ("..shapes.round", ("Circle", "area"), ""),
        ("colours", ("*",), ""),
        ("early", ("late",), ""),
        ("late", ("secret",), ""),
    ]


def test_script_declarations():
    assert brief("typescript", SCRIPT) == (
        "export async function load(path: string, times = 3): Promise<void>\n"
        "export default class Box<T> extends Shape {\n"
        "  width = 1\n"
        "  constructor(readonly height: number)\n"
        "  area(): number\n"
        "}\n"
        "export const twice = (x: number): number\n"
        "export const three = 3\n"
        "export type Id = string | number;\n"
        "interface Point { x: number; y?: number }\n"
    )
    assert [one.name for one in read("typescript", SCRIPT).declared] == [
        "load", "default", "twice", "three", "Id", "Point"
    ]  # fmt: skip


def test_script_imports():
    assert imports("typescript", SCRIPT) == [
        ("./x", ("default", "a", "c"), ""),
        ("../y", (), "ns"),
        ("./z", ("q", "r"), ""),
        ("./w", (), "whole"),
        ("./v", ("*",), ""),
        ("./u", ("u",), ""),
    ]


def test_go():
    source = read("go", GO)

    assert source.package == "shapes"
    assert brief("go", GO) == (
        "const Limit = 10\n"
        "type Box struct {\n\t\tWidth float64\n\t}\n"
        "type Id = string\n"
        "func (b *Box) Area() float64\n"
        "func New[T any](width float64) (*Box, error)\n"
    )
    assert [one.owner for one in source.declared if one.owner] == ["Box"]
    assert imports("go", GO) == [("fmt", (), "f"), ("example.org/m/colours", (), "colours")]


def test_jsx():
    text = b"export function App({ name }) {\n  return <b className='x'>{name}</b>;\n}\n"

    assert brief("javascriptreact", text) == "export function App({ name })\n"
    assert brief("typescriptreact", text) == "export function App({ name })\n"


def test_a_language_that_is_not_known():
    assert not is_known("cobol")
    assert read("cobol", b"import x\n").declared == ()


def test_long_things_are_left_out():
    """Nothing that is written by a tool fills a prompt."""
    values = b"X = [%s]\n" % (b"1, " * 500)
    arguments = b"def f(%s): pass\n" % b", ".join(b"argument_%d" % n for n in range(100))
    shape = b"interface Shape {\n%s}\n" % b"".join(b"  p%d: number;\n" % n for n in range(100))

    assert brief("python", values + arguments) == "X = ...\n"
    assert brief("typescript", shape).count("\n") == WHOLE_LINES + 1


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
@given(data=st.data())
def test_any_part_of_a_real_file(path, data):
    """Whatever is missing, nothing raises, and what is found lies in the text."""
    text = REAL[path]
    start = data.draw(st.integers(0, len(text)))
    part = text[start : data.draw(st.integers(start, len(text)))]
    source = read(language_of(path.name), part)

    for one in source.declared:
        assert 0 <= one.start < one.end <= len(part)
        assert one.brief(inside=True).endswith(b"\n")
    assert all(0 <= one.start < one.end <= len(part) for one in source.imports)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "text",
    [
        b"(" * 100_000,
        b"[{" * 50_000,
        b"class A { " * 10_000,
        b"if x:\n" * 20_000,
        b"".join(b" " * depth + b"if x:\n" for depth in range(300)),
        bytes(range(256)) * 400,
        b"import {" * 10_000,
        b"'" * 100_001,
        b"\xff\xfe\0" * 1000,
        b"",
    ],
    ids=["open", "brackets", "classes", "ifs", "deep", "bytes", "imports", "quotes", "odd", "none"],
)
def test_hostile_text(language, text, monkeypatch):
    """It takes linear time and no deep recursion; what takes long is given up."""
    monkeypatch.setattr(syntax, "PATIENCE_S", 0.2)
    assert isinstance(read(language, text).declared, tuple)


def test_a_busy_machine(monkeypatch):
    """Time in which others have the processor is not the text's fault."""

    class Late(bytes):
        def __getitem__(self, part):
            time.sleep(0.02)
            return super().__getitem__(part)

    monkeypatch.setattr(syntax, "PATIENCE_S", 0.05)
    monkeypatch.setattr(syntax, "PIECE", 8)
    found = read("python", Late(b"def area(a, b):\n    return a * b\n" * 4))

    assert [one.name for one in found.declared] == ["area"] * 4


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=st.binary(max_size=200))
def test_any_bytes(language, text):
    for one in read(language, text).declared:
        one.brief()


def test_deep_nesting_in_a_thread():
    """Worker threads have small stacks."""
    depth = sys.getrecursionlimit()
    text = (
        b"".join(b" " * level + b"class A:\n" for level in range(depth)) + b" " * depth + b"x = 1\n"
    )
    found = []
    thread = threading.Thread(target=lambda: found.append(read("python", text)))
    thread.start()
    thread.join()

    assert len(found) == 1
