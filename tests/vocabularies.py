"""Vocabularies of real models, without the models: llama.cpp carries some for its own tests.

They are in the source archive of llama-cpp-python, which pip fetches once (75 MB) from wherever it
is set up to fetch packages; the files (72 MB) are kept in the user's cache folder. Example::

    for name, path in vocabularies().items():
        tables = load_tables(path)

`python -m tests.vocabularies` lists them. What is not here: tensors; these files load with
`vocab_only` alone (`vocabulary_only`).
"""

import ctypes
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import platformdirs

from server.engine.gguf import read_metadata
from server.engine.llama_library import load_library, no_blank_before_texts

# fmt: off
BYTE_LEVEL = (
    "aquila", "command-r", "deepseek-coder", "deepseek-llm", "falcon", "gpt-2", "gpt-neox",
    "llama-bpe", "mpt", "qwen2", "qwen35", "refact", "starcoder",
)
# fmt: on
"""The ones whose tokens are merged from bytes."""
PLAIN = ("baichuan", "bert-bge", "gemma-4", "llama-spm", "nomic-bert-moe", "phi-3")
"""All others: SentencePiece, unigram, WordPiece, and Gemma's merges of characters."""


@cache
def vocabularies() -> dict[str, Path]:
    """Name to file, sorted by name: `qwen2`, `llama-bpe`, `starcoder`, `gemma-4` and others.

    Raises RuntimeError if pip cannot fetch the archive.
    """
    release = version("llama-cpp-python")
    folder = platformdirs.user_cache_path("midtoken") / "vocabularies" / release
    if not folder.is_dir():
        _fetch(release, folder)
    prefix = "ggml-vocab-"
    return {path.stem.removeprefix(prefix): path for path in sorted(folder.glob(f"{prefix}*.gguf"))}


@contextmanager
def vocabulary_only(path: Path) -> Iterator[Any]:
    """The `llama_vocab` in a file, as the engine has it, without the tensors."""
    library = load_library()
    params = library.llama_model_default_params()
    params.vocab_only = True
    overrides = no_blank_before_texts()
    params.kv_overrides = ctypes.cast(overrides, type(params.kv_overrides))
    model = library.llama_model_load_from_file(str(path).encode(), params)
    if not model:
        raise RuntimeError(f"llama.cpp does not load the vocabulary in {path}")
    try:
        yield library.llama_model_get_vocab(model)
    finally:
        library.llama_model_free(model)


def _fetch(release: str, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        # Only `pip download` honours all of the user's settings. It asks the archive for its
        # metadata and installs the build tools for that in a place of its own; nothing is compiled.
        package = ["--no-deps", "--no-binary", "llama-cpp-python", f"llama-cpp-python=={release}"]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", scratch, *package]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"pip cannot fetch llama-cpp-python {release}:\n{done.stderr}")
        unpacked = Path(scratch) / "unpacked"
        unpacked.mkdir()
        with tarfile.open(next(Path(scratch).glob("*.tar.gz"))) as archive:
            for member in archive:
                name = Path(member.name).name
                if member.isfile() and name.startswith("ggml-vocab-") and name.endswith(".gguf"):
                    source = archive.extractfile(member)
                    assert source is not None
                    with source, (unpacked / name).open("wb") as target:
                        shutil.copyfileobj(source, target)
        try:
            unpacked.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another run of the tests was quicker
                raise


def main() -> None:
    """Print what there is."""
    print(f"{'name':16} {'model':7} {'pretokenizer':15} {'tokens':>7} {'merges':>7} {'MB':>5}  FIM")
    for name, path in vocabularies().items():
        metadata = read_metadata(path)
        merges = "tokenizer.ggml.merges"
        count = len(metadata.packed_strings(merges)) if merges in metadata else 0
        with vocabulary_only(path) as vocabulary:
            marks = [
                getattr(load_library(), f"llama_vocab_fim_{mark}")(vocabulary)
                for mark in ("pre", "suf", "mid", "pad", "rep", "sep")
            ]
        print(
            f"{name:16} {metadata.text('tokenizer.ggml.model'):7}"
            f" {metadata.text('tokenizer.ggml.pre', '(none)'):15}"
            f" {len(metadata.packed_strings('tokenizer.ggml.tokens')):7} {count:7}"
            f" {path.stat().st_size / 1e6:5.1f}  {marks if max(marks[:3]) >= 0 else '-'}"
        )


if __name__ == "__main__":
    main()
