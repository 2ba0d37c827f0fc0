"""Loading a model and its context into llama.cpp, and saying truthfully where it runs.

What is wrong with a file is found before llama.cpp maps it, where that can be seen from its header;
what remains ends in one line that tells the library's own reason. Where a GPU can't be used, the
model runs on the CPU, and its note says why.

What is not here: evaluating anything (`llama`), what llama.cpp says of GPUs (`llama_gpu`), and
fetching model files (`server.models`).
"""

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from server.engine import Lora, ModelInfo
from server.engine.damage import anew
from server.engine.gguf import read_metadata
from server.engine.gguf_numbers import check_numbers
from server.engine.gguf_splits import check_files, parts, tensor_count
from server.engine.llama_context import Wish, make_context
from server.engine.llama_gpu import Offload, device_bytes, missing_note, read_offload
from server.engine.llama_library import (
    Pointer,
    collected_log,
    last_error,
    load_library,
    no_blank_before_texts,
)
from server.engine.llama_lora import attach, check_adapter
from server.engine.llama_vocabulary import VOCABULARY_TYPES
from server.engine.loaded_files import LoadedFile, as_they_are
from server.errors import EngineError, ModelError

BRANCHES = 28
"""Sequences for a tree's branches beside the slot's own; each costs a row of logits (600 kB)."""
BESIDE = 9
"""Sequences for texts that are written beside another one: ten candidates at most."""
CPU_MICRO_BATCH = 64
"""Tokens of a forward pass on a CPU: enough for full speed, few enough to lose on a cancel."""
GPU_MICRO_BATCH = 256
"""The same on a GPU, which finishes a pass before it can be cancelled: some 50 ms at most."""


@dataclass(frozen=True)
class EngineOptions:
    """How a model is run. The defaults suit a small model on a laptop."""

    n_ctx: int = 4096
    """Cells of the KV cache in tokens, shared by all slots."""
    n_ubatch: int | None = None
    """Tokens of one forward pass; None is 64 on a CPU and 256 on a GPU."""
    threads: int | None = None
    """CPU threads; None is one for each core that this process may use."""
    gpu_layers: int | Literal["auto"] = "auto"
    """Layers to put on a GPU: a number, or all if there is one that can be used."""
    main_gpu: int = 0
    """The GPU for what is not split, by its number."""
    tensor_split: tuple[float, ...] = ()
    """Shares of the model for each GPU; empty leaves it to llama.cpp."""
    flash_attn: Literal["auto", "on", "off"] = "auto"
    lora: Lora | None = None
    """Weights that are added to the model's own."""
    slots: int = 4
    """Texts that are kept in memory at a time."""
    mmap: bool = True
    """Map the file into memory instead of reading it."""
    repack: bool = True
    """Copy weights into the layout that the CPU likes best: faster passes, a slower start."""
    on_progress: Callable[[float], None] | None = field(default=None, compare=False)
    """Is given the share of the weights that is loaded, from 0 to 1, in the loading thread."""


@dataclass(frozen=True)
class Loaded:
    """A model and a context of llama.cpp, as plain pointers. Whoever holds it frees it."""

    model: Pointer
    context: Pointer
    vocabulary: Pointer
    info: ModelInfo
    n_ubatch: int
    n_sequences: int
    divisible: bool
    """Whether the memory can be cut anywhere."""
    window: int
    """Tokens of a sliding window, 0 for none."""
    trained_tokens: int
    """The longest text that the model was trained for."""
    files: tuple[LoadedFile, ...]
    """Where its weights are mapped from."""
    flash_attn: str
    """The option, which decides how values are laid out in memory."""


@dataclass(frozen=True)
class Checked:
    """What is known of a model's files before they are loaded."""

    add_blank: bool
    """Whether the tokenizer puts a blank before a text."""
    files: tuple[LoadedFile, ...]


