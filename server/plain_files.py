"""Paths that people name: whether there is a file to be read, before it is opened.

To open a pipe may wait for ever, and a device may have no end.

    >>> fault_of(Path("/dev/zero"))
    'is not a regular file'
"""

import errno
import stat
from pathlib import Path

SHOWN = 200
"""Characters of a name in a message."""

MISSING = "is missing"

_FAULTS = {
    errno.ENOENT: MISSING,
    errno.ENOTDIR: MISSING,
    errno.ELOOP: "is a link that leads back to itself",
    errno.ENAMETOOLONG: "is missing: no file has such a long name",
}


def fault_of(path: Path) -> str | None:
    """Why there is no plain file at a path, in words that follow its name; None if there is one."""
    try:
        mode = path.stat().st_mode
    except ValueError:  # a NUL in the name
        return "is missing: no file has such a name"
    except OSError as error:
        return _FAULTS.get(error.errno or 0, f"cannot be read ({error.strerror})")
    if stat.S_ISDIR(mode):
        return "is a folder"
    return None if stat.S_ISREG(mode) else "is not a regular file"


def shortened(name: object) -> str:
    """A name for a message: one that goes on and on is cut in the middle."""
    text = str(name)
    half = SHOWN // 2
    return text if len(text) <= SHOWN else f"{text[:half]}…{text[-half:]}"
