"""Running the `midtoken` command in tests: in this process, or as a process of its own."""

import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from server.cli import main

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Result:
    """What a run of the command left."""

    code: int
    out: bytes
    err: str

    @property
    def error(self) -> str:
        """What the command complained of; it must have printed nothing else at all."""
        assert self.out == b""
        assert self.err.startswith("midtoken: ")
        assert self.err.count("\n") == 1
        assert self.err.endswith("\n")
        return self.err.removeprefix("midtoken: ").rstrip("\n")


def run_here(
    capture: pytest.CaptureFixture[bytes],
    patch: pytest.MonkeyPatch,
    *arguments: object,
    stdin: bytes = b"",
) -> Result:
    """Run the command in this process."""
    patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
    capture.readouterr()
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    out, err = capture.readouterr()
    return Result(int(end.value.code), out, err.decode())


def start(*arguments: object, module: str = "server.cli", **options: object) -> subprocess.Popen:
    """Start the command as a process; stdin, stdout and stderr are pipes unless told."""
    options = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | options
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)} | options.pop("env", {})
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, **options)


def run_process(*arguments: object, stdin: bytes = b"", **options: object) -> Result:
    """Run the command as a process to its end."""
    process = start(*arguments, **options)
    out, err = process.communicate(stdin, timeout=120)
    return Result(process.returncode, out or b"", (err or b"").decode())
