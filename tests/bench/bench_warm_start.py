"""The first suggestion after a restart: cold against warm.

    python -m tests.bench.bench_warm_start [MODEL] [--files N] [--repeats N] [--context-tokens N]

prints three tables in Markdown. The first one is of real server processes, each asked once for a
suggestion at the same place of a module of the standard library: one that has nothing on disk, and
one that finds what an earlier one left there when it ended, by turns. *same line* asks where the
earlier one was asked; *further on* asks some lines below. Times are from the request to the first
text (as the report tells) and to the answer; loading the model is not in them.

The second one tells how much of a prompt is on disk, by how many lines further on it is asked for
and by how many tokens prompts may have: the median over places in all of the modules.

The third one is of one engine in this process, for prompts of several lengths: the size on disk,
taking the state out of memory, writing it, reading it with its hash, putting it back, and reading
the prompt for comparison. Files are in the system's page cache. Timings are of this machine at this
moment; nothing is asserted.
"""

import argparse
import asyncio
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TypeVar

from server.client import ServerClient
from server.completer import Completer, load_completer
from server.engine import ROOT, TokenEngine
from server.engine.llama_slots import common_length
from server.models import store
from server.models.catalog import DEFAULT_MODEL
from server.positions import Position
from server.prompt import SUFFIX_SHARE, build_prompt
from server.prompt_choice import line_tokens
from server.rules import place_at
from server.snapshot import Snapshot
from server.state_store import StateStore

T = TypeVar("T")

MODULES = ("shlex", "textwrap", "configparser", "csv", "sched", "fractions")
"""Of 170 to 1,400 lines."""
FURTHER = 3
LINES_FURTHER = (0, 1, 3, 8, 20)
PLACES = 8
"""Of a module, for the second table."""
LENGTHS = (160, 640, 1280)
ANSWER_TOKENS = 16


@dataclass(frozen=True)
class Place:
    """A cursor at the end of a line that is cut, everything else as in the file."""

    path: Path
    line: int
    text: str
    column: int


@dataclass(frozen=True)
class First:
    """One first suggestion."""

    text: str
    first_text_ms: float
    answer_ms: float
    reused: int
    evaluated: int


def place_in(module: str, after: int) -> Place:
    """The first line with some code so many lines after the middle of a module, cut within."""
    path = Path(os.__file__).parent / f"{module}.py"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    number = len(lines) // 2 + after
    while len(lines[number].split()) < 3 or lines[number].lstrip().startswith("#"):
        number += 1
    line = lines[number].rstrip()
    column = len(line) - len(line.split()[-1]) + 1
    text = "".join(lines[:number]) + line[:column] + "\n" + "".join(lines[number + 1 :])
    return Place(path, number, text, column)


async def first_suggestion(
    model: Path, place: Place, engine: dict[str, int], tokens: object
) -> First:
    """Start a server, ask it once, and let it end in order."""
    async with await ServerClient.start() as client:
        await client.initialize(
            {
                "model": {"name": str(model)},
                "engine": engine,
                "completion": {"contextTokens": tokens, "maxTokens": ANSWER_TOKENS},
                "grammar": {"mode": "off"},
            }
        )
        await client.ready()
        address = place.path.as_uri()
        client.open(address, "python", place.text)
        started = perf_counter()
        found = await client.inline(address, Position(place.line, place.column)).result
        answer_ms = 1e3 * (perf_counter() - started)
        command = {"command": "midtoken.showReport", "arguments": []}
        report = await client.request("workspace/executeCommand", command).result
    items = found["items"] if found else []
    timing = report["timing_ms"]
    first_text_ms = timing["prompt"] + timing["grammar"] + timing["first_text"]
    return First(
        items[0]["insertText"] if items else "",
        first_text_ms,
        answer_ms,
        report["tokens"]["reused"],
        report["tokens"]["evaluated"],
    )


