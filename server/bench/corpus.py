r"""What is typed in a benchmark: real functions, taken out of their files.

A `Source` is a file in which some functions are missing; typing them all gives the file again. In
Python, functions are those of the syntax tree. In other languages a function is a line with deeper
lines under it (perhaps after a line with its brace), and the line that closes them.

Example::

    >>> source = take_out("a.py", "import os\n\ndef f(x):\n    y = x\n    return [y]\n", [3], 5)
    >>> source.pieces, source.targets[0].text
    (('import os\n\n', '\n'), 'def f(x):\n    y = x\n    return [y]')
    >>> source.targets[0].pairs                  # brackets that an editor closes by itself
    {5: 7, 31: 33}

What is not here: how somebody types (`typist`).
"""

import ast
import io
import random
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from server.bench.projects import PROJECTS, STANDARD_LIBRARY
from server.errors import DocumentError, UsageError
from server.snapshot import language_of, read_document

SHORTEST, LONGEST = 4, 30
"""Lines of a function that is typed."""

APART = 50
"""Lines between the functions of one file: going from one to the other is a jump."""

MOST_LINES = 2500
"""Larger files are left alone where files are chosen here."""

_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_IN_LINE = re.compile(r"""\\.|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?://|\#).*|[()\[\]{}]""")
_NO_HEADS = "/*#{}])"
"""What begins with one of these is a comment, or the middle of something."""
_COMMENTS_WITH_HASH = frozenset({"python", "shellscript", "ruby", "yaml", "toml", "perl", "r"})


@dataclass(frozen=True)
class Target:
    """A text that is to be typed."""

    text: str
    """From its first visible character to its last, with line feeds as line ends."""
    language: str

    @cached_property
    def pairs(self) -> dict[int, int]:
        """For every opening bracket of the code, where its partner stands."""
        marks = _python_marks if self.language == "python" else _line_marks
        pairs: dict[int, int] = {}
        opened: list[int] = []
        for position in marks(self.text, self.language):
            if self.text[position] in _CLOSERS:
                opened.append(position)
            elif opened and _CLOSERS[self.text[opened[-1]]] == self.text[position]:
                pairs[opened.pop()] = position
        return pairs

    @cached_property
    def closers(self) -> frozenset[int]:
        """Where the partners stand."""
        return frozenset(self.pairs.values())


@dataclass(frozen=True)
class Source:
    """A file with holes: `pieces[0]`, the first target, `pieces[1]`, and so on."""

    name: str
    pieces: tuple[str, ...]
    targets: tuple[Target, ...]
    language: str
    path: Path | None = None
    """Where it comes from."""

    def __post_init__(self) -> None:
        assert len(self.pieces) == len(self.targets) + 1


def standard_library(seed: int) -> Iterator[Source]:
    """Modules of the running interpreter's standard library, as `project_files`."""
    return project_files(STANDARD_LIBRARY, seed)


def project_files(name: str, seed: int) -> Iterator[Source]:
    """Files of a project (`projects`) in an order of chance, without end.

    Raises:
        DocumentError: None of them has functions to type.
        DownloadError: They can't be had.
    """
    return _endless(PROJECTS[name].files(), random.Random(seed))  # noqa: S311 (no secrets here)


def given_files(names: Sequence[str], seed: int) -> Iterator[Source]:
    """The files that a person names, over and over, other functions each time.

    Raises DocumentError for files that can't be read or have no function to type.
    """
    paths = [Path(name) for name in names]
    for path in paths:
        read_document(str(path))
    return _endless(paths, random.Random(seed))  # noqa: S311


def _endless(paths: Sequence[Path], chance: random.Random) -> Iterator[Source]:
    while True:
        found = False
        for path in chance.sample(paths, len(paths)):
            source = _source(path, chance)
            if source is not None:
                found = True
                yield source
        if not found:
            names = ", ".join(path.name for path in paths[:3]) + (", ..." if paths[3:] else "")
            raise DocumentError(
                f"{names}: no function of {SHORTEST} to {LONGEST} lines is in it: name other files"
            )


def _source(path: Path, chance: random.Random) -> Source | None:
    """A file without two of its functions, or without one if it is short; None if it has none."""
    try:
        text = read_document(str(path)).decode()
    except (DocumentError, UnicodeDecodeError):
        return None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.count("\n") > MOST_LINES:
        return None
    language = language_of(str(path))
    found = list(_spans(text, language))
    if not found:
        return None
    first = chance.choice(found)
    others = [span for span in found if span[0] > first[1] + APART or span[1] < first[0] - APART]
    chosen = [first, *([chance.choice(others)] if others else [])]
    whole = take_out(str(path.name), text, *zip(*sorted(chosen), strict=True))
    return replace(whole, path=path)


def take_out(name: str, text: str, starts: Sequence[int], ends: Sequence[int] | int) -> Source:
    """A text without the lines from each of `starts` to its end (counted from 1, both included).

    Raises UsageError if the lines are not there or not in order.
    """
    last = [ends] if isinstance(ends, int) else list(ends)
    lines = text.split("\n")
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)
    pieces, targets, position = [], [], 0
    language = language_of(name)
    for start, end in zip(starts, last, strict=True):
        if not 1 <= start <= end <= len(lines) or offsets[start - 1] < position:
            raise UsageError(f"{name} has no lines {start} to {end} after those before")
        line = lines[start - 1]
        begin = offsets[start - 1] + len(line) - len(line.lstrip())
        stop = offsets[end] - 1
        pieces.append(text[position:begin])
        targets.append(Target(text[begin:stop].rstrip(), language))
        position = stop
    return Source(name, (*pieces, text[position:]), tuple(targets), language)


def _spans(text: str, language: str) -> Iterator[tuple[int, int]]:
    """First and last line of each function that is neither too short nor too long."""
    for first, last in (_python_spans if language == "python" else _block_spans)(text):
        if SHORTEST <= last - first + 1 <= LONGEST:
            yield first, last


def _python_spans(text: str) -> Iterator[tuple[int, int]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
            yield first, node.end_lineno


def _block_spans(text: str) -> Iterator[tuple[int, int]]:
    lines = text.split("\n")
    depths = [len(line) - len(line.lstrip()) if line.strip() else None for line in lines]
    for index, depth in enumerate(depths):
        if depth is None:
            continue
        end = index + 1
        while end < len(lines) and (depths[end] is None or (depths[end] or 0) > depth):
            end += 1
        while not lines[end - 1].strip():
            end -= 1
        if end < len(lines) and depths[end] == depth and lines[end].strip()[0] in "}])":
            end += 1
        begin = index
        if lines[index].strip() == "{" and index and depths[index - 1] == depth:
            begin -= 1
        if end > index + 1 and lines[begin].strip()[0] not in _NO_HEADS:
            yield begin + 1, end


def _python_marks(text: str, _: str) -> Iterator[int]:
    """Where brackets of the code stand, as Python's own tokenizer sees them."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.OP and token.string in "()[]{}":
                yield starts[token.start[0] - 1] + token.start[1]
    except (tokenize.TokenError, SyntaxError):  # a method's lines are less indented than its `def`
        return


def _line_marks(text: str, language: str) -> Iterator[int]:
    """Where brackets stand outside strings of one line and comments."""
    for mark in _IN_LINE.finditer(text):
        if len(mark[0]) == 1:
            yield mark.start()
        elif mark[0].startswith("#") and language not in _COMMENTS_WITH_HASH:
            yield from (mark.start() + at for at, sign in enumerate(mark[0]) if sign in "()[]{}")
