"""States of texts on disk: what a model has read, kept from one start to the next.

A file holds one state with the token ids of its text:

    32 bytes   SHA-256 of everything that follows
    16         "midtoken state 1"
    32         the key of the engine (`state_key`)
    32         SHA-256 of the document's address
    8, 8       how many ids, and how many bytes of state (64 bits, low byte first)
    4 each     the ids
    ...        the state

Looking for a text reads no states: the beginnings of the files are read once. A state is given out
only after the whole file was read into memory and its hash was right. Files that others could have
written (another owner, writable by a group) are not even opened as ours; the folder and the files
are for this user alone, since they tell what documents say.

A file that is damaged is deleted. All files together stay below a limit: the ones that were used
longest ago go first, and those that nobody has used for a month. So files of other models and other
versions go, too. Several processes may use a folder: files are written aside and renamed, and one
that is gone is no error. Nothing here fails because of the disk: then there is no state, and the
log says why, once.

What is not here: whose states are kept, and when (`warm_start`).
"""

import errno
import hashlib
import logging
import os
import shutil
import stat
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from server.engine import table_cache
from server.models.files import SPARE_BYTES, megabytes
from server.private_files import HOUR_S, UNFINISHED, delete_unfinished, make_private, write_private

logger = logging.getLogger("midtoken.state_store")

PROMPTS = 2
"""States of one document: the prompt that was used last, and the one before it or prepared next."""

MONTH_S = 30 * 86400.0
"""A state that nobody has used for so long is deleted."""

_MAGIC = b"midtoken state 1"
_HEAD = struct.Struct("<16s32s32sQQ")
_HASH_BYTES = 32
_START = _HASH_BYTES + _HEAD.size
_KEPT = ".state"

State = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Kept:
    """A state on disk, as its file's beginning tells; verified only when it is read."""

    path: Path
    document: bytes
    """The hash of its address."""
    tokens: NDArray[np.int32]
    size: int
    """Bytes of the file."""


def default_folder() -> Path:
    """`states` in midtoken's cache folder."""
    return table_cache.default_folder().parent / "states"


def delete_all(folder: Path) -> None:
    """Delete every state, of all models and documents. What can't be deleted stays."""
    with suppress(OSError):
        for path in [*folder.glob(f"*{_KEPT}"), *folder.glob(f"*{UNFINISHED}")]:
            path.unlink(missing_ok=True)
        folder.rmdir()


def files_in(folder: Path) -> list[tuple[Path, os.stat_result]]:
    """The states in a folder, of all models; empty if it can't be read."""
    found = []
    with suppress(OSError):
        for path in folder.glob(f"*{_KEPT}"):
            with suppress(OSError):
                found.append((path, path.lstat()))
    return found


