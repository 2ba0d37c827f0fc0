"""Languages so small that a few lines decide what is in them."""

import re

from server.grammar.rungs import Rung, Source, whole
from server.grammar.state import compile_grammar

BRACKETS = r"""
start: item*
item: WORD | SIGN | "(" item* ")" | "[" item* "]"
WORD: /[a-z]+/
SIGN: /[,;\n ]/
"""
"""Words and signs in brackets that fit."""

WILD = 'start: "a" start | "a" start start | "a"'
"""Ambiguous beyond all limits."""

PAIRS = {b"(": b")", b"[": b"]"}

brackets = compile_grammar("toy brackets", BRACKETS)


def open_brackets(text: bytes) -> bytes | None:
    """The brackets of a text that are still open; None if it is no start of a text with brackets
    that fit. The specification of `BRACKETS`."""
    opened: list[bytes] = []
    for sign in re.findall(rb"[\s\S]", text):
        if sign in PAIRS:
            opened.append(sign)
        elif sign in PAIRS.values():
            if not opened or PAIRS[opened.pop()] != sign:
                return None
        elif not re.fullmatch(rb"[a-z,;\n ]", sign):
            return None
    return b"".join(opened)


def rung(level, name, lark, window=whole):
    """A rung of a toy ladder; `name` tells grammars apart in the whole process."""
    return Rung(level, Source(f"toy {name}", lambda: lark), window)


def ladder(*rungs):
    """A ladder that offers the same rungs for all texts."""
    return lambda before: rungs
