"""Drafts with the default model: the same text, or two tokens that were too close to call."""

import sysconfig
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from server.completion_options import CompletionOptions
from server.draft_gains import Gains
from server.drafting import Drafter
from server.snapshot import Snapshot
from tests.server.engine.fresh import path_tokens
from tests.server.engines import Wrapped, around

pytestmark = pytest.mark.model

OPTIONS = CompletionOptions(context_tokens=100, max_tokens=12, multiline="auto")

NOISE = 1.0
"""More than the shape of a batch makes of a logit: 0.53 at most (measured, weights of 4 bits).

llama.cpp multiplies four tokens at a time in another order than one: a batch of two gives the very
same numbers as two steps, in one of four the worst logit is off by 0.3, as after a prompt."""

PLACES = [
    ("colorsys.py", 0.7),
    ("bisect.py", 0.5),
    ("stat.py", 0.4),
    ("calendar.py", 0.5),
]
"""Files, and how far into them."""


class Eager(Gains):
    """Drafts all it can, as on a machine where batches cost nothing."""

    def took(self, size, seconds):
        pass

    def cost(self, size):
        return 1.0


class Recorded(Wrapped):
    """Keeps every row by the text that it comes after."""

    def __init__(self, engine):
        super().__init__(engine)
        self.rows = {}

    def evaluate(self, slot, nodes, want):
        rows = self.engine.evaluate(slot, nodes, want)
        for node, row in zip(want, rows, strict=True):
            self.rows[*slot.tokens, *path_tokens(nodes, node)] = row.copy()
        return rows


def snapshot_at(name, share):
    """The end of a line that opens a block; the five lines after it are taken out."""
    path = Path(sysconfig.get_path("stdlib"), name)
    lines = path.read_text().split("\n")
    start = int(share * len(lines))
    at = next(number for number in range(start, len(lines)) if lines[number].endswith(":"))
    before = "\n".join(lines[: at + 1]).encode()
    after = "\n".join(["", *lines[at + 6 :]]).encode()
    return Snapshot(str(path), 0, before + after, len(before), "python")


def test_same_text(completer, report):
    """Where texts differ, the best two tokens were closer than the noise of a batch."""
    outcomes = Counter()
    drafted = accepted = 0
    noise = []
    for name, share in PLACES:
        snapshot = snapshot_at(name, share)
        alone, drafting = Recorded(completer.engine), Recorded(completer.engine)
        first, second = around(completer, alone), around(completer, drafting)
        first.drafter = None
        second.drafter = Drafter(completer.tokenization, Eager())
        plain = first.answer(snapshot, OPTIONS).generation
        for remembered in (b"", plain.text):  # the second time the whole answer is drafted
            if remembered:
                second.drafter.remember(snapshot.text[: snapshot.cursor], remembered)
            found = second.answer(snapshot, OPTIONS).generation
            drafted, accepted = drafted + found.drafted, accepted + found.accepted
            shared = alone.rows.keys() & drafting.rows.keys()
            noise += [np.abs(alone.rows[key] - drafting.rows[key]).max() for key in shared]
            if found.text == plain.text:
                assert found.ended == plain.ended
                assert found.logprobs == pytest.approx(plain.logprobs, abs=NOISE)
            outcomes["same" if found.text == plain.text else "close call"] += 1

    assert max(noise) < NOISE
    assert accepted > 0
    assert drafted > accepted
    assert outcomes["close call"] <= len(PLACES)
    report(
        f"drafts, {drafted} tokens of which {accepted} held: {dict(outcomes)}; "
        f"a batch's logits differ by {np.median(noise):.2g}, at most {max(noise):.2g}"
    )
