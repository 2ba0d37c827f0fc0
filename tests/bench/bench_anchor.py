"""Where a hole should begin: on the cursor's line, or some lines before it.

`python -m tests.bench.bench_anchor [MODEL] [--places N] [--context N] [--seed N]` (some eight
minutes for 30 places on two cores). At places of some kinds in the standard library, with the text
on both sides, healing is exact; what differs is how many lines before the cursor's the hole takes
in, as typed text. The prompt has the same amount of text each time. Printed for each kind and
number of lines: the mean natural log of the probability of the next byte and of the first visible
token, and how often the most probable ones are right.
"""

import argparse
from dataclasses import replace
from itertools import islice
from statistics import mean

from server.bench.heal.places import Place, places
from server.bench.heal.scores import Score, score_exact
from server.completer import Completer, load_completer
from server.engine.llama_load import EngineOptions
from server.models import store
from server.models.catalog import DEFAULT_MODEL
from server.prompt import SUFFIX_SHARE, build_prompt
from server.rules import place_at
from server.snapshot import Snapshot

STRATA = ("after indentation", "inside a word", "after punctuation", "line start")
LINES = (0, 2, 5)


def line_start(text: bytes, lines: int) -> int:
    """Where the last line of a text starts, or so many lines before."""
    start = text.rfind(b"\n") + 1
    for _ in range(lines):
        start = text.rfind(b"\n", 0, max(0, start - 1)) + 1
    return start


def score(completer: Completer, place: Place, lines: int, context: int) -> Score:
    """What the model says at a place, with so many lines in the hole."""
    engine, encode = completer.engine, completer.tokenization.encode
    start = line_start(place.before, lines)
    typed = place.before[start:]
    above = typed[: typed.rfind(b"\n") + 1]
    snapshot = Snapshot(place.name, 0, place.before[:start] + place.after, start, "python")
    prompt = build_prompt(
        snapshot,
        place_at(snapshot),
        completer.tokenization,
        fim=engine.fim,
        start=(),
        root=engine.bos,
        budget=max(context // SUFFIX_SHARE, context - len(encode(above))),
        after_budget=context // SUFFIX_SHARE,
        anchored=False,
    )
    typed_there = replace(prompt, typed=typed)
    return score_exact(engine, completer.tokenization, typed_there, place.gold)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?", default=DEFAULT_MODEL)
    parser.add_argument("--places", type=int, default=30, help="of each kind")
    parser.add_argument("--context", type=int, default=160, help="tokens around the hole")
    parser.add_argument("--seed", type=int, default=12)
    arguments = parser.parse_args()
    completer = load_completer(store.resolve(arguments.model), EngineOptions())
    print("place               lines   byte: log P  right   token: log P  right")
    for stratum in STRATA:
        some = list(islice(places(stratum, arguments.seed), arguments.places))
        for lines in LINES:
            found = [score(completer, place, lines, arguments.context) for place in some]
            print(
                f"{stratum:18}  {lines:5}"
                f"  {mean(each.byte_logprob for each in found):12.2f}"
                f"  {mean(each.byte_right for each in found):5.0%}"
                f"  {mean(each.token_logprob for each in found):13.2f}"
                f"  {mean(each.token_right for each in found):5.0%}",
                flush=True,
            )
    completer.close()


if __name__ == "__main__":
    main()
