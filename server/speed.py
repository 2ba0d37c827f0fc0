"""How fast a model reads and writes on this machine: measured, learned as it reads, remembered.

How much text a prompt may hold depends on how much a machine reads while a person waits. `midtoken
doctor` measures it; a server learns it from the prompts that it reads (`Reading`). Both write it
down. What is measured differs a little every time, and prompts should not: budgets are rounded down
to one of a few steps, and a speed is taken back only for one that differs a lot.

    >>> round_budget(97.3 * 2), round_budget(31.0)
    (160, 80)

The memory is one small JSON file beside the cache of tables. It can be deleted at any time; one
that is damaged or cannot be written is no memory, never an error. Two processes that write at the
same moment may lose one of the two entries. What is not here: whether a speed is good enough.
"""

import json
import math
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from server.engine import ROOT, ModelInfo, TokenEngine
from server.engine.table_cache import default_folder
from server.private_files import delete_unfinished, write_private

STEPS = (80, 160, 320, 640, 1280, 2400)
"""Prompt budgets in tokens: some ten lines of code, with which suggestions begin to make sense, to
some 256."""
READING_SECONDS = 2.0
"""How long a first prompt may take to read, where nobody says otherwise."""

CPU_PREFILL, GPU_PREFILL = 80.0, 1200.0
"""Tokens a second of a device that was not measured: what two quiet cores read with a small model,
and what is enough for the largest of `STEPS`."""

LEAST_READ = 32
"""Fewer tokens than this are read in a time that says little of many."""
SAMPLES = 9
"""Times that are kept; their median counts, and a few that others disturbed do not."""
LEAST_SAMPLES = 3
NEWS = 0.25
"""A speed that differs by less than this part of it is the same speed."""

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


class Reading:
    """The speed at which one loaded model reads, learned from what it reads."""

    def __init__(
        self, prefill: float | None, usual: float, write: Callable[[float], None] = lambda _: None
    ) -> None:
        """Begin with what is known.

        Args:
            prefill: Tokens a second as remembered; None if they never were measured.
            usual: What counts until then.
            write: Is given a speed that is news.
        """
        self.is_known = prefill is not None
        """Whether it was measured, now or earlier."""
        self._prefill = usual if prefill is None else prefill
        self._samples: deque[float] = deque(maxlen=SAMPLES)
        self._write = write

    def saw(self, tokens: int, seconds: float) -> None:
        """So many tokens have been read in one go in so many seconds."""
        if tokens < LEAST_READ or seconds <= 0:
            return
        self._samples.append(tokens / seconds)
        speed = median(self._samples)
        same = self.is_known and abs(speed / self._prefill - 1) < NEWS
        if len(self._samples) >= LEAST_SAMPLES and not same:
            self.is_known, self._prefill = True, speed
            self._write(speed)

    def tokens_in(self, seconds: float) -> float:
        """How many tokens are read in a time."""
        return self._prefill * seconds


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


def remember(info: ModelInfo, threads: int, prefill: float, file: Path | None = None) -> None:
    """Write a measured speed of reading down, in place of an earlier one."""
    file = file or default_file()
    known = {**_read(file), _key(info, threads): round(prefill, 1)}
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        delete_unfinished(file.parent)
        write_private(file, json.dumps(known, indent=2, sort_keys=True).encode())


def remembered(info: ModelInfo, threads: int, file: Path | None = None) -> float | None:
    """The tokens a second that a model was seen to read.

    Args:
        info: The model, and where it runs.
        threads: CPU threads that it runs with.
        file: Where speeds are remembered; None for the user's cache.

    Returns:
        None if this model was not measured on this device with so many threads.
    """
    return _read(file or default_file()).get(_key(info, threads))


def reading_of(info: ModelInfo, threads: int) -> Reading:
    """What is known of a loaded model; news are remembered."""
    return Reading(
        remembered(info, threads),
        GPU_PREFILL if info.offloaded_layers else CPU_PREFILL,
        lambda prefill: remember(info, threads, prefill),
    )


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
