"""What tests fetch once: programs and files, each in a folder of the user's cache.

What can't be had fails the tests that need it, in one line with what to do. Nothing is skipped.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import platformdirs
import pytest
from filelock import FileLock

SECONDS = 600
"""The longest that a command may take."""


def fetched(cache: str, name: str, fetch: Callable[[Path], None]) -> Path:
    """A folder that `fetch` fills once; it gets its name only when everything is in it.

    Args:
        cache: The folder of the user's cache that it belongs to.
        name: Its name there.
        fetch: Fills the empty folder that it is called with.
    """
    place = platformdirs.user_cache_path(cache, ensure_exists=True)
    folder = place / name
    with FileLock(place / f"{name}.lock"):
        if not folder.is_dir():
            unfinished = place / f"{name}.part"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            fetch(unfinished)
            unfinished.rename(folder)
    return folder


def run(command: list[str], folder: Path | None = None, **environment: str) -> str:
    """What a command prints; one that fails or is missing fails the test.

    Args:
        command: A program and its arguments.
        folder: Where it runs.
        environment: Variables that it gets beside those of the tests.
    """
    what = shlex.join(command)
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            text=True,
            timeout=SECONDS,
        )
    except FileNotFoundError:
        pytest.fail(f"{command[0]} is needed on the PATH, for `{what}`", pytrace=False)
    except subprocess.TimeoutExpired:
        pytest.fail(f"`{what}` took longer than {SECONDS} s", pytrace=False)
    if done.returncode:
        said = " | ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
        ask = "are the package indexes in reach, and Debian's lists new (apt-get update)?"
        pytest.fail(f"`{what}` failed; {ask} {said}", pytrace=False)
    return done.stdout
