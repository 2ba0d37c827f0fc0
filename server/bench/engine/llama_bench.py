"""llama.cpp's own `llama-bench`, run as it is, on the same model with the same settings.

It has to be of the revision that llama-cpp-python has, or the comparison says little; its own word
for that is in the result. `python -m tests.bench.build_llama_bench` compiles it in ten seconds.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from server.bench.engine.loading import Model
from server.bench.engine.throughput import Sizes
from server.engine.llama_load import EngineOptions, usable_cores
from server.errors import EngineError

PATIENCE_S = 1200.0
"""How long it may take."""


def run(program: Path, model: Model, options: EngineOptions, sizes: Sizes) -> dict[str, Any]:
    """Its speeds in tokens a second, mean and standard deviation, as it gives them.

    Raises EngineError if it can't be run, or says something that is not understood.
    """
    size = str(model.loaded.n_ubatch)
    command = [
        *(str(program), "--output", "json", "--model", str(model.path)),
        *("--threads", str(options.threads or usable_cores())),
        *("--batch-size", size, "--ubatch-size", size),
        *("--n-gpu-layers", str(model.engine.info.offloaded_layers)),
        *("--n-prompt", str(sizes.prompt), "--n-gen", str(sizes.written)),
        *("--repetitions", str(sizes.repetitions)),
    ]
    environment = {"OMP_WAIT_POLICY": "passive", **os.environ}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=PATIENCE_S, env=environment
        )
    except subprocess.CalledProcessError as error:
        said = (error.stderr.strip().splitlines() or [f"exit code {error.returncode}"])[-1]
        raise EngineError(f"{program}: could not be run: {said}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"{program}: could not be run: {error}") from error
    return read(done.stdout, program)


def read(output: str, program: Path) -> dict[str, Any]:
    """What matters of its JSON. Raises EngineError if that is not there."""
    try:
        tests = json.loads(output)
        [reading] = [test for test in tests if not test["n_gen"]]
        [writing] = [test for test in tests if not test["n_prompt"]]
        return {
            "build": reading["build_commit"],
            "backends": reading["backends"],
            "reading": {"mean": reading["avg_ts"], "sd": reading["stddev_ts"]},
            "writing": {"mean": writing["avg_ts"], "sd": writing["stddev_ts"]},
        }
    except (ValueError, KeyError, TypeError) as error:
        raise EngineError(
            f"{program}: does not print what llama-bench prints ({error}): name another program"
        ) from error
