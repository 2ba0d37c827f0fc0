"""Splits a GGUF model into several files, as llama.cpp's `gguf-split` does.

Example::

    first = split_model(write_tiny_model(tmp_path / "tiny.gguf"), tensors=5)
    first.name                                           # tiny-00001-of-00005.gguf
"""

import struct
from pathlib import Path

from server.engine.gguf import DEFAULT_ALIGNMENT, Metadata, read_metadata
from server.engine.gguf_reader import Tensor

UINT16, INT32 = 2, 5


def split_model(path: Path, tensors: int, *, bare_first: bool = False) -> Path:
    """Write the files of a model beside it, and return the first one's path.

    Args:
        path: The model, in one file without `general.alignment`.
        tensors: The most tensors of a file.
        bare_first: Whether the first file holds metadata alone (`--no-tensor-first-split`).
    """
    metadata = read_metadata(path)
    groups = [
        metadata.tensors[start : start + tensors]
        for start in range(0, len(metadata.tensors), tensors)
    ]
    if bare_first:
        groups.insert(0, ())
    names = [
        path.with_name(f"{path.stem}-{number:05}-of-{len(groups):05}.gguf")
        for number in range(1, len(groups) + 1)
    ]
    for number, (name, group) in enumerate(zip(names, groups, strict=True)):
        keys = [
            _key("split.no", UINT16, struct.pack("<H", number)),
            _key("split.count", UINT16, struct.pack("<H", len(groups))),
            _key("split.tensors.count", INT32, struct.pack("<i", len(metadata.tensors))),
        ]
        # All keys of the model are in the first file: what follows its magic, version and counts.
        own = metadata.block[24:] if number == 0 else b""
        count = len(metadata.values) * (number == 0) + len(keys)
        head = struct.pack("<4sIQQ", b"GGUF", 3, len(group), count) + own + b"".join(keys)
        name.write_bytes(head + _tensors(metadata, group, len(head)))
    return names[0]


def _key(name: str, kind: int, value: bytes) -> bytes:
    return struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", kind) + value


def _tensors(metadata: Metadata, group: tuple[Tensor, ...], start: int) -> bytes:
    """The table of some tensors and, aligned, their bytes; it begins at byte `start` of a file."""
    whole = metadata.path.read_bytes()
    table, body = b"", b""
    for tensor in group:
        name, size = tensor.name.encode(), tensor.size_bytes or 0
        table += struct.pack("<Q", len(name)) + name
        table += struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
        table += struct.pack("<IQ", tensor.type_id, len(body))
        at = metadata.tensors_start + tensor.offset
        body += whole[at : at + size] + bytes(-size % DEFAULT_ALIGNMENT)
    return table + bytes(-(start + len(table)) % DEFAULT_ALIGNMENT) + body
