"""The workspace's files: which of them may be read, their text, and a slow walk over all of them.

A link is followed only to a place that is inside the workspace itself, and then both its own name
and that place must be allowed. Nothing is looked at before it is asked for::

    for found in walk(root):        # at most SLICE entries of folders were looked at for each step
        if cancelled():
            break

What is not here: watching for changes.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from server.secret_files import is_secret
from server.snapshot import SNIFFED_BYTES, with_lf
from server.workspace.ignore import FolderRules, is_ignored, rules_of

LARGEST = 1 << 18
"""Bytes of a source file that is read. Syntax trees of larger ones take more than 30 ms (measured),
and hardly any is written by a person."""

LONGEST_LINE = 2000
"""Bytes of a line; files with longer ones are data, or squeezed by a tool."""

SLICE = 256
"""Entries of folders that a walk looks at before it gives its caller a chance to stop."""

MOST_ENTRIES = 200_000
"""Entries of folders that a walk looks at in all."""

DEEPEST = 64
"""Folders inside one another that a walk goes into."""

OPENING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Where the system can: a link or a pipe that has been put there meanwhile is not waited for."""


@dataclass(frozen=True)
class State:
    """What tells that a file has changed."""

    changed_ns: int
    size: int


def inside(root: Path, path: Path, *, is_new: bool = False) -> Path | None:
    """Where a path really leads, if that is a file in the workspace that may be read; else None.

    Args:
        root: The workspace's folder, resolved.
        path: An absolute path, which may go over links.
        is_new: Whether it may be the path of a file that is yet to be written.
    """
    try:
        real = path.resolve(strict=not is_new)
        named = Path(os.path.normpath(path)).relative_to(root)
        names = {named.parts, real.relative_to(root).parts}
        allowed = not any(is_secret("/".join(parts)) or is_ignored(root, parts) for parts in names)
    except (OSError, ValueError, RuntimeError):  # no such path, outside, or a loop of links
        return None
    return real if allowed else None


def state_of(real: Path) -> State | None:
    """The state of a plain file that is neither empty nor too large; None for all others."""
    try:
        found = real.lstat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode) or not 0 < found.st_size <= LARGEST:
        return None
    return State(found.st_mtime_ns, found.st_size)


def read_source(root: Path, path: Path) -> bytes | None:
    """A source file's text; None if it may not be read, can't be, or is not written by people."""
    real = inside(root, path)
    if real is None or state_of(real) is None:
        return None
    try:
        with os.fdopen(os.open(real, OPENING), "rb") as file:
            text = file.read(LARGEST + 1)
    except OSError:
        return None
    return with_lf(text) if is_source(text) else None


def is_source(text: bytes) -> bool:
    """Whether a text looks like one that people write and read."""
    if not text or len(text) > LARGEST or b"\0" in text[:SNIFFED_BYTES]:
        return False
    return max(map(len, text.replace(b"\r", b"\n").split(b"\n"))) <= LONGEST_LINE


def walk(root: Path, most: int = MOST_ENTRIES) -> Iterator[list[str]]:
    """The files of a workspace that may be read, a few at a time; links are left out.

    Args:
        root: The workspace's folder, resolved.
        most: Entries of folders that are looked at.

    Yields:
        Paths below the root with `/` between names, often none: folders in the order of their
        names, before the folders in them. Every step looks at `SLICE` entries at most.
    """
    folders: list[tuple[str, ...]] = [()]
    looked_at = 0
    while folders and looked_at < most:
        parts = folders.pop()
        found: list[tuple[bool, tuple[str, ...]]] = []
        for entries in _entries(root.joinpath(*parts), most - looked_at):
            looked_at += len(entries)
            found += [(is_folder, (*parts, name)) for name, is_folder in entries]
            yield []
        found.sort()
        rules = rules_of(root, parts)
        inner: list[tuple[str, ...]] = []
        for at in range(0, len(found), SLICE):
            wanted = [one for one in found[at : at + SLICE] if _is_wanted(rules, *one)]
            inner += [path for is_folder, path in wanted if is_folder]
            yield ["/".join(path) for is_folder, path in wanted if not is_folder]
        if len(parts) < DEEPEST:
            folders += reversed(inner)


def _entries(folder: Path, most: int) -> Iterator[list[tuple[str, bool]]]:
    """The plain files and the folders of a folder, with whether each is a folder; in slices."""
    try:
        with os.scandir(folder) as entries:
            while most > 0:
                some = list(islice(entries, min(SLICE, most)))
                if not some:
                    return
                most -= len(some)
                yield [
                    (entry.name, entry.is_dir(follow_symlinks=False))
                    for entry in some
                    if not entry.is_symlink()
                ]
    except OSError:  # not allowed, or gone meanwhile
        return


def _is_wanted(rules: FolderRules, is_folder: bool, parts: tuple[str, ...]) -> bool:
    if rules.exclude(parts[-1], is_folder=is_folder):
        return False
    return not is_secret("/".join(parts) + "/" * is_folder)
