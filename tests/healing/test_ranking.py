"""Names in one tree against brute force, and against each name alone."""

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from healing import exact, ranking
from healing.covers import covering_tree
from healing.origins import Origin, needed
from healing.ranking import NameScore, NameSearch
from healing.tokenization import Tokenization
from tests.healing import oracle, toy

WORD = frozenset(b"ab1")
REACH = 4
"""Continuations of the oracle: the longest toy token (3) and one character of look-ahead."""
CLOSE = 1e-3


@pytest.fixture(autouse=True)
def check_everything(monkeypatch):
    """Toy vocabularies have far more inadmissible leaves than real ones: all are checked here."""
    monkeypatch.setattr(ranking, "DOUBT", 1.0)


def search(
    tokenization: Tokenization,
    model: toy.TableModel,
    origins: Sequence[tuple[bytes, Sequence[bytes]]],
    *,
    word: frozenset[int] = WORD,
    weights: Sequence[float] = (),
    best: int | None = None,
    most: int = 8,
) -> list[list[NameScore]]:
    """A search to its end, with a table as the model."""
    trees = [covering_tree(typed, tokenization) for typed, _ in origins]
    rows = {path: model(path) for path in needed(trees)}
    found = NameSearch(
        [
            Origin(tree, rests, weight)
            for tree, (_, rests), weight in zip(
                trees, origins, weights or [1.0] * len(trees), strict=True
            )
        ],
        rows,
        toy.stops_of(tokenization.vocabulary),
        word,
    )
    while wanted := found.wanted(most, best):
        for path in wanted:
            found.add(path, model(path))
    return found.scores()


def probabilities(
    tokenization: Tokenization,
    model: toy.TableModel,
    typed: str,
    rests: Iterable[str],
    word: frozenset[int] = WORD,
) -> list[float]:
    """What the search says of names after one typed text."""
    origin = (typed.encode(), [rest.encode() for rest in rests])
    [scores] = search(tokenization, model, [origin], word=word)
    assert all(score.settled for score in scores)
    return [score.probability for score in scores]


def weight(
    tokenizer: Tokenizer, tokenization: Tokenization, model: toy.TableModel, text: str, ends: bool
) -> float:
    """The oracle's probability of a text (and that its last word ends), not normalised."""
    vocabulary = tokenization.vocabulary
    [stop] = toy.stops_of(vocabulary)
    total = 0.0
    for path, leaf in oracle.covers(tokenizer, text, toy.texts(toy.ASCII, REACH)):
        tokens = [*path, stop if leaf == oracle.STOP else leaf]
        shown = b"".join(map(vocabulary.__getitem__, [*path, *([leaf] if leaf >= 0 else [])]))
        after = shown[len(text.encode()) :]
        if ends and after[:1] and after[0] in WORD:
            continue
        chance = 1.0
        for index, token in enumerate(tokens):
            logits = model(tuple(tokens[:index]))
            exponentials = np.exp(logits - logits.max())
            chance *= exponentials[token] / exponentials.sum()
        total += chance
    return total


class TestBruteForce:
    """A name's probability is that of the texts with the whole name in them, and no longer one."""

    @pytest.mark.parametrize("name", toy.SPLITS)
    @pytest.mark.parametrize(
        ("typed", "rests"),
        [
            ("", ["a", "ab", "b", "1"]),
            ("a", ["", "a", "b", "bab", "1"]),
            (" (", ["ab", "aba", "b1"]),
            ("b  ", ["a", "1", "ab11"]),
            ("(ab", ["a", "b", "'ab"]),
            ("1 a1", ["1", "11", ""]),
        ],
    )
    def test_equals_brute_force(self, name: str, typed: str, rests: list[str]):
        """Each name has the oracle's probability, to what stays unchecked."""
        tokenizer, tokenization = toy.toy(name)
        model = toy.TableModel(len(tokenization.vocabulary), 3)

        found = probabilities(tokenization, model, typed, rests)

        whole = weight(tokenizer, tokenization, model, typed, ends=False)
        true = [
            weight(tokenizer, tokenization, model, typed + rest, ends=True) / whole
            for rest in rests
        ]
        assert found == pytest.approx(true, rel=2 * CLOSE)


