"""Moving through the bytes of a GGUF header, and never past their end.

A `HeaderReader` takes numbers, strings, values and descriptions of tensors from where it stands.
Every count and length is compared with what is left before it is used, and the number of things
that are walked one by one is bounded, so that no file can cost more than seconds or make the reader
reserve memory for what it does not hold. All complaints are ModelErrors with the file's name.

What is not here: the order of things in a file (`gguf`).
"""

import math
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from server.engine.damage import anew
from server.errors import ModelError

Scalar = int | float | bool | str

MAX_HEADER_BYTES = 1 << 28
"""No header is longer (256 MiB); a vocabulary of 262,144 tokens with its merges takes 16 MiB."""
MAX_ITEMS = 1 << 21
"""Strings, keys and other things that are walked one by one; the same vocabulary has 800,000."""
WINDOW_BYTES = 1 << 16
"""How much of an array of strings is looked at in one go: enough to be quick, and in the cache."""
FEW, ONE_BY_ONE = 64, 512
"""Where a window yields fewer strings than `FEW`, `ONE_BY_ONE` are walked, at a window's cost."""
MAX_DEPTH = 4
"""How deep arrays may be nested. No known file nests them at all."""
MAX_DIMENSIONS = 4
"""Dimensions of a tensor in llama.cpp."""
STRING, ARRAY, BOOL = 8, 9, 7
NUMBERS: dict[int, np.dtype] = {
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

_LENGTH = struct.Struct("<Q")

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
class Array:
    """Where an array lies in the header. Its values are made when they are asked for."""

    item_type: int
    count: int
    start: int
    end: int
    lengths: NDArray[np.int64] | None
    """Of strings: their lengths in bytes."""


class HeaderReader:
    """A position in the header that moves forward and never past the end."""

    def __init__(self, data: bytes | mmap.mmap, path: Path) -> None:
        self.data = data
        self.path = path
        self.position = 0
        self.end = min(len(data), MAX_HEADER_BYTES)
        self.items_left = MAX_ITEMS

    def damaged(self, what: str) -> ModelError:
        """The error for a damaged header, with what is wrong and what to do."""
        return ModelError(f"{self.path}: damaged GGUF header: {what}; {anew(self.path)}")

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
        """The next four bytes as a number."""
        start = self.skip(4, "a number")
        return int.from_bytes(self.data[start : start + 4], "little")

    def u64(self) -> int:
        """The next eight bytes as a number."""
        start = self.skip(8, "a number")
        return int.from_bytes(self.data[start : start + 8], "little")

    def string(self) -> bytes:
        """The next string."""
        length = self.u64()
        start = self.skip(length, "a string")
        return self.data[start : start + length]

    def name(self, what: str) -> str:
        """The next string as the name of something; it has to be UTF-8."""
        raw = self.string()
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise self.damaged(f"the name of a {what} is not UTF-8: {raw[:40]!r}") from error

    def value(self, key: str) -> Scalar | Array:
        """The type and value that follow a key; text that is not UTF-8 is repaired."""
        kind = self.u32()
        if kind == STRING:
            return self.string().decode(errors="replace")
        if kind == ARRAY:
            return self.array(key, MAX_DEPTH)
        dtype = self.number_type(kind, key)
        start = self.skip(dtype.itemsize, key)
        number = np.frombuffer(self.data[start : self.position], dtype)[0].item()
        return bool(number) if kind == BOOL else number

    def number_type(self, kind: int, key: str) -> np.dtype:
        """The layout of a type of numbers."""
        if kind not in NUMBERS:
            raise self.damaged(f"{key!r} has the unknown type {kind}")
        return NUMBERS[kind]

    def array(self, key: str, depth: int) -> Array:
        """Move over an array that may hold `depth - 1` levels of arrays."""
        kind, count = self.u32(), self.u64()
        start = self.position
        lengths = None
        if kind == STRING:
            lengths = self.string_lengths(count)
        elif kind == ARRAY:
            if depth == 1:
                raise self.damaged(f"{key!r} nests arrays more than {MAX_DEPTH} deep")
            for _ in range(self.items(count, 12, "arrays")):
                self.array(key, depth - 1)
        else:
            self.skip(count * self.number_type(kind, key).itemsize, key)
        return Array(kind, count, start, self.position, lengths)

    def string_lengths(self, count: int) -> NDArray[np.int64]:
        """Move over an array of strings, many at a time where they are short; shape (count,)."""
        lengths = np.empty(self.items(count, 8, "strings"), dtype=np.int64)
        done = 0
        while done < count:
            window_end = min(self.position + WINDOW_BYTES, self.end)
            found = _short_lengths(self.data[self.position : window_end])[: count - done]
            self.skip(int(found.sum()) + 8 * len(found), "a string")
            lengths[done : done + len(found)] = found
            done += len(found)
            if len(found) < FEW:
                # What stopped the quick way may come again: go far enough for it to pay.
                walked = self._walk(min(ONE_BY_ONE, count - done))
                lengths[done : done + len(walked)] = walked
                done += len(walked)
        return lengths

    def _walk(self, count: int) -> list[int]:
        """Move over strings one by one, and return their lengths."""
        data, end, position = self.data, self.end, self.position
        lengths = []
        for _ in range(count):
            if position + 8 > end:
                break
            (length,) = _LENGTH.unpack_from(data, position)
            position += 8 + length
            lengths.append(length)
        if len(lengths) < count or position > end:
            raise self.damaged(f"a string after byte {self.position:,} runs past the end")
        self.position = position
        return lengths

    def tensor(self) -> Tensor:
        """The next line of the table of tensors."""
        name = self.name("tensor")
        dimensions = self.u32()
        if dimensions > MAX_DIMENSIONS:
            raise self.damaged(f"the tensor {name!r} has {dimensions} dimensions")
        shape = tuple(self.u64() for _ in range(dimensions))
        type_id, offset = self.u32(), self.u64()
        if max((*shape, offset)) >= 1 << 63 or math.prod(shape) >= 1 << 63:
            raise self.damaged(f"the tensor {name!r} has an impossible size or place")
        return Tensor(name, shape, type_id, offset)


def _short_lengths(window: bytes) -> NDArray[np.int64]:
    """The lengths of the strings at the start of `window`, up to the first that is not ordinary.

    Ordinary are strings of 1 to 255 bytes: the eight bytes of their length are one that is not zero
    and seven that are. All such places are found at once, and they count as far as each lies where
    the string before it ends; zeros inside a string can therefore mislead nobody.
    """
    raw = np.frombuffer(window, np.uint8)
    zero = raw == 0
    two = zero[:-1] & zero[1:]
    four = two[:-2] & two[2:]
    seven = four[:-3] & four[3:]
    places = np.flatnonzero(seven[1:] & ~zero[:-7])
    lengths = raw[places].astype(np.int64)
    expected = np.concatenate(([0], places + 8 + lengths))[:-1]
    wrong = np.flatnonzero(places != expected)
    return lengths[: wrong[0]] if len(wrong) else lengths
