"""A process that only tries: loads llama.cpp and maybe a model, computes a little, and ends.

A build for another processor, or a broken driver, ends the whole process; that is to be this one,
not the one that tells people about it (`first_run`). The exit code is 0 if all went well, and 1 for
what raises errors; those are found, and told, once more by whoever asked.
"""

import json
import sys
from pathlib import Path

from server.engine import ROOT, Lora
from server.engine.llama import load
from server.engine.llama_library import load_library
from server.engine.llama_load import EngineOptions
from server.errors import MidtokenError

TEXT = b"def fahrenheit(celsius):\n    return celsius * 9 / 5 + 32\n\n\n" * 2
"""Enough tokens for the code that reads prompts, which is other code than the one that writes."""


def main(arguments: list[str]) -> None:
    """Try the library, and with `PATH OPTIONS` (JSON of `EngineOptions`) a model as well."""
    try:
        load_library()
        if arguments:
            path, options = arguments
            _try_model(Path(path), _options(json.loads(options)))
    except MidtokenError:
        sys.exit(1)


def _options(values: dict[str, object]) -> EngineOptions:
    lora = values.pop("lora")
    shares = values.pop("tensor_split")
    return EngineOptions(
        **values,  # type: ignore[arg-type]
        lora=Lora(**lora) if isinstance(lora, dict) else None,
        tensor_split=tuple(shares) if isinstance(shares, list) else (),
    )


def _try_model(path: Path, options: EngineOptions) -> None:
    with load(path, options) as engine:
        tokens = engine.encode(TEXT)[: engine.info.context_tokens // 2]
        slot = engine.open(tokens)
        engine.evaluate(slot, [], [ROOT])
        engine.evaluate(slot, [(ROOT, tokens[0])], [0])


if __name__ == "__main__":
    main(sys.argv[1:])
