r"""Reading the header of a GGUF model file: its metadata and the table of its tensors.

The runtime does not hand out arrays of metadata, and the merges of a tokenizer are such an array.
A model file may come from anywhere, so everything is read with care (`gguf_reader`), and whatever
is wrong with a file ends in one ModelError that names it.

Example::

    >>> metadata = read_metadata(Path("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"))
    >>> metadata.text("tokenizer.ggml.pre")
    'qwen2'
    >>> metadata.strings("tokenizer.ggml.merges")[:2]
    [b'\xc4\xa0 \xc4\xa0', b'\xc4\xa0\xc4\xa0 \xc4\xa0\xc4\xa0']

The layout: magic, version, counts of tensors and keys; the keys with their values; the names,
shapes and places of the tensors; then, aligned, the tensors themselves. Strings are a length of
eight bytes and the bytes. What is not here: the tensors' contents, big-endian files, version 1, and
the meaning of any key (`tables`).
"""

import mmap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from server.engine.damage import anew
from server.engine.gguf_reader import BOOL, NUMBERS, Array, HeaderReader, Scalar, Tensor
from server.errors import ModelError
from server.plain_files import MISSING, fault_of, shortened

DEFAULT_ALIGNMENT = 32


@dataclass(frozen=True, eq=False)
class StringArray:
    """An array of strings, packed: string `i` is `blob[offsets[i]:offsets[i + 1]]`."""

    blob: bytes
    offsets: NDArray[np.int64]
    """Shape (n + 1,)."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def tolist(self) -> list[bytes]:
        """The strings, each on its own."""
        bounds = self.offsets.tolist()
        blob = self.blob
        return [blob[start:end] for start, end in pairwise(bounds)]


@dataclass(frozen=True, eq=False)
class Metadata:
    """The header of a model file. Keys keep the order of the file."""

    path: Path
    version: int
    file_bytes: int
    block: bytes
    """The file's bytes up to the end of its metadata; arrays are read from it."""
    values: Mapping[str, Scalar | Array]
    tensors: tuple[Tensor, ...]
    tensors_start: int
    """Where the first tensor's bytes begin, in bytes from the start of the file."""

    def __contains__(self, key: object) -> bool:
        return key in self.values

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def text(self, key: str, default: str | None = None) -> str:
        """A string. ModelError if it is missing without a default, or something else."""
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self._wrong(key, "a string")
        return value

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number. ModelError as for `text`."""
        value = self.values.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(key, "a whole number")
        return value

    def flag(self, key: str, default: bool | None = None) -> bool:
        """A truth value. ModelError as for `text`."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value

    def strings(self, key: str) -> list[bytes]:
        """An array of strings, as bytes: files do not promise UTF-8. ModelError as for `text`."""
        return self.packed_strings(key).tolist()

    def packed_strings(self, key: str) -> StringArray:
        """An array of strings in one piece; ModelError as for `text`."""
        array = self.values.get(key)
        if not isinstance(array, Array) or array.lengths is None:
            raise self._wrong(key, "an array of strings")
        offsets = np.zeros(array.count + 1, dtype=np.int64)
        np.cumsum(array.lengths, out=offsets[1:])
        # Everything in the array's bytes but the eight bytes of length before each string.
        region = np.frombuffer(self.block, np.uint8, array.end - array.start, array.start)
        kept = np.ones(len(region), dtype=bool)
        headers = offsets[:-1] + 8 * np.arange(array.count)
        for byte in range(8):
            kept[headers + byte] = False
        return StringArray(region[kept].tobytes(), offsets)

    def numbers(self, key: str) -> NDArray[np.generic]:
        """An array of numbers or truth values, shape (n,), in the file's own type; read-only.

        ModelError as for `text`.
        """
        array = self.values.get(key)
        dtype = NUMBERS.get(array.item_type) if isinstance(array, Array) else None
        if not isinstance(array, Array) or dtype is None:
            raise self._wrong(key, "an array of numbers")
        found = np.frombuffer(self.block, dtype, array.count, array.start)
        return found != 0 if array.item_type == BOOL else found

    def _wrong(self, key: str, expected: str) -> ModelError:
        state = "is not" if key in self.values else "is missing; it should be"
        return ModelError(f"{self.path}: metadata {key!r} {state} {expected}")


def read_metadata(path: Path) -> Metadata:
    """The header of a model file.

    Raises ModelError for a file that cannot be read, is no GGUF file, or has a damaged header; the
    tensors' bytes are not looked at (`check_whole`).
    """
    fault = fault_of(path)
    if fault == MISSING:
        raise ModelError(f"{path}: there is no such model file")
    if fault:
        raise ModelError(f"{shortened(path)}: {fault}; give the path of a GGUF file")
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            if size == 0:
                raise ModelError(f"{path}: the file is empty; {anew(path)}")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return parse(data, path)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from error


def check_whole(path: Path) -> None:
    """Check that the file holds every tensor that its header lists.

    Raises ModelError if it is shorter, or for everything that `read_metadata` refuses. What the
    tensors contain is not checked: that needs the file's hash.
    """
    metadata = read_metadata(path)
    needed = metadata.tensors_start if metadata.tensors else 0
    for tensor in metadata.tensors:
        needed = max(needed, metadata.tensors_start + tensor.offset + (tensor.size_bytes or 0))
    if needed > metadata.file_bytes:
        raise ModelError(
            f"{path}: truncated: has {metadata.file_bytes:,} of {needed:,} bytes; {anew(path)}"
        )


def parse(data: bytes | mmap.mmap, path: Path) -> Metadata:
    """The header in `data`, the whole file's bytes; `path` is only for messages.

    Nothing of `data` is referred to afterwards. Raises ModelError.
    """
    reader = HeaderReader(data, path)
    magic = data[:4]
    if magic != b"GGUF":
        raise ModelError(f"{path}: is not a GGUF model file (it starts with {magic!r})")
    reader.position = 4
    version = reader.u32()
    if version and version & 0xFFFF == 0:
        raise ModelError(f"{path}: is big-endian; only little-endian GGUF files can be read")
    if version not in (2, 3):
        raise ModelError(f"{path}: is GGUF version {version}; versions 2 and 3 can be read")
    tensor_count, key_count = reader.u64(), reader.u64()
    values: dict[str, Scalar | Array] = {}
    for _ in range(reader.items(key_count, 13, "keys")):
        key = reader.name("key")
        if key in values:
            raise reader.damaged(f"the key {key!r} occurs twice")
        values[key] = reader.value(key)
    block_end = reader.position
    tensors = tuple(reader.tensor() for _ in range(reader.items(tensor_count, 24, "tensors")))
    names = {tensor.name for tensor in tensors}
    if len(names) < len(tensors):
        raise reader.damaged("two tensors have the same name")
    alignment = values.get("general.alignment", DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or not 0 < alignment < 1 << 32 or alignment.bit_count() > 1:
        raise reader.damaged("'general.alignment' is not a power of two")
    start = -(-reader.position // alignment) * alignment
    return Metadata(path, version, len(data), data[:block_end], values, tensors, start)
