"""The outline of what stands above a prompt."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.workspace.outline import MOST_LINES, outline

REAL = (Path(__file__).parents[3] / "server/completer.py").read_bytes()

PYTHON = b'''"""A module."""
import math
from a import (
    b,
)

LIMIT = 10

def free(x):
    return x

class Circle(Shape):
    """Round."""

    radius: float

    def __init__(self, radius):
        self.radius = radius

    def area(self):
        total = (
'''


def test_imports_and_the_class_around():
    assert outline("python", PYTHON).decode() == (
        "import math\n"
        "from a import (\n    b,\n)\n"
        "LIMIT = 10\n"
        "def free(x): ...\n"
        "class Circle(Shape):\n"
        '    """Round."""\n'
        "    radius: float\n"
        "    def __init__(self, radius): ...\n"
        "    def area(self): ...\n"
    )


def test_braces_that_are_open_are_closed():
    above = b"""import { a } from './a';
class Box {
  // }
  area() { return '}'; }
  grow() {
    if (x) {
"""

    assert outline("typescript", above) == (
        b"import { a } from './a';\nclass Box {\n  area()\n  grow()\n}\n"
    )
    assert outline("go", b"package a\n\ntype B int\n\nfunc (b B) f() {\n\tif true {\n") == (
        b"type B int\nfunc (b B) f()\n"
    )


@pytest.mark.parametrize("language", ["cobol", "plaintext", "python"])
def test_nothing_to_say(language):
    assert outline(language, b"") == b""
    assert outline("cobol", PYTHON) == b""


def test_a_long_file_is_bounded():
    """The class around stays; of others the methods go first, then those farthest away."""
    methods = b"".join(b"    def m%d(self): pass\n" % number for number in range(20))
    classes = b"".join(b"class A%d:\n%s" % (number, methods) for number in range(100))
    found = outline("python", b"import os\n" + classes).decode().splitlines()

    assert len(found) == MOST_LINES
    assert found[0] == "import os"
    assert found[-21:-18] == ["class A99:", "    def m0(self): ...", "    def m1(self): ..."]
    assert found[-22] == "class A98: ..."


@given(at=st.integers(0, len(REAL)))
def test_any_start(at):
    """Whatever the cut, it is bounded, whole lines, and the same again."""
    above = REAL[: REAL.rfind(b"\n", 0, at) + 1]
    found = outline("python", above)

    assert found.count(b"\n") <= MOST_LINES
    assert not found or found.endswith(b"\n")
    assert found == outline("python", above)


@pytest.mark.parametrize("language", ["python", "go", "typescript"])
@given(text=st.binary(max_size=200))
def test_any_bytes(language, text):
    outline(language, text)
