"""Known names in the order of their probability, with a tiny model."""

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healing import exact
from healing.covers import covering_tree
from server.completion_options import CompletionOptions
from server.errors import Cancelled, EngineError
from server.name_matching import LIKELIHOODS
from server.names import word_bytes
from server.ranking import CPU_PATHS, LABEL_BYTES, MOST_LABELS, Ranking, RankOptions, rank
from server.snapshot import Snapshot
from tests.server.documents import documents
from tests.server.engine.fresh import path_tokens
from tests.server.engines import Watched, Wrapped, around

CLOSE = 1e-3
"""Of natural logs: what searches may leave unchecked."""
NOISE = 0.1
"""Of natural logs, where rows are from batches of different shapes."""
TEXT = "import os\n\ndef read(path, encoding):\n    for index in range(10):\n        print("
NAMES = ["reader", "read", "readers", "numbers", "number", "self", "sys", "index", "path", "os"]


class Alone(Wrapped):
    """Evaluates each path by itself, always in the same way: equal paths have equal rows."""

    def evaluate(self, slot, nodes, want):
        rows = []
        for node in want:
            own = self.engine.open([*slot.tokens, *path_tokens(nodes, node)])
            self.engine.cut(own, 1)
            own = self.engine.open([*slot.tokens, *path_tokens(nodes, node)])
            rows.append(self.engine.evaluate(own, [], [-1])[0].copy())
            self.engine.drop(own)
        return rows


@pytest.fixture
def steady(tiny_completer):
    """The tiny model without the noise of batches."""
    return around(tiny_completer, Alone(tiny_completer.engine))


@pytest.fixture(params=["bpe", "sentencepiece", "characters"])
def any_steady(load_tiny, request):
    """The same for each kind of vocabulary that exact healing knows."""
    completer = load_tiny(vocabulary=request.param)
    return around(completer, Alone(completer.engine))


def snapshot(typed: str = "", after: str = ")\n", text: str = TEXT) -> Snapshot:
    """A document with the cursor after what is typed."""
    before = (text + typed).encode()
    return Snapshot("a.py", 0, before + after.encode(), len(before), "python")


def logprobs(ranking: Ranking) -> dict[str, float]:
    """Each label's logprob."""
    return {name.label: name.logprob for name in ranking.names}


def labels(ranking: Ranking) -> list[str]:
    """Labels, best first."""
    return [name.label for name in ranking.names]


class TestExactness:
    """The tree's scores are those of every name alone."""

    @pytest.mark.parametrize("typed", ["", "re", "num", "x."])
    def test_all_at_once_as_each_alone(self, steady, typed):
        """To 1e-3, whatever else is in the tree."""
        place = snapshot(typed)

        together = rank(steady, place, NAMES)

        assert all(name.exact for name in together.names)
        for name in together.names:
            [alone] = rank(steady, place, [name.label]).names
            assert alone.logprob == pytest.approx(name.logprob, abs=CLOSE)

    @pytest.mark.parametrize("typed", ["", "re", "num"])
    def test_as_exact_healing_says(self, any_steady, typed):
        """The covers of the whole text with a name in it, leaf by leaf, tell the same."""
        steady, place = any_steady, snapshot(typed)
        prompt = steady.prompt_at(place, CompletionOptions())
        word = word_bytes("python")

        def total(text: bytes, ends: bool) -> float:
            tree = covering_tree(text, steady.tokenization)
            slot = steady.engine.open(prompt.head)

            def row(path: Sequence[int]) -> np.ndarray:
                nodes = [(at - 1, token) for at, token in enumerate(path)]
                return steady.engine.evaluate(slot, nodes, [len(nodes) - 1])[0]

            before = 0.0
            for at, token in enumerate(tree.trunk):
                logits = row(tree.trunk[:at]).astype(np.float64)
                before += logits[token] - np.logaddexp.reduce(logits)
            rows = {path: row(path) for path in exact.unscored(tree, {})}
            reading = exact.read(exact.score(tree, rows, steady.engine.stops), unchecked=0)
            leaves = [
                leaf.logprob
                for leaf in reading.leaves
                if not (ends and leaf.visible and leaf.visible[0] in word)
            ]
            return before + float(np.logaddexp.reduce(leaves))

        found = rank(steady, place, NAMES, RankOptions(forgiving=False))

        whole = total(prompt.typed, ends=False)
        for name in found.names:
            text = prompt.typed + name.label.encode()[len(typed) :]
            assert name.logprob == pytest.approx(total(text, ends=True) - whole, abs=5e-3)

    def test_batches_change_little(self, tiny_completer, steady):
        """With real batches only their noise is added."""
        real = logprobs(rank(tiny_completer, snapshot("re"), NAMES))

        quiet = logprobs(rank(steady, snapshot("re"), NAMES))
        assert real == pytest.approx(quiet, abs=NOISE)

    def test_beginnings_of_names(self, steady):
        """A name that may go on is at least as probable as all names that it begins."""
        options = RankOptions(whole=False)

        open_ended = logprobs(rank(steady, snapshot(), ["read", "reader"], options))
        whole = logprobs(rank(steady, snapshot(), ["read", "reader"]))

        assert open_ended["read"] >= math.log(sum(map(math.exp, whole.values()))) - CLOSE


