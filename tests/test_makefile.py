"""The Makefile, where it says something before anything is installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.server.command import REPOSITORY

OLD_PYTHON = f"""#!{sys.executable}
import sys
sys.version_info = (3, 10, 13)
exec(sys.argv[2])
"""
"""A Python that runs the text after `-c` and passes for an old one."""


def test_an_old_python_is_told_of(tmp_path: Path):
    """In words, and no environment is made with it."""
    for name in ("Makefile", "pyproject.toml", "requirements.txt"):
        shutil.copy(REPOSITORY / name, tmp_path)
    python = tmp_path / "python"
    python.write_text(OLD_PYTHON)
    python.chmod(0o755)

    made = subprocess.run(
        ["make", "demo", "PYTHON=./python"],
        cwd=tmp_path,
        # Not what a make above these tests was told.
        env={name: value for name, value in os.environ.items() if name != "MAKEFLAGS"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert made.stderr.startswith("midtoken needs Python 3.11 or later, and ./python is older: ")
    assert made.returncode == 2
    assert not (tmp_path / ".venv").exists()
