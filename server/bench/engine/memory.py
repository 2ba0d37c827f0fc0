"""Where the memory goes: by llama.cpp's own word, by the tables', and by the system's.

Llama.cpp's log tells each of its buffers when a model is loaded. The system tells how much of the
process is in memory: in all, its share of what several processes have (`pss`), and what no file is
behind (`anonymous`). A model's file is mapped, so its pages come and go with what else is done.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from server.bench.engine.loading import Model
from server.own_methods import memory

_BUFFER = re.compile(r"(\S+)\s+(model|KV|RS|compute|output)\s+buffer size =\s+([0-9.]+) MiB")
KINDS = {"Rss": "resident", "Pss": "pss", "Anonymous": "anonymous"}
"""Lines of Linux's `smaps_rollup`, and what they are called here."""


def buffers(log: Iterable[tuple[int, str]]) -> list[dict[str, Any]]:
    """The buffers in a log of llama.cpp: where each is, what for, and its bytes."""
    found = (_BUFFER.search(line) for _, line in log)
    return [
        {"where": match[1], "kind": match[2], "bytes": round(float(match[3]) * 2**20)}
        for match in found
        if match
    ]


def resident() -> dict[str, int | None]:
    """The process's bytes in memory as the system counts them; None where it doesn't tell."""
    try:
        lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        counted = memory()
        return {
            "resident": counted["residentBytes"],
            "pss": None,
            "anonymous": counted["privateBytes"],
        }
    sizes = dict(re.findall(r"^(\w+):\s+(\d+) kB$", "\n".join(lines), re.MULTILINE))
    return {name: 1024 * int(sizes[line]) for line, name in KINDS.items()}


def tables(model: Model) -> dict[str, int]:
    """The bytes of what healing needs of a vocabulary."""
    vocabulary, tokenization = model.tables.vocabulary, model.completer.tokenization
    return {
        "vocabulary": len(vocabulary.blob) + vocabulary.offsets.nbytes + vocabulary.kinds.nbytes,
        "merges": model.tables.merges.nbytes,
        "tokens in byte order": tokenization.trie.memory_bytes(),
    }
