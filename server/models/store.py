"""Model files on this machine: finding, listing, checking and removing them.

They lie in `models` under the user's data folder, or under `MIDTOKEN_HOME` if that is set:

    >>> resolve("qwen2.5-coder-0.5b").name                                # doctest: +SKIP
    'qwen2.5-coder-0.5b-instruct-q4_k_m.gguf'

A file under its final name is whole, because `download` puts it there last, in one step. Beside it
lies a small record of its size and sum. What is not here: connections of any kind.
"""

import difflib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import platformdirs

from server.errors import ModelError
from server.models.catalog import CATALOG, Model
from server.models.files import Progress, megabytes, no_progress, sha256_of

GGUF_MAGIC = b"GGUF"


@dataclass(frozen=True)
class Record:
    """What is known of a fetched file; written beside it."""

    size_bytes: int
    sha256: str
    source: str
    """Where it came from: repository and revision, or the packages of the mirror."""


@dataclass(frozen=True)
class Installed:
    """A model of the catalog whose whole file is on this machine."""

    model: Model
    path: Path
    size_bytes: int


def folder() -> Path:
    """The folder of model files; it need not exist."""
    home = os.environ.get("MIDTOKEN_HOME")
    base = expanded(home) if home else platformdirs.user_data_path("midtoken")
    return base / "models"


def expanded(path: str) -> Path:
    """A path with a home folder for `~`; as it is if that folder is not known."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - pathlib's own raises for unknown users


def path_of(model: Model) -> Path:
    """Where the model's file lies, or would lie."""
    return folder() / model.file


def find_model(name: str) -> Model:
    """The model of this name. Raises ModelError that lists the names there are."""
    if name in CATALOG:
        return CATALOG[name]
    similar = difflib.get_close_matches(name, CATALOG, n=1)
    hint = f"did you mean {similar[0]}?" if similar else f"there are {', '.join(CATALOG)}"
    raise ModelError(f"there is no model called {name!r}: {hint}")


def resolve(name_or_path: str) -> Path:
    """The file of a model, given its name in the catalog or the path of any GGUF file.

    Raises:
        ModelError: The model is not on this machine or cut short, the file is no GGUF, or there is
            neither a model of this name nor such a file.
    """
    if name_or_path in CATALOG:
        return _resolve_model(CATALOG[name_or_path])
    path = expanded(name_or_path)
    if path.is_file():
        return _checked_gguf(path)
    if path.is_dir():
        raise ModelError(f"{path} is a folder: give the GGUF file in it")
    if path.suffix == ".gguf" or "/" in name_or_path or os.sep in name_or_path:
        raise ModelError(f"there is no file {path}")
    return path_of(find_model(name_or_path))  # raises, with the names there are


def installed() -> list[Installed]:
    """The models of the catalog that are on this machine, in the catalog's order."""
    return [
        Installed(model, path_of(model), path_of(model).stat().st_size)
        for model in CATALOG.values()
        if is_whole(model)
    ]


def is_whole(model: Model) -> bool:
    """Whether the model's file is here with its full size. Does not read the file."""
    path = path_of(model)
    if not path.is_file():
        return False
    expected = _expected_size(model)
    return path.stat().st_size == expected if expected is not None else path.stat().st_size > 0


def verify(model: Model, progress: Progress = no_progress) -> str:
    """Read the model's whole file and compare it with its sha256; return that sum.

    Raises ModelError if the file is missing, differs, or has no known sum.
    """
    path = _resolve_model(model)
    record = read_record(model)
    expected = model.sha256 or (record.sha256 if record else None)
    if expected is None:
        raise ModelError(
            f"no sum is known for {path}: `midtoken model remove {model.name}`, then pull it again"
        )
    try:
        actual = sha256_of(path, progress, f"checking {model.name}")
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    if actual != expected:
        raise ModelError(
            f"{path} is damaged: its sha256 is {actual}, not {expected}. "
            f"`midtoken model remove {model.name}`, then pull it again"
        )
    return actual


def remove(model: Model) -> int:
    """Delete the model's file, its record and what is left of broken downloads of it.

    Returns the number of bytes freed. Raises ModelError if there is nothing, or it cannot be done.
    """
    found = [
        path for path in (path_of(model), record_path(model), *parts_of(model)) if path.exists()
    ]
    if not found:
        raise ModelError(f"{model.name} is not on this machine ({path_of(model)})")
    freed = 0
    for path in found:
        try:
            size = path.stat().st_size
            path.unlink()
        except OSError as error:
            raise ModelError(f"{path} cannot be removed: {error.strerror}") from error
        freed += size
    return freed


def part_path(model: Model, sha256: str) -> Path:
    """Where a download is collected. The name holds the sum, so contents are never mixed."""
    return folder() / f".{model.file}.{sha256[:16]}.part"


def parts_of(model: Model) -> list[Path]:
    """What unfinished downloads of this model have left."""
    return sorted(folder().glob(f".{model.file}.*.part"))


def record_path(model: Model) -> Path:
    """Where the record of the model's file lies."""
    return folder() / f"{model.file}.json"


def read_record(model: Model) -> Record | None:
    """The record beside the model's file, None if there is none or it is not readable."""
    try:
        return Record(**json.loads(record_path(model).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write_record(model: Model, record: Record) -> None:
    """Write the record. Raises OSError."""
    text = json.dumps(asdict(record), indent=2) + "\n"
    record_path(model).write_text(text, encoding="utf-8")


def _resolve_model(model: Model) -> Path:
    path = path_of(model)
    if not path.is_file():
        raise ModelError(
            f"{model.name} is not on this machine: `midtoken model pull {model.name}` fetches it"
        )
    if not is_whole(model):
        expected = _expected_size(model)
        size = f"has {megabytes(path.stat().st_size)}"
        size += f" of {megabytes(expected)}" if expected else ""
        raise ModelError(
            f"{path} is not whole ({size}): `midtoken model pull {model.name}` fetches it anew"
        )
    return path


def _expected_size(model: Model) -> int | None:
    record = read_record(model)
    return model.size_bytes or (record.size_bytes if record else None)


def _checked_gguf(path: Path) -> Path:
    try:
        with path.open("rb") as file:
            start = file.read(len(GGUF_MAGIC))
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    if start != GGUF_MAGIC:
        raise ModelError(f"{path} is not a GGUF file: it starts with {start!r}")
    return path
