"""Changes single values in the metadata of a GGUF file, for models that say nonsense.

Example::

    path = patched(write_tiny_model(tmp_path / "tiny.gguf"), "llama.block_count", 0)
"""

import struct
from pathlib import Path

FORMATS = {0: "B", 1: "b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "?", 10: "<Q", 11: "<q"}
"""Of plain numbers, by their type in the file."""


def patched(path: Path, key: str, value: float) -> Path:
    """Overwrite the number of a key, in the type that it has; returns the path."""
    data = bytearray(path.read_bytes())
    name = struct.pack("<Q", len(key)) + key.encode()
    at = data.index(name) + len(name)
    (kind,) = struct.unpack_from("<I", data, at)
    struct.pack_into(FORMATS[kind], data, at + 4, value)
    path.write_bytes(data)
    return path
