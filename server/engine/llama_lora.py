"""LoRA adapters: small weights that are added to a model's own, for one context of llama.cpp.

An adapter is a GGUF file that was made for one architecture and size of model. What is wrong with
it is found in its header, where that can be seen; what remains is llama.cpp's to say.

What is not here: activated adapters (aLoRA), which count only after certain tokens, and several
adapters at a time. llama.cpp frees an adapter together with its model.
"""

import ctypes
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from server.engine import Lora
from server.engine.gguf import Metadata, check_whole, read_metadata
from server.engine.llama_library import Pointer, collected_log, last_error, load_library
from server.errors import ModelError
from server.plain_files import MISSING, fault_of, shortened


def check_there(lora: Lora) -> Path:
    """An adapter's path. Raises ModelError if there is no plain file."""
    path = Path(lora.path)
    fault = fault_of(path)
    if fault == MISSING:
        raise ModelError(f"{path}: there is no such adapter file")
    if fault:
        raise ModelError(f"{shortened(path)}: {fault}; give the path of an adapter's GGUF file")
    return path


def check_adapter(lora: Lora, files: Sequence[Path]) -> None:
    """Find out what is wrong with an adapter, as far as headers tell.

    Args:
        lora: The adapter.
        files: All files of the model, the one with its metadata first.

    Raises ModelError if the file is missing, damaged, no adapter, or one for another model.
    """
    path = check_there(lora)
    check_whole(path)
    metadata = read_metadata(path)
    kind = metadata.text("adapter.type", "") or metadata.text("general.type", "model")
    if kind != "lora":
        raise ModelError(f"{path}: is no LoRA adapter but of the type {kind!r}; give another file")
    made_for = metadata.text("general.architecture", "")
    architecture = read_metadata(files[0]).text("general.architecture", "")
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
    shapes = {tensor.name: tensor.shape for file in files for tensor in read_metadata(file).tensors}
    _check_shapes(metadata, shapes)


def attach(lora: Lora, model: Pointer, context: Pointer) -> None:
    """Make a context add an adapter that was checked to its model, which owns it from now on.

    Raises ModelError if llama.cpp can't use it.
    """
    library = load_library()
    with collected_log() as log:
        adapter = library.llama_adapter_lora_init(model, os.fsencode(lora.path))
    if not adapter:
        raise ModelError(f"{lora.path}: the adapter does not fit the model ({last_error(log)})")
    adapters = (library.llama_adapter_lora_p_ctypes * 1)(adapter)
    scales = (ctypes.c_float * 1)(lora.scale)
    if library.llama_set_adapters_lora(context, adapters, 1, scales):
        raise ModelError(f"{lora.path}: llama.cpp refuses the adapter; use the model without it")


def _check_shapes(adapter: Metadata, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Compare an adapter's matrices with those of the model that they are added to.

    A change of a matrix is the product of two: `lora_a` has its columns, `lora_b` its rows. Shapes
    are as in the files: columns first.
    """
    found = {tensor.name: tensor.shape for tensor in adapter.tensors}
    for name, shape in found.items():
        changed, part = name.rpartition(".")[::2]
        # Embeddings are looked up, not multiplied: there the two have changed places.
        if part not in {"lora_a", "lora_b"} or changed.endswith("token_embd.weight"):
            continue
        known = shapes.get(changed)
        if known is None:
            raise _misfit(adapter.path, f"the model has no tensor {changed}")
        own, theirs = (shape[:1], known[:1]) if part == "lora_a" else (shape[1:2], known[1:2])
        if own != theirs:
            shown = [" x ".join(map(str, sizes)) for sizes in (shape, known)]
            raise _misfit(adapter.path, f"{name} is {shown[0]}, and the model's tensor {shown[1]}")


def _misfit(path: Path, reason: str) -> ModelError:
    return ModelError(
        f"{path}: the adapter does not fit the model: {reason}; choose the model that it was made "
        "for"
    )
