"""Real source files for the grammars' tests: packages of Debian and npm, unpacked into a cache.

Nothing is installed. A package that cannot be had skips the tests that need it, with the reason.
"""

import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path

import platformdirs
import pytest
from filelock import FileLock

SECONDS = 300
"""The longest that a download may take."""


def fetch_debian(package: str, only: str = "") -> Path:
    """The folder of an unpacked Debian package, in the version that the system's lists have.

    Args:
        package: Its name.
        only: The name of the file that is wanted of a large package; the rest is not kept.
    """

    def unpack(folder: Path) -> None:
        _run(["apt-get", "download", package], folder)
        (archive,) = folder.glob("*.deb")
        _run(["dpkg-deb", "--extract", str(archive), "."], folder)
        archive.unlink()
        for path in folder.rglob("*") if only else ():
            if path.name != only and (path.is_file() or path.is_symlink()):
                path.unlink()

    return _once(f"debian-{package}", unpack)


def fetch_npm(name: str, version: str) -> Path:
    """The folder of an unpacked npm package, without what it depends on."""

    def unpack(folder: Path) -> None:
        _run(["npm", "pack", "--loglevel=error", "--ignore-scripts", f"{name}@{version}"], folder)
        (archive,) = folder.glob("*.tgz")
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        archive.unlink()

    return _once(f"npm-{name.replace('/', '-')}-{version}", unpack)


def sources(folders: Iterable[Path], *endings: str, largest: int = 60_000) -> list[Path]:
    """The files with these endings that are UTF-8, no empty file and none too large, sorted."""
    found = (
        path
        for folder in folders
        for path in folder.rglob("*")
        if path.name.endswith(endings) and path.is_file() and not path.is_symlink()
    )
    return sorted(path for path in found if 0 < path.stat().st_size <= largest and _is_text(path))


def _is_text(path: Path) -> bool:
    """Whether a file is UTF-8 without NUL bytes."""
    try:
        return "\0" not in path.read_bytes().decode()
    except UnicodeDecodeError:
        return False


def _once(name: str, unpack: Callable[[Path], None]) -> Path:
    """A package's folder, whole: it gets its name when everything is in it."""
    cache = platformdirs.user_cache_path("midtoken-corpora", ensure_exists=True)
    folder = cache / name
    with FileLock(cache / f"{name}.lock"):
        if not folder.is_dir():
            unfinished = cache / f"{name}.part"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            unpack(unfinished)
            unfinished.rename(folder)
    return folder


def _run(command: list[str], folder: Path) -> None:
    """Run a command in a folder; one that fails or is missing skips the test."""
    what = " ".join(command)
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is needed for `{what}`")
    try:
        subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"`{what}` took longer than {SECONDS} s")
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout).strip().splitlines()
        pytest.skip(f"`{what}` failed: {said[-1] if said else error.returncode}")
