"""Bytes on the disk: checksums, free space, and how progress is told.

What is not here: which files there are (`store`), and where they come from (`download`).
"""

import errno
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from server.errors import DownloadError

Progress = Callable[[int, int, str], None]
"""Called with bytes done, bytes in all, and what is being done; often, from the calling thread."""

Tell = Callable[[str], None]
"""Called with a sentence that the user should see."""

CHUNK_BYTES = 1 << 20
SPARE_BYTES = 64 << 20
"""Left free on the disk: a full disk breaks more than the download."""


class DiskError(DownloadError):
    """The file cannot be kept here, whatever its source."""


def no_progress(_done: int, _total: int, _what: str) -> None:
    """A `Progress` that says nothing."""


def no_message(_message: str) -> None:
    """A `Tell` that says nothing."""


def in_all(progress: Progress, before: int, total: int) -> Progress:
    """The progress of one file, told as progress in several: `before` bytes lie before it."""
    return lambda done, _, what: progress(before + done, total, what)


def disk_error(path: Path, error: OSError) -> DiskError:
    """The error for people when `path` cannot be written, with what to do."""
    reason = error.strerror or str(error)
    advice = "set MIDTOKEN_HOME to a folder that can be written"
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        advice = "make room, or set MIDTOKEN_HOME to a folder on another disk; then pull again"
    return DiskError(f"{path} cannot be written ({reason}): {advice}")


def size_on_disk(path: Path) -> int:
    """The size of a file in bytes, 0 if there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def sha256_of(path: Path, progress: Progress = no_progress, what: str = "checking") -> str:
    """The sha256 of a file, 64 hexadecimal digits in lower case. Raises OSError."""
    total = path.stat().st_size
    digest = hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            done += len(chunk)
            progress(done, total, what)
    return digest.hexdigest()


def need_space(folder: Path, needed_bytes: int) -> None:
    """Raise DiskError unless `needed_bytes` and some spare fit where `folder` is."""
    free = shutil.disk_usage(folder).free
    if free < needed_bytes + SPARE_BYTES:
        raise DiskError(
            f"{folder} has {megabytes(free)} free, and {megabytes(needed_bytes + SPARE_BYTES)} are "
            "needed: make room, or set MIDTOKEN_HOME to a folder on another disk"
        )


def flush_to_disk(path: Path) -> None:
    """Return when the file's bytes would survive a power cut. Raises OSError."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def megabytes(size_bytes: int) -> str:
    """A size for people.

    >>> megabytes(491_400_064), megabytes(4_683_073_536), megabytes(1_500)
    ('491 MB', '4.68 GB', '1.5 kB')
    """
    if size_bytes >= 1_000_000_000:
        return f"{size_bytes / 1e9:.2f} GB"
    if size_bytes >= 1_000_000:
        return f"{size_bytes / 1e6:.0f} MB"
    return f"{size_bytes / 1e3:.1f} kB"
