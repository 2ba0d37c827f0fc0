"""Where editors of one user find the server that they share: a file that tells its address.

The files lie in a folder that only this user sees into. A server's file has a name made of all that
must be the same for sharing: midtoken's version and place, the model and how it is run, and the
environment that decides about devices. Whoever differs in one of these meets at another file.

    NAME.json   the address of the server that runs, and the secret that it wants and knows
    NAME.lock   locked by whoever starts a server; the system frees it when a process ends
    NAME-PID.sock   the socket, where there are such
    NAME.log    what the server has to say; begun anew at each start

A file may be left behind by a server that was killed. That is no harm: nobody answers at its
address, or what answers does not know the secret (`access.ask_in`), and whoever starts a server
next writes it anew. Of names that nobody comes back to, the next server of any name deletes all
files, a day after they were last of use.

Not here: connections (`shared`), and the server (`shared_server`).
"""

import hashlib
import json
import os
import socket
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import platformdirs
from filelock import FileLock

from server import __version__
from server.options import Options
from server.private_files import (
    DAY_S,
    delete_unfinished,
    is_older,
    make_private,
    read_private,
    write_private,
)

LONGEST_SOCKET_PATH = 100
"""Bytes: 108 on Linux, 104 on macOS, with the zero at the end."""

ANSWER_S = 1.0
"""For a connection within this machine."""

_ENVIRONMENT = ("GGML_", "MIDTOKEN_")
"""So begin names of what changes what a server does; others end in `VISIBLE_DEVICES`."""


@dataclass(frozen=True)
class Address:
    """Where a server is, as its file says."""

    pid: int
    token: str
    """64 digits, drawn at random: whoever can read the file may use the server."""
    path: str = ""
    """Of a socket; empty where it is a port of this machine."""
    port: int = 0


@dataclass(frozen=True)
class Place:
    """Where editors with the same wishes meet."""

    folder: Path
    name: str
    work: Path
    """The folder that the server works in."""

    @property
    def lock(self) -> Path:
        """The file to lock while a server is started."""
        return self.folder / f"{self.name}.lock"

    @property
    def log(self) -> Path:
        """The server's log."""
        return self.folder / f"{self.name}.log"

    @property
    def _file(self) -> Path:
        return self.folder / f"{self.name}.json"

    def address(self) -> Address | None:
        """The address that the file tells; None if there is none, or nothing of ours."""
        try:
            found = Address(**json.loads(read_private(self._file, 1 << 12)))
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        kinds = {"pid": int, "token": str, "path": str, "port": int}
        right = all(isinstance(getattr(found, key), kind) for key, kind in kinds.items())
        return found if right and found.token.isascii() and 0 <= found.port < 1 << 16 else None

    def announce(self, address: Address) -> None:
        """Tell editors where the server is. Raises OSError."""
        delete_unfinished(self.folder)
        write_private(self._file, json.dumps(asdict(address)).encode())

    def withdraw(self, address: Address) -> None:
        """The server ends: nobody finds it any more. What another server has put there stays."""
        with suppress(OSError):
            if self.address() == address:
                self._file.unlink()
        if address.path:
            with suppress(OSError):
                Path(address.path).unlink()

    def delete_left(self) -> None:
        """Delete the files of servers of other names that have ended, or were killed."""
        with suppress(OSError):
            for lock in self.folder.glob("*.lock"):
                if lock != self.lock:
                    with suppress(OSError):  # somebody has the lock, or it can't be deleted
                        _delete_if_left(replace(self, name=lock.stem))

    def listen(self, token: str, *, port_only: bool = False) -> tuple[socket.socket, Address]:
        """A socket that listens, and its address. Sockets of servers that were killed are deleted.

        Raises OSError.
        """
        address = Address(os.getpid(), token)
        path = str(self.folder / f"{self.name}-{os.getpid()}.sock")
        for left in self.folder.glob(f"{self.name}-*.sock"):
            left.unlink(missing_ok=True)
        if port_only or not hasattr(socket, "AF_UNIX") or len(path) > LONGEST_SOCKET_PATH:
            listening = socket.create_server(("127.0.0.1", 0))
            return listening, replace(address, port=listening.getsockname()[1])
        listening = socket.socket(socket.AF_UNIX)
        try:
            listening.bind(path)
            Path(path).chmod(0o600)
            listening.listen()
        except OSError:
            listening.close()
            raise
        return listening, replace(address, path=path)


def place_for(options: Options) -> Place:
    """Where editors meet that want a model run as the options say.

    Raises OSError if there is no folder that belongs to this user alone.
    """
    folder = _folder()
    make_private(folder)
    model, engine = options.model, replace(options.engine, idle_work=True)
    # Where a path is relative, the same words name another file elsewhere.
    work = Path.cwd() if any(map(_is_relative, (model.name, model.lora))) else folder
    environment = sorted(
        (key, value)
        for key, value in os.environ.items()
        if key.startswith(_ENVIRONMENT) or key.endswith("VISIBLE_DEVICES")
    )
    parts = (
        __version__,
        sys.executable,
        __file__,
        model,
        engine,
        options.remote,
        environment,
        work,
    )
    name = hashlib.sha256(repr(parts).encode(errors="surrogatepass")).hexdigest()[:16]
    return Place(folder, name, work)


def _delete_if_left(place: Place) -> None:
    """Delete a name's files unless its server runs or has just ended: its log may be wanted.

    Raises OSError, also while a server is being started there.
    """
    files = [place._file, place.log]
    if not all(is_older(path, DAY_S) for path in files):
        return
    # Whoever waits for this lock meanwhile sees that the file has gone, and makes a new one.
    with FileLock(place.lock, timeout=0, mode=0o600):
        if not _somebody_answers(place.address()):
            for path in (*place.folder.glob(f"{place.name}-*.sock"), *files, place.lock):
                path.unlink(missing_ok=True)


def _somebody_answers(address: Address | None) -> bool:
    """Whether there is a server, ours or not, where an address leads to."""
    if address is None:
        return False
    try:
        if address.path:
            with socket.socket(socket.AF_UNIX) as asking:
                asking.settimeout(ANSWER_S)
                asking.connect(address.path)
        else:
            socket.create_connection(("127.0.0.1", address.port), ANSWER_S).close()
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    return True


def _folder() -> Path:
    """In `MIDTOKEN_HOME`, else in the session's runtime folder, else in the user's cache."""
    if home := os.environ.get("MIDTOKEN_HOME"):
        return Path(os.path.expanduser(home)) / "run"  # noqa: PTH111 (as for models)
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and Path(runtime).is_absolute() and Path(runtime).is_dir():
        return Path(runtime) / "midtoken"
    return Path(platformdirs.user_cache_dir("midtoken"), "run")


def _is_relative(path: str) -> bool:
    return (os.sep in path or path.endswith(".gguf")) and not path.startswith((os.sep, "~"))
