"""Compiles llama.cpp's own `llama-bench` against the library that llama-cpp-python has installed.

    python -m tests.bench.build_llama_bench PATH

writes the program to PATH, for `midtoken bench engine --llama-bench PATH`. Its source comes out of
llama-cpp-python's source archive of the same version, which pip fetches (75 MB), and all that it
needs beside that is installed with the package: with a C++ compiler it takes some ten seconds.
"""

import os
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path


def main() -> None:
    """Fetch, unpack, compile."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as scratch:
        compile_to(Path(sys.argv[1]).absolute(), unpacked(Path(scratch)))


def unpacked(folder: Path) -> Path:
    """The source of llama.cpp, in a folder."""
    release = version("llama-cpp-python")
    package = ["--no-deps", "--no-binary", "llama-cpp-python", f"llama-cpp-python=={release}"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(folder), *package]
    subprocess.run(command, check=True)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.glob("*/vendor/llama.cpp"))


def compile_to(program: Path, source: Path) -> None:
    """Compile the program, to be run with the installed library."""
    library = Path(sysconfig.get_path("platlib")) / "lib"
    folders = ("common", "include", "ggml/include", "vendor")
    files = (source / "tools/llama-bench" / name for name in ("llama-bench.cpp", "main.cpp"))
    command = [
        *(os.environ.get("CXX", "c++"), "-O2", "-std=c++17", "-DNDEBUG"),
        *(f"-I{source / folder}" for folder in folders),
        *map(str, files),
        *(f"-L{library}", "-lllama-common", "-lllama", "-lggml", "-lggml-base", "-lpthread"),
        *(f"-Wl,-rpath,{library}", "-o", str(program)),
    ]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
