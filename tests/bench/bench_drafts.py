"""What drafts bring: blocks of several lines in real files, decoded plainly and with drafts.

    python -m tests.bench.bench_drafts [MODEL] [--places N] [--seed N] [--tokens N]

A place is the end of a line in a function of the standard library; the rest of the function is
taken out of its file. Each is completed both ways, one right after the other, first one way and
then the other by turns, so that what else the machine does hits both alike (`new`). Then the
function's author goes on typing until a character is not what was suggested, and asks again
(`typed on`), or asks again after a comment was put some lines above (`edited`): what is written
then may be in the first answer.

Prints tables in Markdown. Times are of this machine at this moment; nothing is asserted. Two texts
that differ are counted: the shape of a batch changes the last bits of the logits.
"""

import argparse
import os
import random
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter, process_time

from server.bench.corpus import standard_library
from server.completer import Completer, load_completer
from server.completion_options import CompletionOptions
from server.doctor.cpu import this_processor
from server.draft_gains import LENGTHS, Gains
from server.drafting import Drafter
from server.drafts import SIZES
from server.models import store
from server.models.catalog import DEFAULT_MODEL
from server.snapshot import Snapshot


@dataclass(frozen=True)
class Place:
    """A cursor in a file, and what its author wrote there."""

    before: bytes
    gold: bytes
    after: bytes

    def snapshot(self) -> Snapshot:
        """The file without what is to be written."""
        return Snapshot("bench.py", 0, self.before + self.after, len(self.before), "python")


class Recorded(Gains):
    """Gains that also keep what they were told."""

    def __init__(self, gpu_share: float) -> None:
        super().__init__(gpu_share)
        self.sizes: Counter[int] = Counter()
        self.fates: dict[int, list[bool]] = {size: [] for size in SIZES}

    def took(self, size: int, seconds: float) -> None:
        super().took(size, seconds)
        self.sizes[size] += 1

    def saw(self, match: int, held: bool) -> None:
        super().saw(match, held)
        self.fates[max(size for size in SIZES if size <= match)].append(held)


@dataclass(frozen=True)
class Run:
    """One answer."""

    text: bytes
    tokens: int
    """Decoded, after the first one, which is healing's."""
    seconds: float
    """For these."""
    processor: float
    """Seconds of all threads for these: what other programs do does not count."""
    drafted: int
    accepted: int


@dataclass(frozen=True)
class Pair:
    """A place, completed both ways."""

    plain: Run
    drafts: Run

    @property
    def gain(self) -> float:
        """How much faster it was with drafts."""
        return self.plain.seconds / self.plain.tokens * self.drafts.tokens / self.drafts.seconds


def row(name: str, pairs: list[Pair]) -> str:
    """Some places as a row of a table."""
    plain, drafts = [pair.plain for pair in pairs], [pair.drafts for pair in pairs]
    tokens = [sum(run.tokens for run in runs) for runs in (plain, drafts)]
    rates, work = (
        [
            count / sum(of(run) for run in runs)
            for count, runs in zip(tokens, (plain, drafts), strict=True)
        ]
        for of in (lambda run: run.seconds, lambda run: run.processor)
    )
    gains = sorted(pair.gain for pair in pairs)
    drafted = sum(run.drafted for run in drafts)
    accepted = sum(run.accepted for run in drafts)
    cells = (
        name,
        str(len(pairs)),
        f"{rates[0]:.1f}",
        f"{rates[1]:.1f}",
        f"{rates[1] / rates[0]:.2f}",
        f"{work[1] / work[0]:.2f}",
        f"{statistics.median(gains):.2f} ({gains[0]:.2f} to {gains[-1]:.2f})",
        f"{drafted / tokens[1]:.2f}",
        f"{accepted / max(1, drafted):.0%}",
        str(sum(pair.plain.text != pair.drafts.text for pair in pairs)),
    )
    return "| " + " | ".join(cells) + " |"


