"""GPUs: what a build can use, and what the load log says of them."""

import pytest

from server.engine import llama_gpu, llama_room
from server.engine.llama_gpu import Offload, built_for, device_bytes, missing_note, read_offload
from server.errors import EngineError

CUDA = [
    (
        2,
        "llama_prepare_model_devices: using device CUDA0 (NVIDIA H200) (0000:04:00.0) - 9 MiB free",
    ),
    (2, "load_tensors: offloading output layer to GPU"),
    (2, "load_tensors: offloaded 25/25 layers to GPU"),
    (2, "load_tensors:   CPU_Mapped model buffer size =   137.94 MiB"),
    (2, "load_tensors:        CUDA0 model buffer size =   200.50 MiB"),
    (2, "llama_kv_cache:      CUDA0 KV buffer size =    48.00 MiB"),
    (2, "sched_reserve:      CUDA0 compute buffer size =     1.50 MiB"),
    (2, "sched_reserve:  CUDA_Host compute buffer size =    10.00 MiB"),
]
"""The lines of a load that speak of devices."""


def offloaded(layers: int) -> list[tuple[int, str]]:
    """A log with another number of layers on the GPU."""
    return [(level, line.replace("offloaded 25/", f"offloaded {layers}/")) for level, line in CUDA]


def test_offload_is_read_from_the_load_log():
    """Device and layers are what the log says, whatever was asked for."""
    assert read_offload(CUDA, -1) == Offload("CUDA0: NVIDIA H200", 25, None, ("CUDA0",))


def test_brackets_in_a_name():
    """Drivers name themselves in brackets."""
    line = "using device Vulkan0 (llvmpipe (LLVM 15.0.6, 256 bits)) (unknown id) - 99 MiB free"

    found = read_offload([(2, line), *offloaded(25)[1:]], -1)

    assert found.device == "Vulkan0: llvmpipe (LLVM 15.0.6, 256 bits)"


def test_a_device_without_layers_is_not_named():
    """llama.cpp lists a device that then gets nothing."""
    assert read_offload(offloaded(0), 0) == Offload(None, 0, None, ())


def test_fewer_layers_than_asked_are_noted():
    """A GPU that took only some of the layers is not passed over in silence."""
    found = read_offload(offloaded(8), 20)

    assert found.layers == 8
    assert found.note == "20 layers were asked for on the GPU; 8 of 25 are there"


def test_more_layers_than_there_are_is_fine():
    """`99` is how people say `all`."""
    assert read_offload(CUDA, 99).note is None


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("tensor 'token_embd.weight' (q5_0) (and 0 others) cannot be used with preferred", None),
        (
            "tensor 'token_embd.weight' (q5_0) (and 1 others) cannot be used with preferred",
            "1 tensor",
        ),
        ("tensor 'output.weight' (q8_0) (and 1 others) cannot be used with preferred", "2 tensors"),
    ],
)
def test_weights_that_stay_behind(line, note):
    """llama.cpp counts a layer as offloaded when a weight of it is not: that is told."""
    said = read_offload([(1, line), *CUDA], -1).note

    assert said == note or said.startswith(note)
    assert (
        read_offload([(1, line), *offloaded(8)], 8).note is None
    )  # layers on the CPU speak so too


def test_memory_of_the_device():
    """Weights, cache and working space on the device count; what the CPU holds does not."""
    assert device_bytes(CUDA, ("CUDA0",)) == 250 * 2**20
    assert device_bytes(CUDA, ()) == 0


@pytest.mark.parametrize(
    ("kinds", "asked", "note"),
    [
        ((), -1, None),
        ((), 0, None),
        (("Vulkan",), 0, None),
        (("Vulkan",), -1, "llama.cpp is built for Vulkan, but found no device"),
        ((), 1, "1 layer was asked for on a GPU, but llama.cpp found none"),
        (("CUDA", "Vulkan"), 20, "this build is for CUDA and Vulkan: check the driver"),
    ],
)
def test_no_gpu(monkeypatch, kinds, asked, note):
    """Who expects a GPU is told that there is none; whoever doesn't is left in peace."""
    monkeypatch.setattr(llama_gpu, "built_for", lambda: kinds)

    said = missing_note(asked)

    assert said == note or note in said
    assert said is None or "everything runs on the CPU" in said


def test_kinds_are_seen_from_the_libraries(monkeypatch, tmp_path):
    """A driver that fails hides its kind from llama.cpp; the library is there all the same."""
    (tmp_path / "lib").mkdir()
    for name in ("libggml.so", "libggml-cpu.so.0", "libggml-vulkan.so.0.25.3", "libggml-hip.so"):
        (tmp_path / "lib" / name).touch()
    library = llama_gpu.load_library()
    monkeypatch.setattr(library, "__file__", str(tmp_path / "llama_cpp.py"))
    built_for.cache_clear()

    assert built_for() == ("ROCm", "Vulkan")
    built_for.cache_clear()


@pytest.mark.parametrize(
    ("offloaded_layers", "cpu", "gpu", "refused"),
    [
        (0, 10**9, None, None),
        (0, 10**4, 10**9, "of memory, and 0.0 GB are free"),
        (3, 10**4, 10**9, None),
        (3, 10**9, 10**4, "of the GPU's memory, and 0.0 GB are free"),
        (1, 10**9, 10**4, None),  # the output layer alone: nothing of the cache is there
        (2, 10**9, 10**4, "of the GPU's memory"),
        (3, 10**9, None, None),
    ],
)
def test_room_for_a_context(make_engine, monkeypatch, offloaded_layers, cpu, gpu, refused):
    """The part of the cache on each side is held against the memory that is free there."""
    model = make_engine()._loaded.model
    monkeypatch.setattr(llama_room, "free_memory", lambda: cpu)
    monkeypatch.setattr(llama_room, "free_device_memory", lambda: gpu)

    def check() -> None:
        llama_room.check_room(model, 4096, offloaded_layers)

    if refused is None:
        check()
    else:
        with pytest.raises(EngineError, match=refused):
            check()
