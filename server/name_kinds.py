r"""What the names of documents are: a class, a function, a field; as far as syntax trees tell.

A name's own declaration says it (`workspace.syntax`); of one that is declared in two ways, the
first counts. Of languages without a reader, and of names that are declared nowhere, nothing is
known.

    >>> kinds_in("python", b"class Shape:\n    def area(self): ...\n")
    {b'Shape': 'class', b'area': 'method'}
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal

from server.names import part_around
from server.per_document import PerDocument
from server.snapshot import Snapshot, with_lf
from server.workspace.source_parts import Declaration
from server.workspace.syntax import is_known, read

Kind = Literal["class", "function", "method", "field", "variable", "module"]

LARGEST = 1 << 16
"""Of a larger document, so many bytes around the cursor are read: each key changes it."""

_WORD = re.compile(
    rb"^(?:(?:export|default|declare|abstract|public|private|protected|static|async) )*"
    rb"(class|interface|enum|type|struct|def|func|function)\b",
    re.MULTILINE,
)
_LAMBDA = re.compile(rb"^(?:export )?(?:const|let|var) [^=]*= (?:async )?(?:function\b|\()")
_TYPES = frozenset({b"class", b"interface", b"enum", b"type", b"struct"})


class NameKinds:
    """The kinds of the names of documents. Belongs to one thread at a time."""

    def __init__(self) -> None:
        self._kinds = PerDocument(lambda part: kinds_in(part.language, with_lf(part.text)))

    def at(self, snapshot: Snapshot, others: Iterable[Snapshot] = ()) -> dict[bytes, Kind]:
        """The kinds that are known at a snapshot's cursor.

        Args:
            snapshot: The document, which comes first.
            others: Other documents; only those of the same language are looked at.
        """
        found: dict[bytes, Kind] = {}
        if not is_known(snapshot.language):
            return found
        same = [one for one in (snapshot, *others) if one.language == snapshot.language]
        for kinds in self._kinds.of([_part(document) for document in same]):
            found = kinds | found
        return found


def kinds_in(language: str, text: bytes) -> dict[bytes, Kind]:
    r"""The kinds of what a text declares.

    Args:
        language: Its identifier.
        text: Valid or not; line ends as `\n`.
    """
    source = read(language, text)
    found: dict[bytes, Kind] = {}
    for name, kind in _declared(source.declared, inside=False):
        found.setdefault(name.encode(errors="replace"), kind)
    for one in source.imports:
        if not one.names and one.alias:
            found.setdefault(one.alias.partition(".")[0].encode(errors="replace"), "module")
    return found


def _declared(declared: Iterable[Declaration], *, inside: bool) -> Iterator[tuple[str, Kind]]:
    for one in declared:
        yield one.name, _kind(one, inside=inside or bool(one.owner))
        yield from _declared(one.members, inside=True)


def _kind(one: Declaration, *, inside: bool) -> Kind:
    word = _WORD.search(one.header)
    if word is not None and word[1] in _TYPES:
        return "class"
    name = re.escape(one.name.encode(errors="replace"))
    is_called = re.match(rb"[^=]*?\b" + name + rb"\??[(<]", one.header) is not None
    is_function = word is not None or is_called or _LAMBDA.match(one.header) is not None
    if inside:
        return "method" if is_function else "field"
    return "function" if is_function else "variable"


def _part(document: Snapshot) -> Snapshot:
    """The part of a document that is read."""
    begin, end = part_around(document.text, document.cursor, LARGEST)
    return replace(document, text=document.text[begin:end], cursor=document.cursor - begin)
