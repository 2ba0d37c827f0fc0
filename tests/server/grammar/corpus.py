"""Real files to test grammars on, cut at every byte, and files broken on purpose.

A viable prefix is one that some continuation makes a whole file, so a grammar has to accept every
beginning of every real file. Feeding a file byte by byte asks that of all of its cuts at once.
"""

import ast
import io
import re
import sysconfig
import tokenize
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from random import Random

from server.grammar.state import Template

TOKEN = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*|\d[\w.]*|[ \t]+|\n|.")
"""Words, numbers, blanks and marks of most languages: what is taken out and put in."""

INTRUDERS = b"if else for in class = == ( ) [ ] { } , : ; . + * ' \" \\ 1 x return".split()
"""Tokens that are put where they may not belong."""


@cache
def stdlib_files() -> tuple[Path, ...]:
    """Every Python file of the interpreter's standard library with its tests, in a fixed order."""
    root = Path(sysconfig.get_path("stdlib"))
    found = (path.relative_to(root) for path in root.rglob("*.py"))
    ours = (path for path in found if path.parts[0] not in {"site-packages", "dist-packages"})
    return tuple(root / path for path in sorted(ours))


def python_text(path: Path) -> bytes | None:
    r"""A Python file in UTF-8 with `\n` line ends; None if the running interpreter refuses it."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(path.read_bytes()).readline)
        text = path.read_text(encoding)  # with universal newlines
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return text.removeprefix("\ufeff").encode()


def sample(
    paths: Iterable[Path],
    count: int,
    random: Random,
    read: Callable[[Path], bytes | None] = python_text,
    most: int = 1 << 20,
) -> dict[Path, bytes]:
    """Random files that can be read, with at most so many bytes each."""
    order, found = list(paths), dict[Path, bytes]()
    random.shuffle(order)
    for path in order:
        if len(found) == count:
            break
        text = read(path)
        if text is not None and 0 < len(text) <= most:
            found[path] = text
    return found


def accepts_every_cut(template: Template, text: bytes, seconds: float = 60) -> int | None:
    """Feed a text; returns the offset of the first byte that does not fit, None if all do.

    Raises:
        TooSlow: It took longer.
    """
    fed = template.state().feed(text, seconds)
    return None if fed == len(text) else fed


def cuts(text: bytes, count: int, random: Random) -> list[int]:
    """Random offsets, any byte: half of characters and words, too."""
    return [random.randint(0, len(text)) for _ in range(count)]


def mutated(text: bytes, random: Random) -> bytes:
    """A text with one token deleted, doubled, swapped with the next, replaced or put in."""
    tokens = TOKEN.findall(text)
    places = [i for i, token in enumerate(tokens) if token.strip(b" ")]
    if not places:
        return text + random.choice(INTRUDERS)
    at = random.choice(places)
    token = tokens[at]
    other = random.choice(INTRUDERS)
    after = min(at + 1, len(tokens) - 1)
    match random.randrange(6):
        case 0:
            tokens[at] = b""
        case 1:
            tokens[at] = token + b" " + token
        case 2:
            tokens[at], tokens[after] = tokens[after], token
        case 3:
            tokens[at] = other
        case 4:
            tokens[at] = b" " + other + b" " + token
        case _:
            tokens[at] = token + (b" " * random.randint(1, 3) if token == b"\n" else other)
    return b"".join(tokens)
