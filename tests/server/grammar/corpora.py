"""Real source files for the grammars' tests: packages of Debian 12 and npm, unpacked into a cache.

Nothing is installed. A package that can't be had fails the tests that need it, with the reason.
"""

import tarfile
from collections.abc import Iterable
from pathlib import Path

from editors.vscode import build
from tests.fetching import fetched, run

CACHE = "midtoken-corpora"
"""The files' part of the user's cache."""


def fetch_debian(package: str, only: str = "") -> Path:
    """The folder of an unpacked Debian package, in the version that the system's lists have.

    Args:
        package: Its name.
        only: The name of the file that is wanted of a large package; the rest is not kept.
    """

    def unpack(folder: Path) -> None:
        run(["apt-get", "download", package], folder)
        (archive,) = folder.glob("*.deb")
        run(["dpkg-deb", "--extract", str(archive), str(folder)])
        archive.unlink()
        for path in folder.rglob("*") if only else ():
            if path.name != only and (path.is_file() or path.is_symlink()):
                path.unlink()

    return fetched(CACHE, f"debian-{package}", unpack)


def fetch_npm(name: str, version: str) -> Path:
    """The folder of an unpacked npm package, without what it depends on."""

    def unpack(folder: Path) -> None:
        path = build.environment(build.node())["PATH"]
        pack = ["npm", "pack", "--loglevel=error", "--ignore-scripts", f"{name}@{version}"]
        run(pack, folder, PATH=path)
        (archive,) = folder.glob("*.tgz")
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        archive.unlink()

    return fetched(CACHE, f"npm-{name.replace('/', '-')}-{version}", unpack)


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
