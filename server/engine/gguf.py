r"""Reading the header of a GGUF model file: its metadata and the table of its tensors.

The runtime does not hand out arrays of metadata, and the merges of a tokenizer are such an array.
A model file may come from anywhere, so every length is checked against the size of the file before
it is used, and whatever is wrong with a file ends in one ModelError that names it.

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

import math
import mmap
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from server.errors import ModelError

Scalar = int | float | bool | str

MAX_HEADER_BYTES = 1 << 28
"""No header is longer (256 MiB); a vocabulary of 262,144 tokens with its merges takes 16 MiB."""
MAX_ITEMS = 1 << 21
"""Strings, keys and other things that are walked one by one; the same vocabulary has 800,000."""
MAX_DEPTH = 4
"""How deep arrays may be nested. No known file nests them at all."""
MAX_DIMENSIONS = 4
"""Dimensions of a tensor in llama.cpp."""
DEFAULT_ALIGNMENT = 32

_STRING, _ARRAY, _BOOL = 8, 9, 7
_NUMBERS: dict[int, np.dtype] = {
    0: np.dtype("u1"),
    1: np.dtype("i1"),
    2: np.dtype("<u2"),
    3: np.dtype("<i2"),
    4: np.dtype("<u4"),
    5: np.dtype("<i4"),
    6: np.dtype("<f4"),
    7: np.dtype("u1"),
    10: np.dtype("<u8"),
    11: np.dtype("<i8"),
    12: np.dtype("<f8"),
}
"""Type ids of plain numbers, as the files write them; 7 is a truth value in one byte."""

# fmt: off
_BLOCKS: dict[int, tuple[int, int]] = {
    0: (1, 4), 1: (1, 2), 30: (1, 2), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8),
    2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 40), 20: (32, 18),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292),
    16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 21: (256, 110), 22: (256, 82),
    23: (256, 136), 29: (256, 56), 34: (256, 54), 35: (256, 66), 39: (32, 17), 40: (64, 36),
    41: (128, 18),
}
# fmt: on
"""Type id of a tensor to (elements of a block, bytes of a block), as ggml lays them out."""


@dataclass(frozen=True)
class Tensor:
    """Where a tensor lies in the file."""

    name: str
    shape: tuple[int, ...]
    type_id: int
    offset: int
    """In bytes, from where the tensors begin (`Metadata.tensors_start`)."""

    @property
    def size_bytes(self) -> int | None:
        """What the tensor takes, or None for a type that is newer than this table of types."""
        block = _BLOCKS.get(self.type_id)
        if block is None:
            return None
        elements, size = block
        return -(-math.prod(self.shape) // elements) * size


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
class _Array:
    """Where an array lies in the header. Its values are made when they are asked for."""

    item_type: int
    count: int
    start: int
    end: int
    lengths: NDArray[np.int64] | None
    """Of strings: their lengths in bytes."""


@dataclass(frozen=True, eq=False)
class Metadata:
    """The header of a model file. Keys keep the order of the file."""

    path: Path
    version: int
    file_bytes: int
    block: bytes
    """The file's bytes up to the end of its metadata; arrays are read from it."""
    values: Mapping[str, Scalar | _Array]
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
        if not isinstance(array, _Array) or array.lengths is None:
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
        dtype = _NUMBERS.get(array.item_type) if isinstance(array, _Array) else None
        if not isinstance(array, _Array) or dtype is None:
            raise self._wrong(key, "an array of numbers")
        found = np.frombuffer(self.block, dtype, array.count, array.start)
        return found != 0 if array.item_type == _BOOL else found

    def _wrong(self, key: str, expected: str) -> ModelError:
        state = "is not" if key in self.values else "is missing; it should be"
        return ModelError(f"{self.path}: metadata {key!r} {state} {expected}")


