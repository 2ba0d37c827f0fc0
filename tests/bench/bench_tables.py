"""How long a model's tables take to read, build and load from the cache, and what they weigh.

`python -m tests.bench.bench_tables [MODEL]` (a name or a path; the default model otherwise). Times
are the best of several runs, the file in the system's page cache.
"""

import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from server.engine.gguf import check_whole, read_metadata
from server.engine.tables import build_tables, load_tables
from server.models import store
from server.models.catalog import DEFAULT_MODEL

T = TypeVar("T")
RUNS = 5


def best(call: Callable[[], T]) -> tuple[float, T]:
    """The shortest time of several calls in milliseconds, and what the last one returned."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        result = call()
        times.append((time.perf_counter() - start) * 1e3)
    return min(times), result


def peak_mb(call: Callable[[], object]) -> float:
    """The most memory that one call held at once, in MB."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main() -> None:
    """Measure and print."""
    path = store.resolve(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_MODEL)
    with tempfile.TemporaryDirectory() as scratch:
        cache = Path(scratch)
        read_ms, metadata = best(lambda: read_metadata(path))
        whole_ms, _ = best(lambda: check_whole(path))
        build_ms, tables = best(lambda: build_tables(metadata))
        start = time.perf_counter()
        load_tables(path, cache)
        cold_ms = (time.perf_counter() - start) * 1e3
        warm_ms, _ = best(lambda: load_tables(path, cache))
        (entry,) = cache.iterdir()
        peak_cold, peak_warm = (
            peak_mb(lambda: build_tables(read_metadata(path))),
            peak_mb(lambda: load_tables(path, cache)),
        )
        entry_mb = entry.stat().st_size / 1e6
    vocabulary = tables.vocabulary
    arrays = (vocabulary.offsets, vocabulary.kinds, tables.merges)
    held = len(vocabulary.blob) + sum(array.nbytes for array in arrays)
    print(f"{path.name}: {len(vocabulary):,} tokens, {len(tables.merges):,} merges")
    print(f"metadata {len(metadata.block) / 1e6:.1f} MB, cache entry {entry_mb:.1f} MB")
    print(f"read the metadata      {read_ms:7.1f} ms")
    print(f"check the file's size  {whole_ms:7.1f} ms")
    print(f"build the tables       {build_ms:7.1f} ms   peak {peak_cold:.0f} MB with reading")
    print(f"load, first time       {cold_ms:7.1f} ms   reading, building, writing the cache")
    print(f"load from the cache    {warm_ms:7.1f} ms   peak {peak_warm:.0f} MB")
    print(f"the tables hold        {held / 1e6:7.1f} MB")


if __name__ == "__main__":
    main()
