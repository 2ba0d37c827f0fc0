"""The replay with suggesters of the tests: what is counted, and that all type the same text."""

import pytest

from server.bench.corpus import standard_library, take_out
from server.bench.typing import replay as replay_module
from server.bench.typing.figures import summarise
from server.bench.typing.replay import Replay
from server.bench.typing.suggesters import Offer, Usage
from server.bench.typing.typist import (
    Edit,
    Suggestion,
    Typist,
    accepted,
    first_line,
    next_key,
    open_hole,
)
from server.positions import Encoding

KEYS = 300


class Scripted:
    """Offers at once what a function makes of the hole, and counts a token for each key."""

    name = "scripted"
    encoding = Encoding.UTF32
    owes = False

    def __init__(self, offer):
        self.answers, self.errors, self.opened = {}, [], []
        self.offer, self.replay, self.tokens = offer, None, 0

    def listen(self, show):
        self.show = show

    def open(self, uri, language, text):
        self.opened.append(uri)

    def change(self, uri, where, text):
        assert uri in self.opened

    def close_document(self, uri):
        assert uri in self.opened

    def ask(self, uri, position):
        self.tokens += 1
        self.show(self.offer(self.replay._hole))

    async def usage(self):
        return Usage(self.tokens, self.tokens / 10, {"residentBytes": 1, "privateBytes": 1})

    async def finish(self, timeout_s):
        return 0


class QuickTypist(Typist):
    """A typist without gaps."""

    def gap(self, kind):
        return 0.0


@pytest.fixture(autouse=True)
def no_reading(monkeypatch):
    """What is on the screen is accepted at once."""
    monkeypatch.setattr(replay_module, "READING_S", 0.0)


async def typed_with(offer, keys=KEYS, sources=None):
    suggester = Scripted(offer)
    replay = Replay(suggester, sources or standard_library(1), QuickTypist(1))
    suggester.replay = replay
    return suggester, await replay.run(keys)


def nothing(hole):
    return None


def line_ahead(hole):
    """The rest of the line; right, but that of a slip."""
    text = first_line(hole.rest)
    if hole.after and text.endswith(hole.after):
        return Offer(text, removed_after=len(hole.after))
    return Offer(text) if text else None


def nonsense(hole):
    return Offer("@@@@") if hole.is_right else None


class TestCounting:
    async def test_without_suggestions(self):
        """All keys are needed, but those of slips, and nothing is saved."""
        _, record = await typed_with(nothing)
        figures = summarise(record)

        assert record.pressed - record.slips == record.needed >= KEYS
        assert figures["keystrokes_saved"] == 0
        assert figures["tokens_evaluated"] == record.requests == record.pressed
        assert (figures["keys_with_suggestion"], record.shown) == (0, [])

    async def test_right_lines(self):
        """Whoever is told every line presses few keys, and is never wrong."""
        _, record = await typed_with(line_ahead)
        figures = summarise(record)

        assert figures["keystrokes_saved"] > 0.6
        assert record.accepted_wrong == 0 < record.accepted_lines
        assert figures["suggestions"]["line_right"] == 1
        assert figures["tokens_per_saved_key"] < 1
        assert figures["cpu_s_per_saved_key"] == pytest.approx(
            figures["tokens_per_saved_key"] / 10, abs=1e-3
        )

    async def test_wrong_ones(self):
        """Wrong suggestions cost keys: some are taken for right, and deleted."""
        _, record = await typed_with(nonsense)
        figures = summarise(record)

        assert record.accepted_wrong > 0 > figures["keystrokes_saved"]
        assert figures["suggestions"]["word_right"] == 0

    async def test_same_text(self):
        """With the same seed the same files are opened, and stretches are as long."""
        suggesters = [await typed_with(offer) for offer in (nothing, nonsense)]
        opened = [suggester.opened for suggester, _ in suggesters]
        lengths = [[one.needed for one in record.stretches] for _, record in suggesters]

        assert opened[0] == opened[1]
        assert lengths[0] == lengths[1]

    async def test_rest_of_a_suggestion(self):
        """What was on the screen and is typed along is one suggestion, there without waiting."""

        def block(hole):
            return Offer(hole.rest + "x") if len(hole.rest) > 1 and not hole.after else None

        class Ignoring(QuickTypist):
            def choice(self, hole, suggestion):
                return 0

            def key(self, hole):
                return next_key(hole)

        source = take_out("a.txt", "a\nthis is one\n  line\nb\n", [2], [3])
        suggester = Scripted(block)
        replay = Replay(suggester, iter([source] * 9), Ignoring(0))
        suggester.replay = replay
        record = await replay.run(8)

        assert len(record.shown) == 1
        assert [one for stretch in record.stretches for one in stretch.screen_ms][1:] == [0.0] * 7


class TestAcceptance:
    def test_line_takes_all(self):
        """Accepting a line takes away what the whole replaces, where the suggester does so."""
        plain = Suggestion("b):\n  c)", ")")
        whole = Suggestion("b):\n  c)", ")", line_replaces=True)

        assert accepted(plain, 3) == Edit("acceptance", "b):", removed_after=0)
        assert accepted(whole, 3) == Edit("acceptance", "b):", removed_after=1)

    def test_blanks_before(self):
        """A suggestion that takes blanks away is right if the line is right in the end."""
        hole = open_hole(take_out("a.py", "a:\n    b:\n        c\n    d\n", [1], [4]).targets[0])
        hole.typed = "a:\n    b:\n        c\n        "
        suggestion = Suggestion("d", "", removed_before=4)

        assert hole.agrees("d", 4)
        assert not hole.agrees("d")
        assert Typist(0).choice(hole, suggestion) == 1
        hole.apply(accepted(suggestion, 1))
        assert hole.typed == hole.target.text

    def test_blanks_outside(self):
        """Blanks before the hole are not the typist's to take away."""
        hole = open_hole(take_out("a.py", "a:\n    bcd\n", [2], [2]).targets[0])
        suggestion = Suggestion("bcd", "", mistaken=True, removed_before=4)

        assert Typist(0).choice(hole, suggestion) == 0
