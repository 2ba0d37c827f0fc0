"""The packages import each other in one direction only."""

import subprocess
import sys
from pathlib import Path


def test_contracts():
    """The contracts in `pyproject.toml` are kept: healing knows no server, requests flow down."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


def test_light_command():
    """Help and usage errors do not wait for the model's libraries."""
    code = "import sys, server.cli; print(*{'llama_cpp', 'numpy', 'tokenizers'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []
