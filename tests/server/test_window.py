"""What a prompt holds of a document: whole lines within a budget, whose start stays for a while."""

import random
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.window import LARGEST_STEP, hole_start, tokens_after, tokens_before
from tests.server.documents import texts

lines = st.lists(texts.map(lambda text: re.sub(rb"[\r\n]+", b"", text) + b"\n"), max_size=40)


def words(text: bytes) -> list[int]:
    """A tokenizer whose tokens can be counted by hand: runs of letters, and each other byte."""
    return [int.from_bytes(b"\1" + word) for word in re.findall(rb"[a-z]{1,8}|[^a-z]", text)]


def spelled(ids: list[int]) -> bytes:
    return b"".join(number.to_bytes((number.bit_length() + 7) // 8)[1:] for number in ids)


def program(seed: int, count: int) -> list[bytes]:
    """Lines of some 10 tokens, blank ones and closing braces among them."""
    draw = random.Random(seed)
    names = ["total", "reader", "size", "path", "x"]
    kinds = ["  {} = {}({})\n", "\n", "}}\n", "if {} < {} and {}:\n"]
    return [draw.choice(kinds).format(*draw.choices(names, k=3)).encode() for _ in range(count)]


class TestBefore:
    @given(lines, st.integers(0, 80), st.integers(1, 80), st.booleans())
    def test_whole_lines(self, parts, budget, usual, led):
        """The end of the text, cut at a line start, within the budget."""
        text, lead = b"".join(parts), b" " if led else b""
        ids = tokens_before(text, budget, words, lead, usual)
        chosen = spelled(ids)

        assert len(ids) <= budget
        if budget and text and len(words(parts[-1])) + led <= budget:
            assert chosen.startswith(lead)
            assert text.endswith(chosen.removeprefix(lead))
            assert chosen.removeprefix(lead)
            start = len(text) - len(chosen) + len(lead)
            assert not start or text[start - 1 : start] == b"\n"
        elif text:
            assert text.endswith(chosen)

    def test_all_of_a_short_text(self):
        """A text that fits is there from its first line on."""
        text = b"".join(program(0, 12))

        assert spelled(tokens_before(text, len(words(text)), words)) == text

    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("budget", [120, 480, 1800])
    def test_stays_while_lines_are_typed(self, seed, budget):
        """The start moves in steps of three sixteenths of the budget at least."""
        typed = program(seed, 1200)
        starts, at_least = [], budget
        for count in range(600, 1200):
            text = b"".join(typed[:count])
            ids = tokens_before(text, budget, words)
            starts.append(len(text) - len(spelled(ids)))
            at_least = min(at_least, len(ids))
        moves = sum(one != other for one, other in pairwise(starts))
        tokens = len(words(b"".join(typed[600:])))

        assert at_least > 0.45 * budget
        assert moves <= 2 + tokens / (budget * LARGEST_STEP / 2)

    @pytest.mark.parametrize("seed", range(20))
    def test_edits_far_above_move_nothing(self, seed):
        """A line more at the top, as an import, leaves nearly every window as it is."""
        typed = program(seed, 400)
        text = b"".join(typed)
        ids = tokens_before(text, 120, words)

        assert tokens_before(b"import os\n" + text, 120, words) == ids
        assert tokens_before(text[1:], 120, words) == ids

    def test_the_end_of_what_is_looked_at_does_not_matter(self):
        """Of a long text, more than enough and all of it give the same window."""
        for seed in range(20):
            text = b"".join(program(seed, 900))
            assert tokens_before(text[-120 * 20 :], 120, words) == tokens_before(text, 120, words)

    @given(lines, st.integers(1, 60), st.integers(-6, 0))
    @settings(max_examples=30)
    def test_a_little_less_room(self, parts, budget, less):
        """A window of a budget that is a little smaller starts where the other does, or later."""
        text = b"".join(parts)
        one, other = (
            spelled(tokens_before(text, room, words, usual=budget))
            for room in (budget, max(1, budget + less))
        )

        assert one.endswith(other) or len(other) >= len(one)


class TestAfter:
    @given(texts, st.integers(0, 60))
    def test_whole_lines(self, text, budget):
        """The start of the text up to a line end, or the start of its first line."""
        ids = tokens_after(text, budget, words)
        chosen = spelled(ids)

        assert len(ids) <= budget
        assert text.startswith(chosen)
        first = re.match(rb"\n?[^\n]*", text)
        assert first
        if len(words(first[0])) <= budget:
            assert text[len(chosen) :][:1] in (b"", b"\n")

    def test_most_of_the_budget(self):
        """As many lines as there is room for."""
        text = b"".join(program(3, 100))
        ids = tokens_after(text, 200, words)

        assert 180 <= len(ids) <= 200


class TestHoleStart:
    @given(lines, st.integers(0, 60), st.integers(1, 80))
    def test_a_line_start(self, parts, most, usual):
        """It is the start of a line, near enough, and never that of the text."""
        text = b"".join(parts)
        start = hole_start(text, most, words, usual)

        assert 0 < start <= len(text) or not text
        assert start in {0, len(text)} or text[start - 1 : start] == b"\n"
        assert len(words(text[start:])) <= most

    @pytest.mark.parametrize("seed", range(4))
    def test_stays_while_lines_are_typed(self, seed):
        """It moves once in some lines, and forward only, but for a new mark."""
        parts, starts = program(seed, 600), []
        for count in range(200, 400):
            text = b"".join(parts[:count])
            starts.append(hole_start(text, 64, words, 120))
        moves = [later - sooner for sooner, later in pairwise(starts) if later != sooner]

        assert len(moves) < len(starts) / 2.5
        assert sum(move < 0 for move in moves) <= len(moves) / 4

    def test_an_edit_far_above(self):
        """What is edited well before the hole does not move it."""
        parts = program(1, 300)
        text = b"".join(parts)
        changed = b"".join([*parts[:3], b"something = new\n", *parts[3:]])

        assert len(text) - hole_start(text, 64, words, 120) == len(changed) - hole_start(
            changed, 64, words, 120
        )