def load_model(path: Path, options: EngineOptions) -> Loaded:
    """Load a model file and make a context for it.

    Raises ModelError if the file is missing, damaged, or not a model that can generate text, or if
    its adapter is, and EngineError if the options make no sense or there is not enough memory.
    """
    checked = check_model(path, options)
    asked = -1 if options.gpu_layers == "auto" else options.gpu_layers
    if not load_library().llama_supports_gpu_offload():
        return _load_on(path, options, 0, checked, missing_note(asked))
    try:
        return _load_on(path, options, asked, checked, None)
    except (ModelError, EngineError) as error:
        if options.gpu_layers != "auto":
            raise
        note = f"the GPU can't be used, and everything runs on the CPU: {error}"
    return _load_on(path, options, 0, checked, note)


def check_model(path: Path, options: EngineOptions) -> Checked:
    """Find out what is wrong before anything is loaded: of the options, the file and its adapter.

    Raises ModelError or EngineError as `load_model` does.
    """
    _check_options(options)
    checked = _check_file(path)
    if options.lora:
        check_adapter(options.lora, [file.path for file in checked.files])
    return checked


def free(loaded: Loaded) -> None:
    """Free the context and the model."""
    library = load_library()
    library.llama_free(loaded.context)
    library.llama_model_free(loaded.model)


def _check_options(options: EngineOptions) -> None:
    limits = {
        "context size": (options.n_ctx, 16, 1 << 24),
        "n_ubatch": (options.n_ubatch or CPU_MICRO_BATCH, 1, 1 << 16),
        "threads": (options.threads or 1, 1, 1024),
        "slots": (options.slots, 1, 64),
    }
    for name, (value, least, most) in limits.items():
        if not least <= value <= most:
            raise EngineError(f"{name} is {value}; it must be from {least} to {most}")
    most_devices = load_library().llama_max_devices()
    if len(options.tensor_split) > most_devices:
        raise EngineError(
            f"the tensor split has {len(options.tensor_split)} shares; there can be {most_devices}"
        )


def _check_file(path: Path) -> Checked:
    """Find out what is wrong with a model's files. What changes from here on is noticed later."""
    metadata = read_metadata(path)
    try:
        files = as_they_are(parts(metadata))
    except OSError:
        check_files(path)  # says which are missing
        raise
    check_files(path)
    if not tensor_count(metadata):
        raise ModelError(f"{path}: holds only a vocabulary, no weights; choose a whole model")
    # llama.cpp ends the process for these, while it reports other damage.
    check_numbers(metadata, tensor_count(metadata))
    key = "tokenizer.ggml.tokens"
    if key in metadata:
        tokens = metadata.strings(key)
        if len(set(tokens)) < len(tokens):
            raise ModelError(f"{path}: two tokens are the same; {anew(path)}")
    is_sentencepiece = metadata.text("tokenizer.ggml.model", "none") == "llama"
    return Checked(metadata.flag("tokenizer.ggml.add_space_prefix", is_sentencepiece), files)


def _load_on(
    path: Path, options: EngineOptions, gpu_layers: int, checked: Checked, note: str | None
) -> Loaded:
    with collected_log() as log:
        model = _load(path, options, gpu_layers)
        if not model:
            remedy = "; try fewer GPU layers" if gpu_layers else ""
            raise ModelError(f"{path}: llama.cpp can't load it: {last_error(log)}{remedy}")
        try:
            offload = read_offload(log, gpu_layers, note)
            return _with_context(path, options, model, checked, offload, log)
        except BaseException:
            load_library().llama_model_free(model)
            raise


def _load(path: Path, options: EngineOptions, gpu_layers: int) -> Pointer:
    library = load_library()
    params = library.llama_model_default_params()
    params.n_gpu_layers = gpu_layers
    params.main_gpu = options.main_gpu
    params.use_extra_bufts = options.repack
    if hasattr(params, "load_mode"):
        params.load_mode = 1 if options.mmap else 0
    else:  # llama-cpp-python before 0.3.36
        params.use_mmap = options.mmap
    no_devices = (ctypes.c_void_p * 1)(None)
    if gpu_layers == 0:  # else a GPU would be lent whole batches, also one that has just failed
        params.devices = ctypes.cast(no_devices, ctypes.c_void_p)
    if options.tensor_split:
        shares = (ctypes.c_float * library.llama_max_devices())(*options.tensor_split)
        params.tensor_split = ctypes.cast(shares, ctypes.POINTER(ctypes.c_float))
    overrides = no_blank_before_texts()
    params.kv_overrides = ctypes.cast(overrides, type(params.kv_overrides))
    told = options.on_progress or (lambda _share: None)
    # Bound to a name: llama.cpp calls it, and nothing else holds it. True means "go on".
    callback = library.llama_progress_callback(lambda share, _data: told(share) is None)
    params.progress_callback = callback
    return library.llama_model_load_from_file(os.fsencode(path), params) or 0


