"""What a list of banned texts costs a token: 5,000 strings and some patterns against none.

    python -m tests.bench.bench_bans [--strings N] [--rounds N]

prints tables in Markdown. The first one follows real text (the server's own code) in pieces of the
size of tokens, as a decoder would write it: each piece is asked about, looked at and noted. The
second one lets a tiny model write with the whole decoding loop, with a list and without by turns;
its text is the same, as nothing on the list comes up. Strings are names out of the same code with
something added, so that many begin everywhere. Times are processor time of the thread, so that what
else the machine does counts little. Nothing is asserted.
"""

import argparse
import os
import platform
import random
import re
import tempfile
from pathlib import Path
from statistics import median
from time import thread_time

from server.ban_watch import BanWatch
from server.bans import Bans
from server.completer import load_completer
from server.completion_options import CompletionOptions
from server.snapshot import Snapshot
from tests.tiny_model import write_tiny_model

CODE = sorted(Path(__file__).parents[2].joinpath("server").glob("*.py"))[:12]
PIECE = re.compile(rb" ?\w{1,6}|\s+|[^\w\s]{1,3}")
BEFORE, WRITTEN = 2000, 256
"""Bytes before the cursor, and tokens after it."""

PATTERNS = (
    r"\bTODO\b",
    r"Copyright \(c\) \d{4}",
    r"SPDX-License-Identifier: .*",
    r"console\.log\(",
    r"AKIA[0-9A-Z]{16}",
    r"(?i)password\s*=\s*['\"]",
    r"-----BEGIN [A-Z ]+-----",
    r"\bpdb\.set_trace\(\)",
    r"\bacme_[a-z]+_key\b",
    r"^\s*debugger;",
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strings", type=int, default=5000, help="banned strings (default 5000)")
    parser.add_argument("--rounds", type=int, default=30, help="texts that are followed")
    arguments = parser.parse_args()
    code = b"\n".join(path.read_bytes() for path in CODE)
    strings = names_of(code, arguments.strings)
    ten = [f"{pattern}{number}" for number in range(10) for pattern in PATTERNS]
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print("| list | compile ms | begin us | a token us |\n| --- | --- | --- | --- |")
    for name, listed, patterns in (
        ("1 string", strings[:1], ()),
        (f"{len(strings)} strings", strings, ()),
        (f"{len(PATTERNS)} patterns", (), PATTERNS),
        (f"{len(ten)} patterns", (), ten),
        (f"{len(strings)} strings, {len(PATTERNS)} patterns", strings, PATTERNS),
    ):
        _row(name, listed, patterns, code, arguments.rounds)
    print()
    _decoding(strings, code, arguments.rounds)


def names_of(code: bytes, count: int) -> list[str]:
    """Names of a text with something added: none of them is in it."""
    names = sorted({*re.findall(r"\w{3,}", code.decode())})
    chosen = random.Random(7)
    return [f"{chosen.choice(names)}{chosen.choice('_.(')}x{number}" for number in range(count)]


def _row(
    name: str, strings: list[str], patterns: tuple[str, ...], code: bytes, rounds: int
) -> None:
    """One row of the first table: medians over texts."""
    started = thread_time()
    bans = Bans(strings, patterns)
    compiled = thread_time() - started
    begins, tokens = [], []
    places = random.Random(3)
    for _ in range(rounds):
        start = places.randrange(BEFORE, len(code) - 4 * WRITTEN)
        pieces = PIECE.findall(code, start, start + 16 * WRITTEN)[:WRITTEN]
        started = thread_time()
        watch = BanWatch(bans, code[start - BEFORE : start])
        begun = thread_time()
        for piece in pieces:
            if watch.refusal(piece) is None and watch.place_of(piece) is None:
                watch.push(piece)
            _ = watch.settled
        tokens.append((thread_time() - begun) / len(pieces))
        begins.append(begun - started)
    print(f"| {name} | {1e3 * compiled:.1f} | {1e6 * median(begins):.0f} "
          f"| {1e6 * median(tokens):.1f} |", flush=True)  # fmt: skip


def _decoding(strings: list[str], code: bytes, rounds: int) -> None:
    """The second table: the whole loop of a tiny model."""
    with tempfile.TemporaryDirectory() as folder:
        completer = load_completer(write_tiny_model(Path(folder) / "tiny.gguf"))
    completer.drafter = None  # an answer must not help the next one
    options = CompletionOptions(max_tokens=64, multiline="always", grammar="off")
    lists = {"none": options, f"{len(strings)} strings": CompletionOptions(
        max_tokens=64, multiline="always", grammar="off", bans=tuple(strings))}  # fmt: skip
    taken: dict[str, list[float]] = {name: [] for name in lists}
    texts: dict[str, list[bytes]] = {name: [] for name in lists}
    for number in range(rounds + 1):
        before = code[: 4000 + 97 * number]
        snapshot = Snapshot("a.txt", 0, before, len(before), "plaintext")
        completer.answer(snapshot, options)  # reads the prompt
        for name, wanted in list(lists.items())[:: 1 if number % 2 else -1]:
            started = thread_time()
            generation = completer.answer(snapshot, wanted).generation
            seconds = thread_time() - started
            texts[name].append(generation.text)
            if number:  # the first one compiles
                taken[name].append(seconds / max(1, len(generation.logprobs)))
    completer.close()
    print("| list | a token of a tiny model us |\n| --- | --- |")
    for name, seconds in taken.items():
        print(f"| {name} | {1e6 * median(seconds):.0f} |")
    same = len({*map(tuple, texts.values())}) == 1
    print(f"\ntexts are {'the same' if same else 'DIFFERENT'}")


if __name__ == "__main__":
    main()
