"""Whether llama.cpp and a model run on this machine at all, tried in a process of their own."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from server.doctor.build import REBUILD
from server.doctor.finding import Finding
from server.engine.llama_load import EngineOptions

PATIENCE_SECONDS = 300.0
"""Loading a large model from a slow disk takes minutes."""
_WINDOWS_ENDS = {0xC000001D: "SIGILL", 0xC0000005: "SIGSEGV"}
_MEANINGS = {
    "SIGILL": ("an instruction that this processor does not have, or forbids", REBUILD),
    "SIGSEGV": ("a fault in its memory", "try `--gpu-layers 0`; if that helps, look at the driver"),
    "SIGABRT": (
        "a failed check of its own",
        "`midtoken --verbose complete …` shows its last words",
    ),
    "SIGKILL": ("the system, which is short of memory", "choose a smaller model or --context-size"),
}

_CODE = (
    "import sys; sys.path[:] = {path!r}; from server.doctor.probe import main; main(sys.argv[1:])"
)


def check_first_run(name: str, model: Path | None, options: EngineOptions) -> Iterator[Finding]:
    """Nothing if all is well, or if errors are to be expected; else what ended the process.

    Args:
        name: What is tried, for people.
        model: A model file; None for the library alone.
        options: How to run the model.
    """
    arguments = []
    if model is not None:
        values = {key: value for key, value in asdict(options).items() if key != "on_progress"}
        arguments = [str(model), json.dumps(values)]
    try:
        code = _run(arguments)
    except subprocess.TimeoutExpired:
        yield Finding(
            "problem",
            name,
            f"did not end within {PATIENCE_SECONDS:.0f} seconds",
            "try `--gpu-layers 0`, or a smaller model",
            {"ended_by": "timeout"},
        )
        return
    ended_by = _WINDOWS_ENDS.get(code & 0xFFFFFFFF)
    if code < 0 and sys.platform != "win32":
        ended_by = signal.Signals(-code).name
    if ended_by is not None:
        what, remedy = _MEANINGS.get(ended_by, ("the system", "run this again"))
        found = f"llama.cpp was ended by {what} ({ended_by})"
        yield Finding("problem", name, found, remedy, {"ended_by": ended_by})


def _run(arguments: list[str]) -> int:
    """The exit code of the process that tries."""
    # Our own search path, and -P: the folder that we were started in may be anyone's.
    command = [sys.executable, "-P", "-c", _CODE.format(path=sys.path), *arguments]
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=PATIENCE_SECONDS,
        check=False,
    ).returncode
