"""A context of llama.cpp for a loaded model: the memory for its texts, as large as can be had.

Where there is no memory for as much as was asked for, half of it is tried, and again: a model with
a smaller memory is better than none. That is done on a CPU only; a GPU without room is a reason to
use fewer of its layers, or none (`llama_load`).

What is not here: what is in the memory (`llama_memory`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from server.engine.llama_library import Pointer, collected_log, last_error, load_library
from server.engine.llama_room import check_room
from server.errors import EngineError

LEAST_TOKENS = 512
"""No smaller context is taken unless it is asked for: less holds hardly a prompt and its answer."""

SPARED = 0.5
"""The part of the free memory that a context leaves free which nobody has asked for in this size:
one that takes all would have the system end some process."""

_FLASH_ATTENTION = {"auto": -1, "off": 0, "on": 1}


@dataclass(frozen=True)
class Wish:
    """What a context should be like."""

    tokens: int
    ubatch: int
    """Tokens of one forward pass, at most."""
    sequences: int
    threads: int
    flash_attn: str
    grows: bool
    """Whether its memory grows with its tokens."""
    offloaded: int
    """Layers on a GPU."""


@dataclass(frozen=True)
class Context:
    """A context, and what came of the wish."""

    pointer: Pointer
    ubatch: int
    note: str | None
    """A sentence for people if it is smaller than it should be."""


def make_context(path: Path, model: Pointer, wish: Wish) -> Context:
    """A context for the model of a file. Raises EngineError if there is no memory for any."""
    refusal = None
    for tokens in _sizes(wish):
        try:
            context = _make(path, model, wish, tokens)
        except EngineError as error:
            refusal = refusal or error
            continue
        note = None
        if tokens < wish.tokens:
            note = f"no memory for a context of {wish.tokens:,} tokens: it has {tokens:,}"
        return Context(context, min(wish.ubatch, tokens), note)
    assert refusal is not None
    raise refusal


def _sizes(wish: Wish) -> Iterator[int]:
    """Tokens to try, in their order."""
    yield wish.tokens
    tokens = wish.tokens // 2
    while wish.grows and not wish.offloaded and tokens >= LEAST_TOKENS:
        yield tokens
        tokens //= 2


def _make(path: Path, model: Pointer, wish: Wish, tokens: int) -> Pointer:
    library = load_library()
    if wish.grows:
        spared = SPARED if tokens < wish.tokens else 0.0
        check_room(model, tokens, wish.offloaded, spared)
    ubatch = min(wish.ubatch, tokens)
    params = library.llama_context_default_params()
    params.n_ctx = tokens
    params.n_batch = params.n_ubatch = ubatch
    params.n_seq_max = wish.sequences
    params.n_outputs_max = max(ubatch, wish.sequences)  # llama.cpp demands a row for each sequence
    params.n_threads = params.n_threads_batch = wish.threads
    params.flash_attn_type = _FLASH_ATTENTION[wish.flash_attn]
    params.kv_unified = True
    # Sliding-window layers with a cache of full size can be cut like any other.
    params.swa_full = True
    params.no_perf = True
    with collected_log() as said:
        context: Pointer = library.llama_init_from_model(model, params) or 0
    if not context:
        raise EngineError(
            f"{path}: no memory for a context of {tokens:,} tokens ({last_error(said)}); "
            f"choose a smaller context size{' or fewer GPU layers' if wish.offloaded else ''}"
        )
    return context
