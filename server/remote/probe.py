"""How fast an engine elsewhere reads: asked once, and remembered like the speed of a model here.

How much text a prompt holds depends on it (`server.speed`). An engine on a GPU reads a whole window
at once; one on a CPU would be asked for half a minute's work with each. What it reads is new to it,
as most engines remember the beginnings of prompts.
"""

import random
from contextlib import closing
from pathlib import Path
from time import perf_counter

from server.remote.apis import Ask
from server.remote.engine import RemoteEngine
from server.speed import GPU_PREFILL, Reading, remember, remembered

TOKENS = 128
"""Enough to tell a CPU from a GPU, and read by a CPU in a second or two."""

PROBE_TOKENS = 1
"""Written after them: the first is there when all are read."""

THREADS = 0
"""Of the engine; nobody knows."""


def reading_of(engine: RemoteEngine) -> Reading:
    """What is known of an engine's speed; it is measured if nothing is.

    Raises RemoteError or Cancelled as `RemoteEngine.write` does.
    """
    info = engine.info
    prefill = remembered(info, THREADS)
    if prefill is None:
        prefill = measured(engine)
        remember(info, THREADS, prefill)
    return Reading(prefill, GPU_PREFILL, lambda news: remember(info, THREADS, news))


def measured(engine: RemoteEngine) -> float:
    """Tokens that an engine reads in a second: less than it could, as its answer travels, too."""
    lines = Path(__file__).read_bytes().splitlines(keepends=True)
    random.SystemRandom().shuffle(lines)
    tokens = tuple(engine.encode(b"".join(lines))[:TOKENS])
    started = perf_counter()
    with closing(engine.write(Ask(tokens, max_tokens=PROBE_TOKENS))) as pieces:  # type: ignore[type-var]
        next(pieces, None)
    return len(tokens) / max(perf_counter() - started, 1e-9)
