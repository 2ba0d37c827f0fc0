"""llama.cpp's own server, asked for the same text: what one gets without healing, elsewhere.

It comes as a package from the Python index, for this system, and stays in midtoken's cache folder;
it is not installed. It runs on the CPU in a process of its own, with the same model file.
`/infill` is given the texts of our own unhealed prompt, `/completion` the whole of it, both at
temperature 0. What is not here: judging what it writes.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

from server.bench.heal.fetch import fetch_package
from server.bench.heal.places import Place
from server.bench.heal.prompts import prompt_at
from server.completer import Completer
from server.errors import EngineError

PACKAGE, VERSION = "xllamacpp", "2026.10.11549"
"""Python bindings whose `Server` is that of llama.cpp, build 11549."""
NAME = "llama-server"
LOADING_S = 300.0
ANSWER_S = 300.0

_SERVE = """
import sys
import xllamacpp
model, port, threads = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = model
params.hostnames, params.port = ["127.0.0.1"], int(port)
params.n_ctx, params.n_parallel, params.n_gpu_layers = 4096, 1, 0
params.cpuparams.n_threads = int(threads)
server = xllamacpp.Server(params)
sys.stdin.read()
"""
"""Serves until its standard input ends: it does not outlive whoever started it."""


def fetch() -> Path:
    """The folder of the unpacked package, some 35 MB. Raises DownloadError if it can't be had."""
    return fetch_package(PACKAGE, VERSION)


class LlamaServer:
    """A running server; a context manager that ends it."""

    def __init__(self, package: Path, model: Path, threads: int) -> None:
        """Start it and wait until it has loaded the model. Raises EngineError if it does not."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._address = f"http://127.0.0.1:{port}"
        arguments = [str(model), str(port), str(threads)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVE, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(package)},
        )
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "LlamaServer":
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

    def infill(self, completer: Completer, place: Place, tokens: int, context: int) -> bytes:
        """The first line of what it writes into a hole at the cursor.

        Args:
            completer: Whose unhealed prompt says how much text is given; a model with marks.
            place: The cursor; `rest` is not given.
            tokens: The most to write.
            context: The most tokens of text around the hole.
        """
        before, after = hole_texts(completer, place, context)
        rest = place.after.split(b"\n", 1)[0].decode(errors="replace")
        if not after.startswith(rest):  # brackets that our prompt takes into the hole
            after = rest + after
        line = before.rfind("\n") + 1
        answer = self._ask(
            "/infill",
            {
                "input_prefix": before[:line],
                "prompt": before[line:],
                "input_suffix": after,
                "input_extra": [],
                "n_predict": tokens,
                "temperature": 0,
                "cache_prompt": True,
            },
        )
        return str(answer["content"]).split("\n", 1)[0].encode()

    def complete(self, completer: Completer, place: Place, tokens: int, context: int) -> bytes:
        """What it writes after the cursor to the line's end, given the text before it alone."""
        prompt = prompt_at(completer, place, "left", "cursor", context)
        text = completer.tokenization.vocabulary.decode(prompt.head).decode(errors="replace")
        answer = self._ask(
            "/completion",
            {"prompt": text, "n_predict": tokens, "temperature": 0, "stop": ["\n"]},
        )
        return str(answer["content"]).encode()

    def _wait(self) -> None:
        end = time.monotonic() + LOADING_S
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise EngineError(f"{NAME} ended with code {self._process.returncode}")
            try:
                with urllib.request.urlopen(f"{self._address}/health", timeout=5):  # noqa: S310
                    return
            except OSError:  # not listening yet, or still loading
                time.sleep(0.2)
        raise EngineError(f"{NAME} has not loaded the model within {LOADING_S:.0f} s")

    def _ask(self, path: str, body: dict[str, object]) -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310 (an address of this machine)
            self._address + path,
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:  # noqa: S310
                found: dict[str, Any] = json.load(answer)
        except (OSError, ValueError) as error:
            raise EngineError(f"{NAME} gave no answer to {path}: {error}") from error
        return found


def hole_texts(completer: Completer, place: Place, context: int) -> tuple[str, str]:
    """The texts before and after the hole of our unhealed prompt. EngineError without marks."""
    fim = completer.engine.fim
    if fim is None:
        raise EngineError("this model has no fill-in-the-middle tokens: nothing to compare with")
    head = prompt_at(completer, place, "fim", "cursor", context).head
    found = []
    for mark in (fim.prefix, fim.suffix):
        start = head.index(mark) + 1
        ends = [at for at in range(start, len(head)) if head[at] in fim.marks]
        tokens = head[start : ends[0] if ends else len(head)]
        found.append(completer.tokenization.vocabulary.decode(tokens).decode(errors="replace"))
    return found[0], found[1]
