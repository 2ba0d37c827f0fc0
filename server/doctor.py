"""`midtoken doctor`: is everything there, does it work, and how fast is it?

Every check is one function that yields findings; all are printed as they come, also after a
problem, so that one run tells everything that can be told::

    ok       Python      3.12.3 on Linux (x86_64)
    warning  fill-in     the model has no fill-in-the-middle tokens: text after the cursor ...
                         -> choose a model for code (see `midtoken model list`)

The measured speed is remembered (`server.speed`): it decides how much text later prompts hold. What
is not here: repairing anything, and opening a connection (but for `--yes`, which fetches a model).
"""

import os
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Literal

import numpy as np
from rich.console import Console
from rich.text import Text

from server import __version__, speed
from server.arguments import EngineArguments
from server.completer import Completer, load_completer
from server.completion import engine_options_of, model_path
from server.engine import ROOT, TokenEngine
from server.engine.gguf import read_metadata
from server.engine.gguf_splits import check_files
from server.engine.llama_gpu import built_for, devices
from server.engine.llama_library import collected_log, load_library
from server.engine.llama_load import EngineOptions, usable_cores
from server.engine.tables import Tables, build_tables, load_tables
from server.errors import MidtokenError
from server.grammar.languages import LADDERS, levels
from server.grammar.rungs import Level
from server.models import store
from server.models.catalog import CATALOG
from server.models.files import megabytes
from server.snapshot import Snapshot
from server.terminal import LABEL_CELLS, count, duration, make_console, print_row, shown_path

SLOW_PREFILL = 40.0
"""Tokens a second below which the smallest prompt takes four seconds: few people wait that long."""
TREE_NOISE = 0.2
"""The logits of a tree may differ from those of single tokens by rounding, by 0.03 of their spread
with 4-bit weights; another text changes them by about 1. The share that is taken for a fault."""
STATE_CELLS = 9

State = Literal["ok", "note", "warning", "problem"]
_STYLES: dict[State, str] = {"ok": "green", "note": "dim", "warning": "yellow", "problem": "red"}
_SAMPLE = b"def fahrenheit(celsius):\n    return cels"
_BUFFER = re.compile(r"(?:KV|RS) buffer size =\s*([\d.]+) MiB")


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    state: State
    """`problem` makes completions impossible, `warning` makes them worse, `note` is neither."""
    name: str
    found: str
    remedy: str = ""
    """What to do about it; empty where nothing is to be done, or `found` says it."""


def run_doctor(options: EngineArguments) -> None:
    """Print all findings. Raises MidtokenError if any of them is a problem.

    Raises UsageError for engine options that have no meaning, before anything is checked.
    """
    engine_options = engine_options_of(options)
    console = make_console()
    problems = 0
    for finding in _findings(options, engine_options):
        _print(console, finding)
        problems += finding.state == "problem"
    if problems:
        verb = "makes" if problems == 1 else "make"
        raise MidtokenError(
            f"{count(problems, 'problem')} {verb} completions impossible: see the table"
        )


def _findings(options: EngineArguments, engine_options: EngineOptions) -> Iterator[Finding]:
    yield from check_versions()
    usable = True
    for finding in check_library(engine_options.threads):
        usable = usable and finding.state != "problem"
        yield finding
    try:
        path = _model(options)
        check_files(path)
    except MidtokenError as error:
        yield Finding("problem", "model file", str(error))
        usable = False
    else:
        yield _file_finding(options["model_name"], path)
    if usable:
        yield from check_model(path, engine_options)
    else:
        yield Finding("note", "the rest", "not checked: it needs llama.cpp and a whole model")
    yield from check_grammars()
    yield from check_memory()
    yield Finding(
        "note",
        "editors",
        "they start `midtoken serve --stdio`: the folder editors/ of the project tells how",
    )


def check_versions() -> Iterator[Finding]:
    """Versions of midtoken, Python and llama-cpp-python."""
    yield Finding("ok", "midtoken", __version__)
    system = f"{platform.system()} ({platform.machine()})"
    yield Finding("ok", "Python", f"{platform.python_version()} on {system}")
    try:
        yield Finding("ok", "bindings", f"llama-cpp-python {version('llama-cpp-python')}")
    except PackageNotFoundError:
        yield Finding(
            "warning", "bindings", "llama-cpp-python is not installed as a package of this Python"
        )


