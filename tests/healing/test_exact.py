"""Exact healing against brute force."""

from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from healing import covers, exact
from healing.covers import covering_tree
from healing.tokenization import Tokenization
from tests.healing import oracle, toy

REACH = 5
"""Continuations of the oracle: the longest toy token (3) and two characters of look-ahead."""
TYPED = ["", "a", "ab", "b  ", "ab (", "a\n  ", "(ab", "1 a1", "a 'b", "ab ab (a", "\n\n "]
ALPHABETS = ["ab (", "a (\n", "a 1\n", "a '\n", "a1 ("]
EXACTLY = 1e-9


def healed(
    typed: bytes, tokenization: Tokenization, model: toy.TableModel, temperature: float = 1.0
) -> exact.Scored:
    """The scored covering tree of some typed text."""
    tree = covering_tree(typed, tokenization)
    rows = {path: model(path) for path in exact.unscored(tree, {})}
    return exact.score(tree, rows, toy.stops_of(tokenization.vocabulary), temperature)


@cache
def true_covers(tokenizer: Tokenizer, typed: str, alphabet: str, reach: int):
    """The oracle's covers, kept for the next test of the same text."""
    return oracle.covers(tokenizer, typed, toy.texts(alphabet, reach))


def error(
    tokenizer: Tokenizer,
    tokenization: Tokenization,
    typed: str,
    alphabet: str,
    *,
    reach: int = REACH,
    seed: int = 1,
    temperature: float = 1.0,
) -> float:
    """The largest difference to brute force in any probability; infinity for a wrong text."""
    vocabulary = tokenization.vocabulary
    model = toy.TableModel(len(vocabulary), seed)
    [stop] = toy.stops_of(vocabulary)
    found = true_covers(tokenizer, typed, alphabet, reach)
    visible, next_byte = oracle.distribution(
        found,
        lambda path: model(path) / temperature,
        vocabulary.__getitem__,
        len(typed.encode()),
        stop,
    )
    reading = exact.read(healed(typed.encode(), tokenization, model, temperature), unchecked=0)
    ours = {text: probability for text, probability, _ in reading.visible()}
    if ours.keys() != visible.keys():
        return np.inf
    differences = [abs(ours[text] - visible[text]) for text in visible]
    return max(*differences, float(np.abs(reading.next_byte() - next_byte).max()))


class TestBruteForce:
    """The distribution is that of all texts which start with what is typed."""

    @pytest.mark.parametrize("merges", [True, False], ids=["merges", "no merges"])
    @pytest.mark.parametrize("name", toy.SPLITS)
    @pytest.mark.parametrize("typed", TYPED)
    def test_equals_brute_force(self, name: str, typed: str, merges: bool):
        """Next byte and first visible text have the oracle's probabilities, to 1e-9."""
        tokenizer = toy.toy(name)[0]
        tokenization = toy.toy(name, merges=merges)[1]

        assert error(tokenizer, tokenization, typed, toy.ASCII) < EXACTLY

    @settings(deadline=None, max_examples=150)
    @given(
        st.sampled_from(sorted(toy.SPLITS)),
        st.sampled_from(ALPHABETS),
        st.data(),
        st.integers(0, 1000),
        st.floats(0.2, 3),
    )
    def test_equals_brute_force_for_any_text(self, name, alphabet, data, seed, temperature):
        """Any text over small alphabets, any model, any temperature."""
        typed = data.draw(st.text(alphabet, max_size=8))
        tokenizer, tokenization = toy.small(name, alphabet)

        assert (
            error(tokenizer, tokenization, typed, alphabet, seed=seed, temperature=temperature)
            < EXACTLY
        )

    def test_is_as_exact_where_nearly_all_is_refused(self):
        """At a low temperature a model may be sure of an impossible token."""
        tokenizer, tokenization = toy.small("llama-3", "a 1\n")

        wrong = error(tokenizer, tokenization, "11111", "a 1\n", seed=149, temperature=0.2)

        assert wrong < EXACTLY

    @settings(deadline=None, max_examples=80)
    @given(st.text("ab 1", max_size=8), st.integers(0, 1000))
    @example("a", 1)
    @example(" ", 1)
    @example(" b", 1)
    def test_equals_brute_force_where_whole_words_ignore_merges(self, typed, seed):
        """A word that is a token is one, even if no merges lead to it, but only as a whole."""
        tokenizer, tokenization = toy.ignoring_merges()

        assert error(tokenizer, tokenization, typed, "ab 1", seed=seed) < EXACTLY

    @settings(deadline=None, max_examples=80)
    @given(st.text(toy.CLOSED + "a ", max_size=5), st.integers(0, 1000))
    def test_equals_brute_force_inside_characters(self, typed, seed):
        """Tokens that end in the middle of a character are leaves like all others."""
        tokenizer, tokenization = toy.closed()

        assert (
            error(tokenizer, tokenization, typed, toy.CLOSED + "a ", reach=4, seed=seed) < EXACTLY
        )


