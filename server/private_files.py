"""Files and folders for one user alone: secrets, and sockets that nobody else may use.

Whoever could have written such a file, or can read it, knows the secret; so a file that is anybody
else's business is refused, not repaired. On systems without POSIX permissions (Windows) the user's
own folders are private already, and nothing is checked.
"""

import errno
import os
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

UNFINISHED = ".part"
"""So the names of files end that are being written, or were when a process ended."""

HOUR_S = 3600.0
"""A file that is still unfinished after so long was left behind by a process that has ended."""

DAY_S = 24 * HOUR_S


def make_private(folder: Path) -> None:
    """Have a folder that only this user sees into. Raises OSError if that is not possible."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):  # a link: somebody else may lead it elsewhere
        raise NotADirectoryError(errno.ENOTDIR, "is not a folder", str(folder))
    if hasattr(os, "getuid"):
        if status.st_uid != os.getuid():
            raise PermissionError(errno.EACCES, "belongs to somebody else", str(folder))
        if status.st_mode & 0o077:
            folder.chmod(0o700)


def read_private(path: Path, limit: int) -> bytes:
    """The first bytes of a plain file that nobody else can read or write.

    Args:
        path: The file; its last part may be a link, since links to secrets are usual in containers.
        limit: So many bytes at most are read.

    Raises:
        OSError: There is no such file, or it is not private; `strerror` says what it is.
    """
    flags = os.O_RDONLY
    for name in ("O_BINARY", "O_NONBLOCK"):  # not everywhere; a pipe must not be waited for
        flags |= getattr(os, name, 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise PermissionError(errno.EACCES, "is not a plain file", str(path))
        if hasattr(os, "getuid"):
            if status.st_uid not in {os.getuid(), 0}:
                raise PermissionError(errno.EACCES, "belongs to somebody else", str(path))
            if status.st_mode & 0o077:
                raise PermissionError(errno.EACCES, "may be read by others", str(path))
        return file.read(limit)


def write_private(path: Path, *content: bytes | memoryview) -> None:
    """Put a file that only this user can read in a place, in one step. Raises OSError.

    Nothing is flushed to the disk: after a power cut the file may be empty, cut or full of zeros,
    and whoever reads it must see that.

    Args:
        path: Where the file is then; an earlier one makes room.
        content: Its parts, in order.
    """
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=UNFINISHED, delete=False) as file:
        temporary = Path(file.name)  # readable by this user alone from the start
        try:
            for part in content:
                file.write(part)
            file.close()
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def delete_unfinished(folder: Path) -> None:
    """Delete what processes that were killed have left in a folder that nobody else writes to."""
    with suppress(OSError):
        for path in folder.glob(f"*{UNFINISHED}"):
            with suppress(OSError):
                if is_older(path, HOUR_S):
                    path.unlink()


def is_older(path: Path, age_s: float) -> bool:
    """Whether nobody has written to a file for so many seconds; also if there is none.

    The clock may have been set since: what seems to be an hour from the future is as old.
    """
    try:
        return abs(time.time() - path.lstat().st_mtime) > age_s
    except FileNotFoundError:
        return True
