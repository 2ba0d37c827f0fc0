r"""Holes in real Python files, and CPython's own word on what is written into them.

A hole is one of three kinds: the rest of a line, a part inside a line (code follows on it), or the
rest of a function. Its file compiles where its own text is put back.

What is not here: the completions (`grammar_command`).
"""

import ast
import random
import re
import sysconfig
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Literal

from server.errors import DocumentError
from server.snapshot import read_document

Kind = Literal["line", "inside", "block"]
KINDS: tuple[Kind, ...] = ("line", "inside", "block")

LARGEST = 200_000
"""Bytes of a file that is taken; compiling larger ones for each completion takes long."""

LONGEST_BLOCK = 400
"""Bytes of the rest of a function: what a completion of some dozens of tokens can write."""

_INCOMPLETE = 0x4000
"""`PyCF_ALLOW_INCOMPLETE_INPUT`: text that ends too early is an error of its own."""


@dataclass(frozen=True)
class Hole:
    """A file without a part of it."""

    name: str
    kind: Kind
    before: bytes
    text: bytes
    """What was in the hole."""
    after: bytes


def standard_library() -> list[Path]:
    """The modules of the running interpreter's standard library."""
    return sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))


def holes(paths: Sequence[Path], seed: int) -> Iterator[Hole]:
    """Holes in files, all kinds in turns, without end; the same seed gives the same ones.

    Raises DocumentError if none of the files is Python that compiles and has room for holes.
    """
    chance = random.Random(seed)  # noqa: S311 (no secrets here)
    kinds = 0
    while True:
        found = False
        for path in chance.sample(paths, len(paths)):
            hole = _hole(path, KINDS[kinds % len(KINDS)], chance)
            if hole is not None:
                found = True
                kinds += 1
                yield hole
        if not found:
            names = ", ".join(path.name for path in paths[:3]) + (", ..." if paths[3:] else "")
            raise DocumentError(f"{names}: no Python code with room for holes: name other files")


def _hole(path: Path, kind: Kind, chance: random.Random) -> Hole | None:
    try:
        text = read_document(str(path))
    except DocumentError:
        return None
    if len(text) > LARGEST or b"\r" in text or not compiles(text):
        return None
    spans = list(_block_spans(text) if kind == "block" else _line_spans(text, kind, chance))
    if not spans:
        return None
    start, end = chance.choice(spans)
    return Hole(path.name, kind, text[:start], text[start:end], text[end:])


def _line_spans(text: bytes, kind: Kind, chance: random.Random) -> Iterator[tuple[int, int]]:
    """A part of every line that has code: from a place in it to its end, or to a later place."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for number in sorted(_code_lines(text)):
        line = lines[number - 1].rstrip(b"\n")
        first = len(line) - len(line.lstrip())
        if len(line) - first < 8 or not line.isascii():
            continue
        begin = chance.randrange(first + 1, len(line) - 3)
        start = starts[number - 1]
        if kind == "line":
            yield start + begin, start + len(line)
            continue
        end = chance.randrange(begin + 1, len(line))
        # Closers alone are no code. No hole ends inside a word, or makes one of two.
        glued = re.match(rb"\w", line[end:]) and re.search(rb"\w\Z", line[begin - 1 : begin])
        if re.search(rb"\w", line[end:]) and not (
            glued or re.match(rb"\w\w", line[end - 1 : end + 1])
        ):
            yield start + begin, start + end


def _code_lines(text: bytes) -> set[int]:
    """Numbers of the lines that hold more of the code than a comment or a part of a string."""
    names = (tokenize.NAME, tokenize.OP)
    tokens = tokenize.tokenize(BytesIO(text).readline)
    return {token.start[0] for token in tokens if token.type in names}


def _block_spans(text: bytes) -> Iterator[tuple[int, int]]:
    """From the end of a line of a function, its head included, to the function's end."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            end = starts[node.end_lineno] - 1
            for statement in node.body:
                start = starts[statement.lineno - 1] - 1
                if 0 < end - start <= LONGEST_BLOCK and start > starts[node.lineno - 1]:
                    yield start, end


def compiles(text: bytes) -> bool:
    """Whether CPython compiles a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<file>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def is_dead_end(text: bytes) -> bool:
    """Whether CPython finds an error in a text that nothing after it could mend.

    It can't tell of the last word or sign, to which more may belong: that is left out, and what is
    wrong only at the end of the text, or in a string that is open there, is no error. So it misses
    some dead ends, and takes few living ones for dead.
    """
    text = re.sub(rb"(?:[\w\x80-\xff]+|[^\w\s\x80-\xff]+)\s*\Z", b"", text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<file>", "exec", _INCOMPLETE, dont_inherit=True)
        except SyntaxError as error:
            lines = text.decode(errors="replace").split("\n")
            # Of a part that lacks its end (`a if b`), CPython may name the start.
            start = error.lineno or 0, error.offset or 0
            end = error.end_lineno or 0, error.end_offset or 0
            at_end = max(start, end) > (len(lines), len(lines[-1].rstrip()))
            open_string = error.msg.startswith(("unterminated", "f-string: expecting"))
            on_last_line = error.lineno == len(lines)
            return not ("incomplete input" in error.msg or at_end or (open_string and on_last_line))
        except (ValueError, RecursionError, MemoryError):
            return False
    return False
