"""The model: its file, where it runs, what its vocabulary allows, and what loading it takes."""

import re
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from server.completer import Completer, load_completer
from server.doctor.finding import Finding
from server.doctor.trials import check_trials
from server.engine.gguf import read_metadata
from server.engine.gguf_splits import parts
from server.engine.llama_library import collected_log
from server.engine.llama_load import EngineOptions, usable_cores
from server.engine.tables import build_tables, load_tables
from server.errors import MidtokenError, UnknownVocabularyError
from server.models.catalog import CATALOG
from server.models.files import megabytes
from server.terminal import count, duration, shown_path

_BUFFER = re.compile(r"(?:KV|RS) buffer size =\s*([\d.]+) MiB")


def file_finding(name: str, path: Path) -> Finding:
    """A model file that is whole, by its header."""
    files = parts(read_metadata(path))
    size = sum(file.stat().st_size for file in files)
    several = f" in {len(files)} files" if len(files) > 1 else ""
    shown = f"{shown_path(str(path))} ({megabytes(size)}{several}, whole)"
    facts = {"path": str(path), "files": [str(file) for file in files], "size_bytes": size}
    remedy = f"`midtoken model verify {name}` reads all of it" if name in CATALOG else ""
    return Finding("ok", "model file", shown, remedy, facts)


def check_model(path: Path, options: EngineOptions) -> Iterator[Finding]:
    """Load a model and try it. Stops at the first thing that makes it unusable."""
    try:
        start = dict(_table_times(path))
        with collected_log() as log:
            completer = load_completer(path, options)
    except MidtokenError as error:
        yield Finding("problem", "model", str(error))
        return
    try:
        yield from _loaded_findings(completer, "\n".join(line for _, line in log))
        yield _start_finding({"load_ms": completer.loading_ms["load_model"], **start})
        yield from check_trials(completer, options.threads or usable_cores())
    except MidtokenError as error:
        yield Finding("problem", "trial", str(error), "try `--gpu-layers 0`, or another model")
    finally:
        completer.close()


def _table_times(path: Path) -> Iterator[tuple[str, float]]:
    """Milliseconds to build a model's tables and to read them; none for unknown vocabularies."""
    try:
        started = perf_counter()
        build_tables(read_metadata(path))
        built = perf_counter()
        load_tables(path)
        cached = perf_counter()
        load_tables(path)
        read = perf_counter()
    except UnknownVocabularyError:
        return
    yield "tables_ms", 1e3 * (built - started)
    yield "cached_tables_ms", 1e3 * (read - cached)


def _start_finding(times: dict[str, float]) -> Finding:
    found = f"model {duration(times['load_ms'])}"
    if "tables_ms" in times:
        found += (
            f", its tables {duration(times['tables_ms'])} at first, "
            f"{duration(times['cached_tables_ms'])} from the cache"
        )
    facts = {name: round(milliseconds, 1) for name, milliseconds in times.items()}
    return Finding("ok", "start", found, facts=facts)


def _loaded_findings(completer: Completer, log: str) -> Iterator[Finding]:
    info = completer.engine.info
    yield Finding(
        "ok",
        "model",
        f"{info.name} ({info.description})",
        facts={"name": info.name, "description": info.description, "size_bytes": info.size_bytes},
    )
    if info.lora:
        yield Finding(
            "ok",
            "adapter",
            f"{shown_path(info.lora.path)} (scale {info.lora.scale:g})",
            facts={"path": info.lora.path, "scale": info.lora.scale},
        )
    size = len(completer.engine.vocabulary)
    yield Finding(
        "ok",
        "vocabulary",
        f"{count(size, 'token')} ({info.vocabulary_type})",
        facts={"tokens": size, "kind": info.vocabulary_type},
    )
    yield _fill_in_finding(completer)
    sizes = [float(mebibytes) * 2**20 for mebibytes in _BUFFER.findall(log)]
    memory = f", {megabytes(int(sum(sizes)))} of memory" if sizes else ""
    yield Finding(
        "ok",
        "context",
        f"{count(info.context_tokens, 'token')}{memory}",
        facts={"tokens": info.context_tokens, "size_bytes": int(sum(sizes))},
    )
    layers = f"{info.offloaded_layers} of {count(info.layers, 'layer')} on a GPU"
    if info.device_bytes:
        layers += f", {megabytes(info.device_bytes)} of its memory"
    yield Finding(
        "warning" if info.note else "ok",
        "runs on",
        f"{info.backend} ({layers})",
        info.note or "",
        {
            "backend": info.backend,
            "layers": info.layers,
            "offloaded_layers": info.offloaded_layers,
            "device_bytes": info.device_bytes,
        },
    )


def _fill_in_finding(completer: Completer) -> Finding:
    fim = completer.engine.fim
    if fim is None:
        return Finding(
            "warning",
            "fill-in",
            "the model has no fill-in-the-middle tokens: text after the cursor is not used",
            "choose a model for code (see `midtoken model list`)",
            {"dialect": None},
        )
    ids = {"prefix": fim.prefix, "suffix": fim.suffix, "middle": fim.middle}
    last = "no mark before the answer" if fim.middle is None else f"middle {fim.middle}"
    found = f"{fim.dialect} (prefix {fim.prefix}, suffix {fim.suffix}, {last})"
    return Finding("ok", "fill-in", found, facts={"dialect": fim.dialect} | ids)
