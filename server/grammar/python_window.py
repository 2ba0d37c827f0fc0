r"""The part of a Python text that decides what may come next: a few lines instead of all.

What may follow is decided by

- the heads of the blocks that are open, without what they hold (`if 1:`),
- for each of them, and for the cursor's line, what the statement before it at the same column still
  allows: `else` after `if`, `except` after `try`, a definition after a decorator,
- the logical line that the cursor is in, as it stands.

All this keeps its columns, and the window ends as the text does::

    >>> window(b"import os\n\ndef f(a, b):\n    if a:\n        return b\n    el")
    b'def f():\n    if 1: pass\n    el'

So a grammar gives the same verdicts after the window as after a whole text that it accepts, and a
better one after a text that is broken somewhere else. Where the cursor is on a line of its own,
every open block may still be closed, so the last line stands in the window too, shortened to what
it allows.

Not here: how the text is divided into logical lines (`python_lines`).
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from server.grammar.python_lines import Lines, logical_lines

_WORD = re.compile(rb"[ \t\f]*(?:async[ \t]+)?(\w+|@|)")
_INDENTATION = re.compile(rb"(?:[ \t\f]*\f)?([ \t]*)")
_STAR = re.compile(rb"[ \t\f]*except[ \t]*\*")
_COLON = re.compile(rb":[ \t\f]*(?:#[^\n]*)?\n\Z")
_BARE = re.compile(rb"[ \t\f]*except[ \t]*:")

_CLAUSES = frozenset({b"elif", b"else", b"except", b"finally"})
_HEADS = {
    b"if": b"if 1:",
    b"elif": b"elif 1:",
    b"else": b"else:",
    b"for": b"for x in x:",
    b"while": b"while 1:",
    b"try": b"try:",
    b"finally": b"finally:",
    b"with": b"with x:",
    b"def": b"def f():",
    b"class": b"class C:",
    b"match": b"match x:",
    b"case": b"case 1:",
}
"""Heads of compound statements, by their first word; `except` has three."""

_NEEDED = {
    b"elif": b"if 1: pass\n",
    b"else": b"if 1: pass\n",
    b"except": b"try: pass\n",
    b"finally": b"try: pass\n",
}
"""What a clause needs before it, by its first word."""


def window(before: bytes) -> bytes:
    """What has to be known of the text before the cursor."""
    lines = logical_lines(before)
    last = len(lines.starts) - 1
    here = before[start_of_line(before) :]
    if last < 0:
        return here
    parts = [*_open_heads(lines, last), *_closed(lines, _sibling(lines, last))]
    if lines.end is None:
        return b"".join(parts) + here
    return b"".join(parts) + _shortened(lines, last) + here


def statement(before: bytes) -> bytes:
    """The cursor's logical line in blocks at the right columns, whatever they are.

    For texts that are broken above, and for parts of files: what a line needs before it is made up.
    """
    lines = logical_lines(before)
    last = len(lines.starts) - 1
    here = before[start_of_line(before) :]
    if last < 0:
        return here
    chain = [*_enclosing(lines, last), last]
    parts = [b"if 1:\n"] if lines.columns[chain[0]] else []
    parts += [_any_head(lines, outer, inner) + b"\n" for outer, inner in pairwise(chain)]
    if lines.end is not None:
        opens = _COLON.search(before, lines.starts[last], lines.end)
        parts.append(_any_head(lines, last, None) + (b"\n" if opens else b" pass\n"))
    elif _word_of(lines, last) in _NEEDED:
        parts.append(_indentation_of(lines, last) + _NEEDED[_word_of(lines, last)])
    return b"".join(parts) + here


def indents(before: bytes) -> list[bytes]:
    """What indents the cursor's line and the blocks around it, else the last line that is."""
    lines = logical_lines(before)
    last = len(lines.starts) - 1
    here = [] if last < 0 else [*_enclosing(lines, last), last]
    if last >= 0 and not lines.columns[last]:
        here = [next((i for i in range(last, -1, -1) if lines.columns[i]), last)]
    return [found for found in (_indentation_of(lines, i) for i in here) if found]