HEAD = (
    "| | places | tokens/s plain | with drafts | gain | in processor time | median gain of a place "
    "| drafted a token | accepted | texts that differ |\n" + "| --- " * 10 + "|"
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default=DEFAULT_MODEL)
    parser.add_argument("--places", type=int, default=12, help="places (default 12)")
    parser.add_argument("--seed", type=int, default=1, help="which places (default 1)")
    parser.add_argument("--tokens", type=int, default=64, help="tokens an answer (default 64)")
    arguments = parser.parse_args()
    completer = load_completer(store.resolve(arguments.model))
    info = completer.engine.info
    gains = Recorded(info.offloaded_layers / max(1, info.layers))
    drafter = Drafter(completer.tokenization, gains)
    options = CompletionOptions(multiline="auto", max_tokens=arguments.tokens)
    pairs: dict[str, list[Pair]] = {"new": [], "typed on": [], "edited": []}
    for number, place in enumerate(_places(arguments.seed, arguments.places)):
        order = (None, drafter) if number % 2 else (drafter, None)
        text = _both(completer, place, options, order, pairs["new"])
        _both(completer, _edited(place), options, order, pairs["edited"])
        going_on = _typed_on(place, text)
        if going_on is not None:
            _both(completer, going_on, options, order[::-1], pairs["typed on"])
    completer.close()

    device = info.backend if info.offloaded_layers else this_processor().name
    print(f"{info.name} on {device}, {os.cpu_count()} cores\n\n{HEAD}")
    for name, some in pairs.items():
        if some:
            print(row(name, some))
    print("\n| match in bytes | guessed tokens | chosen |\n| --- | --- | --- |")
    for size, fates in gains.fates.items():
        if fates:
            print(f"| {size} | {len(fates)} | {statistics.mean(fates):.0%} |")
    print("\n| batch | passes | cost in single steps |\n| --- | --- | --- |")
    for size in (1, *(1 + length for length in LENGTHS)):
        print(f"| {size} | {gains.sizes[size]} | {gains.cost(size):.2f} |")


def _both(
    completer: Completer,
    place: Place,
    options: CompletionOptions,
    order: tuple[Drafter | None, Drafter | None],
    pairs: list[Pair],
) -> bytes:
    """Complete a place both ways; returns what is written without drafts."""
    runs = {}
    for drafter in order:
        completer.drafter = drafter
        runs[drafter is None] = _run(completer, place, options)
    if runs[True].tokens and runs[False].tokens:
        pairs.append(Pair(runs[True], runs[False]))
    return runs[True].text


def _run(completer: Completer, place: Place, options: CompletionOptions) -> Run:
    begun: list[tuple[float, float]] = []
    answer = completer.answer(
        place.snapshot(), options, lambda _: begun.append((perf_counter(), process_time()))
    )
    ended = (perf_counter(), process_time())
    generation = answer.generation
    seconds, processor = (ended[of] - begun[0][of] if begun else 0.0 for of in (0, 1))
    tokens = len(generation.logprobs) - 1
    return Run(generation.text, tokens, seconds, processor, generation.drafted, generation.accepted)


def _edited(place: Place) -> Place:
    """The place after a comment was put four lines above it, or at the start of the file."""
    lines = place.before.split(b"\n")
    at = max(0, len(lines) - 5)
    indentation = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines.insert(at, indentation + b"# Checked.")
    return Place(b"\n".join(lines), place.gold, place.after)


def _typed_on(place: Place, text: bytes) -> Place | None:
    """The place after the first character that was not suggested; None if there is none."""
    same = _common(place.gold, text)
    typed = place.gold[: same + 1]
    if same == len(place.gold) or not typed.isascii():
        return None
    return Place(place.before + typed, place.gold[same + 1 :], place.after)


def _common(left: bytes, right: bytes) -> int:
    """How many bytes are the same at the start."""
    pairs = zip(left, right, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


def _places(seed: int, count: int) -> Iterator[Place]:
    """Ends of lines in functions; what comes after them in the function is taken out."""
    chance = random.Random(seed)
    for source in standard_library(seed):
        target = chance.choice(source.targets)
        at = source.targets.index(target)
        lines = target.text.splitlines(keepends=True)
        kept = chance.randrange(1, len(lines) - 1)
        before = "".join(
            piece + target.text
            for piece, target in zip(source.pieces[:at], source.targets[:at], strict=True)
        )
        before += source.pieces[at] + "".join(lines[:kept]).removesuffix("\n")
        after = source.pieces[at + 1] + "".join(
            target.text + piece
            for target, piece in zip(source.targets[at + 1 :], source.pieces[at + 2 :], strict=True)
        )
        yield Place(before.encode(), ("\n" + "".join(lines[kept:])).encode(), after.encode())
        count -= 1
        if not count:
            return


if __name__ == "__main__":
    main()
