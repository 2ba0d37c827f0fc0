"""Which JSON document has a schema, and its ladder.

A document names its schema itself (`"$schema": "./settings.schema.json"`), if that is a file on
this machine, or a person configured one by a glob. Nothing is fetched. A schema that is missing or
wrong leaves the document with JSON's own ladder and a reason.

A document that is wrong somewhere still has a schema: first short values above the cursor count,
too, then only the keys that are there.
"""

import json
import re
import zlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from server.errors import GrammarError
from server.grammar.attached import attached, path_of
from server.grammar.json_grammar import JSONC
from server.grammar.json_schema import Schema, compile_schema
from server.grammar.json_window import has_comments, is_at_top, schema_window
from server.grammar.rungs import Ladder, Rung, Source
from server.grammar.schema_nodes import MOST_BYTES

HEAD = 1 << 14
"""Bytes from the start of a document in which its `$schema` is looked for."""

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
        version = _version(path)
        own = (_rung(path, version, comments, values) for values in (True, False))
        return (*own, *others)

    return rungs


def _named(uri: str, head: bytes) -> Path | None:
    """The file that a document names as its schema, if it does."""
    found = _NAMED.search(head)
    if not found or not is_at_top(head[: found.start()]):
        return None
    try:
        name: str = json.loads(found[1])
        scheme = urlsplit(name).scheme.lower()
    except ValueError:
        return None
    name = name.partition("#")[0]
    if not name or (len(scheme) > 1 and scheme != "file"):
        return None
    path, document = path_of(name), path_of(uri)
    if path is None or path.is_absolute():
        return path
    return document.parent / path if document else None


def _version(path: Path) -> tuple[int, int]:
    """What changes with a file: its time and size; zeros if it is missing."""
    try:
        status = path.stat()
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return 0, 0
    return status.st_mtime_ns, status.st_size


def _rung(path: Path, version: tuple[int, int], comments: bool, values: bool) -> Rung:
    def window(before: bytes) -> bytes:
        return schema_window(before, _loaded(path, version, comments).names, values)

    kind = ", with comments" if comments else ""
    name = f"schema {path} (version {zlib.crc32(repr(version).encode()):08x}{kind})"
    return Rung("window", Source(name, lambda: _loaded(path, version, comments).lark), window)


def _loaded(path: Path, version: tuple[int, int], comments: bool) -> Schema:
    """A schema's grammar. Raises GrammarError: the file is missing, too large, or no schema."""
    loaded = _load(path, version, comments)
    if isinstance(loaded, GrammarError):
        raise loaded
    return loaded


@lru_cache(maxsize=32)
def _load(path: Path, version: tuple[int, int], comments: bool) -> Schema | GrammarError:  # noqa: ARG001
    """Read a schema in a version, which the cache knows it by; what is wrong is kept, too."""
    try:
        # What is no plain file might never end.
        if not path.is_file():
            return GrammarError(f"the schema {path} is missing, or no file")
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
        return compile_schema(str(path), text, comments)
    except (OSError, ValueError) as error:
        return GrammarError(f"the schema {path} can't be read: {error}")
    except GrammarError as error:
        return error
