"""What a process takes: memory, threads and open files; and whether it grows."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median

BUCKETS = 20
"""The least of each part of a run counts: what is needed for a moment is no growth."""

MOST_GROWTH = 24 << 20
"""Bytes: what a process may grow by after it is warm."""

WARM_S = 600.0
MOST_WARMING = 64 << 20
"""A process that was watched for less may still get warm: it meets longer texts and new languages,
whose grammars take megabytes each."""

MOST_IN_USE = 8 << 20
"""Bytes: what malloc may have given out more at rest, late in a run than early."""

MOST_PIECES = 100_000
"""The same of Python's small pieces, which are some 70 bytes each."""

Samples = Sequence[tuple[float, int]]
"""Pairs of seconds and bytes."""


def memory(pid: int) -> int | None:
    """Bytes of a process that no file backs, in memory or swapped out; None if it has gone.

    The pages of a model's file come and go with what else the machine does, so they do not count.
    """
    fields = {}
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
            name, value, *_ = line.split()
            fields[name] = int(value)
    except (OSError, ValueError):
        return None
    return 1024 * (fields["Anonymous:"] + fields["Swap:"]) if "Anonymous:" in fields else None


def threads(pid: int) -> int:
    """How many threads a process has. Raises OSError."""
    return len([*Path(f"/proc/{pid}/task").iterdir()])


def open_files(pid: int) -> list[str]:
    """What a process has open, in order. Raises OSError."""
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(str(link.readlink()).split(":[")[0])
        except FileNotFoundError:  # closed meanwhile
            continue
    return sorted(found)


def growth(samples: Samples) -> float:
    """Bytes by which something has grown over its samples, by the line that fits them best.

    The line is that of least squares through the least sample of each of twenty parts.
    """
    if len(samples) < 2 * BUCKETS:
        return 0.0
    first, last = samples[0][0], samples[-1][0]
    least: dict[int, tuple[float, int]] = {}
    for at, size in samples:
        part = min(BUCKETS - 1, int(BUCKETS * (at - first) / (last - first)))
        if part not in least or size < least[part][1]:
            least[part] = at, size
    points = [*least.values()]
    mean_at = sum(at for at, _ in points) / len(points)
    mean = sum(size for _, size in points) / len(points)
    spread = sum((at - mean_at) ** 2 for at, _ in points)
    slope = sum((at - mean_at) * (size - mean) for at, size in points) / spread if spread else 0.0
    return slope * (last - first)


def faults_of(
    samples: Samples,
    rests: Sequence[tuple[int, list[str]]],
    used: Sequence[tuple[int, ...]] = (),
) -> list[str]:
    """What has grown of a process that should not have.

    Args:
        samples: Its memory, since it is warm.
        rests: Threads and open files at each rest since then.
        used: Bytes from malloc, and Python's pieces, at each rest since then.
    """
    found = []
    grown = growth(samples)
    lived = samples[-1][0] - samples[0][0] if samples else 0.0
    if grown > (MOST_GROWTH if lived >= WARM_S else MOST_WARMING):
        found.append(f"memory has grown by {grown / (1 << 20):.1f} MiB")
    if len(used) > 3 and lived >= WARM_S:
        early, late = used[: len(used) // 2], used[len(used) // 2 :]
        more, pieces = (
            median(each[which] for each in late) - median(each[which] for each in early)
            for which in (0, 1)
        )
        if more > MOST_IN_USE:
            found.append(f"{more / (1 << 20):.1f} MiB more are in use at rest")
        if pieces > MOST_PIECES:
            found.append(f"Python has {pieces:,.0f} pieces more at rest")
    if len(rests) > 1:
        # Half of the run: what is not said to be the event loop's pool may begin some when needed.
        threads_before, files_before = rests[(len(rests) - 1) // 2]
        threads_now, files_now = rests[-1]
        if threads_now > threads_before:
            found.append(f"{threads_now} threads at rest, and {threads_before} before")
        if len(files_now) > len(files_before):
            new = Counter(files_now) - Counter(files_before)
            found.append(f"files stay open: {dict(new)}")
    return found
