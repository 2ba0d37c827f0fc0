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
from itertools import islice, product
from statistics import mean

from server.bench.holes import standard_library
from server.completer import Completer, load_completer
from server.engine.llama_load import EngineOptions
from server.models import store
from server.models.catalog import DEFAULT_MODEL
from server.prompt import SUFFIX_SHARE, build_prompt
from server.prompt_choice import line_tokens
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


def tokens_at(
    completer: Completer, snapshot: Snapshot, budget: int, lines: int
) -> tuple[tuple[int, ...], int]:
    """The prompt's tokens, with what is typed, and how many of them come after the cursor."""
    encode = completer.tokenization.encode
    prompt = build_prompt(
        snapshot,
        place_at(snapshot),
        completer.tokenization,
        fim=completer.engine.fim,
        start=(),
        root=0,
        budget=budget,
        anchored=True,
        line_tokens=lines,
    )
    head, fim = prompt.head, completer.engine.fim
    suffix = len(head) - 1 - head.index(fim.suffix) if fim is not None else 0
    return (*head, *encode(prompt.typed)), suffix


def type_lines(
    completer: Completer, name: str, text: bytes, budget: int, lines_in: int, reading: Reading
) -> None:
    """Type the lines after the first third of a file, what comes later being there already."""
    lines = text.splitlines(keepends=True)
    first = len(lines) // 3
    before, after = b"".join(lines[:first]), b"\n" + b"".join(lines[first + LINES :])

    def at(start: bytes) -> tuple[tuple[int, ...], int]:
        snapshot = Snapshot(name, 0, start + after, len(start), "python")
        return tokens_at(completer, snapshot, budget, lines_in)

    known = [at(before)[0]]
    for line in lines[first : first + LINES]:
        for key in range(KEYS + 1):
            tokens, suffix = at(before + line[: len(line.rstrip()) * key // (KEYS + 1)])
            read = len(tokens) - max(common(tokens, other) for other in known[-8:])
            if key:
                reading.keys.append(read)
            elif len(known) > 1:
                reading.enters.append(read)
                reading.lengths.append(len(tokens))
                reading.suffixes.append(suffix if read >= suffix else 0)
            known.append(tokens)
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
    print("budget  the hole begins  prompt  read after Enter  of it after the cursor", end="  ")
    print("most is read  read at a key")
    info = completer.engine.info
    for budget, several in product(BUDGETS, (False, True)):
        reading = Reading()
        lines = line_tokens(info, budget - budget // SUFFIX_SHARE) if several else 0
        for name, text in some:
            type_lines(completer, name, text, budget, lines, reading)
        whole = mean(
            read > size / 2 for read, size in zip(reading.enters, reading.lengths, strict=True)
        )
        suffix = mean(reading.suffixes) / mean(reading.enters) if reading.suffixes else 0.0
        print(
            f"{budget:6}  {'some lines up' if several else 'on the line':>15}"
            f"  {mean(reading.lengths):6.0f}  {mean(reading.enters):16.1f}"
            f"  {suffix:22.0%}  {whole:12.0%}  {mean(reading.keys):13.1f}"
        )
    completer.close()


if __name__ == "__main__":
    main()
