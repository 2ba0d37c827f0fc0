"""Which grammars a language has: the ladders of all language modules, by language identifier.

What is not here: users' own grammars and JSON Schemas, which hang on the document.
"""

from server.grammar import go, templates
from server.grammar.rungs import Ladder, Level

LADDERS: dict[str, Ladder] = {**go.LADDERS}
"""The ladder of each language that has one."""


def levels(language: str) -> tuple[Level, ...]:
    """The levels of a language, best first; empty if its documents are not checked."""
    ladder = LADDERS.get(language)
    return tuple(dict.fromkeys(rung.level for rung in ladder(b""))) if ladder else ()


def prepare(language: str) -> None:
    """Start to compile what a language's documents need first; returns at once."""
    ladder = LADDERS.get(language)
    if ladder:
        templates.prepare(rung.source for rung in ladder(b""))
