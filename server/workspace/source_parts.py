r"""The parts of a source file that say what it offers, and how they are written down in short.

A body is left out, or replaced by what its language has for it::

    >>> area = Declaration("area", b"def area(a, b):", 0, 0, Style.PYTHON, note=b"Width by height.")
    >>> print(area.brief().decode(), end="")
    def area(a, b):
        \"\"\"Width by height.\"\"\"
"""

import re
from dataclasses import dataclass
from enum import Enum

WHOLE_LINES = 24
"""Lines of a type that is shown as it stands."""

HEADER_BYTES = 600
"""A longer head of a definition is no help for anybody."""

NOTE_BYTES = 120
"""A longer first line of a docstring is cut."""

_LINE_START = re.compile(rb"^(?=.)", re.MULTILINE)


class Style(Enum):
    """How a language writes a definition without its body."""

    PYTHON = "python"
    BRACES = "braces"
    WHOLE = "whole"
    """It is shown as it stands: a type, a constant."""


@dataclass(frozen=True)
class Declaration:
    """Something that has a name in a file."""

    name: str
    header: bytes
    """What comes before its body, or all of it; not indented."""
    start: int
    """Where it starts in the file, with what belongs to it (decorators, `export`)."""
    end: int
    """Where it ends."""
    style: Style
    note: bytes = b""
    """The first line of its docstring."""
    members: tuple["Declaration", ...] = ()
    private: bool = False
    """Whether it is not meant for other files."""
    owner: str = ""
    """The type that it belongs to, where it does not stand inside it."""

    def brief(self, *, inside: bool = False) -> bytes:
        r"""The declaration without bodies: whole lines, the last one with `\n`.

        Args:
            inside: Whether it is for the file itself, so that private members are shown as well.
        """
        return self.with_members(
            b"".join(one.brief(inside=inside) for one in self.members if inside or not one.private)
        )

    def with_members(self, members: bytes) -> bytes:
        """The declaration around some lines of its body."""
        if self.style is Style.PYTHON:
            quotes = b"'''" if b'"""' in self.note else b'"""'
            note = quotes + self.note + quotes + b"\n" if self.note else b""
            body = _LINE_START.sub(b"    ", note + members)
            return self.header + (b"\n" + body if body else b" ...\n")
        if self.style is Style.BRACES and members:
            return self.header + b" {\n" + _LINE_START.sub(b"  ", members) + b"}\n"
        return self.header + b"\n"


@dataclass(frozen=True)
class Import:
    """A statement that takes something from another module."""

    module: str
    """As it is written: `..shapes`, `./shapes`, `example.org/shapes`."""
    names: tuple[str, ...] = ()
    """What is taken, by the names that the other module has for it; `*` for all."""
    alias: str = ""
    """What the module itself is called here, if it is taken as a whole."""
    start: int = 0
    end: int = 0
    """Where the statement stands."""


@dataclass(frozen=True)
class Source:
    """What a file offers and needs."""

    declared: tuple[Declaration, ...]
    """In the order of the file."""
    imports: tuple[Import, ...]
    package: str = ""
    """The package that it is a part of, where a language's files share one."""


def dedented(text: bytes, column: int) -> bytes:
    """A part of a file without the indentation that its first line has (which is cut already)."""
    return re.sub(rb"^[ \t]{1,%d}" % column, b"", text, flags=re.MULTILINE) if column else text


def shortened(text: bytes) -> bytes:
    r"""A declaration that is shown whole: its first lines, and a mark if there are more."""
    lines = text.rstrip().split(b"\n")
    cut = lines if len(lines) <= WHOLE_LINES else [*lines[:WHOLE_LINES], b"..."]
    return b"\n".join(line[:HEADER_BYTES] for line in cut)