def check_library(threads: int | None) -> Iterator[Finding]:
    """The build of llama.cpp, the devices that it sees, and its threads."""
    try:
        library = load_library()
    except MidtokenError as error:
        yield Finding("problem", "llama.cpp", str(error))
        return
    features = (library.llama_print_system_info() or b"").decode(errors="replace")
    enabled = re.findall(r"(\w+) = 1\b", features)
    yield Finding("ok", "llama.cpp", f"uses {', '.join(enabled) or 'no special CPU features'}")
    yield _gpu_finding()
    cores = usable_cores()
    yield Finding("ok", "threads", f"{threads or cores} (of {count(cores, 'usable core')})")
    policy = os.environ.get("OMP_WAIT_POLICY", "not set")
    if policy.lower() == "passive" or "OPENMP" not in enabled:
        yield Finding("ok", "OpenMP", f"idle threads sleep (OMP_WAIT_POLICY is {policy})")
    else:
        yield Finding(
            "warning",
            "OpenMP",
            f"idle threads wait busily (OMP_WAIT_POLICY is {policy}): slow beside other programs",
            "unset OMP_WAIT_POLICY, or set it to passive",
        )


def _gpu_finding() -> Finding:
    found = [
        f"{device.name}: {device.description}, "
        f"{megabytes(device.free_bytes)} of {megabytes(device.total_bytes)} free"
        for device in devices()
    ]
    if found:
        return Finding("ok", "GPU", "; ".join(found))
    if built_for():
        return Finding(
            "warning",
            "GPU",
            f"llama.cpp is built for {' and '.join(built_for())}, but found no device",
            "check the driver with its own tool (nvidia-smi, vulkaninfo, rocminfo), and variables "
            "that hide devices (CUDA_VISIBLE_DEVICES, GGML_VK_VISIBLE_DEVICES)",
        )
    return Finding(
        "note",
        "GPU",
        "not used: llama.cpp is built for the CPU only",
        "the README tells how to build for CUDA, Metal or Vulkan",
    )


def check_model(path: Path, options: EngineOptions) -> Iterator[Finding]:
    """Load a model and try it. Stops at the first thing that makes it unusable."""
    try:
        started = perf_counter()
        build_tables(read_metadata(path))
        built = perf_counter()
        tables = load_tables(path)
        cached = perf_counter()
        tables = load_tables(path)
        read = perf_counter()
        yield _vocabulary_finding(tables)
        with collected_log() as log:
            completer = load_completer(path, options)
    except MidtokenError as error:
        yield Finding("problem", "model", str(error))
        return
    try:
        yield from _loaded_findings(completer, "\n".join(line for _, line in log))
        yield Finding(
            "ok",
            "start",
            f"model {duration(completer.loading_ms['load_model'])}, its tables "
            f"{duration(1e3 * (built - started))} at first, "
            f"{duration(1e3 * (read - cached))} from the cache",
        )
        yield from _trials(completer, options.threads or usable_cores())
    except MidtokenError as error:
        yield Finding("problem", "trial", str(error), "try `--gpu-layers 0`, or another model")
    finally:
        completer.close()


def _model(options: EngineArguments) -> Path:
    if options["yes"]:
        return model_path(options["model_name"], yes=True)
    return store.resolve(options["model_name"])


def _file_finding(name: str, path: Path) -> Finding:
    shown = f"{shown_path(str(path))} ({megabytes(path.stat().st_size)}, whole)"
    if name not in CATALOG:
        return Finding("ok", "model file", shown)
    return Finding("ok", "model file", shown, f"`midtoken model verify {name}` reads all of it")


def _vocabulary_finding(tables: Tables) -> Finding:
    size = count(len(tables.vocabulary), "token")
    if tables.byte_level:
        rule = f"byte-level, {tables.pretokenizer}: exact healing knows it"
        return Finding("ok", "vocabulary", f"{size} ({rule})")
    return Finding(
        "warning",
        "vocabulary",
        f"{size} ({tables.model}): exact healing does not know this kind, it is aligned by bytes",
        "choose a model with a byte-level vocabulary (see `midtoken model list`)",
    )


