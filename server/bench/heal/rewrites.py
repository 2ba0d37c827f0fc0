r"""The same program written differently, as in TokDrift (arXiv 2510.14972): does it matter?

A rewrite changes spelling and no meaning: quotes, blanks, the case of names, or whether the blank
before the next word is typed already. What should be written next stays the same, so a suggestion
that becomes another one was an accident of the tokenizer. Suggestions are compared in a normal form
that knows no blanks, quotes or case.

    >>> before, after = rewrite("quotes", b"x = 'a'\ny = ", b"\n", b"1")
    >>> before
    b'x = "a"\ny = '
    >>> normal_form(b'{"some_name": 1}') == normal_form(b"{'someName':1}")
    True

What is not here: the suggestions (`lines`).
"""

import ast
import io
import keyword
import re
import tokenize
from collections.abc import Iterator
from itertools import pairwise

from server.bench.holes import Hole

NEAR = 400
"""A rewrite counts if it changes something at most so many bytes before the cursor."""

WAYS = ("quotes", "tight commas", "wide brackets", "camel case", "blank typed")

Edit = tuple[int, int, str]
"""Start and end offset in a text, and what comes there."""

_PLAIN_STRING = re.compile(r"'[^'\"\\\n]*'")
_SNAKE = re.compile(r"[a-z]+(?:_[a-z]+)+")


def rewritten(way: str, hole: Hole) -> Hole | None:
    """A hole in the file written differently; None if nothing near the cursor changes.

    Args:
        way: One of `WAYS`.
        hole: In a Python file that compiles.
    """
    found = rewrite(way, hole.before, hole.after, hole.text)
    if found is None:
        return None
    before, after = found
    return Hole(hole.name, hole.kind, before, hole.text, after)


def rewrite(way: str, before: bytes, after: bytes, text: bytes) -> tuple[bytes, bytes] | None:
    """What stands before and after a hole, written differently; None if nothing near changes."""
    if way == "blank typed":
        typed = text[:1] == b" " and text[1:2].strip() and before[-1:].strip()
        return (before + b" ", after) if typed else None
    whole = before + text + after
    if not whole.isascii():
        return None
    start, end = len(before), len(before) + len(text)
    edits = sorted(_edits(way, whole.decode()))
    earlier = [edit for edit in edits if edit[1] <= start]
    # The text up to the cursor may end inside a token; that one stays.
    if not any(edit[1] > start - NEAR for edit in earlier):
        return None
    later = [edit for edit in edits if edit[0] >= end]
    return _applied(whole, 0, start, earlier), _applied(whole, end, len(whole), later)


def normal_form(text: bytes) -> bytes:
    """A text without what rewrites change."""
    return re.sub(rb"[\s_'\"]", b"", text).lower()


def _applied(whole: bytes, start: int, end: int, edits: list[Edit]) -> bytes:
    parts, at = [], start
    for first, last, replacement in edits:
        parts += [whole[at:first], replacement.encode()]
        at = last
    return b"".join([*parts, whole[at:end]])


def _edits(way: str, text: str) -> Iterator[Edit]:
    tokens = list(_tokens(text))
    if way == "quotes":
        for start, end, string in tokens:
            if _PLAIN_STRING.fullmatch(string):
                yield start, end, f'"{string[1:-1]}"'
    elif way == "camel case":
        names = _local_names(text, tokens)
        for start, end, string in tokens:
            if string in names:
                yield start, end, re.sub("_([a-z])", lambda match: match[1].upper(), string)
    else:
        for (_, end, string), (start, _, following) in pairwise(tokens):
            if way == "tight commas":
                if string == "," and text[end:start] == " ":
                    yield end, start, ""
            elif start == end and following.strip() and (string == "(") != (following == ")"):
                yield end, start, " "


def _tokens(text: str) -> Iterator[tuple[int, int, str]]:
    """Offsets and texts of the tokens, but for those inside f-strings."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        depth += (kind == "FSTRING_START") - (kind == "FSTRING_END")
        if not depth:
            first, last = (starts[row - 1] + column for row, column in (token.start, token.end))
            yield first, last, token.string


def _local_names(text: str, tokens: list[tuple[int, int, str]]) -> set[str]:
    """Names in snake case that are variables of this file and nothing else in it."""
    variables: set[str] = set()
    others: set[str] = set(keyword.kwlist)
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                variables.add(name)
            case ast.keyword(arg=str(name)) | ast.Attribute(attr=name):
                others.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                others.add(name)
            case ast.alias(name=name, asname=other):
                others |= {name, other or ""}
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                others |= set(names)
    spelled = " ".join(string for _, _, string in tokens if string[-1:] in {"'", '"'})
    others |= set(re.findall(r"\w+", spelled))
    return {name for name in variables - others if _SNAKE.fullmatch(name)}
