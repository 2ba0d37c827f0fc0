"""llama.cpp's own server as a process: what other editors' plugins ask.

It comes as a package from the Python index, for this system, and stays in midtoken's cache folder;
it is not installed. It runs on the CPU in a process of its own. What is not here: what it is asked.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from server.bench.fetch import fetch_package
from server.errors import EngineError

PACKAGE, VERSION = "xllamacpp", "2026.10.11549"
"""Python bindings whose `Server` is that of llama.cpp, build 11549."""
NAME = "llama-server"
LOADING_S = 300.0
ANSWER_S = 300.0

_SERVE = """
import json, sys
import xllamacpp
params = xllamacpp.CommonParams()
for name, value in json.loads(sys.argv[1]).items():
    *path, last = name.split(".")
    part = params
    for step in path:
        part = getattr(part, step)
    setattr(part, last, value)
server = xllamacpp.Server(params)
sys.stdin.read()
"""
"""Serves until its standard input ends: it does not outlive whoever started it."""


def fetch() -> Path:
    """The folder of the unpacked package, some 35 MB. Raises DownloadError if it can't be had."""
    return fetch_package(PACKAGE, VERSION)


class LlamaProcess:
    """A running server; a context manager that ends it."""

    def __init__(
        self,
        package: Path,
        model: Path,
        threads: int,
        parameters: Mapping[str, object] = {"n_ctx": 4096},
    ) -> None:
        """Start it and wait until it has loaded the model.

        Args:
            package: What `fetch` gives.
            model: The model's file.
            threads: How many threads compute.
            parameters: What llama.cpp calls `common_params`, by name.

        Raises:
            EngineError: It does not start.
        """
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        given = {
            "model.path": str(model),
            "hostnames": ["127.0.0.1"],
            "port": port,
            "n_parallel": 1,
            "n_gpu_layers": 0,
            "cpuparams.n_threads": threads,
            **parameters,
        }
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVE, json.dumps(given)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Idle OpenMP threads sleep, as those of our own server do.
            env={"OMP_WAIT_POLICY": "passive", **os.environ, "PYTHONPATH": str(package)},
        )
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    @property
    def process_id(self) -> int:
        """The process."""
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _wait(self) -> None:
        end = time.monotonic() + LOADING_S
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise EngineError(f"{NAME} ended with code {self._process.returncode}")
            try:
                with urllib.request.urlopen(f"{self.address}/health", timeout=5):  # noqa: S310
                    return
            except OSError:  # not listening yet, or still loading
                time.sleep(0.2)
        raise EngineError(f"{NAME} has not loaded the model within {LOADING_S:.0f} s")


def post(address: str, path: str, body: Mapping[str, object]) -> dict[str, Any]:
    """Ask a server for something. Raises EngineError if no answer comes."""
    request = urllib.request.Request(  # noqa: S310 (an address of this machine)
        address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:  # noqa: S310
            found: dict[str, Any] = json.load(answer)
    except (OSError, ValueError) as error:
        raise EngineError(f"{NAME} gave no answer to {path}: {error}") from error
    return found
