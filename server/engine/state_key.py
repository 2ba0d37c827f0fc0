"""All that a saved state of a model depends on beside its text, as one key.

A state is good only for the weights that it was computed with, run by the same library on the same
device in the same way. Weights are told apart by their file's size and time, the block at its
start, and samples of the rest: reading gigabytes to be quite sure would cost more than a state
saves. Whatever else changes the meaning of a state is in `FORMAT`.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from server.engine import ModelInfo
from server.engine.llama_library import load_library
from server.engine.loaded_files import LoadedFile, as_they_are

FORMAT = 1
"""Raised when states of earlier versions are of no use: another layout, other types of cells
(16-bit floats), other ways to fill them (one unified cache, sliding windows kept whole)."""

HEAD_BYTES = 1 << 16
SAMPLES, SAMPLE_BYTES = 64, 4096


def state_key(info: ModelInfo, files: Sequence[LoadedFile], flash_attn: str) -> str:
    """The key in 64 hexadecimal digits.

    Args:
        info: The loaded model; says where it runs, and with which adapter.
        files: Its files as they were when they were loaded.
        flash_attn: The option.

    Raises:
        OSError: A file can't be read.
    """
    adapter: list[object] = []
    if info.lora is not None:
        adapter = [_sampled(as_they_are([Path(info.lora.path)])[0]), info.lora.scale]
    known = [
        FORMAT,
        _build(),
        [_sampled(file) for file in files],
        adapter,
        [info.backend, info.offloaded_layers, flash_attn],
    ]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()


def _build() -> list[object]:
    """The library: its version, what it was compiled for, and which file it is."""
    from llama_cpp import __version__

    library = load_library()
    status = Path(library._lib._name).stat()
    said = library.llama_print_system_info().decode("utf-8", "replace")
    return [__version__, said, status.st_size, status.st_mtime_ns]


def _sampled(file: LoadedFile) -> list[object]:
    """A file's size, the time of its last change, and a hash of its start and of samples."""
    size, changed, _ = file.version
    found = hashlib.sha256()
    with file.path.open("rb") as opened:
        found.update(opened.read(HEAD_BYTES))
        for sample in range(SAMPLES):
            opened.seek(size * sample // SAMPLES)
            found.update(opened.read(SAMPLE_BYTES))
    return [size, changed, found.hexdigest()]