class StateStore:
    """The states of one engine in a folder. Any thread may call it."""

    def __init__(self, folder: Path, key: str, limit: int) -> None:
        """Look at what is there.

        Args:
            folder: For states alone; made when the first one is written.
            key: The engine's `state_key`, in hexadecimal digits.
            limit: Bytes of all files together, those of other engines included.
        """
        self._folder = folder
        self._key = bytes.fromhex(key)
        self._limit = limit
        self._lock = threading.Lock()
        self._told: set[str] = set()
        self._kept: dict[Path, Kept] = {}
        """Used last comes last."""
        with self._disk("states of earlier starts can't be read"):
            self._clear_up(0)
            self._kept = {kept.path: kept for kept in self._look()}

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, tokens: Sequence[int], *, longest: int, whole: bool) -> tuple[Kept, int] | None:
        """The state that shares most with the beginning of a text, and how many ids it shares.

        Args:
            tokens: The text.
            longest: Only states of so many ids at most.
            whole: Only states all of whose text is a beginning of this one.
        """
        text = np.array(tokens, np.int32)
        best: tuple[Kept, int] | None = None
        with self._lock:
            candidates = list(self._kept.values())
        for kept in candidates:
            common = _common(kept.tokens, text)
            if len(kept.tokens) > longest or (whole and common < len(kept.tokens)):
                continue
            if common and (best is None or common >= best[1]):
                best = kept, common
        return best

    def has(self, address: str, tokens: Sequence[int]) -> bool:
        """Whether a document's state is here; if so, it counts as used now."""
        with self._lock:
            kept = self._kept.get(self._path(_hash(address), np.array(tokens, np.int32)))
        if kept is None or not kept.path.exists():
            return False
        self._use(kept)
        return True

    def read(self, kept: Kept) -> State | None:
        """A state; None, and its file deleted, if it is not exactly what was written."""
        raw = None
        with suppress(OSError), _opened(kept.path) as file:
            raw = np.empty(kept.size, np.uint8)
            if file.readinto(raw.data) != kept.size or file.read(1):
                raw = None
        if raw is None or _digest(raw[_HASH_BYTES:]) != raw[:_HASH_BYTES].tobytes():
            self.delete(kept)
            return None
        head = raw[_HASH_BYTES:_START].tobytes()
        end = _START + kept.tokens.nbytes
        expected = self._head(kept.document, kept.tokens, len(raw) - end)
        if head != expected or raw[_START:end].tobytes() != kept.tokens.tobytes():
            self.delete(kept)  # another process put something else in its place
            return None
        self._use(kept)
        return raw[end:]

    @contextmanager
    def on_trial(self, kept: Kept) -> Iterator[None]:
        """While the block runs, nobody finds the state: one that ends the process does so once."""
        aside = kept.path.with_suffix(UNFINISHED)
        with suppress(OSError):
            kept.path.replace(aside)
        try:
            yield
        finally:
            with suppress(OSError):
                aside.replace(kept.path)

    def delete(self, kept: Kept) -> None:
        """Forget a state and delete its file."""
        with self._lock:
            self._kept.pop(kept.path, None)
        with suppress(OSError):
            kept.path.unlink()

    def write(self, address: str, tokens: Sequence[int], state: State) -> bool:
        """Keep the state of a document's text; the document's oldest one makes room, then others.

        False if it can't be kept: it is too large, or the disk is full or can't be written.
        """
        document, ids = _hash(address), np.array(tokens, np.int32)
        head = self._head(document, ids, len(state))
        size = _START + ids.nbytes + len(state)
        if size > self._limit:
            self._tell(f"a state of {megabytes(size)} is more than may be kept")
            return False
        kept = Kept(self._path(document, ids), document, ids, size)
        with self._disk("states can't be kept"):
            self._have_folder()
            self._clear_up(size)
            if shutil.disk_usage(self._folder).free < size + SPARE_BYTES:
                self._tell(f"{self._folder}: the disk is full, so no state is kept")
                return False
            write_private(kept.path, _digest(head, ids, state), head, ids.data, state.data)
            with self._lock:
                self._kept.pop(kept.path, None)
                self._kept[kept.path] = kept
                same = [each for each in self._kept.values() if each.document == document]
            for older in same[:-PROMPTS]:
                self.delete(older)
            return True
        return False

    def _have_folder(self) -> None:
        """Have the folder, for this user alone; it may be a link. Raises OSError."""
        make_private(Path(os.path.realpath(self._folder)))

    def _head(self, document: bytes, ids: NDArray[np.int32], state_bytes: int) -> bytes:
        return _HEAD.pack(_MAGIC, self._key, document, len(ids), state_bytes)

    def _path(self, document: bytes, ids: NDArray[np.int32]) -> Path:
        names = (self._key, document, hashlib.sha256(ids.data).digest())
        return self._folder / ("-".join(name[:8].hex() for name in names) + _KEPT)

    def _look(self) -> Iterator[Kept]:
        """The states of this engine, used last coming last."""
        files = sorted(files_in(self._folder), key=lambda found: found[1].st_mtime)
        if files:
            self._have_folder()
        for path, _ in files:
            if path.name.startswith(self._key[:8].hex()):
                with suppress(OSError, struct.error):
                    kept = self._beginning(path)
                    if kept is not None:
                        yield kept

    def _beginning(self, path: Path) -> Kept | None:
        """What a file says of itself, if it is one of this engine's and as long as it says."""
        with _opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            magic, key, document, n_tokens, n_bytes = _HEAD.unpack(file.read(_START)[_HASH_BYTES:])
            if (magic, key) != (_MAGIC, self._key) or size != _START + 4 * n_tokens + n_bytes:
                return None
            ids = np.frombuffer(file.read(4 * n_tokens), np.int32)
            return Kept(path, document, ids, size)

    def _use(self, kept: Kept) -> None:
        with self._lock:
            if self._kept.pop(kept.path, None) is not None:
                self._kept[kept.path] = kept
        with suppress(OSError):
            os.utime(kept.path)

    def _clear_up(self, needed: int) -> None:
        """Delete what is too old, and what was used longest ago until `needed` bytes fit."""
        delete_unfinished(self._folder)
        now = time.time()

        def last_use(found: tuple[Path, os.stat_result]) -> tuple[bool, float]:
            """Files from the future come first: the clock was wrong, and nobody knows their age."""
            used = found[1].st_mtime
            return used <= now + HOUR_S, used

        files = sorted(files_in(self._folder), key=last_use)
        total = needed + sum(status.st_size for _, status in files)
        for path, status in files:
            if status.st_mtime >= now - MONTH_S and total <= self._limit:
                continue
            with suppress(OSError):
                path.unlink()
            with self._lock:
                self._kept.pop(path, None)
            total -= status.st_size

    @contextmanager
    def _disk(self, problem: str) -> Iterator[None]:
        """Let the log tell errors of the disk, and go on."""
        try:
            yield
        except OSError as error:
            self._tell(f"{self._folder}: {problem} ({error.strerror or error})")

    def _tell(self, problem: str) -> None:
        if problem not in self._told:
            self._told.add(problem)
            logger.warning("%s", problem)


def _hash(address: str) -> bytes:
    return hashlib.sha256(address.encode(errors="surrogatepass")).digest()


def _digest(*parts: bytes | NDArray[np.generic]) -> bytes:
    found = hashlib.sha256()
    for part in parts:
        found.update(part if isinstance(part, bytes) else part.data)
    return found.digest()


def _common(left: NDArray[np.int32], right: NDArray[np.int32]) -> int:
    """How many ids at the start are the same."""
    n = min(len(left), len(right))
    different = left[:n] != right[:n]
    return int(different.argmax()) if different.any() else n


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    """A plain file that nobody else could have written; raises OSError for any other."""
    flags = os.O_RDONLY
    for name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"):  # not everywhere; a pipe must not wait
        flags |= getattr(os, name, 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise PermissionError(errno.EACCES, "is not a plain file")
        if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
            raise PermissionError(errno.EACCES, "others could have written it")
        yield file
