"""What the processor can, and whether that is what a build of llama.cpp was made for.

A build says which instructions it uses, and the system which ones the processor has; a build from
another machine may use some that this one lacks, and dies of them. That both agree is no proof: a
virtual machine may announce what it then forbids (`first_run` tries it).

    >>> missing(["AVX2", "AMX_INT8", "OPENMP"], frozenset({"avx2", "avx"}))
    ['AMX_INT8']
"""

import platform
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FLAGS = {
    "SSE3": "pni",
    "SSSE3": "ssse3",
    "AVX": "avx",
    "AVX_VNNI": "avx_vnni",
    "AVX2": "avx2",
    "F16C": "f16c",
    "FMA": "fma",
    "BMI2": "bmi2",
    "AVX512": "avx512f",
    "AVX512_VBMI": "avx512vbmi",
    "AVX512_VNNI": "avx512_vnni",
    "AVX512_BF16": "avx512_bf16",
    "AMX_INT8": "amx_int8",
    "NEON": "asimd",
    "FP16_VA": "asimdhp",
    "MATMUL_INT8": "i8mm",
    "SVE": "sve",
    "DOTPROD": "asimddp",
    "SME": "sme",
    "SME2": "sme2",
}
"""Instructions as llama.cpp names them, and as Linux names them on x86 and ARM. What else a build
lists (OPENMP, LLAMAFILE, REPACK) is no instruction."""


@dataclass(frozen=True)
class Processor:
    """What the system tells of the processor."""

    name: str
    flags: frozenset[str] | None
    """What it can, in the system's words; None where the system does not tell."""


def this_processor(file: Path = Path("/proc/cpuinfo")) -> Processor:
    """The processor that we run on."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    name = re.search(r"^model name\s*: *(.+)$", text, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*: *(.+)$", text, re.MULTILINE)
    return Processor(
        name[1].strip() if name else platform.processor() or platform.machine(),
        frozenset(flags[1].split()) if flags else None,
    )


def missing(features: Iterable[str], flags: frozenset[str]) -> list[str]:
    """Instructions that a build uses and the processor lacks."""
    return [name for name in features if name in FLAGS and FLAGS[name] not in flags]


def unused(features: Iterable[str], flags: frozenset[str]) -> list[str]:
    """Instructions that llama.cpp knows and the processor has, but a build does not use."""
    used = set(features)
    return [name for name, flag in FLAGS.items() if flag in flags and name not in used]