def _with_context(
    path: Path,
    options: EngineOptions,
    model: Pointer,
    checked: Checked,
    offload: Offload,
    log: list[tuple[int, str]],
) -> Loaded:
    library = load_library()
    vocabulary = library.llama_model_get_vocab(model)
    kind = library.llama_vocab_type(vocabulary)
    if kind == 0:
        raise ModelError(f"{path}: the file has no vocabulary; choose a text model")
    if library.llama_model_has_encoder(model) or not library.llama_model_has_decoder(model):
        raise ModelError(f"{path}: is not a model that continues text; choose another")
    window = int(library.llama_model_n_swa(model))
    memory = "sliding window" if window else "attention"
    if library.llama_model_is_recurrent(model):
        memory = "recurrent"
    elif library.llama_model_is_hybrid(model):
        memory = "hybrid"
    divisible = memory in {"attention", "sliding window"}
    # A recurrent model keeps a whole state for every sequence and has no use for branches.
    n_sequences = options.slots + (BRANCHES + BESIDE if divisible else 0)
    n_ubatch = options.n_ubatch or (GPU_MICRO_BATCH if offload.layers else CPU_MICRO_BATCH)
    made = make_context(
        path,
        model,
        Wish(
            tokens=options.n_ctx,
            ubatch=n_ubatch,
            sequences=n_sequences,
            threads=options.threads or usable_cores(),
            flash_attn=options.flash_attn,
            grows=divisible,
            offloaded=offload.layers,
        ),
    )
    context = made.pointer
    if options.lora:
        try:
            attach(options.lora, model, context)
        except ModelError:
            library.llama_free(context)
            raise
    info = ModelInfo(
        path=str(path),
        name=_metadata(model, b"general.name") or path.stem,
        description=_description(model),
        size_bytes=int(library.llama_model_size(model)),
        vocabulary_type=VOCABULARY_TYPES.get(kind, f"type {kind}"),
        backend=offload.device or ("GPU" if offload.layers else "CPU"),
        layers=int(library.llama_model_n_layer(model)) + 1,
        offloaded_layers=offload.layers,
        note="; ".join(note for note in (offload.note, made.note) if note) or None,
        context_tokens=int(library.llama_n_ctx(context)),
        add_bos=bool(library.llama_vocab_get_add_bos(vocabulary)),
        trees=divisible,
        memory=memory,
        add_blank=checked.add_blank,
        lora=options.lora,
        device_bytes=device_bytes(log, offload.names),
    )
    trained = int(library.llama_model_n_ctx_train(model)) or info.context_tokens
    return Loaded(
        model,
        context,
        vocabulary,
        info,
        made.ubatch,
        n_sequences,
        divisible,
        window,
        trained,
        checked.files,
        options.flash_attn,
    )


def usable_cores() -> int:
    """Physical cores that this process may use: a second thread on a core only gets in the way."""
    if not hasattr(os, "sched_getaffinity"):
        return max(1, (os.cpu_count() or 1) // (1 if os.name == "posix" else 2))
    cores = set()
    for cpu in os.sched_getaffinity(0):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            cores.add(siblings.read_text(encoding="ascii").strip())
        except OSError:
            cores.add(str(cpu))
    return max(1, len(cores))


def _description(model: Pointer) -> str:
    buffer = ctypes.create_string_buffer(256)
    load_library().llama_model_desc(model, buffer, len(buffer))
    return buffer.value.decode("utf-8", "replace")


def _metadata(model: Pointer, key: bytes) -> str:
    buffer = ctypes.create_string_buffer(256)
    load_library().llama_model_meta_val_str(model, key, buffer, len(buffer))
    return buffer.value.decode("utf-8", "replace")
