"""What of a prompt has to be read again while somebody types, by the longest common beginning.

`python -m tests.bench.bench_prompt [MODEL] [--files N]` (a name or a path; the default model
otherwise). The model reads nothing: its tokenizer and its marks say which tokens a prompt has, and
what an earlier prompt shares with them from the first token on need not be read. A person types the
middle of files of the standard library line by line; the prompt is built at each line's start, as
after Enter, and at some keys within the line. All earlier prompts count as still in memory.

Printed for each budget: tokens of the prompt, tokens that are read after Enter (mean, and the share
of it that is the text after the cursor), how often after Enter most of the prompt is read, and
tokens that are read at a key within a line.
"""

import argparse
import random
from dataclasses import dataclass, field
from itertools import islice
from statistics import mean

from server.bench.holes import standard_library
from server.completer import Completer, load_completer
from server.engine.llama_load import EngineOptions
from server.models import store
from server.models.catalog import DEFAULT_MODEL
from server.prompt import build_prompt
from server.rules import place_at
from server.snapshot import Snapshot, read_document

BUDGETS = (160, 640, 2400)
LINES = 60
"""Lines that are typed in a file."""
KEYS = 2
"""Places within a line, the same share of it apart."""


@dataclass
class Reading:
    """Tokens at one budget."""

    lengths: list[int] = field(default_factory=list)
    enters: list[int] = field(default_factory=list)
    suffixes: list[int] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)


def common(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """How many of the first tokens are the same."""
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )


def head_at(completer: Completer, name: str, text: bytes, cursor: int, budget: int) -> list[int]:
    """The prompt's tokens before what is typed."""
    snapshot = Snapshot(name, 0, text, cursor, "python")
    return list(
        build_prompt(
            snapshot,
            place_at(snapshot),
            completer.tokenization,
            fim=completer.engine.fim,
            start=(),
            root=0,
            budget=budget,
            anchored=True,
        ).head
    )


def type_lines(completer: Completer, name: str, text: bytes, budget: int, reading: Reading) -> None:
    """Type the lines after the first third of a file, what comes later being there already."""
    lines = text.splitlines(keepends=True)
    first = len(lines) // 3
    before, after = b"".join(lines[:first]), b"\n" + b"".join(lines[first + LINES :])
    fim = completer.engine.fim
    known: list[tuple[int, ...]] = [
        tuple(head_at(completer, name, before + after, len(before), budget))
    ]
    for line in lines[first : first + LINES]:
        for key in range(KEYS + 1):
            typed = line[: len(line.rstrip()) * key // (KEYS + 1)]
            start = before + typed
            head = tuple(head_at(completer, name, start + after, len(start), budget))
            read = len(head) - max(common(head, other) for other in known[-8:])
            if key:
                reading.keys.append(read)
            elif len(known) > 1:
                reading.enters.append(read)
                reading.lengths.append(len(head))
                if fim is not None:
                    reading.suffixes.append(len(head) - 1 - head.index(fim.suffix))
            known.append(head)
        before += line


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?", default=DEFAULT_MODEL)
    parser.add_argument("--files", type=int, default=12)
    arguments = parser.parse_args()
    completer = load_completer(store.resolve(arguments.model), EngineOptions(n_ctx=64))
    paths = standard_library()
    random.Random(0).shuffle(paths)
    texts = ((path.name, read_document(str(path))) for path in paths)
    some = list(islice((t for t in texts if t[1].count(b"\n") > 5 * LINES), arguments.files))
    print(f"{LINES} lines in each of {len(some)} files, {completer.engine.info.name}")
    print("budget  prompt  read after Enter  of it after the cursor  most is read  read at a key")
    for budget in BUDGETS:
        reading = Reading()
        for name, text in some:
            type_lines(completer, name, text, budget, reading)
        whole = mean(
            read > size / 2 for read, size in zip(reading.enters, reading.lengths, strict=True)
        )
        suffix = mean(reading.suffixes) / mean(reading.enters) if reading.suffixes else 0.0
        print(
            f"{budget:6}  {mean(reading.lengths):6.0f}  {mean(reading.enters):16.1f}"
            f"  {suffix:22.0%}  {whole:12.0%}  {mean(reading.keys):13.1f}"
        )
    completer.close()


if __name__ == "__main__":
    main()
