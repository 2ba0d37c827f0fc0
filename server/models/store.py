"""Model files on this machine: finding, listing, checking and removing them.

They lie in `models` under the user's data folder, or under `MIDTOKEN_HOME` if that is set:

    >>> resolve("qwen2.5-coder-0.5b").name                                # doctest: +SKIP
    'qwen2.5-coder-0.5b-instruct-q4_k_m.gguf'

A file under its final name is whole, because `download` puts it there last, in one step. Beside it
lies a small record of its size and sum. A model may be split into several files: it is here when
all of them are, and they are checked and removed as one. What is not here: connections of any kind.
"""

import difflib
import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from server.errors import ModelError
from server.models.catalog import CATALOG, Model, ModelFile
from server.models.files import (
    Progress,
    flush_to_disk,
    in_all,
    megabytes,
    no_progress,
    sha256_of,
)
from server.plain_files import MISSING, fault_of, shortened

GGUF_MAGIC = b"GGUF"
_SPLIT = re.compile(r"(?P<name>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.ASCII)


@dataclass(frozen=True)
class Record:
    """What is known of a fetched file; written beside it."""

    size_bytes: int
    sha256: str
    source: str
    """Where it came from: repository and revision, or the packages of the mirror."""


@dataclass(frozen=True)
class Installed:
    """A model of the catalog that is on this machine as a whole."""

    model: Model
    path: Path
    """The file to load, the first of several."""
    size_bytes: int
    """Of all files together."""


def folder() -> Path:
    """The folder of model files; it need not exist."""
    home = os.environ.get("MIDTOKEN_HOME")
    base = expanded(home) if home else platformdirs.user_data_path("midtoken")
    return base / "models"


def expanded(path: str) -> Path:
    """A path with a home folder for `~`; as it is if that folder is not known."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - pathlib's own raises for unknown users


def path_of(model: Model) -> Path:
    """Where the model's file lies, or would lie; the first one if there are several."""
    return file_path(model.files[0])


def file_path(file: ModelFile) -> Path:
    """Where one file of a model lies, or would lie."""
    return folder() / file.name


def lock_of(model: Model) -> FileLock:
    """The lock of whoever changes the model's files; the system frees it when a process ends.

    Its file stays in the folder: deleting it would let two processes hold different locks.
    """
    return FileLock(folder() / f".{model.files[0].name}.lock")


def find_model(name: str) -> Model:
    """The model of this name. Raises ModelError that lists the names there are."""
    if name in CATALOG:
        return CATALOG[name]
    similar = difflib.get_close_matches(name, CATALOG, n=1)
    hint = f"did you mean {similar[0]}?" if similar else f"there are {', '.join(CATALOG)}"
    raise ModelError(f"there is no model called {shortened(name)!r}: {hint}")


def resolve(name_or_path: str) -> Path:
    """The file of a model, given its name in the catalog or the path of any GGUF file.

    Raises:
        ModelError: The model is not on this machine or cut short, the file is no GGUF, or there is
            neither a model of this name nor such a file.
    """
    if name_or_path in CATALOG:
        return _resolve_model(CATALOG[name_or_path])
    path = expanded(name_or_path)
    fault = fault_of(path)
    if fault is None:
        return _checked_gguf(path)
    if not fault.startswith(MISSING):
        raise ModelError(f"{shortened(path)} {fault}: give the path of a GGUF file")
    if path.suffix == ".gguf" or "/" in name_or_path or os.sep in name_or_path:
        raise ModelError(f"there is no file {shortened(path)}{fault.removeprefix(MISSING)}")
    return path_of(find_model(name_or_path))  # raises, with the names there are


def installed() -> list[Installed]:
    """The models of the catalog that are on this machine, in the catalog's order."""
    return [
        Installed(
            model, path_of(model), sum(file_path(file).stat().st_size for file in model.files)
        )
        for model in CATALOG.values()
        if is_whole(model)
    ]


def is_whole(model: Model) -> bool:
    """Whether all of the model's files are here with their full size. Does not read them."""
    return all(is_whole_file(file) for file in model.files)


def is_whole_file(file: ModelFile) -> bool:
    """The same for one file."""
    path = file_path(file)
    if not path.is_file():
        return False
    size, expected = path.stat().st_size, _expected_size(file)
    return size == expected if expected is not None else size > 0


def verify(model: Model, progress: Progress = no_progress) -> list[str]:
    """Read all of the model's files and compare each with its sha256; return these sums.

    Raises ModelError if a file is missing, differs, or has no known sum.
    """
    _resolve_model(model)
    again = f"`midtoken model remove {model.name}`, then pull it again"
    paths = [file_path(file) for file in model.files]
    total, sums = sum(path.stat().st_size for path in paths), list[str]()
    done = 0
    for file, path in zip(model.files, paths, strict=True):
        record = read_record(file)
        expected = file.sha256 or (record.sha256 if record else None)
        if expected is None:
            raise ModelError(f"no sum is known for {path}: {again}")
        try:
            actual = sha256_of(path, in_all(progress, done, total), f"checking {model.name}")
        except OSError as error:
            raise ModelError(f"{path} cannot be read: {error.strerror}") from error
        if actual != expected:
            raise ModelError(f"{path} is damaged: its sha256 is {actual}, not {expected}. {again}")
        done += path.stat().st_size
        sums.append(actual)
    return sums


def remove(model: Model) -> int:
    """Delete the model's files, their records and what is left of broken downloads of them.

    Only names that the catalog gives are deleted, and of a link only the link. A process that has
    the model loaded keeps it until it ends, except on Windows, which refuses.

    Returns the number of bytes freed. Raises ModelError if there is nothing, if it cannot be done,
    or while another process pulls the model.
    """
    check_removable(model)
    freed = 0
    path = folder()
    try:
        with lock_of(model).acquire(timeout=0):
            for path in _belongings(model):
                size = path.lstat().st_size
                path.unlink()
                freed += size
    except Timeout:
        raise ModelError(
            f"another process is pulling {model.name}: stop it, or wait for it, and try again"
        ) from None
    except OSError as error:
        raise ModelError(f"{path} cannot be removed: {error.strerror}") from error
    return freed


def check_removable(model: Model) -> None:
    """See whether anything of a model is here, before anybody is asked. Raises ModelError."""
    if not _belongings(model):
        raise ModelError(f"{model.name} is not on this machine ({path_of(model)})")


def _belongings(model: Model) -> list[Path]:
    """Everything in the folder that belongs to a model, but for its lock."""
    return [
        path
        for file in model.files
        for path in (file_path(file), record_path(file), *parts_of(file))
        if os.path.lexists(path)
    ]


def part_path(file: ModelFile, sha256: str) -> Path:
    """Where a download is collected. The name holds the sum, so contents are never mixed."""
    return folder() / f".{file.name}.{sha256[:16]}.part"


def parts_of(file: ModelFile) -> list[Path]:
    """What unfinished downloads of this file have left."""
    return sorted(folder().glob(f".{file.name}.*.part"))


def record_path(file: ModelFile) -> Path:
    """Where the record of a file lies."""
    return folder() / f"{file.name}.json"


def read_record(file: ModelFile) -> Record | None:
    """The record beside a file, None if there is none or it is not readable."""
    try:
        return Record(**json.loads(record_path(file).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write_record(file: ModelFile, record: Record) -> None:
    """Write the record. Raises OSError."""
    text = json.dumps(asdict(record), indent=2) + "\n"
    record_path(file).write_text(text, encoding="utf-8")
    flush_to_disk(record_path(file))


def _resolve_model(model: Model) -> Path:
    pull = f"`midtoken model pull {model.name}`"
    there = [file for file in model.files if file_path(file).is_file()]
    if not there:
        raise ModelError(f"{model.name} is not on this machine: {pull} fetches it")
    for file in model.files:
        path = file_path(file)
        if file not in there:
            raise ModelError(f"{model.name} is not whole: {path} is missing; {pull} fetches it")
        if not is_whole_file(file):
            expected = _expected_size(file)
            size = f"has {megabytes(path.stat().st_size)}"
            size += f" of {megabytes(expected)}" if expected else ""
            raise ModelError(f"{path} is not whole ({size}): {pull} fetches it anew")
    return path_of(model)


def _expected_size(file: ModelFile) -> int | None:
    record = read_record(file)
    return file.size_bytes or (record.size_bytes if record else None)


def _checked_gguf(path: Path) -> Path:
    try:
        with path.open("rb") as file:
            start = file.read(len(GGUF_MAGIC))
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    if start != GGUF_MAGIC:
        found = f"it starts with {start.decode('latin-1')!a}" if start else "it is empty"
        raise ModelError(f"{path} is not a GGUF file: {found}")
    split = _SPLIT.fullmatch(path.name)
    if split and int(split["number"]) != 1:
        first = path.with_name(f"{split['name']}-00001-of-{split['count']}.gguf")
        raise ModelError(f"{path} is one of {int(split['count'])} files: give the first, {first}")
    return path
