r"""Where the cursor stands in a benchmark of healing: places in real files, by what is before them.

A `Place` is a file without the rest of the cursor's line, and that rest is what should come::

    >>> place_in("a.py", b"import numpy as np\nx = 1\n", 11)
    Place(name='a.py', before=b'import nump', rest=b'y as np', after=b'\nx = 1\n')

Code is the running interpreter's standard library. German and Chinese are short texts of our own,
one sentence a line; the joints of German compounds and the ends of Chinese words are marked in
them. What is not here: whether a place is at the end of a token (`prompts`).
"""

import random
import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from server.bench.holes import LARGEST
from server.errors import DocumentError
from server.snapshot import read_document

STRATA: dict[str, re.Pattern[bytes]] = {
    "inside a word": re.compile(rb"(?<=\w)(?=\w)"),
    "after a space": re.compile(rb"(?<=\S )(?=\S)"),
    "after punctuation": re.compile(rb"(?<=[!-/:-@\[-^`{-~])(?=\S)"),
    "inside indentation": re.compile(rb"(?<=[ \t])(?=[ \t]+\S)"),
    "after indentation": re.compile(rb"(?<=[ \t])(?=\S)"),
    "line start": re.compile(rb"(?<=\n)(?=[ \t]*\S)"),
}
"""Kinds of places in code by what is around the cursor, ASCII on both sides."""

PROSE: dict[str, re.Pattern[str]] = {
    "German, inside a word": re.compile(r"(?<=\w)(?=\w)"),
    "Chinese": re.compile(r"(?<=\w)(?=\w)"),
}
_PROSE_FILES = {"German": ("german.txt", "|"), "Chinese": ("chinese.txt", " ")}
_INDENTATION = frozenset({"inside indentation", "after indentation"})


@dataclass(frozen=True)
class Place:
    """A cursor in a file, with nothing after it on its line."""

    name: str
    """The file's name."""
    before: bytes
    """All of the file before the cursor."""
    rest: bytes
    """What stood on the line after it; not empty."""
    after: bytes
    """The lines below, from the line's end on."""

    @property
    def gold(self) -> bytes:
        """All that follows the cursor in the file."""
        return self.rest + self.after


@dataclass(frozen=True)
class Sentence:
    """A line of text with places between its words (or parts of words)."""

    text: str
    joints: tuple[int, ...]
    """Offsets in characters where one word or part ends and the next one starts, ascending."""


def place_in(name: str, text: bytes, cursor: int) -> Place:
    """The place at an offset of a text whose line ends are line feeds."""
    end = text.find(b"\n", cursor)
    end = len(text) if end < 0 else end
    return Place(name, text[:cursor], text[cursor:end], text[end:])


def places(stratum: str, seed: int) -> Iterator[Place]:
    """Places of a stratum (of `STRATA` or `PROSE`), without end; the same ones for a seed."""
    chance = random.Random(f"{stratum} {seed}")  # noqa: S311 (no secrets here)
    if stratum in PROSE:
        yield from _prose_places(stratum, chance)
    paths = library()
    while True:
        path = chance.choice(paths)
        found = _positions(stratum, path)
        if found:
            yield place_in(path.name, code_of(path), chance.choice(found))


@cache
def library() -> tuple[Path, ...]:
    """Modules of the running interpreter's standard library that are neither tiny nor huge.

    Raises DocumentError if there are none: an interpreter without its sources.
    """
    folder = Path(sysconfig.get_path("stdlib"))
    found = [path for path in folder.glob("*.py") if 400 <= path.stat().st_size <= LARGEST]
    if not found:
        raise DocumentError(f"{folder}: no sources of the standard library: install them")
    return tuple(sorted(found))


@cache
def code_of(path: Path) -> bytes:
    """A module's text; empty for one that is not UTF-8 with line feeds."""
    text = read_document(str(path))
    try:
        text.decode()
    except UnicodeDecodeError:
        return b""
    return b"" if b"\r" in text else text


@cache
def sentences(language: str) -> tuple[Sentence, ...]:
    """Our own text in `German` or `Chinese`."""
    name, mark = _PROSE_FILES[language]
    marked = files("server.bench.heal").joinpath("prose", name).read_text(encoding="utf-8")
    return tuple(_sentence(line, mark) for line in marked.splitlines())


def _sentence(line: str, mark: str) -> Sentence:
    parts = line.split(mark)
    joints, length = [], 0
    for part in parts[:-1]:
        length += len(part)
        joints.append(length)
    return Sentence("".join(parts), tuple(joints))


@cache
def _positions(stratum: str, path: Path) -> tuple[int, ...]:
    """Where a module has places of a stratum, in bytes; kept, as rare ones are sought for long."""
    text = code_of(path)
    found = [match.start() for match in STRATA[stratum].finditer(text)]
    if stratum not in _INDENTATION:
        return tuple(at for at in found if at or stratum != "line start")
    # Blanks are indentation only if nothing else is before them on the line.
    return tuple(at for at in found if not text[text.rfind(b"\n", 0, at) + 1 : at].strip())


def _prose_places(stratum: str, chance: random.Random) -> Iterator[Place]:
    """Places in the text with its sentences in another order each time."""
    language = stratum.split(",", maxsplit=1)[0]
    while True:
        some = list(sentences(language))
        chance.shuffle(some)
        lines = [sentence.text for sentence in some]
        number = chance.randrange(len(lines) // 3, len(lines) - 1)
        found = [match.start() for match in PROSE[stratum].finditer(lines[number])]
        before = "\n".join([*lines[:number], lines[number][: (at := chance.choice(found))]])
        after = "\n".join(["", *lines[number + 1 :]])
        yield Place(f"{language}.txt", before.encode(), lines[number][at:].encode(), after.encode())
