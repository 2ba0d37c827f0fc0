"""Where somebody has been in a workspace, and what that and other files say for a document.

Places are noted as they are left: when somebody goes on in another document, or far away in the
same one, when a document is saved and when it is closed. Nothing is read then. `gather` does the
reading, for one document at a time and away from the event loop: files, rules about files, syntax.

Example::

    gathering = Gathering([Path("/home/ada/project")])
    gathering.at(Path("/home/ada/project/app/main.py"), lambda: text, line=12)
    material = gathering.gather(Open(path, "python", text, cursor), others={})

What is not here: editors' addresses of documents, and when to gather (`surroundings`).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Lock

from server.snapshot import with_lf
from server.workspace.chunks import JUMP, LINES, Chunk, Ring, visit
from server.workspace.context import Material
from server.workspace.definitions import Definitions
from server.workspace.files import inside, is_source
from server.workspace.modules import Modules
from server.workspace.outline import outline

SHOWN_BEFORE = 6000
"""Bytes before the cursor that a large prompt holds, as a rule: 1,500 tokens of code."""

SHOWN_AFTER = 2000
"""The same after it."""

OUTLINE_STEP = 4096
"""What is outlined ends at a multiple of so many bytes, so that it stays while somebody types."""

NEAR_STEP = 32
"""Visited parts are compared with lines from a multiple of so many on, for the same reason."""

MOST_PENDING = 64
"""Places that were left and not looked at yet; older ones are forgotten."""


@dataclass(frozen=True)
class Open:
    """A document as it is in the editor."""

    path: Path
    language: str
    text: bytes
    """With its own line ends."""
    cursor: int
    """Byte offset."""


@dataclass(frozen=True)
class _Place:
    path: Path
    text: Callable[[], bytes]
    line: int


class Gathering:
    """One editor's workspace. `gather` may run in any thread, everything else in one."""

    def __init__(self, folders: Iterable[Path]) -> None:
        """Look at nothing yet.

        Args:
            folders: The workspace's folders; those that are not there are left out when needed.
        """
        self._folders = tuple(folders)
        self._definitions: dict[Path, Definitions] = {}
        self._ring = Ring()
        self._here: _Place | None = None
        self._left: list[tuple[Path, bytes, int]] = []
        self._closed = False
        self._lock = Lock()

    def at(self, path: Path, text: Callable[[], bytes], line: int) -> None:
        """Somebody works at a line (from 0) of a document; where it was before may be left now."""
        here = self._here
        if here is not None and (here.path != path or abs(here.line - line) > JUMP):
            self._leave(here)
        self._here = _Place(path, text, line)

    def note(self, path: Path) -> None:
        """A document was saved, or is about to be closed: the place in it counts as visited."""
        if self._here is not None and self._here.path == path:
            self._leave(self._here)

    def forget(self, path: Path) -> None:
        """A document is closed: its text can't be asked for any more."""
        if self._here is not None and self._here.path == path:
            self._here = None

    def close(self) -> None:
        """End a search that is under way; nothing is gathered any more."""
        self._closed = True

    def gather(self, document: Open, others: Mapping[Path, bytes]) -> Material | None:
        """What there is to say for a document; None if it is in no folder that may be read.

        Args:
            document: The document.
            others: All open documents by their paths, as they are in the editor.
        """
        with self._lock:
            place = None if self._closed else self._place_of(document.path)
            if place is None:
                return None
            root, path = place
            self._take_visits()
            text = with_lf(document.text)
            cursor = len(with_lf(document.text[: document.cursor]))
            name = path.relative_to(root).as_posix()
            opened = {_real(other): with_lf(there) for other, there in others.items()}
            needed = self._definitions_of(root).needed(path, document.language, text, opened)
            start = _outlined(text, cursor)
            short = outline(document.language, text[:start])
            shown = text[start : start + OUTLINE_STEP + SHOWN_BEFORE + SHOWN_AFTER]
            return Material(
                root.name,
                name,
                needed,
                Chunk(name, short) if short else None,
                self._ring.beside(_near(text, cursor), shown),
            )

    def _leave(self, place: _Place) -> None:
        self._left.append((place.path, place.text(), place.line))
        del self._left[:-MOST_PENDING]

    def _take_visits(self) -> None:
        """Put the places that were left into the ring."""
        left, self._left = self._left, []
        for path, text, line in left:
            place = self._place_of(path)
            if place is not None and is_source(text):
                root, real = place
                name = real.relative_to(root).as_posix()
                self._ring = self._ring.added(visit(name, with_lf(text), line))

    def _place_of(self, path: Path) -> tuple[Path, Path] | None:
        """The workspace's folder that a file is in, and its real path; None if it is in none."""
        for folder in self._folders:
            try:
                root = folder.resolve(strict=True)
            except (OSError, RuntimeError, ValueError):
                continue
            # Where a folder is opened through a link, documents are named through it, too.
            named = root / path.relative_to(folder) if path.is_relative_to(folder) else path
            real = inside(root, named, is_new=True) if root.is_dir() else None
            if real is not None:
                return root, real
        return None

    def _definitions_of(self, root: Path) -> Definitions:
        if root not in self._definitions:
            modules = Modules(root, stopped=lambda: self._closed)
            self._definitions[root] = Definitions(root, modules)
        return self._definitions[root]


def _real(path: Path) -> Path:
    """Where a path leads; itself where that is nowhere (a loop of links, a name that none has)."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path


def _outlined(text: bytes, cursor: int) -> int:
    """Where the part of a text ends that a prompt does not show: a line start."""
    end = max(0, cursor - SHOWN_BEFORE) // OUTLINE_STEP * OUTLINE_STEP
    return text.rfind(b"\n", 0, end) + 1


def _near(text: bytes, cursor: int) -> bytes:
    """As many lines around a place as a visited part has, or a few more."""
    first = max(0, text.count(b"\n", 0, cursor) // NEAR_STEP - 1) * NEAR_STEP
    lines = islice(re.finditer(rb"[^\n]*\n?", text), first, first + LINES + NEAR_STEP)
    return b"".join(line[0] for line in lines)