class TestMatches:
    """Names that go on from the word before the cursor, and names that are meant by it."""

    def test_names_that_replace_the_word(self, steady):
        """Their score is their probability from the word's start on, times how it is typed."""
        given_labels = [*NAMES, "raederX"]
        found = {name.label: name for name in rank(steady, snapshot("raeder"), given_labels).names}
        from_start = logprobs(rank(steady, snapshot(), ["reader"]))

        name = found["reader"]
        assert name.match == "one mistyped"
        assert name.logprob == pytest.approx(from_start["reader"], abs=CLOSE)
        assert name.score == pytest.approx(
            name.logprob + math.log(LIKELIHOODS[name.match]), abs=CLOSE
        )
        assert found["raederX"].match == "start"

    def test_scores_of_names_that_go_on(self, steady):
        """They are compared from the word's start on as well."""
        [reader] = rank(steady, snapshot("re"), ["reader"]).names
        both = {name.label: name for name in rank(steady, snapshot("re"), ["reader", "REAL"]).names}
        [whole] = rank(steady, snapshot(), ["reader"]).names

        assert both["reader"].logprob == pytest.approx(reader.logprob, abs=CLOSE)
        assert both["reader"].score == pytest.approx(whole.score, abs=CLOSE)

    def test_what_is_meant(self, steady):
        """Names that go on share with those that replace the word, and one alone has its own."""
        alone = rank(steady, snapshot("re"), ["reader"])
        both = rank(steady, snapshot("re"), ["reader", "REAL"])
        other = rank(steady, snapshot("re"), ["REAL"])

        meant = dict(zip(labels(both), both.meant(), strict=True))
        reader = logprobs(alone)["reader"]
        assert alone.meant() == [pytest.approx(math.exp(reader))]
        assert other.typed_share == pytest.approx(both.typed_share, rel=CLOSE)
        share = math.exp(logprobs(both)["REAL"]) * LIKELIHOODS["other case"]
        whole = both.typed_share + share
        assert meant["REAL"] == pytest.approx(share / whole, rel=CLOSE)
        assert meant["reader"] == pytest.approx(
            math.exp(reader) * both.typed_share / whole, rel=CLOSE
        )

    def test_strict(self, tiny_completer):
        """Only names that go on from the word."""
        options = RankOptions(forgiving=False)

        found = rank(tiny_completer, snapshot("re"), [*NAMES, "REAL"], options)

        assert set(labels(found)) == {"reader", "read", "readers"}
        assert len(found.refused) == len(NAMES) + 1 - 3

    def test_the_word_is_the_languages(self, tiny_completer):
        """A dash is in a name of CSS."""
        css = Snapshot("a.css", 0, b".a { margin-t }", 13, "css")

        found = rank(tiny_completer, css, ["margin-top", "top"])

        assert (found.typed, labels(found)) == ("margin-t", ["margin-top"])


