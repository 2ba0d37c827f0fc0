"""`python -m tests.soak.in_use …` is `midtoken serve …` that tells how much memory is in use.

What a process has of the system grows without any leak: malloc keeps what was freed between pieces
that are in use, and gives it out again. So a server that is asked by SIGUSR1 writes down the bytes
that malloc has given out, how many small pieces Python has, and how many threads the event loop's
pool has begun: it begins one more when all are at work, up to a few. Not here: whether that grows.
"""

import asyncio
import ctypes
import os
import signal
import sys
import threading
from pathlib import Path
from typing import NamedTuple

from server.cli import main

PATIENCE_S = 10.0


class InUse(NamedTuple):
    """What a process has in use."""

    given: int
    """Bytes that malloc has given out."""
    pieces: int
    """Python's small pieces."""
    pool: int
    """Threads of the event loop's pool."""


class _MallocInfo(ctypes.Structure):
    """What glibc's `mallinfo2` (2.33 or later) gives back."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


async def told(pid: int, home: Path) -> InUse | None:
    """What a process says; None if it says nothing."""
    file = _file(home, pid)
    file.unlink(missing_ok=True)
    try:
        os.kill(pid, signal.SIGUSR1)
    except ProcessLookupError:
        return None
    for _ in range(round(20 * PATIENCE_S)):
        if file.exists():
            found = InUse(*map(int, file.read_text().split()))
            file.unlink()
            return found
        await asyncio.sleep(0.05)
    return None


def _file(home: Path, pid: int) -> Path:
    return home / f"in_use.{pid}"


def _tell_when_asked(home: Path) -> None:
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        return
    library.mallinfo2.restype = _MallocInfo

    def tell(*_: object) -> None:
        info = library.mallinfo2()
        file = _file(home, os.getpid())
        whole = file.with_suffix(".new")
        pool = sum(one.name.startswith("asyncio_") for one in threading.enumerate())
        whole.write_text(f"{info.uordblks + info.hblkhd} {sys.getallocatedblocks()} {pool}")
        whole.replace(file)

    signal.signal(signal.SIGUSR1, tell)


if __name__ == "__main__":
    _tell_when_asked(Path(os.environ["MIDTOKEN_HOME"]))
    sys.argv[1:1] = ["serve"]
    main()