def read_metadata(path: Path) -> Metadata:
    """The header of a model file.

    Raises ModelError for a file that cannot be read, is no GGUF file, or has a damaged header; the
    tensors' bytes are not looked at (`check_whole`).
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            if size == 0:
                raise ModelError(f"{path}: the file is empty; pull it again")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return parse(data, path)
    except FileNotFoundError as error:
        raise ModelError(f"{path}: there is no such model file") from error
    except IsADirectoryError as error:
        raise ModelError(f"{path}: is a directory, not a model file") from error
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
            f"{path}: truncated: has {metadata.file_bytes:,} of {needed:,} bytes; pull it again"
        )


def parse(data: bytes | mmap.mmap, path: Path) -> Metadata:
    """The header in `data`, the whole file's bytes; `path` is only for messages.

    Nothing of `data` is referred to afterwards. Raises ModelError.
    """
    reader = _Reader(data, path)
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
    values: dict[str, Scalar | _Array] = {}
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


class _Reader:
    """A position in the header that moves forward and never past the end."""

    def __init__(self, data: bytes | mmap.mmap, path: Path) -> None:
        self.data = data
        self.path = path
        self.position = 0
        self.end = min(len(data), MAX_HEADER_BYTES)
        self.items_left = MAX_ITEMS

    def damaged(self, what: str) -> ModelError:
        return ModelError(f"{self.path}: damaged GGUF header: {what}; pull it again")

    def skip(self, size: int, what: str) -> int:
        """Move over `size` bytes and return where they start."""
        start = self.position
        if size > self.end - start:
            raise self.damaged(f"{what} at byte {start:,} runs past the end")
        self.position = start + size
        return start

    def items(self, count: int, least_bytes: int, what: str) -> int:
        """Check a count of things to walk one by one that take at least `least_bytes` each."""
        if count > self.items_left or count * least_bytes > self.end - self.position:
            raise self.damaged(f"{count:,} {what} are more than the file can hold")
        self.items_left -= count
        return count

    def u32(self) -> int:
        start = self.skip(4, "a number")
        return int.from_bytes(self.data[start : start + 4], "little")

    def u64(self) -> int:
        start = self.skip(8, "a number")
        return int.from_bytes(self.data[start : start + 8], "little")

    def string(self) -> bytes:
        length = self.u64()
        start = self.skip(length, "a string")
        return self.data[start : start + length]

    def name(self, what: str) -> str:
        raw = self.string()
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise self.damaged(f"the name of a {what} is not UTF-8: {raw[:40]!r}") from error

    def value(self, key: str) -> Scalar | _Array:
        kind = self.u32()
        if kind == _STRING:
            return self.string().decode(errors="replace")
        if kind == _ARRAY:
            return self.array(key, MAX_DEPTH)
        dtype = self.number_type(kind, key)
        start = self.skip(dtype.itemsize, key)
        number = np.frombuffer(self.data[start : self.position], dtype)[0].item()
        return bool(number) if kind == _BOOL else number

    def number_type(self, kind: int, key: str) -> np.dtype:
        if kind not in _NUMBERS:
            raise self.damaged(f"{key!r} has the unknown type {kind}")
        return _NUMBERS[kind]

    def array(self, key: str, depth: int) -> _Array:
        kind, count = self.u32(), self.u64()
        start = self.position
        lengths = None
        if kind == _STRING:
            lengths = self.string_lengths(count)
        elif kind == _ARRAY:
            if depth == 1:
                raise self.damaged(f"{key!r} nests arrays more than {MAX_DEPTH} deep")
            for _ in range(self.items(count, 12, "arrays")):
                self.array(key, depth - 1)
        else:
            self.skip(count * self.number_type(kind, key).itemsize, key)
        return _Array(kind, count, start, self.position, lengths)

    def string_lengths(self, count: int) -> NDArray[np.int64]:
        """Walk over an array of strings: the one loop here that runs very often."""
        self.items(count, 8, "strings")
        data, end, position = self.data, self.end, self.position
        unpack = struct.Struct("<Q").unpack_from
        lengths = []
        for _ in range(count):
            if position + 8 > end:
                break
            (length,) = unpack(data, position)
            position += 8 + length
            lengths.append(length)
        if len(lengths) < count or position > end:
            raise self.damaged(f"a string before byte {end:,} runs past the end")
        self.position = position
        return np.array(lengths, dtype=np.int64)

    def tensor(self) -> Tensor:
        name = self.name("tensor")
        dimensions = self.u32()
        if dimensions > MAX_DIMENSIONS:
            raise self.damaged(f"the tensor {name!r} has {dimensions} dimensions")
        shape = tuple(self.u64() for _ in range(dimensions))
        type_id, offset = self.u32(), self.u64()
        if max((*shape, offset)) >= 1 << 63 or math.prod(shape) >= 1 << 63:
            raise self.damaged(f"the tensor {name!r} has an impossible size or place")
        return Tensor(name, shape, type_id, offset)