def alone(
    tokenization: Tokenization, model: toy.TableModel, typed: str, rest: str, word: frozenset[int]
) -> float:
    """A name's probability by exact healing of the text with the name, read leaf by leaf."""

    def reading(text: str) -> exact.Reading:
        tree = covering_tree(text.encode(), tokenization)
        rows = {path: model(path) for path in exact.unscored(tree, {})}
        scored = exact.score(tree, rows, toy.stops_of(tokenization.vocabulary))
        trunk = sum(
            logs(model, tree.trunk[:count])[tree.trunk[count]] for count in range(len(tree.trunk))
        )
        whole = exact.read(scored, unchecked=0)
        return exact.Reading(
            tuple(
                exact.Leaf(leaf.path, leaf.node, leaf.token, leaf.logprob + trunk, leaf.visible)
                for leaf in whole.leaves
            ),
            0.0,
            whole.logprob + trunk,
        )

    ended = [
        leaf.logprob
        for leaf in reading(typed + rest).leaves
        if not leaf.visible or leaf.visible[0] not in word
    ]
    return float(np.exp(np.logaddexp.reduce(ended) - reading(typed).logprob))


def logs(model: toy.TableModel, path: tuple[int, ...]) -> np.ndarray:
    """Log probabilities after a path."""
    logits = model(path)
    return logits - np.logaddexp.reduce(logits)


class TestAlone:
    """All names at once have the probabilities that each has alone, by another way."""

    @settings(max_examples=40)
    @given(
        st.sampled_from(sorted(toy.SPLITS)),
        st.text("ab (1", max_size=5),
        st.lists(st.text("ab1", min_size=1, max_size=5), min_size=1, max_size=6, unique=True),
        st.integers(0, 999),
    )
    def test_equals_each_name_alone(self, split, typed, rests, seed):
        """To 1e-3 of it, and mostly to far less."""
        tokenization = toy.toy(split)[1]
        model = toy.TableModel(len(tokenization.vocabulary), seed)

        found = probabilities(tokenization, model, typed, rests)

        each = [alone(tokenization, model, typed, rest, WORD) for rest in rests]
        assert found == pytest.approx(each, rel=2 * CLOSE)

    def test_admitting_everything_is_found(self, monkeypatch):
        """Without the test of paths, probabilities are too high: the comparison can fail."""
        tokenization = toy.tokenization_of(toy.toy("qwen")[0])
        model = toy.TableModel(len(tokenization.vocabulary), 5)
        rests = ["ab", "abab", "b11"]
        each = [alone(tokenization, model, "(a", rest, WORD) for rest in rests]

        monkeypatch.setattr("healing.ways.admissible", lambda *_: True)

        found = probabilities(tokenization, model, "(a", rests)
        assert found != pytest.approx(each, rel=0.01)


class TestUnfinishedNames:
    """Names that need not end: their own text is all that is asked about."""

    @settings(max_examples=20)
    @given(
        st.sampled_from(sorted(toy.SPLITS)),
        st.text("ab (1", max_size=4),
        st.lists(st.text("ab (1", min_size=1, max_size=4), min_size=1, max_size=5, unique=True),
        st.integers(0, 999),
    )
    def test_equal_the_sum_over_minimal_covers(self, split, typed, rests, seed):
        """Over all paths whose last token reaches the end of the name."""
        tokenizer, tokenization = toy.toy(split)
        model = toy.TableModel(len(tokenization.vocabulary), seed)

        found = probabilities(tokenization, model, typed, rests, word=frozenset())

        whole = weight(tokenizer, tokenization, model, typed, ends=False)
        true = [minimal(tokenizer, tokenization, model, typed + rest) / whole for rest in rests]
        assert found == pytest.approx(true, rel=2 * CLOSE)

    def test_a_name_that_ends_with_a_mark_need_not_end(self):
        """What comes after `a(` may be a letter."""
        tokenization = toy.toy("qwen")[1]
        model = toy.TableModel(len(tokenization.vocabulary), 5)

        [marked] = probabilities(tokenization, model, "b", ["a("])

        assert [marked] == probabilities(tokenization, model, "b", ["a("], word=frozenset())

    def test_what_is_typed_has_come(self):
        """A name that is typed already, and need not end, is certain."""
        tokenization = toy.toy("qwen")[1]
        model = toy.TableModel(len(tokenization.vocabulary), 5)

        assert probabilities(tokenization, model, "ab (", [""]) == [pytest.approx(1, abs=0.01)]


def minimal(
    tokenizer: Tokenizer, tokenization: Tokenization, model: toy.TableModel, text: str
) -> float:
    """The oracle's probability of the shortest paths that spell a text, not normalised."""
    bytes_of = tokenization.vocabulary.__getitem__
    paths = set()
    for path, leaf in oracle.covers(tokenizer, text, toy.texts(toy.ASCII, REACH)):
        tokens = (*path, *([leaf] if leaf >= 0 else []))
        sizes = np.cumsum([len(bytes_of(token)) for token in tokens])
        paths.add(tokens[: int(np.searchsorted(sizes, len(text.encode()))) + 1])
    return sum(
        float(np.exp(sum(logs(model, path[:at])[path[at]] for at in range(len(path)))))
        for path in paths
    )


