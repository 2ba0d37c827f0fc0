"""What healing costs: tables, queries, trees, forward passes, key strokes, start and memory.

    python -m tests.bench.bench_healing [MODEL] [--cuts N]

prints a table in Markdown. Timings are of this machine at this moment; counts are not. Nothing is
asserted: the tests do that, on counts.
"""

import argparse
import os
import platform
import random
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

from healing.covers import covering_tree
from healing.tokenization import Tokenization
from healing.trie import PrefixTrie
from server.completer import Completer, load_completer
from server.completion_options import CompletionOptions
from server.models import store
from server.models.catalog import DEFAULT_MODEL
from server.snapshot import Snapshot


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default=DEFAULT_MODEL)
    parser.add_argument("--cuts", type=int, default=200, help="places in code (default 200)")
    arguments = parser.parse_args()
    path = store.resolve(arguments.model)
    print(f"{_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print("| what | median | 99 % | most |\n| --- | --- | --- | --- |")

    for name, environment in (("cold (no tables cached)", True), ("warm", False)):
        seconds, peak = zip(*[_start(path, cold=environment) for _ in range(3)], strict=True)
        _row(f"start to end of a completion, {name}, s", seconds)
        _row(f"peak memory of it, {name}, MB", peak)

    completer = load_completer(path)
    tokenization = completer.tokenization
    vocabulary = tokenization.vocabulary
    _row("build the prefix trie, ms", _times(lambda: PrefixTrie.build(vocabulary), 5, 1e3))
    print(f"| memory of the prefix trie, MB | {tokenization.trie.memory_bytes() / 1e6:.1f} | | |")
    places = list(_places(arguments.cuts))
    prefixes = [typed[-random.Random(i).randint(1, 6) :] for i, (_, typed, _) in enumerate(places)]
    _row("tokens that start with given bytes, µs", _each(tokenization.trie.starting_with, prefixes))
    _row("tokens that given bytes start with, µs", _each(tokenization.trie.prefixes_of, prefixes))
    _trees(tokenization, [typed for _, typed, _ in places])
    _requests(completer, places[: arguments.cuts // 5])
    _key_strokes(completer, places[: arguments.cuts // 10])
    completer.close()


def _trees(tokenization: Tokenization, typed: list[bytes]) -> None:
    trees = []

    def build(text: bytes) -> None:
        trees.append(covering_tree(text, tokenization))

    _row("build a covering tree, ms", [time / 1e3 for time in _each(build, typed)])
    _row("tree tokens beyond the trunk", [len(tree.nodes) for tree in trees])
    print(f"| mean of these | {statistics.mean(len(tree.nodes) for tree in trees):.2f} | | |")


def _requests(completer: Completer, places: list[tuple[bytes, bytes, bytes]]) -> None:
    """First requests at new places: the prompt is read, then the tree in the same pass."""
    options = CompletionOptions(max_tokens=1, context_tokens=100)
    first, evaluated = [], []
    for before, typed, after in places:
        result = completer.complete(_snapshot(before, typed, after), options)
        first.append(result.timing_ms["first_text"])
        evaluated.append(result.tokens.evaluated - result.tokens.prompt + result.tokens.reused)
    _row("first text at a new place (prompt of 100 tokens and tree), ms", first)
    _row("tokens evaluated there beyond the prompt", evaluated)


def _key_strokes(completer: Completer, places: list[tuple[bytes, bytes, bytes]]) -> None:
    """One more character of the line at the same place."""
    options = CompletionOptions(max_tokens=1, context_tokens=100)
    times, evaluated = [], []
    for before, typed, after in places:
        rest = after.split(b"\n")[0][:8]
        if not rest.isascii():
            continue
        completer.complete(_snapshot(before, typed, after), options)
        for count in range(1, len(rest) + 1):
            snapshot = _snapshot(before, typed + rest[:count], after[after.find(b"\n") :])
            result = completer.complete(snapshot, options)
            if count > 1:  # the first one has another suffix
                times.append(result.timing_ms["first_text"])
                evaluated.append(result.tokens.evaluated)
    _row("first text after one more character, ms", times)
    _row("tokens evaluated for it", evaluated)
    print(f"| mean of these | {statistics.mean(evaluated):.2f} | | |")


def _snapshot(before: bytes, typed: bytes, after: bytes) -> Snapshot:
    return Snapshot("bench.py", 0, before + typed + after, len(before + typed), "python")


def _places(count: int) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Random cuts in the standard library: lines before, the line up to the cut, what follows."""
    rng = random.Random(7)
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    while count:
        text = rng.choice(files).read_bytes()
        if len(text) < 400:
            continue
        cut = rng.randrange(200, len(text) - 100)
        start = text.rfind(b"\n", 0, cut) + 1
        if start == cut:
            continue
        yield text[max(0, start - 2000) : start], text[start:cut], text[cut : cut + 1000]
        count -= 1


def _start(path: Path, *, cold: bool) -> tuple[float, float]:
    """Seconds and megabytes of a whole `midtoken complete`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "a.py")
        file.write_text("def fibonacci(n):\n    if n < 2:\n        return n\n    retu\n")
        environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
        if cold:
            environment["MIDTOKEN_HOME"] = folder
        command = [sys.executable, "-m", "server.cli", "complete", f"{file}:4:9"]
        started = perf_counter()
        process = subprocess.Popen(
            [*command, "--model", str(path)], env=environment, stdout=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{' '.join(command)} failed")
        return perf_counter() - started, usage.ru_maxrss / 1024


def _times(action: Callable[[], object], count: int, scale: float) -> list[float]:
    times = []
    for _ in range(count):
        started = perf_counter()
        action()
        times.append((perf_counter() - started) * scale)
    return times


def _each(action: Callable[[bytes], object], inputs: list[bytes]) -> list[float]:
    """Microseconds of an action for each input."""
    return [_times(lambda text=text: action(text), 1, 1e6)[0] for text in inputs]


def _row(name: str, values: list[float] | tuple[float, ...]) -> None:
    ordered = sorted(values)
    high = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    cells = (statistics.median(ordered), high, ordered[-1])
    print(f"| {name} | " + " | ".join(f"{cell:.3g}" for cell in cells) + " |", flush=True)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    main()
