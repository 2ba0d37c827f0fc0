"""The installation: versions, the build of llama.cpp, the processor, GPUs and threads."""

import os
import platform
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from server import __version__
from server.doctor.cpu import missing, this_processor, unused
from server.doctor.finding import Finding
from server.engine.llama_gpu import built_for, devices
from server.engine.llama_library import load_library
from server.engine.llama_load import usable_cores
from server.errors import MidtokenError
from server.models.files import megabytes
from server.terminal import count

REBUILD = (
    'build it for any processor: `CMAKE_ARGS="-DGGML_NATIVE=OFF" pip install --no-cache-dir '
    "--force-reinstall --no-binary llama-cpp-python llama-cpp-python`"
)


def check_versions() -> Iterator[Finding]:
    """Versions of midtoken, Python and llama-cpp-python."""
    yield Finding("ok", "midtoken", __version__, facts={"version": __version__})
    system, machine, python = platform.system(), platform.machine(), platform.python_version()
    facts = {"version": python, "system": system, "machine": machine}
    yield Finding("ok", "Python", f"{python} on {system} ({machine})", facts=facts)
    try:
        bindings = version("llama-cpp-python")
    except PackageNotFoundError:
        yield Finding(
            "warning",
            "bindings",
            "llama-cpp-python is not installed as a package of this Python",
            "`pip install llama-cpp-python`, if the checks below find problems",
            {"version": None},
        )
    else:
        found = f"llama-cpp-python {bindings}"
        yield Finding("ok", "bindings", found, facts={"version": bindings})


def check_library(threads: int | None) -> Iterator[Finding]:
    """The build of llama.cpp, the devices that it sees, and its threads."""
    try:
        library = load_library()
    except MidtokenError as error:
        yield Finding("problem", "llama.cpp", str(error))
        return
    said = (library.llama_print_system_info() or b"").decode(errors="replace")
    features = re.findall(r"(\w+) = 1\b", said)
    yield Finding(
        "ok",
        "llama.cpp",
        f"uses {', '.join(features) or 'no special CPU features'}",
        facts={"features": features},
    )
    yield _processor_finding(features)
    yield _gpu_finding()
    cores = usable_cores()
    yield Finding(
        "ok",
        "threads",
        f"{threads or cores} (of {count(cores, 'usable core')})",
        facts={"threads": threads or cores, "cores": cores},
    )
    yield _waiting_finding("OPENMP" in features)


def _processor_finding(features: list[str]) -> Finding:
    processor = this_processor()
    if processor.flags is None:
        found = f"{processor.name}; the system does not tell what it can"
        return Finding("note", "processor", found, facts={"name": processor.name})
    lacking, more = missing(features, processor.flags), unused(features, processor.flags)
    facts = {"name": processor.name, "missing": lacking, "unused": more}
    if lacking:
        found = f"{processor.name} lacks {', '.join(lacking)}, which llama.cpp was built to use"
        return Finding("warning", "processor", found, REBUILD, facts)
    found = f"{processor.name}: has all that llama.cpp uses"
    found += f" (and {', '.join(more)}, which this build leaves aside)" if more else ""
    return Finding("ok", "processor", found, facts=facts)


def _gpu_finding() -> Finding:
    found, kinds = devices(), built_for()
    facts = {
        "built_for": list(kinds),
        "devices": [
            {
                "name": device.name,
                "description": device.description,
                "free_bytes": device.free_bytes,
                "total_bytes": device.total_bytes,
            }
            for device in found
        ],
    }
    if found:
        shown = [
            f"{device.name}: {device.description}, {megabytes(device.free_bytes)} of "
            f"{megabytes(device.total_bytes)} free"
            for device in found
        ]
        return Finding("ok", "GPU", "; ".join(shown), facts=facts)
    if kinds:
        return Finding(
            "warning",
            "GPU",
            f"llama.cpp is built for {' and '.join(kinds)}, but found no device",
            "check the driver with its own tool (nvidia-smi, vulkaninfo, rocminfo), and variables "
            "that hide devices (CUDA_VISIBLE_DEVICES, GGML_VK_VISIBLE_DEVICES)",
            facts,
        )
    return Finding(
        "note",
        "GPU",
        "not used: llama.cpp is built for the CPU only",
        "the README tells how to build for CUDA, Metal or Vulkan",
        facts,
    )


def _waiting_finding(openmp: bool) -> Finding:
    policy = os.environ.get("OMP_WAIT_POLICY", "not set")
    facts = {"openmp": openmp, "wait_policy": policy}
    if policy.lower() == "passive" or not openmp:
        found = f"idle threads sleep (OMP_WAIT_POLICY is {policy})"
        return Finding("ok", "OpenMP", found, facts=facts)
    return Finding(
        "warning",
        "OpenMP",
        f"idle threads wait busily (OMP_WAIT_POLICY is {policy}): slow beside other programs",
        "unset OMP_WAIT_POLICY, or set it to passive",
        facts,
    )
