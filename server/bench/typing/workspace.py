"""A project as an editor's workspace: its files in a folder that lasts as long as they are typed.

A file that is typed lies there with its holes, and as it was typed once it is closed. Other files
lie there as they are; but where one has the text of a hole, it is taken away: who could read it
would know the answer. (What two open files have in common stays, as in any editor.) Every file is
typed once, since parts of what was visited are remembered.

The server keeps what it remembers of files in a folder beside it (`home`), which goes as well. What
is not here: typing (`replay`), and what a server makes of a workspace (`server.workspace`).
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from server.bench.corpus import Source
from server.bench.typing.typist import open_hole
from server.errors import DocumentError, UsageError

KEY = "context.workspace"
"""The setting that needs a workspace."""

MANIFESTS = ("go.mod",)
"""What says how a project's files name each other."""


class Workspace:
    """The folder. All methods raise DocumentError where the disk does not do what they want."""

    def __init__(self, folder: Path, home: Path, paths: Sequence[Path]) -> None:
        """Copy a project's files to where they are together.

        Args:
            folder: Where to; not there yet. Its name is that of the workspace.
            home: Where the server that suggests keeps its files.
            paths: The files; the folder that has them all is copied with its name.
        """
        self.folder, self.home = folder, home
        top = _top(paths)
        originals = {path.resolve() for path in paths}
        originals |= {top / name for name in MANIFESTS if (top / name).is_file()}
        self._places = {
            path: folder / top.name / path.relative_to(top) for path in sorted(originals)
        }
        self._open: dict[Path, Source] = {}
        for path, place in self._places.items():
            with _told(path):
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)

    @property
    def uri(self) -> str:
        """The address of the folder."""
        return self.folder.as_uri()

    def opened(self, source: Source, text: str) -> str:
        """A file is opened, with its holes; returns its address."""
        place = self._place(source)
        self._open[place] = source
        for other in self._places.values():
            with _told(other):
                if other not in self._open and other.is_file() and _tells(other, source):
                    other.unlink()
        self._write(place, text)
        return place.as_uri()

    def closed(self, source: Source, text: str) -> None:
        """A file is saved and closed, as it is now."""
        place = self._place(source)
        del self._open[place]
        self._write(place, text)
        with _told(place):
            if any(_tells(place, other) for other in self._open.values()):
                place.unlink()

    def _place(self, source: Source) -> Path:
        assert source.path is not None
        return self._places[source.path.resolve()]

    @staticmethod
    def _write(place: Path, text: str) -> None:
        with _told(place):
            place.write_bytes(text.encode())


@contextmanager
def laid_out(paths: Sequence[Path], name: str = "") -> Iterator[Workspace]:
    """A workspace with some files; it is gone afterwards, whatever happens.

    Args:
        paths: The files.
        name: The name of the workspace; without one, that of the folder that has them all.

    Raises DocumentError if the files can't be read, or the folder for them can't be written.
    """
    with tempfile.TemporaryDirectory(prefix="midtoken-bench-") as scratch:
        folder = Path(scratch).resolve()
        (folder / "home").mkdir()
        name = name or _top(paths).name or "project"
        yield Workspace(folder / "workspaces" / name, folder / "home", paths)


def check_length(name: str, sources: Iterator[Source], keys: int) -> None:
    """Raises UsageError if no file is opened twice only because fewer keys are typed.

    The last but one of the opened files is done before another one is opened.
    """
    opened: set[Path | None] = set()
    total = largest = 0
    for source in sources:
        path = source.path and source.path.resolve()
        if path in opened:
            break
        opened.add(path)
        needed = sum(open_hole(target).costs[-1] for target in source.targets)
        total, largest = total + needed, max(largest, needed)
        if total - largest >= keys:
            return
    raise UsageError(
        f"{name}: with {KEY} every file is typed once, and so {total - largest:,} keys at most: "
        "set a smaller --keys, or name more files"
    )


def _top(paths: Sequence[Path]) -> Path:
    """The folder that has all files, real paths and all."""
    return Path(os.path.commonpath([path.resolve().parent for path in paths]))


def _tells(path: Path, source: Source) -> bool:
    """Whether a file has the text of one of the holes."""
    text = path.read_bytes().replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return any(target.text.encode() in text for target in source.targets)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Errors of the disk, told with the file that was wanted."""
    try:
        yield
    except OSError as error:
        raise DocumentError(f"{path}: the workspace can't be made ({error.strerror})") from error
