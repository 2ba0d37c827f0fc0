"""The files of a model that is loaded: whether they still are what they were.

Weights are mapped, not read, so a file that is cut short while it is in use ends the process at the
next pass (SIGBUS), without a word. A look at its size before each request prevents most of that. A
file that was removed or replaced stays mapped as it was; only a replaced one is loaded anew.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from server.errors import EngineError
from server.plain_files import shortened


@dataclass(frozen=True)
class LoadedFile:
    """A file as it was when it was loaded."""

    path: Path
    version: tuple[int, int, int]
    """Size in bytes, time of the last change, and number in its file system."""


def as_they_are(paths: Iterable[Path]) -> tuple[LoadedFile, ...]:
    """The files as they are now. Raises OSError if one is missing."""
    return tuple(LoadedFile(path, _version(path)) for path in paths)


def check_unchanged(files: Iterable[LoadedFile]) -> None:
    """Raises EngineError if a file has changed since."""
    for file in files:
        try:
            changed = _version(file.path) != file.version
        except OSError:  # removed: the system keeps it for us
            continue
        if changed:
            raise EngineError(
                f"the model file {shortened(file.path)} has changed: it is loaded again"
            )


def _version(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino
