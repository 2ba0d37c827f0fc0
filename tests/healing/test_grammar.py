"""Healing beside a grammar: covers that show what it refuses do not count.

The definition, by brute force: of all covers of the typed text, those whose visible text the
grammar accepts where the typed text ends, renormalised. Toy languages stand for grammars.
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from healing import exact
from healing.best import DRAWS, draw, most_probable
from healing.covers import covering_tree
from healing.sampling import Sampling
from tests.healing import oracle, toy
from tests.healing.test_best import best_by_twin

EXACTLY = 1e-9
REACH = 4


def brackets(typed: bytes) -> exact.Accepts:
    """No bracket is closed that is not open; text ends where none is open."""

    def accepts(shown: bytes) -> bool:
        depth = 0
        for byte in typed + shown:
            depth += (byte == ord("(")) - (byte == ord("'"))  # the toy alphabet has no `)`
            if depth < 0:
                return False
        return bool(shown) or depth == 0

    return accepts


def alternating(typed: bytes) -> exact.Accepts:
    """No letter comes twice in a row, and no text ends in a blank."""

    def accepts(shown: bytes) -> bool:
        text = typed[-1:] + shown
        twice = any(left == right for left, right in pairwise(text))
        return not twice and (bool(shown) or not typed.endswith(b" "))

    return accepts


def never(_: bytes) -> exact.Accepts:
    """Nothing may come, not even the end."""
    return lambda _: False


LANGUAGES = [brackets, alternating]
Language = Callable[[bytes], exact.Accepts]


def scored_of(typed: bytes, tokenization, model, accepts, temperature=1.0) -> exact.Scored:
    tree = covering_tree(typed, tokenization)
    rows = {path: model(path) for path in exact.unscored(tree, {})}
    stops = toy.stops_of(tokenization.vocabulary)
    return exact.score(tree, rows, stops, temperature, accepts)


@cache
def true_covers(name: str, alphabet: str, typed: str):
    return oracle.covers(toy.small(name, alphabet)[0], typed, toy.texts(alphabet, REACH))


def shown_by(vocabulary, path, leaf, size) -> bytes:
    return b"" if leaf == oracle.STOP else vocabulary.decode([*path, leaf])[size:]


class TestDefinition:
    @settings(deadline=None, max_examples=150)
    @given(
        st.sampled_from(sorted(toy.SPLITS)),
        st.sampled_from(["ab (", "a ('", "a1 ("]),
        st.sampled_from(LANGUAGES),
        st.data(),
        st.integers(0, 1000),
    )
    def test_equals_brute_force(self, name, alphabet, language, data, seed):
        """The covers that the grammar accepts, by their probability; and what it refused."""
        typed = data.draw(st.text(alphabet, max_size=6))
        tokenization = toy.small(name, alphabet)[1]
        vocabulary = tokenization.vocabulary
        model = toy.TableModel(len(vocabulary), seed)
        accepts = language(typed.encode())
        size = len(typed.encode())
        covers = true_covers(name, alphabet, typed)
        allowed = {cover for cover in covers if accepts(shown_by(vocabulary, *cover, size))}
        assume(allowed)

        reading = exact.read(scored_of(typed.encode(), tokenization, model, accepts), 0)

        [stop] = toy.stops_of(vocabulary)
        visible, next_byte = oracle.distribution(allowed, model, vocabulary.__getitem__, size, stop)
        ours = {text: probability for text, probability, _ in reading.visible()}
        assert ours.keys() == visible.keys()
        assert max(abs(ours[text] - visible[text]) for text in visible) < EXACTLY
        assert np.abs(reading.next_byte() - next_byte).max() < EXACTLY

    @settings(deadline=None, max_examples=150)
    @given(
        st.sampled_from(sorted(toy.SPLITS)),
        st.text(toy.ASCII, max_size=8),
        st.sampled_from(LANGUAGES),
        st.integers(0, 999),
    )
    def test_the_best_is_that_of_the_complete_reading(self, name, typed, language, seed):
        """Refusing a first byte as a whole changes nothing of the choice."""
        tokenization = toy.toy(name)[1]
        model = toy.TableModel(len(tokenization.vocabulary), seed)
        scored = scored_of(typed.encode(), tokenization, model, language(typed.encode()))
        full = exact.read(scored, 0)
        assume(full.leaves)
        text, probability = best_by_twin(full)

        choice = most_probable(scored)

        assert choice.leaf.visible == text
        assert 0 < choice.probability <= probability + EXACTLY
        assert set(choice.reading.leaves) <= set(full.leaves)
        shares = np.exp([leaf.logprob - choice.reading.logprob for leaf in choice.reading.leaves])
        assert abs(shares.sum() + choice.reading.unchecked - 1) < EXACTLY

    def test_draws_have_the_distribution(self):
        """Chi-square with at most 29 degrees of freedom: 70 is beyond one in 30,000."""
        tokenization = toy.toy("qwen")[1]
        model = toy.TableModel(len(tokenization.vocabulary), 4)
        scored = scored_of(b"a (", tokenization, model, alternating(b"a ("))
        reading = exact.read(scored, 0)
        shares = {leaf: np.exp(leaf.logprob - reading.logprob) for leaf in reading.leaves}
        random, draws = np.random.default_rng(3), 3000
        counts = dict.fromkeys(shares, 0)
        for _ in range(draws):
            counts[draw(scored, Sampling(1.0), random)] += 1

        common = [leaf for leaf, share in shares.items() if draws * share > 5]
        assert 1 < len(common) <= 30
        wanted = {leaf: draws * shares[leaf] for leaf in common}
        assert sum((counts[leaf] - wanted[leaf]) ** 2 / wanted[leaf] for leaf in common) < 70


class TestRefused:
    def test_nothing_refused(self):
        """A grammar that accepts everything is as none."""
        tokenization = toy.toy("qwen")[1]
        model = toy.TableModel(len(tokenization.vocabulary), 1)
        with_grammar = scored_of(b"ab (", tokenization, model, lambda _: True)
        without = scored_of(b"ab (", tokenization, model, None)

        assert exact.read(with_grammar, 0) == exact.read(without, 0)
        assert most_probable(with_grammar) == most_probable(without)

    @pytest.mark.parametrize("typed", [b"", b"a", b"ab (", b"a\n  "])
    def test_everything_refused(self, typed):
        """The choice then has no probability, and is some leaf: who asked decides."""
        tokenization = toy.toy("qwen")[1]
        model = toy.TableModel(len(tokenization.vocabulary), 1)
        scored = scored_of(typed, tokenization, model, never(typed))

        choice = most_probable(scored)

        assert choice.probability == 0
        assert choice.reading.leaves == ()
        assert choice.reading.refused == pytest.approx(1)
        assert draw(scored, Sampling(1.0), np.random.default_rng(0)) == choice.leaf

    def test_share(self):
        """What the grammar refused, of all that is not inadmissible: here the texts with `a`."""
        tokenization = toy.toy("qwen")[1]
        model = toy.TableModel(len(tokenization.vocabulary), 7)
        whole = exact.read(scored_of(b"b ", tokenization, model, None), 0)
        own = sum(share for text, share, _ in whole.visible() if b"a" not in text)
        scored = scored_of(b"b ", tokenization, model, lambda text: b"a" not in text)

        reading = exact.read(scored, 0)
        choice = most_probable(scored)

        # Refused leaves are not tested further, so inadmissible ones among them count as refused.
        assert 0 < 1 - own <= reading.refused < 1
        best = reading.visible()[0][1]
        assert choice.probability * (1 - choice.reading.refused) <= best

    def test_each_class_is_asked_once(self):
        """Where only one byte may come, the others are refused by their first bytes."""
        tokenization = toy.every_byte()
        model = toy.TableModel(len(tokenization.vocabulary), 5)
        asked = []

        def accepts(text: bytes) -> bool:
            asked.append(text)
            return text.startswith(b"~")

        choice = most_probable(scored_of(b"ab ", tokenization, model, accepts))

        assert choice.leaf.visible.startswith(b"~")
        assert choice.probability == pytest.approx(1)
        assert len([text for text in asked if len(text) > 1]) < len(tokenization.vocabulary) / 10
        assert len(asked) < DRAWS