NAMES = [b"a", b"ab", b"aba", b"abab", b"abb", b"b", b"ba", b"bab", b"b1", b"b11", b"1", b"11"]


class TestOrder:
    """The best names, without looking at all of them."""

    @settings(max_examples=40)
    @given(
        st.sampled_from(sorted(toy.SPLITS)),
        st.text("ab (1", max_size=4),
        st.integers(0, 999),
        st.integers(1, len(NAMES)),
        st.integers(1, 9),
    )
    def test_the_best_are_the_best_of_all(self, split, typed, seed, best, most):
        """Whichever names are left, and however much is asked for at once."""
        tokenization = toy.toy(split)[1]
        model = toy.TableModel(len(tokenization.vocabulary), seed)
        origins = [(typed.encode(), NAMES)]

        [some] = search(tokenization, model, origins, best=best, most=most)
        [every] = search(tokenization, model, origins)

        first = sorted(every, key=lambda score: -score.probability)[:best]
        found = sorted(some, key=lambda score: -score.probability)[:best]
        assert all(score.settled for score in found)
        assert [score.probability for score in found] == pytest.approx(
            [score.probability for score in first], rel=2 * CLOSE
        )

    @settings(max_examples=40)
    @given(st.sampled_from(sorted(toy.SPLITS)), st.integers(0, 999))
    def test_bounds_are_bounds(self, split, seed):
        """What is said of names that are left is never too little, and all is no more than 1."""
        tokenization = toy.toy(split)[1]
        model = toy.TableModel(len(tokenization.vocabulary), seed)
        origins = [(b"(a", NAMES)]

        [some] = search(tokenization, model, origins, best=1)
        [every] = search(tokenization, model, origins)

        for bound, true in zip(some, every, strict=True):
            assert bound.probability >= true.probability * (1 - 2 * CLOSE)
        assert sum(score.probability for score in every) <= 1 + CLOSE

    def test_fewer_rows_are_asked_for(self):
        """The best name needs a part of what all need."""
        tokenization = toy.toy("qwen")[1]
        calls = []
        for best in (1, None):
            model = toy.TableModel(len(tokenization.vocabulary), 2)
            search(tokenization, model, [(b"(", NAMES)], best=best, most=1)
            calls.append(model.calls)

        assert calls[0] < calls[1]

    def test_equal_names_share_a_score(self):
        """Also those that are given twice, and in any order."""
        tokenization = toy.toy("qwen")[1]
        model = toy.TableModel(len(tokenization.vocabulary), 2)

        [found] = search(tokenization, model, [(b"(", [b"b", b"a", b"b"])])

        assert found[0] == found[2] != found[1]

    def test_no_names(self):
        """Nothing to look for is nothing to do."""
        tokenization = toy.toy("qwen")[1]
        model = toy.TableModel(len(tokenization.vocabulary), 2)

        assert search(tokenization, model, [(b"(", [])]) == [[]]


class TestOrigins:
    """Names that replace what is typed, beside those that go on from it."""

    @settings(max_examples=30)
    @given(st.sampled_from(sorted(toy.SPLITS)), st.integers(0, 999), st.floats(0.01, 1))
    def test_each_is_right_alone(self, split, seed, weight_of_second):
        """Origins share a tree and nothing else: weights change the order of work only."""
        tokenization = toy.toy(split)[1]
        model = toy.TableModel(len(tokenization.vocabulary), seed)
        origins = [(b"b (ab", [b"", b"a", b"b1"]), (b"b (", [b"ba", b"1", b"abb"])]

        both = search(tokenization, model, origins, weights=[1.0, weight_of_second])

        for origin, found in zip(origins, both, strict=True):
            [own] = search(tokenization, model, [origin])
            assert [score.probability for score in found] == pytest.approx(
                [score.probability for score in own], rel=2 * CLOSE
            )

    @settings(max_examples=30)
    @given(st.sampled_from(sorted(toy.SPLITS)), st.integers(0, 999), st.floats(0.01, 1))
    def test_shares_are_of_one_text(self, split, seed, weight_of_second):
        """One name has the same share wherever it goes on from, but for the weight."""
        tokenization = toy.toy(split)[1]
        model = toy.TableModel(len(tokenization.vocabulary), seed)
        origins = [(b"b (ab", [b"", b"a"]), (b"b (", [b"ab", b"aba"])]

        longer, shorter = search(tokenization, model, origins, weights=[1.0, weight_of_second])

        assert [score.share * weight_of_second for score in longer] == pytest.approx(
            [score.share for score in shorter], rel=4 * CLOSE
        )
