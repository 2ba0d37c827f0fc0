"""How fast a model reads and writes on this machine, measured once and remembered.

How much text a prompt may hold depends on how much a machine reads while a person waits. `midtoken
doctor` measures it and writes it down; from then on `budget` knows. What is measured differs a
little every time, and prompts should not: budgets are rounded down to one of a few steps.

    >>> round_budget(97.3 * 2), round_budget(31.0)
    (160, 160)

The memory is one small JSON file beside the cache of tables. It can be deleted at any time; one
that is damaged or cannot be written is no memory, never an error. Two processes that write at the
same moment may lose one of the two entries. What is not here: whether a speed is good enough.
"""

import json
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from server.engine import ROOT, ModelInfo, TokenEngine
from server.engine.table_cache import default_folder

STEPS = (160, 320, 640, 1280, 2400)
"""Prompt budgets in tokens; the last is some 256 lines before the cursor and 64 after it."""
READING_SECONDS = 2.0
"""How long a first prompt may take to read."""

MEASURED_TOKENS = 2048
"""The most tokens that a measurement reads."""
_CPU_CHUNK, _GPU_CHUNK = 64, 256


@dataclass(frozen=True)
class Speed:
    """Tokens a second."""

    prefill: float
    """Reading a prompt."""
    decoding: float
    """Writing, one token after the other."""


def measure(engine: TokenEngine, text: bytes, seconds: float = 2.0) -> Speed:
    """Read some text and write some tokens after it, for about so many seconds in all.

    Args:
        engine: Must have read nothing that starts like `text`, since memory would be reused.
        text: Any text; repeated as needed.
        seconds: Three quarters of it go to reading. One forward pass more is needed to warm up,
            and one may overrun.

    Raises:
        EngineError: The model cannot be run.
        ValueError: The text is empty.
    """
    chunk = _GPU_CHUNK if engine.info.offloaded_layers else _CPU_CHUNK
    # Half the context stays free for the tokens written here, and for what others hold.
    most = max(2, min(MEASURED_TOKENS, engine.info.context_tokens // 2))
    once = engine.encode(text)
    if not once:
        raise ValueError("there is no text to measure with")
    tokens = (once * (most // len(once) + 1))[:most]
    chunk = min(chunk, most // 2)
    slot = engine.open(tokens[:chunk])
    [row] = engine.evaluate(slot, [], [ROOT])
    length, spent, before = chunk, 0.0, engine.evaluated_tokens
    while length < most and spent < 0.75 * seconds:
        # The longer text shares memory with the one before: only the next chunk is read.
        longer = engine.open(tokens[: length + chunk])
        started = perf_counter()
        [row] = engine.evaluate(longer, [], [ROOT])
        spent += perf_counter() - started
        length = len(longer.tokens)
        engine.drop(slot)
        slot = longer
    prefill = (engine.evaluated_tokens - before) / max(spent, 1e-9)

    allowed = engine.vocabulary.text_ids()
    written, spent = 0, 0.0
    while written < min(64, most // 2) and spent < 0.25 * seconds:
        token = int(allowed[np.argmax(row[allowed])])
        started = perf_counter()
        [row] = engine.evaluate(slot, [(ROOT, token)], [0])
        engine.keep(slot, 0)
        spent += perf_counter() - started
        written += 1
    engine.drop(slot)
    return Speed(prefill, written / max(spent, 1e-9))


def remember(info: ModelInfo, threads: int, speed: Speed, file: Path | None = None) -> None:
    """Write a measured speed down, in place of an earlier one."""
    file = file or default_file()
    known = {**_read(file), _key(info, threads): round(speed.prefill, 1)}
    temporary = None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=file.parent, delete=False, encoding="utf-8"
        ) as out:
            temporary = Path(out.name)
            json.dump(known, out, indent=2, sort_keys=True)
        temporary.replace(file)
    except OSError:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def budget(info: ModelInfo, threads: int, file: Path | None = None) -> int | None:
    """The prompt tokens that are read in `READING_SECONDS`, one of `STEPS`.

    Args:
        info: The model, and where it runs.
        threads: CPU threads that it runs with.
        file: Where speeds are remembered; None for the user's cache.

    Returns:
        None if this model was not measured on this device with so many threads.
    """
    prefill = _read(file or default_file()).get(_key(info, threads))
    return None if prefill is None else round_budget(prefill * READING_SECONDS)


def round_budget(tokens: float) -> int:
    """The largest of `STEPS` that is not above a number of tokens, or the smallest of all."""
    return max((step for step in STEPS if step <= tokens), default=STEPS[0])


def default_file() -> Path:
    """`speed.json` in midtoken's cache folder (`MIDTOKEN_HOME` moves it)."""
    return default_folder().parent / "speed.json"


def _key(info: ModelInfo, threads: int) -> str:
    where = f"{info.backend}, {info.offloaded_layers} of {info.layers} layers"
    name = Path(info.path).name + (f" with {Path(info.lora.path).name}" if info.lora else "")
    return f"{name}, {info.size_bytes} bytes, {where}, {threads} threads"


def _read(file: Path) -> dict[str, float]:
    """What is remembered, without entries that are no speeds."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"), parse_int=float)
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        key: value
        for key, value in found.items()
        if isinstance(value, float) and math.isfinite(value) and value > 0
    }
