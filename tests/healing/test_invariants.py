"""What must hold between trees: of one text and the next, of the tree and plain decoding."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from healing import exact
from healing.covers import covering_tree
from healing.rows import RowCache
from healing.tokenization import Tokenization
from tests.healing import toy
from tests.healing.test_exact import healed

NAMES = st.sampled_from(sorted(toy.SPLITS))
TYPED = st.text(toy.ASCII, max_size=8)
SEEDS = st.integers(0, 1000)
EXACTLY = 1e-9


def log_softmax(row: np.ndarray) -> np.ndarray:
    return row - np.logaddexp.reduce(row)


def path_logprob(path: tuple[int, ...], model: toy.TableModel) -> float:
    """Natural log of the model's probability of a whole path."""
    return sum(log_softmax(model(path[:i]))[token] for i, token in enumerate(path))


def weights(tokenization: Tokenization, typed: bytes, model: toy.TableModel):
    """The complete reading, and the probability of each leaf from the start of the text."""
    scored = healed(typed, tokenization, model)
    reading = exact.read(scored, 0)
    trunk = path_logprob(scored.tree.trunk, model)
    return reading, {leaf: float(np.exp(leaf.logprob + trunk)) for leaf in reading.leaves}


class TestChainRule:
    """The probability of `p + c` is that of `p` times that of `c` after `p`."""

    @settings(deadline=None, max_examples=200)
    @given(NAMES, TYPED, st.sampled_from(toy.ASCII), SEEDS)
    def test_holds_up_to_inadmissible_mass(self, name, typed, character, seed):
        """A leaf that ends right after `c` loses what the model then gives to impossible tokens.

        That loss is computed here from the tree of `p + c`, and nothing else is lost.
        """
        tokenization = toy.toy(name)[1]
        model = toy.TableModel(len(tokenization.vocabulary), seed)
        before, c = typed.encode(), character.encode()
        shorter, mass = weights(tokenization, before, model)
        longer, mass_after = weights(tokenization, before + c, model)

        possible: dict[tuple[int, ...], float] = {}
        for leaf in longer.leaves:
            [stop] = toy.stops_of(tokenization.vocabulary)
            own = log_softmax(model(leaf.path))[leaf.token if leaf.visible else stop]
            possible[leaf.path] = possible.get(leaf.path, 0.0) + float(np.exp(own))
        expected = sum(
            weight * (possible[*leaf.path, leaf.token] if leaf.visible == c else 1.0)
            for leaf, weight in mass.items()
            if leaf.visible.startswith(c)
        )

        after = sum(mass_after.values())
        assert abs(after - expected) <= EXACTLY * max(after, expected)
        assert after <= sum(mass.values()) * shorter.next_byte()[c[0]] * (1 + EXACTLY)


class TestStableCut:
    """Where nothing could have been split otherwise, healing changes nothing."""

    @settings(deadline=None, max_examples=300)
    @given(NAMES, TYPED, SEEDS)
    def test_equals_plain_decoding(self, name, typed, seed):
        """The next token has the model's own probabilities, impossible tokens left out."""
        tokenization = toy.toy(name)[1]
        model = toy.TableModel(len(tokenization.vocabulary), seed)
        scored = healed(typed.encode(), tokenization, model)
        assume(len(scored.tree.boundaries) == 1)
        naive = log_softmax(model(tuple(tokenization.encode(typed.encode()))))

        reading = exact.read(scored, 0)

        assert scored.tree.nodes == ()
        admitted = np.logaddexp.reduce([naive[leaf.token] for leaf in reading.leaves])
        for leaf in reading.leaves:
            assert leaf.visible == (tokenization.vocabulary[leaf.token] if leaf.visible else b"")
            ours = leaf.logprob - reading.logprob
            assert abs(ours - (naive[leaf.token] - admitted)) < EXACTLY

    def test_is_not_rare(self):
        """The empty text and a digit before a digit are such places, and many others."""
        tokenization = toy.toy("qwen")[1]

        for typed in (b"", b"1", b"a1", b"(1"):
            assert len(covering_tree(typed, tokenization).boundaries) == 1


class TestTypedThrough:
    """A tree that is reached by typing and deleting is the tree of the text."""

    @settings(deadline=None, max_examples=60)
    @given(NAMES, TYPED, st.lists(st.sampled_from([*toy.ASCII, ""]), max_size=12), SEEDS)
    def test_equals_recomputed_with_at_most_the_new_rows(self, name, typed, edits, seed):
        """An empty edit deletes a character. Rows that were evaluated once never are again."""
        tokenization = toy.toy(name)[1]
        model = toy.TableModel(len(tokenization.vocabulary), seed)
        cache, stops = RowCache(1000), toy.stops_of(tokenization.vocabulary)
        evaluated: set[tuple[int, ...]] = set()
        for edit in ["", *edits]:
            typed = typed + edit if edit else typed[:-1]
            tree = covering_tree(typed.encode(), tokenization)
            paths = {tree.trunk, *(tree.path(node) for node in range(len(tree.nodes)))}
            model.calls = 0
            for path in exact.unscored(tree, cache):
                cache.add(path, model(path))
            assert model.calls == len(paths - evaluated)
            evaluated |= paths

            incremental = exact.read(exact.score(tree, cache, stops), 0)

            assert incremental == exact.read(healed(typed.encode(), tokenization, model), 0)

    @settings(deadline=None, max_examples=100)
    @given(NAMES, TYPED, SEEDS, st.floats(1e-4, 0.5))
    def test_rows_left_out_cost_no_more_than_stated(self, name, typed, seed, negligible):
        """Leaving out paths with a small share moves no probability by more than this share."""
        tokenization = toy.toy(name)[1]
        model = toy.TableModel(len(tokenization.vocabulary), seed)
        tree, stops = (
            covering_tree(typed.encode(), tokenization),
            toy.stops_of(tokenization.vocabulary),
        )
        rows = {tree.trunk: model(tree.trunk)}
        while missing := exact.unscored(tree, rows, negligible):
            rows |= {path: model(path) for path in missing}

        scored = exact.score(tree, rows, stops)
        assume(len(scored.tokens))
        part = exact.read(scored, 0)
        full = exact.read(healed(typed.encode(), tokenization, model), 0)

        hidden = np.exp(list(scored.unexpanded.values())).sum()
        for reach in scored.unexpanded.values():
            assert np.exp(reach) < negligible * (np.exp(scored.logprob) + np.exp(reach)) + EXACTLY
        bound = hidden / (hidden + np.exp(part.logprob)) if part.leaves else 1.0
        assert np.abs(full.next_byte() - part.next_byte()).max() <= bound + EXACTLY

    def test_nothing_is_left_out_of_nothing(self):
        """Without the trunk's row there is nothing to compare with: every row is wanted."""
        tokenization = toy.toy("qwen")[1]
        tree = covering_tree(b"ab (a", tokenization)

        assert exact.unscored(tree, {}, negligible=0.5) == exact.unscored(tree, {})
        assert len(exact.unscored(tree, {})) == 1 + len(tree.nodes) > 1


class TestPrefix:
    """What is typed is a prefix of every output, byte for byte."""

    @settings(deadline=None, max_examples=60)
    @given(st.text(max_size=6).map(str.encode) | st.binary(max_size=6), SEEDS)
    def test_every_leaf_spells_what_was_typed_and_what_it_shows(self, typed, seed):
        """Valid UTF-8 or not, and no leaf shows what is no text."""
        tokenization = toy.every_byte()
        vocabulary = tokenization.vocabulary
        scored = healed(typed, tokenization, toy.TableModel(len(vocabulary), seed))

        reading = exact.read(scored, 0.02)

        for leaf in reading.leaves:
            spelled = vocabulary.decode(leaf.path)
            if leaf.visible:
                spelled += vocabulary[leaf.token]
            assert spelled == typed + leaf.visible
        assert scored.tree.typed.endswith(scored.tree.backed_up)
        stops = [boundary for boundary in scored.tree.boundaries if boundary.stop]
        assert [boundary.start for boundary in stops] == [len(typed)]
