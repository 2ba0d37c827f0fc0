"""Whether the memory holds a context, found out before it is asked for.

The system grants more memory than there is and ends the process in its use, and a driver may do the
same: what can't fit is refused here, in one line. It counts keys and values, the part that grows
with the context; what is a little too large is left to llama.cpp, which can say no itself.

What is not here: the weights (`llama_load`), and recurrent models, whose memory does not grow.
"""

import re
from pathlib import Path

from server.engine.llama_gpu import devices
from server.engine.llama_library import Pointer, load_library
from server.errors import EngineError


def check_room(model: Pointer, n_ctx: int, offloaded: int, spared: float = 0.0) -> None:
    """Refuse a context that can't fit; EngineError names what it takes and what is free.

    Args:
        model: A model whose memory grows with its context.
        n_ctx: Tokens of the context.
        offloaded: Layers on GPUs. llama.cpp counts the output layer first, which has no cache.
        spared: The part of the free memory that must stay free.
    """
    library = load_library()
    layers, heads = library.llama_model_n_layer(model), library.llama_model_n_head(model)
    if heads <= 0:
        return
    width = library.llama_model_n_embd(model) // heads * library.llama_model_n_head_kv(model)
    layer_bytes = n_ctx * width * 2 * 2  # keys and values of 16 bits
    on_gpu = min(max(offloaded - 1, 0), layers)
    free = free_memory()
    free = None if free is None else int(free * (1 - spared))
    _refuse_above(n_ctx, (layers - on_gpu) * layer_bytes, free, "memory", "")
    remedy = " or fewer GPU layers"
    _refuse_above(n_ctx, on_gpu * layer_bytes, free_device_memory(), "the GPU's memory", remedy)


def free_memory() -> int | None:
    """Bytes that can be had without swapping; None where the system does not say."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def free_device_memory() -> int | None:
    """Bytes that are free on all GPUs together; None where a driver does not say."""
    found = devices()
    return sum(device.free_bytes for device in found) if all(d.total_bytes for d in found) else None


def _refuse_above(n_ctx: int, needed: int, free: int | None, kind: str, remedy: str) -> None:
    if needed and free is not None and needed > free:
        raise EngineError(
            f"a context of {n_ctx:,} tokens takes {needed / 1e9:.1f} GB of {kind}, and "
            f"{free / 1e9:.1f} GB are free; choose a smaller context size{remedy}"
        )