def _loaded_findings(completer: Completer, log: str) -> Iterator[Finding]:
    info, fim = completer.engine.info, completer.engine.fim
    yield Finding("ok", "model", f"{info.name} ({info.description})")
    if fim is None:
        yield Finding(
            "warning",
            "fill-in",
            "the model has no fill-in-the-middle tokens: text after the cursor is not used",
            "choose a model for code (see `midtoken model list`)",
        )
    else:
        ids = f"prefix {fim.prefix}, suffix {fim.suffix}, middle {fim.middle}"
        yield Finding("ok", "fill-in", ids)
    sizes = [float(size) * 2**20 for size in _BUFFER.findall(log)]
    memory = f", {megabytes(int(sum(sizes)))} of memory" if sizes else ""
    yield Finding("ok", "context", f"{count(info.context_tokens, 'token')}{memory}")
    layers = f"{info.offloaded_layers} of {count(info.layers, 'layer')} on a GPU"
    if info.device_bytes:
        layers += f", {megabytes(info.device_bytes)} of its memory"
    where = f"{info.backend} ({layers})"
    yield Finding("warning" if info.note else "ok", "runs on", where, info.note or "")


def _trials(completer: Completer, threads: int) -> Iterator[Finding]:
    """What only running the model can tell."""
    engine = completer.engine
    measured = speed.measure(engine, Path(__file__).read_bytes())
    speed.remember(engine.info, threads, measured)
    budget = speed.round_budget(measured.prefill * speed.READING_SECONDS)
    slow = measured.prefill < SLOW_PREFILL
    yield Finding(
        "warning" if slow else "ok",
        "speed",
        f"reads {measured.prefill:.0f} tokens/s, writes {measured.decoding:.1f} tokens/s: prompts "
        f"of {budget} tokens from now on",
        "close busy programs and run this again; or use a GPU or a smaller model" if slow else "",
    )
    yield _tree_finding(engine)
    started = perf_counter()
    completion = completer.complete(Snapshot("sample.py", 0, _SAMPLE, len(_SAMPLE), "python"))
    took = duration(1e3 * (perf_counter() - started))
    passes = count(completion.healing.forward_passes, "forward pass")
    yield Finding(
        "ok", "completion", f"{took} for a line ({completion.healing.mode} healing, {passes})"
    )


def _tree_finding(engine: TokenEngine) -> Finding:
    """Whether tokens in a tree get the logits that they get alone."""
    if not engine.info.trees:
        return Finding(
            "warning",
            "trees",
            "the memory of this model cannot be cut: healing is by alignment, and slower",
        )
    trunk = engine.encode(_SAMPLE)
    left, right, after = engine.vocabulary.text_ids()[[0, len(trunk), 2 * len(trunk)]].tolist()
    slot = engine.open(trunk)
    nodes = [(ROOT, left), (ROOT, right), (1, after)]
    branches = [row.copy() for row in engine.evaluate(slot, nodes, [0, 1, 2])]
    engine.drop(slot)
    worst = 0.0
    for branch, path in zip(branches, [[left], [right], [right, after]], strict=True):
        slot = engine.open([*trunk, *path])
        [alone] = engine.evaluate(slot, [], [ROOT])
        distance = float(np.sqrt(np.square(alone - branch).mean()))
        worst = max(worst, distance / max(float(alone.std()), 1e-9))
        engine.drop(slot)
    if worst < TREE_NOISE:
        return Finding("ok", "trees", f"several texts in one pass (noise {worst:.1%})")
    return Finding(
        "warning",
        "trees",
        f"tokens in a tree are not scored as they are alone (difference {worst:.0%})",
        "use `--healing align`, and report it with this table",
    )


def check_grammars() -> Iterator[Finding]:
    """What is checked of which languages, best level first; the README says what levels are."""
    languages: dict[tuple[Level, ...], list[str]] = {}
    for language in sorted(LADDERS):
        languages.setdefault(levels(language), []).append(language)
    for found, names in sorted(languages.items(), key=lambda pair: len(pair[0]), reverse=True):
        yield Finding("ok", "grammars", f"{', '.join(names)} ({', '.join(found)})")


def check_memory() -> Iterator[Finding]:
    """The most memory that this process has had, where the system tells."""
    if sys.platform == "win32":
        return
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = peak if sys.platform == "darwin" else peak * 1024  # bytes there, kibibytes elsewhere
    yield Finding("ok", "memory", f"{megabytes(size)} at most, the model's file included")


def _print(console: Console, finding: Finding) -> None:
    state = f"{finding.state:<{STATE_CELLS}}"
    label = Text.assemble((state, _STYLES[finding.state]), (finding.name, "bold"))
    print_row(console, label, finding.found, STATE_CELLS + LABEL_CELLS)
    if finding.remedy:
        print_row(console, "", "-> " + finding.remedy, STATE_CELLS + LABEL_CELLS)