@contextmanager
def home(folder: Path) -> Iterator[None]:
    """Have servers that are started meanwhile keep everything in a folder."""
    before = os.environ.get("MIDTOKEN_HOME")
    os.environ["MIDTOKEN_HOME"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["MIDTOKEN_HOME"]
        else:
            os.environ["MIDTOKEN_HOME"] = before


async def compare(
    model: Path, earlier: Place, place: Place, repeats: int, tokens: object
) -> tuple[list[First], list[First]]:
    """First suggestions without and with what a server left that was asked at `earlier`."""
    cold, warm = [], []
    with tempfile.TemporaryDirectory() as scratch:
        left, used, empty = (Path(scratch) / name for name in ("left", "used", "empty"))
        with home(left):
            await first_suggestion(model, earlier, {}, tokens)
        for _ in range(repeats):
            with home(empty):
                cold.append(await first_suggestion(model, place, {"warmStart": 0}, tokens))
            shutil.rmtree(used, ignore_errors=True)
            shutil.copytree(left, used)
            with home(used):
                warm.append(await first_suggestion(model, place, {}, tokens))
    return cold, warm


async def print_suggestions(model: Path, files: int, repeats: int, tokens: object) -> None:
    """The first table."""
    print("| asked | start | first text | answer | tokens reused | evaluated | same text |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for name, after in (("same line", 0), ("further on", FURTHER)):
        cold, warm = [], []
        for module in MODULES[:files]:
            earlier, place = place_in(module, 0), place_in(module, after)
            found = await compare(model, earlier, place, repeats, tokens)
            cold += found[0]
            warm += found[1]
        same = sum(one.text == other.text for one, other in zip(cold, warm, strict=True))
        for start, firsts in (("cold", cold), ("warm", warm)):
            numbers = [
                median(getattr(first, field) for first in firsts)
                for field in ("first_text_ms", "answer_ms", "reused", "evaluated")
            ]
            row = f"{numbers[0]:.0f} ms | {numbers[1]:.0f} ms | {numbers[2]:.0f} | {numbers[3]:.0f}"
            print(f"| {name} | {start} | {row} | {same} of {len(cold)} |", flush=True)


def text_at(completer: Completer, text: bytes, cursor: int, tokens: int) -> tuple[int, ...]:
    """What stays of a prompt while a line is typed, as it is chosen for a model with marks."""
    snapshot = Snapshot("a.py", 0, text, cursor, "python")
    after = LENGTHS[0] // SUFFIX_SHARE
    prompt = build_prompt(
        snapshot,
        place_at(snapshot),
        completer.tokenization,
        fim=completer.engine.fim,
        start=(),
        root=completer.engine.bos,
        budget=tokens,
        anchored=True,
        after_budget=after,
        line_tokens=line_tokens(completer.engine.info, tokens - after),
    )
    return completer.prompts.text(prompt)


def print_shares(completer: Completer) -> None:
    """The second table."""
    print("| tokens | " + " | ".join(f"{lines} lines on" for lines in LINES_FURTHER) + " |")
    print("| ---: " * (1 + len(LINES_FURTHER)) + "|")
    for length in LENGTHS:
        shares: dict[int, list[float]] = {lines: [] for lines in LINES_FURTHER}
        for module in MODULES:
            text = (Path(os.__file__).parent / f"{module}.py").read_bytes()
            starts = list(accumulate(map(len, text.splitlines(keepends=True)), initial=0))
            last = len(starts) - max(LINES_FURTHER) - 2
            for line in range(last // 3, last, last // (2 * PLACES)):
                texts = {
                    lines: text_at(completer, text, starts[line + lines], length)
                    for lines in LINES_FURTHER
                }
                for lines, there in texts.items():
                    common = common_length(texts[0], there, min(len(texts[0]), len(there)))
                    shares[lines].append(common / len(there))
        row = " | ".join(f"{100 * median(found):.0f} %" for found in shares.values())
        print(f"| {length:,} | {row} |", flush=True)


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Milliseconds, and what the call returned."""
    started = perf_counter()
    result = call()
    return 1e3 * (perf_counter() - started), result


def print_states(engine: TokenEngine) -> None:
    """The third table."""
    print("| prompt | on disk | take | write | read | put back | reading the prompt itself |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    ids = engine.encode(Path(argparse.__file__).read_bytes())
    with tempfile.TemporaryDirectory() as scratch:
        states = StateStore(Path(scratch), engine.state_key, 1 << 30)
        for length in LENGTHS:
            tokens, ids = ids[:length], ids[length:]  # nothing in common
            slot = engine.open(tokens)
            whole_ms, _ = timed(lambda slot=slot: engine.evaluate(slot, [], [ROOT]))
            take_ms, state = timed(lambda tokens=tokens: engine.save(tokens))
            write_ms, _ = timed(lambda tokens=tokens, state=state: states.write("a", tokens, state))
            engine.drop(slot)
            kept, _ = states.find(tokens, longest=length, whole=True)
            read_ms, state = timed(lambda kept=kept: states.read(kept))
            put_ms, _ = timed(lambda tokens=tokens, state=state: engine.restore(tokens, state))
            print(
                f"| {length:,} tokens | {kept.size / 1e6:.1f} MB | {take_ms:.1f} ms "
                f"| {write_ms:.1f} ms | {read_ms:.1f} ms | {put_ms:.1f} ms | {whole_ms:,.0f} ms |",
                flush=True,
            )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", nargs="?", default=DEFAULT_MODEL)
    parser.add_argument("--files", type=int, default=len(MODULES), help="0: no servers")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--context-tokens", type=int, help="see the option; `auto` without it")
    arguments = parser.parse_args()
    model = store.resolve(arguments.model)
    print(f"{model.name}, {platform.machine()}, {os.cpu_count()} CPUs\n")
    tokens = arguments.context_tokens or "auto"
    if arguments.files:
        asyncio.run(print_suggestions(model, arguments.files, arguments.repeats, tokens))
        print()
    completer = load_completer(model)
    print_shares(completer)
    print()
    print_states(completer.engine)
    completer.close()


if __name__ == "__main__":
    main()
