"""Folders that midtoken writes to, and the memory that this process took."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from server import state_store
from server.doctor.finding import Finding
from server.engine.table_cache import default_folder
from server.models import store
from server.models.catalog import CATALOG
from server.models.files import megabytes
from server.terminal import count, shown_path

SCARCE_BYTES = 1 << 30
"""With less free space than this, hardly any model can be fetched."""


def check_places() -> Iterator[Finding]:
    """The folder of models, the cache, what is kept of documents, and memory."""
    yield _models_finding()
    yield _cache_finding()
    yield _states_finding()
    yield from _memory_findings()


def _models_finding() -> Finding:
    folder = store.folder()
    here = store.installed()
    unfinished = {
        name: sum(part.stat().st_size for file in entry.files for part in store.parts_of(file))
        for name, entry in CATALOG.items()
    }
    unfinished = {name: size for name, size in unfinished.items() if size}
    free = _free_bytes(folder)
    facts = {
        "path": str(folder),
        "models": [found.model.name for found in here],
        "size_bytes": sum(found.size_bytes for found in here),
        "unfinished": unfinished,
        "free_bytes": free,
        "writable": _is_writable(folder),
    }
    names = ", ".join(found.model.name for found in here) or "no model by name"
    found = f"{names} in {shown_path(str(folder))}, {megabytes(free)} free"
    if not facts["writable"]:
        remedy = "set MIDTOKEN_HOME to a folder that can be written before you fetch models"
        return Finding("warning", "models", f"{found}; it cannot be written", remedy, facts)
    if unfinished:
        found += "; unfinished: " + ", ".join(
            f"{name} ({megabytes(size)})" for name, size in unfinished.items()
        )
        some = next(iter(unfinished))
        remedy = f"`midtoken model pull {some}` goes on, `midtoken model remove {some}` deletes it"
        return Finding("note", "models", found, remedy, facts)
    if free < SCARCE_BYTES:
        remedy = "make room, or set MIDTOKEN_HOME to a folder on another disk"
        return Finding("warning", "models", found, remedy, facts)
    return Finding("ok", "models", found, facts=facts)


def _cache_finding() -> Finding:
    folder = default_folder().parent
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    free, writable = _free_bytes(folder), _is_writable(folder)
    facts = {"path": str(folder), "size_bytes": size, "free_bytes": free, "writable": writable}
    found = f"{megabytes(size)} in {shown_path(str(folder))}"
    if writable:
        return Finding("ok", "cache", found, facts=facts)
    return Finding(
        "warning",
        "cache",
        f"{found}, which cannot be written: starts are slower, and speeds are forgotten",
        "make it writable, or set MIDTOKEN_HOME to a folder that is",
        facts,
    )


def _states_finding() -> Finding:
    folder = state_store.default_folder()
    sizes = [status.st_size for _, status in state_store.files_in(folder)]
    facts = {"path": str(folder), "states": len(sizes), "size_bytes": sum(sizes)}
    if not sizes:
        return Finding("ok", "warm start", "nothing is kept of documents", facts=facts)
    kept = f"{count(len(sizes), 'prompt')} of documents, {megabytes(sum(sizes))}"
    found = f"{kept} in {shown_path(str(folder))}; the setting engine.warmStart 0 deletes them"
    return Finding("ok", "warm start", found, facts=facts)


def _existing(folder: Path) -> Path:
    """The folder, or the closest one above it that exists."""
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())


def _free_bytes(folder: Path) -> int:
    return shutil.disk_usage(_existing(folder)).free


def _is_writable(folder: Path) -> bool:
    there = _existing(folder)
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _memory_findings() -> Iterator[Finding]:
    """The most memory that this process has had, where the system tells."""
    if sys.platform == "win32":
        return
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = peak if sys.platform == "darwin" else peak * 1024  # bytes there, kibibytes elsewhere
    yield Finding(
        "ok",
        "memory",
        f"{megabytes(size)} at most, the model's file included",
        facts={"peak_bytes": size},
    )
