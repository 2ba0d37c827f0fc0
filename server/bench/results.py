"""The results of a benchmark on the disk: one JSON object a line, so that a later run goes on.

A run is known by a hash of what decides its figures: the model's content, the seed, the budget of
the prompts, the versions of this program and of the interpreter (whose library is the text). The
first line of a run says all that, and on which machine it was made; its other lines are results.
Several runs may be in one file; a result that is there is not made again.

What is not here: what results mean (`command`).
"""

import hashlib
import json
import os
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from server import __version__
from server.engine.llama_library import load_library
from server.errors import DocumentError, EngineError
from server.models.files import sha256_of

FORMAT = 1
"""Of the results; another number for another meaning."""

Key = tuple[str, str, int]
"""Task, group and number."""


def run_settings(name: str, model: Path, seed: int, context_tokens: int) -> dict[str, Any]:
    """All that decides the figures of a run, JSON-ready.

    Args:
        name: The model as it was asked for: a name or a path.
        model: Its file.
        seed: Of what is chosen.
        context_tokens: The most tokens of text in a prompt.
    """
    return {
        "format": FORMAT,
        "model": name if "/" not in name else model.name,
        "model_sha256": sha256_of(model),
        "seed": seed,
        "context_tokens": context_tokens,
        "midtoken": __version__,
        "python": platform.python_version(),
    }


@dataclass
class Results:
    """One run's results, in memory and on the disk."""

    path: Path
    run: str
    found: dict[Key, dict[str, Any]] = field(default_factory=dict)

    @staticmethod
    def open(path: Path, settings: Mapping[str, object]) -> "Results":
        """Read what a file has of a run, and begin the run in it if it has nothing.

        Raises DocumentError for a file with lines that are not results. A last line that was cut
        off, as when a machine is switched off, is left out.
        """
        written = json.dumps(settings, sort_keys=True)
        results = Results(path, hashlib.sha256(written.encode()).hexdigest()[:12])
        begun = False
        for record in _records(path):
            if record["run"] != results.run:
                continue
            begun = begun or "settings" in record
            if "result" in record:
                key = (record["task"], record["group"], record["index"])
                results.found[key] = record["result"]
        if not begun:
            started = datetime.now(UTC).isoformat(timespec="seconds")
            results._write({"started": started, "settings": dict(settings), "machine": machine()})
        return results

    def add(self, key: Key, result: dict[str, Any]) -> None:
        """Remember a result."""
        self.found[key] = result
        task, group, index = key
        self._write({"task": task, "group": group, "index": index, "result": result})

    def of(self, task: str) -> dict[str, list[dict[str, Any]]]:
        """The results of a task by group, in the order of their numbers; groups as they began."""
        groups: dict[str, list[dict[str, Any]]] = {}
        for (of_task, group, _), result in sorted(self.found.items(), key=lambda item: item[0][2]):
            if of_task == task:
                groups.setdefault(group, []).append(result)
        return groups

    def _write(self, record: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"run": self.run, **record}, ensure_ascii=False) + "\n")


def _records(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    text = path.read_bytes()
    whole, _, torn = text.rpartition(b"\n")
    if torn:
        path.write_bytes(text[: len(text) - len(torn)])
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            record = json.loads(line)
            if "run" not in record:
                raise ValueError("no run")
        except (ValueError, TypeError) as error:
            raise DocumentError(
                f"{path}, line {number}: no result of this benchmark: name another folder"
            ) from error
        yield record


def machine() -> dict[str, object]:
    """What a reader of figures wants to know of where they were made."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "llama_cpp_python": version("llama-cpp-python"),
        "llama_cpp_features": _features(),
    }


def _features() -> list[str]:
    """What llama.cpp was built to use, as AVX2; empty where it can't be loaded.

    Builds for any machine and for this very one differ more than processors do.
    """
    try:
        said = load_library().llama_print_system_info()
    except EngineError:
        return []
    return re.findall(r"(\w+) = 1\b", (said or b"").decode(errors="replace"))


def processor() -> str:
    """The processor's name, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
