"""What drafts bring: blocks of several lines in real files, decoded plainly and with drafts.

    python -m tests.bench.bench_drafts [MODEL] [--places N] [--seed N] [--tokens N]

A place is the end of a line in a function of the standard library; the rest of the function is
taken out of its file. Each is completed both ways, one right after the other, first one way and
then the other by turns, so that what else the machine does hits both alike. Then the function's
author goes on typing until a character is not what was suggested, and asks again (`again`): what is
written then is often in the last answer.

Prints tables in Markdown. Times are of this machine at this moment; nothing is asserted. Two texts
that differ are counted: the shape of a batch changes the last bits of the logits.
"""

import argparse
import os
import random
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from server.bench.corpus import standard_library
from server.completer import Completer, CompletionOptions, load_completer
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


@dataclass
class Tally:
    """Both ways of decoding at some places."""

    tokens: list[tuple[int, int]] = field(default_factory=list)
    """Without drafts and with them, for each place."""
    seconds: list[tuple[float, float]] = field(default_factory=list)
    drafted: int = 0
    accepted: int = 0
    different: int = 0

    def row(self, name: str) -> str:
        """The tally as a row of a table."""
        plain, drafts = (
            sum(column) / sum(times)
            for column, times in zip(
                zip(*self.tokens, strict=True), zip(*self.seconds, strict=True), strict=True
            )
        )
        ratios = [
            (tokens[1] / seconds[1]) / (tokens[0] / seconds[0])
            for tokens, seconds in zip(self.tokens, self.seconds, strict=True)
        ]
        written = sum(tokens[1] for tokens in self.tokens)
        return (
            f"| {name} | {len(ratios)} | {plain:.1f} | {drafts:.1f} | {drafts / plain:.2f} "
            f"| {statistics.median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} "
            f"| {self.drafted / written:.2f} | {self.accepted / max(1, self.drafted):.0%} "
            f"| {self.different} |"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default=DEFAULT_MODEL)
    parser.add_argument("--places", type=int, default=16, help="places (default 16)")
    parser.add_argument("--seed", type=int, default=1, help="which places (default 1)")
    parser.add_argument("--tokens", type=int, default=64, help="tokens an answer (default 64)")
    arguments = parser.parse_args()
    completer = load_completer(store.resolve(arguments.model))
    info = completer.engine.info
    gains = Recorded(info.offloaded_layers / max(1, info.layers))
    drafter = Drafter(completer.tokenization, gains)
    options = CompletionOptions(multiline="auto", max_tokens=arguments.tokens)
    first, again = Tally(), Tally()
    for number, place in enumerate(_places(arguments.seed, arguments.places)):
        text = _both(completer, drafter, place, options, first, number % 2 == 0)
        going_on = _typed_on(place, text)
        if going_on is not None:
            _both(completer, drafter, going_on, options, again, number % 2 == 1)
    completer.close()

    print(f"{info.name} on {info.backend}, {os.cpu_count()} cores\n")
    print(
        "| | places | tokens/s plain | with drafts | ratio | median ratio | spread "
        "| drafted a token | accepted | texts that differ |\n" + "| --- " * 10 + "|"
    )
    print(first.row("first"))
    if again.tokens:
        print(again.row("again"))
    print("\n| match in bytes | guessed tokens | chosen |\n| --- | --- | --- |")
    for size, fates in gains.fates.items():
        if fates:
            print(f"| {size} | {len(fates)} | {statistics.mean(fates):.0%} |")
    print("\n| batch | passes | cost in single steps |\n| --- | --- | --- |")
    for size in (1, *(1 + length for length in LENGTHS)):
        print(f"| {size} | {gains.sizes[size]} | {gains.cost(size):.2f} |")


def _both(
    completer: Completer,
    drafter: Drafter,
    place: Place,
    options: CompletionOptions,
    tally: Tally,
    plain_first: bool,
) -> bytes:
    """Complete a place both ways; returns what is written without drafts."""
    texts, tokens, seconds = {}, {}, {}
    for ways in (None, drafter) if plain_first else (drafter, None):
        completer.drafter = ways
        answer = completer.answer(place.snapshot(), options)
        generation = answer.generation
        texts[ways] = generation.text
        # The first token is healing's; what is left is decoded.
        tokens[ways] = len(generation.logprobs) - 1
        seconds[ways] = answer.timing_ms["decoding"] / 1e3
        if ways is not None:
            drafted, accepted = generation.drafted, generation.accepted
    if min(tokens.values()) > 0:
        tally.tokens.append((tokens[None], tokens[drafter]))
        tally.seconds.append((seconds[None], seconds[drafter]))
        tally.drafted += drafted
        tally.accepted += accepted
        tally.different += texts[None] != texts[drafter]
    return texts[None]


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
