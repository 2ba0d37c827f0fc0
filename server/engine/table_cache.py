"""Tables kept on disk between starts, each tied to the metadata that it was made from.

An entry is one file: a SHA-256 of everything after it, a line of JSON (plain values, and the type
and shape of each array), then the arrays' bytes. What was made from a model file depends only on
the block of metadata at its start, so the entry records the block's length and SHA-256, and counts
only for a file that starts with exactly these bytes. To find the entry without reading the block,
the first 64 KiB of the model file name it; two models that begin alike replace each other's entry.

Damage is found by the hash: such an entry is no entry. Entries are written next to their place and
renamed, so that no reader sees half of one. Nothing here ever fails because of the cache: where it
cannot be read or written, there is none. Old entries are not removed (some 4 MB a model).
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
from numpy.typing import NDArray

from server.private_files import delete_unfinished, write_private

HEAD_BYTES = 1 << 16
_HASH_BYTES = 32


@dataclass(frozen=True, eq=False)
class Entry:
    """Plain values and arrays by name; arrays that come from the disk are read-only."""

    fields: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]


def default_folder() -> Path:
    """`$MIDTOKEN_HOME/cache/tables`, else `tables` in the user's cache folder of midtoken."""
    home = os.environ.get("MIDTOKEN_HOME")
    if home:  # pathlib's `expanduser` raises for users that do not exist
        return Path(os.path.expanduser(home)) / "cache" / "tables"  # noqa: PTH111
    return platformdirs.user_cache_path("midtoken") / "tables"


def find(model: Path, folder: Path, version: int) -> Entry | None:
    """The entry for a model file, or None if there is none that is whole and was made from it."""
    try:
        with model.open("rb") as file:
            head = file.read(HEAD_BYTES)
            raw = _entry_path(folder, head, version).read_bytes()
            if hashlib.sha256(memoryview(raw)[_HASH_BYTES:]).digest() != raw[:_HASH_BYTES]:
                return None
            start = raw.index(b"\n", _HASH_BYTES) + 1
            described = json.loads(raw[_HASH_BYTES:start])
            size = described["block_bytes"]
            block = head[:size] + file.read(max(size - len(head), 0))
    except (OSError, ValueError):
        return None
    if hashlib.sha256(block).hexdigest() != described["block_sha256"]:
        return None
    arrays = {}
    for name, (dtype, shape) in described["arrays"].items():
        arrays[name] = np.frombuffer(raw, dtype, math.prod(shape), start).reshape(shape)
        start += arrays[name].nbytes
    return Entry(described["fields"], arrays)


def store(model: Path, block: bytes, entry: Entry, folder: Path, version: int) -> None:
    """Keep what was made from `block`, the metadata at the start of a model file.

    Arrays are written in the order given: those with the widest numbers should come first.
    """
    arrays = {name: np.ascontiguousarray(array) for name, array in entry.arrays.items()}
    described = {
        "block_bytes": len(block),
        "block_sha256": hashlib.sha256(block).hexdigest(),
        "fields": dict(entry.fields),
        "arrays": {name: (array.dtype.str, array.shape) for name, array in arrays.items()},
    }
    header = json.dumps(described).encode()
    # Arrays are used where they lie in the file's bytes, so the first starts at a multiple of 8.
    header += b" " * (-(_HASH_BYTES + len(header) + 1) % 8) + b"\n"
    payload = header + b"".join(array.tobytes() for array in arrays.values())
    with suppress(OSError):
        with model.open("rb") as file:
            path = _entry_path(folder, file.read(HEAD_BYTES), version)
        folder.mkdir(parents=True, exist_ok=True)
        delete_unfinished(folder)
        write_private(path, hashlib.sha256(payload).digest(), payload)


def _entry_path(folder: Path, head: bytes, version: int) -> Path:
    return folder / f"{hashlib.sha256(head).hexdigest()[:32]}-{version}.tables"
