"""What a file uses from other files of the workspace, in short: signatures, first lines of docs.

A model that has never seen a project invents the names of its functions and their arguments. The
imports of a file say which ones it needs, so their declarations are looked up in the files that
they come from, also where a package only passes them on::

    from .shapes import Circle         src/shapes/__init__.py:  from .round import Circle
                                       src/shapes/round.py:     class Circle: ...    <- this one

Of a module that is imported as a whole, everything that it offers counts; if that is much, only
what the file uses already. Files are read and parsed once for each state that they are in.

What is not here: names that nothing imports, and packages outside the workspace.
"""

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from server.snapshot import language_of
from server.workspace.chunks import Chunk
from server.workspace.files import LARGEST, State, is_source, read_source, state_of
from server.workspace.modules import Modules
from server.workspace.source_parts import Declaration, Import, Source
from server.workspace.syntax import NOTHING, is_known, read

FARTHEST = 3
"""Files that pass a name on, one to the other."""

MOST_IMPORTS = 64
"""Imports of a file that are followed."""

MODULE_NAMES = 24
"""Declarations of a module that is imported as a whole; of more, only those that are used."""

DECLARATION_LINES = 40
"""Lines of one declaration, a class with its methods."""

FILE_LINES = 80
"""Lines from one file."""

REMEMBERED = 512
"""Files whose declarations are remembered."""

Found = tuple[Path, Declaration]


@dataclass(frozen=True)
class _Read:
    """A file's declarations, and the state of the file that they are of."""

    state: State | bytes
    source: Source


class Definitions:
    """Declarations of one workspace's files; for one thread."""

    def __init__(self, root: Path, modules: Modules) -> None:
        """Read nothing yet. The root must be resolved."""
        self._root = root
        self._modules = modules
        self._read: OrderedDict[Path, _Read] = OrderedDict()
        self._opened: Mapping[Path, bytes] = {}

    def needed(
        self,
        path: Path,
        language: str,
        text: bytes,
        opened: Mapping[Path, bytes] = MappingProxyType({}),
    ) -> tuple[Chunk, ...]:
        r"""What a file needs of others: a part for each of them, in the order of the imports.

        Args:
            path: The file, which need not exist.
            language: Its language identifier.
            text: What is in it now, line ends as `\n`.
            opened: Files that are open in the editor, by their real path, as they are there.
        """
        if not is_known(language):
            return ()
        self._opened = opened
        source = read(language, text[:LARGEST])  # imports come first
        words = set(re.findall(r"\w+", text.decode(errors="replace")))
        found: dict[Path, dict[int, Declaration]] = {}
        for one in source.imports[:MOST_IMPORTS]:
            for file, declared in self._imported(one, path, language, words):
                found.setdefault(file, {})[declared.start] = declared
        if language == "go":
            for file, declared in self._package(path, source, words):
                found.setdefault(file, {})[declared.start] = declared
        chunks = (
            Chunk(file.relative_to(self._root).as_posix(), _written(declared))
            for file, declared in found.items()
            if file != path
        )
        return tuple(chunk for chunk in chunks if chunk.text)

    def _imported(
        self, one: Import, importer: Path, language: str, words: set[str]
    ) -> Iterator[Found]:
        files = self._modules.files(language, importer, one.module)
        for name in one.names:
            if name == "*":
                yield from self._offered(files, words)
                continue
            named = self._named(name, files, 0)
            if not named and language == "python":
                dot = "" if one.module.endswith(".") else "."
                inner = self._modules.files(language, importer, f"{one.module}{dot}{name}")
                named = list(self._offered(inner, words))
            yield from named
        if not one.names:
            yield from self._offered(files, words)

    def _offered(self, files: list[Path], words: set[str]) -> Iterator[Found]:
        """What a module offers to others; if that is much, what is used of it."""
        every = [
            (file, one) for file in files for one in self._source(file).declared if not one.private
        ]
        few = len(every) <= MODULE_NAMES
        for file, one in every:
            if few or one.name in words or one.owner in words:
                yield file, one

    def _named(self, name: str, files: list[Path], passed: int) -> list[Found]:
        """The declarations of a name, in these files or in those that they take it from."""
        found = [
            (file, one)
            for file in files
            for one in self._source(file).declared
            if name in {one.name, one.owner}
        ]
        if found or passed == FARTHEST:
            return found
        for file in files:
            language = language_of(file.name)
            for one in self._source(file).imports[:MOST_IMPORTS]:
                if name in one.names or "*" in one.names:
                    inner = self._modules.files(language, file, one.module)
                    inner = [other for other in inner if other not in files]
                    found = self._named(name, inner, passed + 1)
                    if found:
                        return found
        return []

    def _package(self, path: Path, source: Source, words: set[str]) -> Iterator[Found]:
        """What a Go file uses of the other files of its package."""
        for file in self._modules.package(path.parent):
            other = self._source(file)
            if file != path and other.package == source.package:
                for one in other.declared:
                    if one.owner in words if one.owner else one.name in words:
                        yield file, one

    def _source(self, file: Path) -> Source:
        """What a file declares and imports, as it is now."""
        text = self._opened.get(file)
        state = state_of(file) if text is None else text
        if state is None:
            return NOTHING
        known = self._read.get(file)
        if known is None or known.state != state:
            text = read_source(self._root, file) if text is None else text
            readable = text is not None and is_source(text)
            source = read(language_of(file.name), text) if text and readable else NOTHING
            known = _Read(state, source)
            self._read[file] = known
        self._read.move_to_end(file)
        while len(self._read) > REMEMBERED:
            self._read.popitem(last=False)
        return known.source


def _written(declared: Mapping[int, Declaration]) -> bytes:
    """Declarations of one file in their order, as far as there is room."""
    lines: list[bytes] = []
    for _, one in sorted(declared.items()):
        brief = one.brief().splitlines(keepends=True)[:DECLARATION_LINES]
        if len(lines) + len(brief) <= FILE_LINES:
            lines += brief
    return b"".join(lines)
