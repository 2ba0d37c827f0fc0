"""LoRA adapters: small weights that are added to a model's own, for one context of llama.cpp.

An adapter is a GGUF file that was made for one architecture and size of model. What is wrong with
it is found in its header, where that can be seen; what remains is llama.cpp's to say.

What is not here: activated adapters (aLoRA), which count only after certain tokens, and several
adapters at a time. llama.cpp frees an adapter together with its model.
"""

import ctypes
import os
from pathlib import Path

from server.engine import Lora
from server.engine.gguf import check_whole, read_metadata
from server.engine.llama_library import Pointer, collected_log, last_error, load_library
from server.errors import ModelError


def attach(lora: Lora, model: Pointer, context: Pointer, architecture: str) -> None:
    """Make a context add an adapter to its model.

    Args:
        lora: The adapter's file, and how much of it counts.
        model: The model, which owns the adapter from now on.
        context: The context.
        architecture: The model's, as `general.architecture` names it.

    Raises ModelError if the file is missing, damaged, no adapter, or one for another model.
    """
    _check_adapter(Path(lora.path), architecture)
    library = load_library()
    with collected_log() as log:
        adapter = library.llama_adapter_lora_init(model, os.fsencode(lora.path))
    if not adapter:
        raise ModelError(f"{lora.path}: the adapter does not fit the model ({last_error(log)})")
    adapters = (library.llama_adapter_lora_p_ctypes * 1)(adapter)
    scales = (ctypes.c_float * 1)(lora.scale)
    if library.llama_set_adapters_lora(context, adapters, 1, scales):
        raise ModelError(f"{lora.path}: llama.cpp refuses the adapter; use the model without it")


def _check_adapter(path: Path, architecture: str) -> None:
    check_whole(path)
    metadata = read_metadata(path)
    kind = metadata.text("adapter.type", "") or metadata.text("general.type", "model")
    if kind != "lora":
        raise ModelError(f"{path}: is no LoRA adapter but of the type {kind!r}; give another file")
    made_for = metadata.text("general.architecture", "")
    if made_for != architecture:
        raise ModelError(
            f"{path}: is an adapter for models of the architecture {made_for!r}, and this one's is "
            f"{architecture!r}; choose the model that it was made for"
        )
    if "adapter.alora.invocation_tokens" in metadata:
        raise ModelError(
            f"{path}: is an activated adapter (aLoRA), which counts only after certain tokens; "
            "these can't be used here"
        )