class TestBadLabels:
    """Every label is ranked, or refused with a reason; one by one."""

    @pytest.mark.parametrize(
        ("label", "reason"),
        [
            ("", "is empty"),
            ("read\nline", "has a line end in it"),
            ("read\r", "has a line end in it"),
            (b"re\xff", "is not valid UTF-8"),
            ("re\ud800", "is not valid UTF-8"),
            ("re" + "a" * LABEL_BYTES, f"has more than {LABEL_BYTES} bytes"),
            ("other", "does not go on from what is typed: re"),
        ],
    )
    def test_refused(self, tiny_completer, label, reason):
        """The others are ranked all the same."""
        found = rank(tiny_completer, snapshot("re"), ["read", label, "reader"])

        assert {(name.index, name.label) for name in found.names} == {(0, "read"), (2, "reader")}
        [refused] = found.refused
        assert (refused.index, refused.reason) == (1, reason)
        refused.label.encode()  # whatever it was, it can be written

    def test_none(self, tiny_completer):
        """No labels, or none that fits, cost nothing."""
        for given_labels in ([], ["other"]):
            found = rank(tiny_completer, snapshot("re"), given_labels)

            assert (found.names, found.evaluated) == ((), 0)

    def test_equal_labels(self, tiny_completer):
        """They have equal scores and stay in their order."""
        found = rank(tiny_completer, snapshot("re"), ["reader", "read", "reader"])

        places = [name.index for name in found.names if name.label == "reader"]
        assert places == [0, 2]
        assert len({name.score for name in found.names}) == 2

    def test_very_many(self, tiny_completer):
        """Ten thousand are ranked in bounded work, more are refused."""
        chance = random.Random(5)
        many = [
            "".join(chance.choices("abcdersx_", k=chance.randint(2, 12))) for _ in range(10_010)
        ]

        found = rank(tiny_completer, snapshot(), many, RankOptions(best=3, tokens=200))

        assert len(found.names) == MOST_LABELS
        assert len(found.refused) == 10
        assert "after the first 10,000" in found.refused[0].reason
        assert found.evaluated < 600


class TestBounds:
    """Work is bounded, and what was left says so."""

    @settings(max_examples=8)
    @given(st.integers(1, len(NAMES)), st.sampled_from(["", "n"]))
    def test_the_best_are_those_of_all(self, steady_once, best, typed):
        """Others may be left; their scores are bounds."""
        every = rank(steady_once, snapshot(typed), NAMES)
        some = rank(steady_once, snapshot(typed), NAMES, RankOptions(best=best))

        best = min(best, len(every.names))
        assert labels(some)[:best] == labels(every)[:best]
        assert all(name.exact for name in some.names[:best])
        true = logprobs(every)
        for name in some.names:
            assert name.logprob >= true[name.label] - CLOSE

    def test_no_tokens(self, load_tiny):
        """Without tokens the row at the cursor is all that is known."""
        found = rank(load_tiny(), snapshot(), NAMES, RankOptions(tokens=0))

        assert len(found.names) == len(NAMES)
        assert not any(name.exact for name in found.names)

    def test_reading(self, load_tiny):
        """Where too much would have to be read, nothing is; what is in memory is read already."""
        completer = load_tiny()
        engine = Watched(completer.engine)
        completer = around(completer, engine)
        for tokens in (0, 3):
            with pytest.raises(EngineError, match=r"without reading \d\d tokens"):
                rank(completer, snapshot("re"), NAMES, RankOptions(tokens=20, reading=tokens))
        assert completer.engine.evaluated_tokens == 0
        completer.complete(snapshot("re"))

        found = rank(completer, snapshot("re"), NAMES, RankOptions(tokens=20, reading=3))
        engine.forget()
        known = rank(completer, snapshot("re"), NAMES, RankOptions(tokens=20, reading=3))

        assert found.names[0].exact
        assert 0 < found.evaluated <= 20 + CPU_PATHS
        assert known.evaluated == 0  # rows that are kept tell something
        assert set(labels(known)) == set(labels(found))

    def test_texts_in_memory_stay(self, load_tiny):
        """Ranking beside a completion takes no other text's place."""
        completer = load_tiny()
        places = [snapshot("re", text=f"x{number} = 1\n") for number in range(3)]
        for place in places:
            completer.complete(place)
        for typed in ("re", "rea", "read"):
            rank(completer, snapshot(typed, text="x2 = 1\n"), NAMES)

        assert completer.complete(places[0]).tokens.evaluated < 20

    def test_per_token(self, steady):
        """Means of long names may come before sums of short ones; logprobs are the same."""
        sums, means = (
            rank(steady, snapshot(), NAMES, RankOptions(per_token=flag)) for flag in (False, True)
        )

        assert logprobs(sums) == pytest.approx(logprobs(means), abs=CLOSE)
        for name in means.names:
            assert name.score >= name.logprob - CLOSE
        assert [name.score for name in means.names] == sorted(
            (name.score for name in means.names), reverse=True
        )

    @pytest.mark.parametrize("values", [{"best": 0}, {"tokens": -1}, {"reading": -1}])
    def test_values_without_a_meaning(self, values):
        """They are refused."""
        with pytest.raises(ValueError, match="must be"):
            RankOptions(**values)


