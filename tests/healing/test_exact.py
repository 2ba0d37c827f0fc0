"""Exact healing against brute force, and the invariants that make it exact."""

import numpy as np
import pytest

from healing import exact
from healing.covers import covering_tree
from tests.healing import oracle, toy

REACH = 5
"""Continuations of the oracle: the longest toy token (3) and two characters of look-ahead."""


def healed(typed: bytes, name: str, model: toy.TableModel, **options) -> exact.Reading:
    """The complete reading of a toy covering tree."""
    _, tokenization = toy.toy(name, **options)
    tree = covering_tree(typed, tokenization)
    rows = {path: model(path) for path in exact.unscored(tree, {})}
    return exact.read(exact.score(tree, rows, toy.stops_of(tokenization.vocabulary)), unchecked=0)


class TestBruteForce:
    """The distribution is that of all texts which start with what is typed."""

    @pytest.mark.parametrize("merges", [True, False], ids=["merges", "no merges"])
    @pytest.mark.parametrize("name", toy.SPLITS)
    @pytest.mark.parametrize(
        "typed", ["", "a", "ab", "b  ", "ab (", "a\n  ", "(ab", "1 a1", "a 'b", "ab ab (a", "\n\n "]
    )
    def test_equals_brute_force(self, name: str, typed: str, merges: bool):
        """Next byte and first visible text have the oracle's probabilities, to 1e-9."""
        tokenizer, tokenization = toy.toy(name)
        vocabulary = tokenization.vocabulary
        model = toy.TableModel(len(vocabulary), seed=1)
        found = oracle.covers(tokenizer, typed, toy.texts(toy.ASCII, REACH))
        [stop] = toy.stops_of(vocabulary)

        reading = healed(typed.encode(), name, model, merges=merges)

        visible, next_byte = oracle.distribution(
            found, model, vocabulary.__getitem__, len(typed), stop
        )
        ours = {text: probability for text, probability, _ in reading.visible()}
        assert ours.keys() == visible.keys()
        assert max(abs(ours[text] - visible[text]) for text in visible) < 1e-9
        assert np.abs(reading.next_byte() - next_byte).max() < 1e-9
