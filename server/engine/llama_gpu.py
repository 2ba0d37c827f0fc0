"""Graphics processors: which ones llama.cpp can use, and what it really put on them.

Which kinds a build can drive is seen from its libraries, since a driver that fails leaves no other
trace. How many layers went to a GPU, and the memory that they take there, are known only from the
load log, so they are read from it.

What is not here: deciding where a model goes (`llama_load`).
"""

import ctypes
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from server.engine.llama_library import load_library

KINDS = {
    "cann": "CANN",
    "cuda": "CUDA",
    "hip": "ROCm",
    "metal": "Metal",
    "musa": "MUSA",
    "opencl": "OpenCL",
    "sycl": "SYCL",
    "vulkan": "Vulkan",
}
"""What llama.cpp calls the libraries for GPUs, and what people call them."""

_GPU_TYPES = {1, 2}
"""`enum ggml_backend_dev_type`: GPUs with memory of their own, and integrated ones."""
_OFFLOADED = re.compile(r"offloaded (\d+)/(\d+) layers to GPU")
_DEVICE = re.compile(r"using device (\S+) \((.*?)\) \(")
_MOVED = re.compile(r"tensor '(.*?)' \(.*?\) \(and (\d+) others\) cannot be used with preferred")
_BUFFER = re.compile(r"(\S+) (?:model|KV|RS|compute) buffer size =\s*([\d.]+) MiB")


@dataclass(frozen=True)
class Device:
    """A graphics processor."""

    name: str
    """What llama.cpp calls it: `CUDA0`, `Vulkan1`."""
    description: str
    free_bytes: int
    total_bytes: int
    """0 where the driver does not say."""


def devices() -> list[Device]:
    """The graphics processors that llama.cpp can use now; none if this library can't be asked."""
    load_library()  # sets its log up before it looks for devices
    try:
        # Public functions of ggml that the bindings load but do not declare.
        from llama_cpp._ggml import libggml as library

        number = library.ggml_backend_dev_count
        get, kind = library.ggml_backend_dev_get, library.ggml_backend_dev_type
        called, describe = library.ggml_backend_dev_name, library.ggml_backend_dev_description
        memory = library.ggml_backend_dev_memory
    except (ImportError, AttributeError, OSError):
        return []
    number.restype, number.argtypes = ctypes.c_size_t, []
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    kind.restype, kind.argtypes = ctypes.c_int, [ctypes.c_void_p]
    called.restype, called.argtypes = ctypes.c_char_p, [ctypes.c_void_p]
    describe.restype, describe.argtypes = ctypes.c_char_p, [ctypes.c_void_p]
    sizes = ctypes.POINTER(ctypes.c_size_t)
    memory.restype, memory.argtypes = None, [ctypes.c_void_p, sizes, sizes]
    found = []
    for pointer in [get(index) for index in range(number())]:
        if kind(pointer) not in _GPU_TYPES:
            continue
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        memory(pointer, ctypes.byref(free), ctypes.byref(total))
        name = (called(pointer) or b"GPU").decode(errors="replace")
        description = (describe(pointer) or b"a device without a name").decode(errors="replace")
        found.append(Device(name, description, free.value, total.value))
    return found


@cache
def built_for() -> tuple[str, ...]:
    """The kinds of GPUs that llama.cpp was built for, as people call them; () is CPUs only."""
    folder = Path(load_library().__file__ or "").parent / "lib"
    parts = {path.name.split(".")[0].removeprefix("lib") for path in folder.glob("*ggml-*")}
    return tuple(name for part, name in KINDS.items() if f"ggml-{part}" in parts)


def missing_note(asked: int) -> str | None:
    """A sentence for people where no GPU can be used and one was expected, else None.

    Args:
        asked: Layers to put on a GPU, -1 for all if there is one.
    """
    kinds = " and ".join(built_for())
    if asked < 0 and kinds:
        return (
            f"llama.cpp is built for {kinds}, but found no device: everything runs on the CPU "
            "(`midtoken doctor` tells more)"
        )
    if asked <= 0:
        return None
    remedy = (
        f"this build is for {kinds}: check the driver"
        if kinds
        else "the README tells how to build for CUDA, Metal or Vulkan"
    )
    return (
        f"{count_layers(asked)} asked for on a GPU, but llama.cpp found none: everything runs on "
        f"the CPU ({remedy})"
    )


def count_layers(number: int) -> str:
    """How a sentence about a number of layers begins.

    >>> count_layers(1), count_layers(20)
    ('1 layer was', '20 layers were')
    """
    return "1 layer was" if number == 1 else f"{number} layers were"


@dataclass(frozen=True)
class Offload:
    """What the log of a load says of GPUs."""

    device: str | None
    """Names and descriptions; None if nothing is on a GPU."""
    layers: int
    note: str | None
    """A sentence for people where the device is not what was asked for, else None."""
    names: tuple[str, ...]
    """What llama.cpp calls the devices."""


def read_offload(log: Iterable[tuple[int, str]], asked: int, note: str | None = None) -> Offload:
    """What the log of loading a model says, whatever was asked for.

    Args:
        log: Its lines, as (level, text).
        asked: Layers to put on a GPU, -1 for all.
        note: What is known already; else it tells of layers that are not on the GPU.
    """
    text = "\n".join(line for _, line in log)
    match = _OFFLOADED.search(text)
    layers = int(match[1]) if match else 0
    used = dict(_DEVICE.findall(text)) if layers else {}
    if note is None and match and layers < min(asked, int(match[2])):
        note = f"{count_layers(asked)} asked for on the GPU; {layers} of {match[2]} are there"
    elif note is None and match and layers == int(match[2]):
        note = _left_note(text)
    device = ", ".join(f"{name}: {description}" for name, description in sorted(used.items()))
    return Offload(device or None, layers, note, tuple(used))


def _left_note(text: str) -> str | None:
    """A sentence about weights of offloaded layers that the device can't hold, if there are any."""
    match = _MOVED.search(text)
    if match is None:
        return None
    # The input layer is always on the CPU; where it comes first, it is one that was never meant.
    left = int(match[2]) + (not match[1].startswith("token_embd"))
    if left == 0:
        return None
    what = "1 tensor is" if left == 1 else f"{left} tensors are"
    return f"{what} larger than the GPU allows, or of a kind that it lacks, and left to the CPU"


def device_bytes(log: Iterable[tuple[int, str]], names: tuple[str, ...]) -> int:
    """Memory of the devices that the log of a load reports: weights, texts and working space."""
    sizes = _BUFFER.findall("\n".join(line for _, line in log)) if names else []
    mebibytes = sum(float(size) for buffer, size in sizes if buffer.startswith(names))
    return round(mebibytes * 2**20)
