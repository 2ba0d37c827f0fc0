"""The most probable text and exact draws, against the complete reading of a tree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healing import exact
from healing.best import draw, largest, most_probable
from healing.sampling import Sampling
from healing.unfinished import unfinished_tail
from tests.healing import toy
from tests.healing.test_exact import healed


def best_by_twin(reading: exact.Reading) -> tuple[bytes, float]:
    """The best text of a complete reading, byte by byte to the end of its first character."""
    alive = {text: probability for text, probability, _ in reading.visible()}
    shown = b""
    while True:
        sums: dict[bytes, float] = {}
        for text, probability in alive.items():
            longer = text[: len(shown) + 1]
            sums[longer] = sums.get(longer, 0.0) + probability
        chosen = max(sums, key=sums.__getitem__)
        alive = {t: p for t, p in alive.items() if t[: len(shown) + 1] == chosen}
        if len(chosen) == len(shown) or not unfinished_tail(chosen):
            text = max(alive, key=alive.__getitem__)
            return text, alive[text]
        shown = chosen


class TestMostProbable:
    """The best first character, then the best text that starts with it."""

    @settings(deadline=None, max_examples=150)
    @given(st.sampled_from(sorted(toy.SPLITS)), st.text(toy.ASCII, max_size=8), st.integers(0, 999))
    def test_agrees_with_the_complete_reading(self, name, typed, seed):
        """Though it checks only what could change the choice."""
        self.check(toy.toy(name)[1], typed, seed)

    @settings(deadline=None, max_examples=100)
    @given(st.text(toy.CLOSED + "a ", max_size=5), st.integers(0, 999))
    def test_agrees_inside_characters(self, typed, seed):
        """Leaves that show a part of a character count for it."""
        self.check(toy.closed()[1], typed, seed)

    @staticmethod
    def check(tokenization, typed, seed):
        model = toy.TableModel(len(tokenization.vocabulary), seed)
        scored = healed(typed.encode(), tokenization, model)
        full = exact.read(scored, 0)
        text, probability = best_by_twin(full)

        choice = most_probable(scored)

        assert choice.leaf.visible == text
        assert choice.leaf == next(leaf for leaf in full.leaves if leaf.visible == text)
        assert choice.probability <= probability + 1e-9
        assert set(choice.reading.leaves) <= set(full.leaves)
        shares = np.exp([leaf.logprob - choice.reading.logprob for leaf in choice.reading.leaves])
        assert abs(shares.sum() + choice.reading.unchecked - 1) < 1e-9


class TestShortcuts:
    """What spares work changes nothing."""

    @settings(deadline=None, max_examples=100)
    @given(st.sampled_from(sorted(toy.SPLITS)), st.text(toy.ASCII, max_size=8), st.integers(0, 999))
    def test_first_bytes(self, name, typed, seed):
        """Those of whole runs of tokens are what a look at each leaf finds."""
        tokenization = toy.toy(name)[1]
        scored = healed(
            typed.encode(), tokenization, toy.TableModel(len(tokenization.vocabulary), seed)
        )
        plain = [scored.visible(index)[:1] for index in range(len(scored.tokens))]

        found = scored.first_bytes()

        assert [bytes([byte]) if byte < 256 else b"" for byte in found] == plain
        assert np.array_equal(found, scored.bytes_at(np.arange(len(plain)), 0))

    @given(st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.3]), max_size=40), st.integers(1, 12))
    def test_largest(self, shares, count):
        """The start of a whole sort, as long as is asked for at least; equal ones in order."""
        indices = np.arange(len(shares)) * 3
        order = np.argsort(-np.array(shares), kind="stable")

        found = largest(indices, np.array(shares), count)

        assert len(found) >= min(count, len(shares))
        assert found.tolist() == (3 * order[: len(found)]).tolist()


class TestDraw:
    """Sampling a leaf."""

    @pytest.mark.parametrize(
        "sampling",
        [Sampling(1.0), Sampling(1.0, top_k=5), Sampling(1.0, top_p=0.8), Sampling(1.0, min_p=0.2)],
        ids=["all", "top-k", "top-p", "min-p"],
    )
    def test_draw_has_the_distribution(self, sampling):
        """The admissible leaves among those that truncation keeps, by their probability.

        Chi-square with at most 29 degrees of freedom, of which 70 is beyond one in 30,000.
        """
        tokenization = toy.toy("qwen")[1]
        scored = healed(b"a  ", tokenization, toy.TableModel(len(tokenization.vocabulary), 4))
        order = list(scored.by_probability())
        shares = np.exp(scored.logprobs - scored.logprob)
        kept = order[: sampling.top_k or None]
        kept = [
            index
            for index in kept
            if shares[index] >= sampling.min_p * shares[order[0]]
            and shares[order[: order.index(index)]].sum() < sampling.top_p
        ]
        allowed = [index for index in kept if scored.admits(index)]
        expected = {scored.leaf(index): shares[index] for index in allowed}
        total = sum(expected.values())
        random = np.random.default_rng(11)
        draws = 3000
        counts = dict.fromkeys(expected, 0)
        for _ in range(draws):
            counts[draw(scored, sampling, random)] += 1

        common = [leaf for leaf, share in expected.items() if draws * share / total > 5]
        assert 1 < len(common) <= 30
        wanted = {leaf: draws * expected[leaf] / total for leaf in common}
        assert sum((counts[leaf] - wanted[leaf]) ** 2 / wanted[leaf] for leaf in common) < 70

    def test_draw_takes_the_best_if_truncation_left_no_admissible_leaf(self):
        """Healing never refuses."""
        tokenization = toy.toy("qwen")[1]
        random = np.random.default_rng(0)
        refused = 0
        for seed in range(60):
            model = toy.TableModel(len(tokenization.vocabulary), seed)
            scored = healed(b"ab ", tokenization, model)
            if scored.admits(next(scored.by_probability())):
                continue
            refused += 1
            leaf = draw(scored, Sampling(1.0, top_k=1), random)
            assert leaf == most_probable(scored).leaf
            assert leaf in exact.read(scored, 0).leaves
        assert refused > 0

    def test_greedy_draw_is_the_most_probable_leaf(self):
        """Without temperature there is no chance in it."""
        tokenization = toy.toy("gpt-2")[1]
        scored = healed(b"ab", tokenization, toy.TableModel(len(tokenization.vocabulary), 2))

        leaf = draw(scored, Sampling(), np.random.default_rng(0))

        assert leaf == exact.read(scored, 0).leaves[0]
