"""Random places in real source files at which somebody might have stopped typing.

The files are the running interpreter's own standard library, with its tests where they are
installed: a third as they are, a third of those with more than ASCII in them, near such characters,
and a third with their line ends turned into CR LF. Cuts fall into strata by what stands before and
after them, so that the rare kinds are tested as often as the common ones.
"""

import random
import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

STRATA = {
    "inside a word": r"(?<=\w)(?=\w)",
    "after a space": r"(?<=\S )(?=\S)",
    "after punctuation": r"(?<=[^\w\s])(?=.)",
    "inside indentation": r"(?m)(?<=^ )[ \t]*?(?=[ \t])",
    "after indentation": r"(?m)(?<=^[ \t])[ \t]*(?=\S)",
    "at a line's start": r"(?<=\n)",
    "at a line's end": r"(?=\r?\n)",
}
"""Name to a pattern that matches up to the cut."""

LONGEST = 400
"""Characters after a cut that are looked at: far more than any rule looks ahead."""


@dataclass(frozen=True)
class Cut:
    """A piece of a file that begins at a line's start, and a place in it."""

    file: str
    text: bytes
    cursor: int
    """Byte offset in `text`, between two characters."""
    stratum: str

    @property
    def line(self) -> int:
        """The offset at which the cursor's line begins."""
        return self.text.rfind(b"\n", 0, self.cursor) + 1


def cuts(count: int, seed: int) -> Iterator[Cut]:
    """That many cuts, always the same ones for a seed; strata and kinds of file take turns."""
    chance = random.Random(seed)
    strata = {name: re.compile(pattern) for name, pattern in STRATA.items()}
    made = 0
    while made < count:
        stratum = list(strata)[made % len(strata)]
        kind = made // len(strata) % 3
        files = foreign_files() if kind == 1 else all_files()
        path = chance.choice(files)
        text = read(path)
        if kind == 2:
            text = text.replace("\n", "\r\n")
        start = chance.randrange(max(1, len(text)))
        if kind == 1:
            near = re.compile(r"[^\x00-\x7f]").search(text, start)
            start = max(0, near.start() - chance.randrange(4)) if near else start
        found = strata[stratum].search(text, start)
        if found is None:
            continue
        cursor = found.end()
        begin = text.rfind("\n", 0, max(0, cursor - chance.randrange(100, 600))) + 1
        before = text[begin:cursor].encode()
        if len(before) > 2000:
            continue  # a table on one line: the prompt would start inside it
        after = text[cursor : cursor + LONGEST].encode()
        made += 1
        yield Cut(path.name, before + after, len(before), stratum)


@cache
def all_files() -> tuple[Path, ...]:
    """The source files of the standard library, by name."""
    root = Path(sysconfig.get_paths()["stdlib"])
    found = (path for path in root.rglob("*.py") if "site-packages" not in path.parts)
    return tuple(sorted(path for path in found if read(path)))


@cache
def foreign_files() -> tuple[Path, ...]:
    """The ones with more than ASCII in them."""
    return tuple(path for path in all_files() if not read(path).isascii())


@cache
def read(path: Path) -> str:
    """The text of a file with LF as line end; empty for what is not UTF-8 (tests of decoding)."""
    try:
        return path.read_bytes().decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        return ""