def leaves_of(tokenization: Tokenization, typed: str) -> set[tuple[tuple[int, ...], int]]:
    """All admissible (path, leaf) pairs of a covering tree, as the oracle writes them."""
    scored = healed(typed.encode(), tokenization, toy.TableModel(len(tokenization.vocabulary), 1))
    reading = exact.read(scored, unchecked=0)
    return {(leaf.path, leaf.token if leaf.visible else oracle.STOP) for leaf in reading.leaves}


class TestOtherVocabularies:
    """Exactness is promised for byte-pair encoding; the tree is built for every encoder."""

    @settings(deadline=None, max_examples=60)
    @given(st.sampled_from(["unigram", "wordpiece"]), st.text("ab (1", max_size=6))
    def test_all_leaves_are_right(self, kind, typed):
        """Every leaf comes with its proof, so none is wrong for Unigram or WordPiece either."""
        tokenizer, tokenization = toy.other(kind)
        for path, leaf in leaves_of(tokenization, typed):
            text = tokenization.vocabulary.decode([*path, *([leaf] if leaf >= 0 else [])])
            wanted = [*path, *([leaf] if leaf >= 0 else [])]
            endings = ["", *toy.texts(toy.ASCII, 2)]
            found = tokenizer.encode_batch_fast([text.decode() + end for end in endings])
            assert any(encoding.ids[: len(wanted)] == wanted for encoding in found)


class TestReading:
    """Ways to look at a scored tree."""

    @settings(deadline=None, max_examples=100)
    @given(
        st.sampled_from(sorted(toy.SPLITS)),
        st.text(toy.ASCII, max_size=8),
        st.integers(0, 999),
        st.floats(0.001, 0.9),
    )
    def test_unchecked_mass_bounds_the_error(self, name, typed, seed, unchecked):
        """What is not checked is at most what was asked for, and no probability is off by more."""
        tokenization = toy.toy(name)[1]
        model = toy.TableModel(len(tokenization.vocabulary), seed)
        scored = healed(typed.encode(), tokenization, model)

        full, part = exact.read(scored, 0), exact.read(scored, unchecked)

        assert part.unchecked <= unchecked + EXACTLY
        differences = np.abs(part.next_byte() - full.next_byte())
        assert differences.max() <= part.unchecked + EXACTLY
        assert full.unchecked < EXACTLY
        assert abs(full.next_byte().sum() - 1) < EXACTLY


class TestWrongTrees:
    """A tree with a wrong rule does not pass: the comparison above can fail, and does."""

    @staticmethod
    def agrees() -> bool:
        """Whether fresh trees equal brute force for all of `TYPED`."""
        tokenizer = toy.toy("qwen")[0]
        tokenization = toy.tokenization_of(tokenizer)
        errors = [error(tokenizer, tokenization, typed, toy.ASCII) for typed in TYPED]
        return max(errors) < EXACTLY

    def test_the_right_rule_passes(self):
        """The texts that show the mutants below agree without them."""
        assert self.agrees()

    def test_admitting_everything_is_found(self, monkeypatch):
        """A tree without a test of its leaves has the right ones, and wrong ones too."""
        monkeypatch.setattr(covers, "admissible", lambda *_: True)

        assert not self.agrees()

    def test_ignoring_what_follows_is_found(self, monkeypatch):
        """A leaf that is right only before certain continuations must not be lost."""
        monkeypatch.setattr("healing.tokenization.WITNESSES", (b"",))

        assert not self.agrees()

    def test_losing_the_second_split_at_the_cursor_is_found(self, monkeypatch):
        """Blanks before a digit are split otherwise than blanks at the end."""
        assemble = covers._assemble

        def only_one(tokenization, typed, fixed, found):
            kept = [entry for entry in found if entry[2] or entry[0] < len(typed)]
            return assemble(tokenization, typed, fixed, kept)

        monkeypatch.setattr(covers, "_assemble", only_one)

        assert not self.agrees()

    def test_losing_a_boundary_is_found(self, monkeypatch):
        """Going back over one token less than could have been split otherwise."""
        assemble = covers._assemble

        def without_the_first(tokenization, typed, fixed, found):
            first = min(entry[0] for entry in found)
            kept = [entry for entry in found if entry[2] or entry[0] > first]
            return assemble(tokenization, typed, fixed, kept)

        monkeypatch.setattr(covers, "_assemble", without_the_first)

        assert not self.agrees()
