"""Which grammars a document has: its language's, a JSON Schema, or one that a person attached.

What is not here: which of a ladder's grammars the text fits (`ladder`).
"""

from collections.abc import Hashable, Mapping

from server.grammar import css, go, html, javascript, json_grammar, python, structural, templates
from server.grammar.attached import attached, version_of
from server.grammar.rungs import Ladder, Level
from server.grammar.schemas import schema_for, with_schema
from server.grammar.user_grammars import user_ladder

LADDERS: Mapping[str, Ladder] = {
    **python.LADDERS,
    **go.LADDERS,
    **javascript.LADDERS,
    **css.LADDERS,
    **html.LADDERS,
    **json_grammar.LADDERS,
    **structural.LADDERS,
}
"""The ladder of each language that has one, by VS Code's identifiers."""

WITH_SCHEMAS = frozenset({"json", "jsonc"})
"""Languages whose documents may have a JSON Schema."""


def ladder_for(
    uri: str,
    language: str,
    text: bytes,
    files: Mapping[str, str],
    schemas: Mapping[str, str],
) -> Ladder | None:
    """A document's ladder; None if nothing is known of it. Never raises.

    Args:
        uri: The document's address, or its path.
        language: Its language identifier.
        text: The document.
        files: Paths of users' grammars, by language identifier or glob.
        schemas: Paths of JSON Schemas, by glob.
    """
    own = user_ladder(uri, language, files)
    if own is not None:
        return own
    ladder = LADDERS.get(language)
    if ladder is not None and language in WITH_SCHEMAS:
        schema = schema_for(uri, text, schemas)
        return ladder if schema is None else with_schema(schema, ladder)
    return ladder


def files_of(
    uri: str,
    language: str,
    text: bytes,
    files: Mapping[str, str],
    schemas: Mapping[str, str],
) -> Hashable:
    """What a document's ladder depends on beside its language: equal for equal grammars.

    That is the file that was attached to it, and its version, which is looked up, not read. The
    arguments are those of `ladder_for`.
    """
    path = attached(uri, language, files)
    if path is None and language in WITH_SCHEMAS:
        path = schema_for(uri, text, schemas)
    return path and (path, version_of(path))


def levels(language: str) -> tuple[Level, ...]:
    """The levels of a language, best first; empty if its documents are not checked."""
    ladder = LADDERS.get(language)
    return tuple(dict.fromkeys(rung.level for rung in ladder(b""))) if ladder else ()


def prepare(language: str) -> None:
    """Start to compile what a language's documents need first; returns at once."""
    ladder = LADDERS.get(language)
    if ladder:
        templates.prepare(rung.source for rung in ladder(b""))
