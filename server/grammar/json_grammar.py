"""JSON, with comments and without: the ladders.

Files of JSON that have comments or commas before closing brackets (`tsconfig.json`) are taken as
what they are, whatever the editor calls them. What is neither has at least its strings, comments
and brackets watched.

What is not here: schemas (`schemas`).
"""

from collections.abc import Mapping

from server.grammar.json_lark import json_lark, lines_lark, structural_lark
from server.grammar.json_window import strict_window, window
from server.grammar.rungs import Ladder, Rung, Source

MOST_BYTES = 4 << 20
"""Longer documents have no ladder: the first reading takes some 0.13 s for each MB."""

JSON = Source("json", lambda: json_lark(comments=False))
JSONC = Source("jsonc", lambda: json_lark(comments=True))
LINES = Source("jsonl", lines_lark)
STRUCTURAL = Source("json (structural)", structural_lark)

_strict = Rung("window", JSON, strict_window)
_lenient = Rung("window", JSONC, window)
_structural = Rung("structural", STRUCTURAL, window)


def json_ladder(before: bytes) -> tuple[Rung, ...]:
    """The rungs of a file that should be JSON."""
    return (_strict, _lenient, _structural) if len(before) <= MOST_BYTES else ()


def jsonc_ladder(before: bytes) -> tuple[Rung, ...]:
    """The rungs of a file that may have comments."""
    return (_lenient, _structural) if len(before) <= MOST_BYTES else ()


def json5_ladder(before: bytes) -> tuple[Rung, ...]:
    """The rungs of a file with a looser syntax."""
    return (_structural,) if len(before) <= MOST_BYTES else ()


def lines_ladder(before: bytes) -> tuple[Rung, ...]:
    """The rungs of a file with a value on each line; only the last one counts."""
    return (Rung("window", LINES, last_line),) if len(before) <= MOST_BYTES else ()


def last_line(before: bytes) -> bytes:
    """The window of a file with a value on each line."""
    return before[before.rfind(b"\n") + 1 :]


LADDERS: Mapping[str, Ladder] = {
    "json": json_ladder,
    "jsonc": jsonc_ladder,
    "json5": json5_ladder,
    "jsonl": lines_ladder,
}
"""By the identifiers of VS Code."""