@pytest.fixture(scope="module")
def steady_once(tiny_completer):
    """As `steady`, for hypothesis."""
    return around(tiny_completer, Alone(tiny_completer.engine))


class TestEngine:
    """What ranking does to the model's memory, and what it asks of a model."""

    def test_cancelled(self, load_tiny):
        """A cancelled ranking ends so, and the next one is right."""
        completer = load_tiny()
        expected = labels(rank(completer, snapshot(), NAMES))
        completer.cancel()
        with pytest.raises(Cancelled):
            rank(completer, snapshot("n"), NAMES)
        completer.resume()

        assert labels(rank(completer, snapshot(), NAMES)) == expected

    def test_completions_stay_the_same(self, load_tiny):
        """Before and after ranking at their place."""
        completer = load_tiny()
        before = completer.complete(snapshot("re"))
        rank(completer, snapshot("re"), NAMES)

        [item], [first] = completer.complete(snapshot("re")).items, before.items
        assert (item.text, item.start, item.end) == (first.text, first.start, first.end)

    def test_what_is_read_is_not_read_again(self, load_tiny):
        """After a completion at the same place, only names are evaluated."""
        completer = load_tiny()
        first = rank(completer, snapshot("re"), NAMES).evaluated

        completer.complete(snapshot("num"))
        second = rank(completer, snapshot("num"), NAMES).evaluated

        assert second < first / 2

    @pytest.mark.parametrize(
        ("arguments", "why"),
        [
            ({"architecture": "mamba"}, "its memory can't be cut"),
            ({"vocabulary": "unigram"}, "exact healing does not know"),
        ],
    )
    def test_models_that_cannot(self, load_tiny, arguments, why):
        """They are told by name, and what to do."""
        completer = load_tiny(**arguments)

        with pytest.raises(EngineError, match=f"(?s){why}.*choose another model"):
            rank(completer, snapshot(), NAMES)

    @settings(max_examples=25)
    @given(documents())
    def test_any_document(self, tiny_completer, document):
        """At any place of any text: each name is ranked or refused, once."""
        text, cursor = document
        place = Snapshot("a.py", 0, text, cursor, "python")
        given_labels = [*NAMES, "a b", "größe", text[cursor : cursor + 9]]

        found = rank(tiny_completer, place, given_labels, RankOptions(best=2, tokens=40))

        indices = [name.index for name in found.names] + [name.index for name in found.refused]
        assert sorted(indices) == list(range(len(given_labels)))
        assert all(name.logprob <= 1e-6 for name in found.names)
