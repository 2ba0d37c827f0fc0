"""Which JSON document has a schema, and its ladder.

A document names its schema itself (`"$schema": "./settings.schema.json"`), if that is a file on
this machine, or a person configured one by a glob. Nothing is fetched, and a path on another
machine (`//host/share/x.json`) is none. A schema that is missing or wrong leaves the document with
JSON's own ladder and a reason.

A document that is wrong somewhere still has a schema: first short values above the cursor count,
too, then only the keys that are there. Both times names and listed values are first to be spelled
without needless escapes, so that a model does not drift into them; then as a person likes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from urllib.parse import urlsplit

from server.errors import GrammarError
from server.grammar import templates
from server.grammar.attached import ELSEWHERE, attached, path_of, version_of
from server.grammar.json_grammar import JSONC
from server.grammar.json_schema import Schema, compile_schema
from server.grammar.json_window import has_comments, is_at_top, schema_window
from server.grammar.ladder import COMPILE_S
from server.grammar.rungs import Ladder, Rung, Source
from server.grammar.schema_nodes import MOST_BYTES
from server.plain_files import fault_of, shortened
from server.possessive import re

HEAD = 1 << 14
"""Bytes from the start of a document in which its `$schema` is looked for."""

_HOST = re.compile(r"[/\\]{2}|file:(?:[/\\]{4}|[/\\]{2}(?![/\\]|localhost/))", re.IGNORECASE)
"""How paths on other machines begin; on Windows, to look at one opens a connection to it."""

_NAMED = re.compile(rb'"\$schema"\s*+:\s*+("(?:[^"\\\n]|\\.)*+")')


def schema_for(uri: str, text: bytes, configured: Mapping[str, str]) -> Path | None:
    """The schema's file of a document, which may be missing; None if it has none.

    Args:
        uri: The document's address, or its path.
        text: The document, as far as it is at hand.
        configured: Paths of schemas by glob.
    """
    return _named(uri, text[:HEAD]) or attached(uri, "", configured)


def with_schema(path: Path, ladder: Ladder) -> Ladder:
    """A ladder that starts with a schema and goes on with a ladder of JSON."""

    def rungs(before: bytes) -> tuple[Rung, ...]:
        others = ladder(before)
        if not others:
            return ()
        comments = others[0].source is JSONC or has_comments(before)
        version = version_of(path)
        files = [_File(path, version, comments, escapes) for escapes in (False, True)]
        own = (
            Rung("window", file.source, partial(_window, files[: count + 1], values))
            for values in (True, False)
            for count, file in enumerate(files)
        )
        return (*own, *others)

    return rungs


def _named(uri: str, head: bytes) -> Path | None:
    """The file that a document names as its schema, if it does."""
    found = None if uri.startswith(ELSEWHERE) else _NAMED.search(head)
    if not found or not is_at_top(head[: found.start()]):
        return None
    try:
        name: str = json.loads(found[1])
        scheme = urlsplit(name).scheme.lower()
    except ValueError:
        return None
    name = name.partition("#")[0]
    if not name or (len(scheme) > 1 and scheme != "file") or _HOST.match(name):
        return None
    path, document = path_of(name), path_of(uri)
    if path is None or path.is_absolute():
        return path
    return document.parent / path if document else None


@dataclass(frozen=True)
class _File:
    """A schema's file, and how documents are read by it."""

    path: Path
    version: tuple[int, int, int]
    comments: bool
    escapes: bool

    @property
    def source(self) -> Source:
        """Its grammar."""
        kind = f"{self.version}{', comments' * self.comments}{', escapes' * self.escapes}"
        refused = f"the schema {self.path} is too large or complicated to be compiled"
        return Source(
            f"schema {self.path}",
            lambda: self.loaded().lark,
            refused,
            decides=True,
            version=kind,
        )

    def loaded(self) -> Schema:
        """The schema. Raises GrammarError: the file is missing, too large, or no schema."""
        loaded = _load(self)
        if isinstance(loaded, GrammarError):
            raise loaded
        return loaded


def _window(files: Sequence[_File], values: bool, before: bytes) -> bytes:
    """The window for the last of some files.

    Raises:
        GrammarError: One of them is wrong, or not compiled yet. To read a large schema takes a
            second, so that is done in the background, too; and only once for a document that fits.
    """
    for file in files:
        templates.get(file.source, COMPILE_S)
    return schema_window(before, files[-1].loaded().names, values)


@lru_cache(maxsize=32)
def _load(file: _File) -> Schema | GrammarError:
    """Read a schema; what is wrong is kept, too."""
    path = file.path
    try:
        if fault := fault_of(path):
            return GrammarError(f"the schema {shortened(path)} {fault}")
        with path.open("rb") as opened:
            text = opened.read(MOST_BYTES + 1)
        return compile_schema(str(path), text, file.comments, file.escapes)
    except (OSError, ValueError) as error:
        return GrammarError(f"the schema {path} can't be read: {error}")
    except GrammarError as error:
        return error