def start_of_line(before: bytes) -> int:
    """Where the cursor's logical line begins; its own line, where it is in no statement."""
    lines = logical_lines(before)
    return lines.starts[-1] if lines.end is None else before.rfind(b"\n") + 1


def _word_of(lines: Lines, index: int) -> bytes:
    """The first word of a logical line, without `async`; `@` for a decorator."""
    found = _WORD.match(lines.text, lines.starts[index])
    assert found is not None
    return found[1]


def _indentation_of(lines: Lines, index: int) -> bytes:
    """What indents a logical line, blanks before a form feed aside."""
    found = _INDENTATION.match(lines.text, lines.starts[index])
    assert found is not None
    return found[1]


def _enclosing(lines: Lines, index: int) -> list[int]:
    """The lines that a line is indented below, from the outermost to the innermost."""
    column, found = lines.columns[index], list[int]()
    while column and index:
        index -= 1
        if lines.columns[index] < column:
            column = lines.columns[index]
            found.append(index)
    return found[::-1]


def _open_heads(lines: Lines, index: int) -> Iterator[bytes]:
    """The heads of the blocks that a line is in, each with what has to come before it."""
    for head in _enclosing(lines, index):
        if _word_of(lines, head) in _CLAUSES:
            yield from _closed(lines, _sibling(lines, head))
        yield _indentation_of(lines, head) + _head(lines, head) + b"\n"


def _head(lines: Lines, index: int) -> bytes:
    """A head with the same word, short; what is none stays a statement that opens no block."""
    word, start = _word_of(lines, index), lines.starts[index]
    if word != b"except":
        return _HEADS.get(word, b"pass")
    if _STAR.match(lines.text, start):
        return b"except* x:"
    return b"except:" if _BARE.match(lines.text, start) else b"except x:"


def _any_head(lines: Lines, index: int, inner: int | None) -> bytes:
    """A head in the place of a line, whatever it is, that may hold the next one of the chain."""
    if _word_of(lines, index) == b"case":
        head = b"case 1:"
    else:
        holds_case = inner is not None and _word_of(lines, inner) == b"case"
        head = b"match x:" if holds_case else b"if 1:"
    return _indentation_of(lines, index) + head


def _sibling(lines: Lines, index: int) -> int | None:
    """The statement or clause before a line in its block, None if there is none."""
    column = lines.columns[index]
    index -= 1
    while index >= 0 and lines.columns[index] > column:
        index -= 1
    return index if index >= 0 and lines.columns[index] == column else None


def _closed(lines: Lines, index: int | None) -> Iterator[bytes]:
    """Lines that allow the same clauses after them as a line with its block does.

    Each is a clause on one line. Nothing, where any statement may follow and no clause.
    """
    if index is None:
        return
    word = _word_of(lines, index)
    here = _indentation_of(lines, index)
    if word == b"@":
        yield here + b"@x\n"
    elif word in {b"if", b"elif"}:
        yield here + b"if 1: pass\n"
    elif word in {b"for", b"while"}:
        yield here + b"while 1: pass\n"
    elif word == b"try":
        yield here + b"try: pass\n"
    elif word == b"except":
        yield here + b"try: pass\n" + here + _head(lines, index) + b" pass\n"
    elif word == b"else":
        before = _sibling(lines, index)
        if before is not None and _word_of(lines, before) == b"except":
            yield from _closed(lines, before)
            yield here + b"else: pass\n"


def _shortened(lines: Lines, index: int) -> bytes:
    """The last line, which has ended: as it stands if it may be a head, else any statement."""
    word = _word_of(lines, index)
    if word == b"@":
        return _indentation_of(lines, index) + b"@x\n"
    if word in _HEADS or word == b"except":
        return lines.text[lines.starts[index] : lines.end]
    return _indentation_of(lines, index) + b"pass\n"
