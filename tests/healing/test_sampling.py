"""Choosing from log probabilities, against a plain twin and against exact probabilities."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from healing.sampling import GREEDY, Sampling, choose, log_normaliser, truncate

LOGITS = st.lists(st.floats(-20, 20), min_size=1, max_size=12)
OPTIONS = st.builds(
    Sampling,
    temperature=st.just(1.0),
    top_k=st.integers(0, 6),
    top_p=st.floats(0.01, 1),
    min_p=st.floats(0, 1),
)


def log_probabilities(logits: list[float]) -> np.ndarray:
    array = np.array(logits)
    return array - np.logaddexp.reduce(array)


@given(
    arrays(np.float32, st.integers(1, 40), elements=st.floats(-30, 30, width=32)),
    st.sampled_from([0, 19, 21, 49, 51, -51, 300, -1e4]),
    st.sampled_from([1.0, 0.3, 2.0]),
    st.data(),
)
def test_the_normaliser_at_any_level(logits, level, temperature, data):
    """Very high and very low logits have it to 32 bits, and what does not count is left out."""
    logits = logits + np.float32(level)
    without = data.draw(st.sets(st.integers(0, len(logits) - 1), max_size=len(logits) - 1))
    counting = np.delete(logits, sorted(without)).astype(np.float64) / temperature
    before = logits.copy()

    found = log_normaliser(logits, temperature, np.array(sorted(without), dtype=np.int64))

    assert_allclose(found, np.logaddexp.reduce(counting), rtol=1e-6, atol=1e-4)
    assert np.array_equal(logits, before)


def kept_by_twin(logprobs: np.ndarray, sampling: Sampling) -> set[int]:
    """What truncation keeps, in plain steps: this is the specification of `truncate`."""
    order = sorted(range(len(logprobs)), key=lambda i: (-logprobs[i], i))
    best = math.exp(logprobs[order[0]])
    kept, before = set(), 0.0
    for rank, index in enumerate(order):
        probability = math.exp(logprobs[index])
        within_k = not sampling.top_k or rank < sampling.top_k
        if rank == 0 or (
            within_k and before < sampling.top_p and probability >= sampling.min_p * best
        ):
            kept.add(index)
        before += probability
    return kept


class TestTruncate:
    """Top-k, top-p and min-p."""

    @given(LOGITS.map(lambda logits: [round(x, 2) for x in logits]), OPTIONS)
    def test_keeps_what_the_twin_keeps(self, logits, sampling):
        """Kept entries are unchanged, the others are impossible."""
        logprobs = log_probabilities(logits)

        result = truncate(logprobs, sampling)

        kept = kept_by_twin(logprobs, sampling)
        assert set(np.flatnonzero(np.isfinite(result))) == kept
        assert all(result[i] == logprobs[i] for i in kept)

    @pytest.mark.parametrize(
        ("sampling", "kept"),
        [
            (Sampling(1), [0, 1, 2, 3]),
            (Sampling(1, top_k=2), [1, 2]),
            (Sampling(1, top_p=0.5), [1, 2]),
            (Sampling(1, top_p=0.4), [1]),
            (Sampling(1, min_p=0.5), [1, 2]),
            (Sampling(1, min_p=1.0), [1]),
        ],
        ids=["nothing", "top-k", "top-p", "top-p within the first", "min-p", "only the best"],
    )
    def test_by_hand(self, sampling, kept):
        """For the probabilities 0.1, 0.45, 0.3, 0.15."""
        result = truncate(np.log([0.1, 0.45, 0.3, 0.15]), sampling)

        assert np.flatnonzero(np.isfinite(result)).tolist() == kept


class TestChoose:
    """The order in which candidates are tried."""

    @given(LOGITS)
    def test_greedy_is_by_probability(self, logits):
        """The first of equals first; all other options are ignored."""
        order = choose(np.array(logits), Sampling(0, top_k=1), np.random.default_rng(0))

        assert order.tolist() == sorted(range(len(logits)), key=lambda i: (-logits[i], i))

    @given(LOGITS, OPTIONS, st.integers(0, 2**32))
    def test_tries_each_kept_one_once(self, logits, sampling, seed):
        """What truncation left out is never tried; the same seed gives the same order."""
        logprobs = log_probabilities(logits)
        order = choose(logprobs, sampling, np.random.default_rng(seed))
        again = choose(logprobs, sampling, np.random.default_rng(seed))

        assert (
            sorted(order.tolist())
            == np.flatnonzero(np.isfinite(truncate(logprobs, sampling))).tolist()
        )
        assert order.tolist() == again.tolist()

    def test_draws_without_replacement(self):
        """Whole orders have the probability of drawing one after the other from what is left.

        So the first one that passes a test has the distribution among those that pass. Chi-square
        over all 24 orders of 4: 23 degrees of freedom, of which 60 is beyond one in 30,000.
        """
        probabilities = np.array([0.5, 0.25, 0.15, 0.1])
        random = np.random.default_rng(7)
        draws = 20_000
        counts: dict[tuple[int, ...], int] = {}
        for _ in range(draws):
            order = tuple(choose(np.log(probabilities), Sampling(1.0), random).tolist())
            counts[order] = counts.get(order, 0) + 1

        squares, first_of_1_and_3 = 0.0, 0
        for order in permutations(range(4)):
            expected, left = float(draws), 1.0
            for index in order:
                expected *= probabilities[index] / left
                left -= probabilities[index]
            squares += (counts.get(order, 0) - expected) ** 2 / expected
            first_of_1_and_3 += counts.get(order, 0) * (order.index(1) < order.index(3))
        assert squares < 60
        assert abs(first_of_1_and_3 / draws - 0.25 / 0.35) < 0.02


class TestLogNormaliser:
    """Logits to log probabilities."""

    @given(LOGITS, st.floats(0.1, 5))
    def test_makes_probabilities_that_sum_to_one(self, logits, temperature):
        """At any temperature; float32 rows keep about seven digits."""
        for kind, tolerance in ((np.float64, 1e-9), (np.float32, 1e-4)):
            row = np.array(logits, dtype=kind)
            logprobs = row.astype(np.float64) / temperature - log_normaliser(row, temperature)

            assert_allclose(np.exp(logprobs).sum(), 1, atol=tolerance)

    @given(LOGITS, st.data())
    def test_leaves_out_what_does_not_count(self, logits, data):
        """However loud that is, and however large the row."""
        others = data.draw(st.lists(st.floats(-500, 500), max_size=6))
        row = np.array([*logits, *others] * 40, dtype=np.float32)
        places = np.arange(len(row)).reshape(40, -1)[:, len(logits) :].ravel()

        found = log_normaliser(row, 1.5, places)
        assert found == log_normaliser(row, 1.5, places, row.max())

        assert_allclose(found, log_normaliser(np.delete(row, places), 1.5), rtol=1e-6, atol=1e-6)


class TestSampling:
    """Options that mean something."""

    def test_is_greedy_unless_told_otherwise(self):
        """No option, no chance."""
        assert Sampling() == GREEDY
        assert GREEDY.temperature == 0

    def test_takes_next_to_nothing_for_nothing(self):
        """Logits can't be divided by so little, and the best token would be drawn anyway."""
        assert Sampling(temperature=0.0005) == GREEDY
        assert Sampling(temperature=0.001).temperature == 0.001

    @pytest.mark.parametrize(
        "options",
        [
            {"temperature": -1},
            {"temperature": 100.5},
            {"temperature": math.nan},
            {"temperature": math.inf},
            {"top_k": -1},
            {"top_p": 0},
            {"top_p": 1.1},
            {"top_p": math.nan},
            {"min_p": -0.1},
            {"min_p": 1.1},
        ],
        ids=str,
    )
    def test_refuses_others(self, options):
        """The message names the option and shows the value."""
        [(name, value)] = options.items()
        with pytest.raises(ValueError, match=f"{name.replace('_', '-')} .* not {value}"):
            Sampling(**options)
