r"""Go: the whole language, with the semicolons that Go inserts at line ends.

A line end after a name, a literal, `)`, `]`, `}`, `++`, `--`, `return`, `break`, `continue` or
`fallthrough` is a semicolon; after everything else it means nothing. The engine cannot both skip a
line end and read it, so it skips none: `lark/go.lark` is written without them, and here every
literal that cannot end a statement gets optional line ends.

What decides what may follow is the declaration that the cursor is in, and whether declarations came
before it (then no imports may follow): that is the window.
"""

from functools import cache, partial
from importlib.resources import files

from server.grammar.brackets_window import LONGEST, bracket_window, innermost, item_start
from server.grammar.rungs import Ladder, Rung, Source, whole
from server.possessive import re

LARGE = 64 << 10
"""Bytes of a text that are worth being read as a whole, at some 5 us each."""

LEXEMES = re.compile(
    rb"(?P<skip>//[^\n]*|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)|`[^`]*(?:`|\Z)"
    rb"|\"(?:[^\"\\\n]++|\\[^\n])*+[\"\\]?|'(?:[^'\\\n]++|\\[^\n])*+['\\]?)"
    rb"|(?P<open>[(\[{])|(?P<close>[)\]}])"
)
"""Strings that are not closed end with their line."""

_ITEM = re.compile(rb"(?:func|type|var|const|import|package)\b")
_BLOCK = re.compile(rb"(\t*)(?:func|if|for|\} else)\b[^\n]*\{$")
_STATEMENT = re.compile(rb"\t*(?![\t\n)\]}])")

_ENDINGS = {"++", "--", ")", "]", "}", "break", "continue", "fallthrough", "return", ";"}
"""Literals behind which a line end is a semicolon, and the semicolon, whose rule has line ends."""


def ladder(before: bytes) -> tuple[Rung, ...]:
    """The declaration, the file, a declaration below an open bracket, statements, brackets."""
    if len(before) > LONGEST:
        return ()
    rungs = [Rung("window", FILE, declaration)]
    if len(before) <= LARGE:
        rungs.append(Rung("full", FILE, whole))
    if _item(before, anywhere=True) != _item(before):
        rungs.append(Rung("window", FILE, partial(declaration, anywhere=True)))
    rungs.append(Rung("statement", STATEMENTS, statements))
    rungs.append(Rung("structural", STRUCTURE, partial(bracket_window, lexemes=LEXEMES)))
    return tuple(rungs)


LADDERS: dict[str, Ladder] = {"go": ladder}


def declaration(before: bytes, anywhere: bool = False) -> bytes:
    """A package clause and the declaration that the cursor is in.

    Args:
        before: The text before the cursor.
        anywhere: Whether a line is believed to start a declaration although a bracket above it is
            still open: someone forgot to close that.
    """
    start = _item(before, anywhere)
    if start is None or before.startswith(b"package", start):
        return before[start or 0 :]
    imports = before.startswith(b"import", start)
    return (b"package p\n" if imports else b"package p\nconst ()\n") + before[start:]


def _item(before: bytes, anywhere: bool = False) -> int | None:
    """Where the last declaration or clause of the file starts."""
    return item_start(before, LEXEMES, _ITEM, anywhere)


def statements(before: bytes) -> bytes:
    """The last statement of the innermost block, found by the indentation that `gofmt` writes.

    It starts one tab deeper than the line that opens the block. Nothing else tells if what is above
    is broken. Where that line is no function, loop or condition, the text since the block's start.
    """
    brace = innermost(before, LEXEMES, b"{")
    if brace is None:
        return before[before.rfind(b"\n") + 1 :]
    opening = before.rfind(b"\n", 0, brace) + 1
    block = _BLOCK.match(before[opening : brace + 1])
    if block is None:
        return before[opening:]
    indentation = block[1] + b"\t"
    start = len(before) + 1
    while (start := before.rfind(b"\n", 0, start - 1) + 1) > brace:
        statement = _STATEMENT.match(before, start)
        if start + len(indentation) == (statement.end() if statement else 0):
            break
    return before[max(start, brace + 1) :]


@cache
def _lark(start: str) -> str:
    """The grammar's text with a start rule, and line ends wherever they mean nothing."""
    rules, lexemes = _read("go.lark").split("// Lexemes\n")
    names: dict[str, str] = {}

    def with_lines(literal: re.Match[str]) -> str:
        if literal[1] in _ENDINGS:
            return literal[0]
        return names.setdefault(literal[1], f"literal_{len(names)}")

    rules = re.sub(r'"([^"]+)"', with_lines, re.sub(r"//.*", "", rules))
    literals = "".join(f'{name}: "{literal}" nls?\n' for literal, name in names.items())
    return f"{_OPTIONS}start: {start}\n{rules}\n{literals}\n{lexemes}"


def _structural() -> str:
    return _OPTIONS + _read("go_structural.lark")


def _read(name: str) -> str:
    return files("server.grammar").joinpath("lark", name).read_text("utf-8")


_OPTIONS = '%llguidance {"no_forcing": true, "allow_initial_skip": true}\n'

FILE = Source("go", partial(_lark, "file"))
STATEMENTS = Source("go (statements)", partial(_lark, "fragment"))
STRUCTURE = Source("go (brackets)", _structural)
