"""Choosing lazily is choosing with a full mask."""

from collections import Counter
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healing.reachable import reachable
from healing.sampling import GREEDY, Sampling, truncate
from server.choosing import TRIES, Choice, Chooser, accepting
from server.grammar.grammar_mask import GrammarMask
from server.grammar.kept import KeptStates
from server.grammar.ladder import climb
from tests.healing import toy
from tests.server.grammar.toys import BRACKETS, ladder, rung
from tests.server.masks import ToyMask, closed, no_doubles

VOCABULARIES = {
    "small": lambda: toy.toy("qwen")[1],
    "every byte": toy.every_byte,
    "half characters": lambda: toy.closed()[1],
}
WRITTEN = [b"", b"a", b"b ", b"(", "本".encode()[:2]]


def chooser_of(tokenization, mask, sampling=GREEDY, seed=0) -> Chooser:
    stops = frozenset(toy.stops_of(tokenization.vocabulary))
    usable = {*tokenization.vocabulary.text_ids().tolist(), *stops}
    not_text = [token for token in range(len(tokenization.vocabulary)) if token not in usable]
    return Chooser(
        tokenization,
        np.array(not_text, dtype=np.int64),
        stops,
        sampling,
        np.random.default_rng(seed),
        mask,
    )


def row_of(tokenization, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.normal(0, 3, len(tokenization.vocabulary)).astype(np.float32)


def mask_after(written: bytes) -> ToyMask:
    mask = ToyMask(no_doubles, lambda text: len(text) % 2 == 0)
    mask.push(written)
    return mask


def allowed_by(chooser: Chooser, owed: bytes = b"") -> list[int]:
    """The full mask: every token that is text or its end, asked about one by one."""
    vocabulary, mask = chooser.tokenization.vocabulary, chooser.mask
    return [
        token
        for token in range(len(vocabulary))
        if token not in chooser.not_text
        and (
            mask.may_end()
            if token in chooser.stops
            else reachable(chooser.tokenization, token)
            and mask.viable(mask.written + vocabulary[token][len(owed) :])
        )
    ]


class TestGreedy:
    @settings(deadline=None, max_examples=200)
    @given(st.sampled_from(sorted(VOCABULARIES)), st.sampled_from(WRITTEN), st.integers(0, 10_000))
    def test_is_the_best_of_a_full_mask(self, name, written, seed):
        """The most probable of all tokens that the mask allows, the end among them."""
        tokenization = VOCABULARIES[name]()
        chooser = chooser_of(tokenization, mask_after(written))
        row = row_of(tokenization, seed)

        choice = chooser(row)

        best = max(allowed_by(chooser), key=lambda token: row[token])
        assert choice.token == (None if best in chooser.stops else best)

    @settings(deadline=None, max_examples=100)
    @given(st.sampled_from(sorted(VOCABULARIES)), st.integers(0, 10_000), st.data())
    def test_owed_bytes_are_not_asked_about(self, name, seed, data):
        """The grammar stands at the cursor; what is typed again before it is not its business."""
        tokenization = VOCABULARIES[name]()
        chooser = chooser_of(tokenization, mask_after(b""))
        row = row_of(tokenization, seed)
        owed = data.draw(st.sampled_from([b"a", b"aa", b" ", "本".encode()[:1]]))
        among = tokenization.trie.starting_with(owed)

        choice = chooser(row, owed, among)

        allowed = {*allowed_by(chooser, owed)} & {*among.tolist()}
        best = max(allowed, key=lambda token: row[token], default=None)
        assert (choice and choice.token) == best
        # What is left of a spelled token is what was asked about, and never more.
        assert all(text for text in chooser.mask.asked)

    def test_few_checks_exclude_a_vocabulary(self, tiny_completer):
        """Where one byte may come, each other first byte is refused once, with all its tokens."""
        tokenization = tiny_completer.tokenization
        mask = ToyMask(lambda text: text.startswith(b"~"), lambda _: False)
        chooser = chooser_of(tokenization, mask)

        choice = chooser(row_of(tokenization, 3))

        assert tokenization.vocabulary[choice.token].startswith(b"~")
        assert len(mask.asked) == len({text[:1] for text in mask.asked})
        assert len(mask.asked) < len(tokenization.vocabulary) / 3

    def test_slow_second_test(self):
        """A token that is allowed but not admitted makes room for the next one."""
        tokenization = toy.toy("qwen")[1]
        row = row_of(tokenization, 8)
        chooser = chooser_of(tokenization, None)
        first = chooser(row).token
        second = chooser(row, admits=lambda token: token != first).token

        assert second != first
        assert row[second] == np.sort(row[np.r_[tokenization.vocabulary.text_ids()]])[-2]

    def test_nothing_passes(self):
        """Then there is no choice, and who asked decides."""
        chooser = chooser_of(toy.toy("qwen")[1], ToyMask(lambda _: False, lambda _: False))

        assert chooser(row_of(toy.toy("qwen")[1], 1)) is None


class Plain(Chooser):
    """Chooses from a copy of the whole row, with all that is no text struck out first."""

    def __call__(self, row, owed=b"", among=None, admits=lambda _: True):
        temperature = self.sampling.temperature or 1.0
        logits = row.copy()
        logits[self.not_text] = -np.inf
        scaled = logits.astype(np.float64) / temperature
        normaliser = np.logaddexp.reduce(scaled)
        if among is not None:
            allowed = np.full_like(logits, -np.inf)
            allowed[among] = logits[among]
            logits = allowed
        found = None
        if self.sampling.temperature:
            found = self.first(self._drawn(logits), owed, admits)
        if found is None:
            found = self.first(logits, owed, admits)
        if found is None:
            return None
        token, refused = found
        return Choice(None if token in self.stops else token, scaled[token] - normaliser, refused)

    def first(self, values, owed, admits):
        refused = False
        for _ in range(TRIES):
            token = int(np.argmax(values))
            if values[token] == -np.inf:
                break
            if token in self.stops:
                if self.mask is None or self._may_end(self.mask, refused):
                    return token, refused
                refused = True
                values[list(self.stops)] = -np.inf
                continue
            shown = self.tokenization.vocabulary[token][len(owed) :]
            fits = len(shown) if self.mask is None or not shown else self.mask.fitting(shown)
            if fits < len(shown):
                refused = True
                values[self.tokenization.trie.starting_with(owed + shown[: fits + 1])] = -np.inf
            elif (owed or reachable(self.tokenization, token)) and admits(token):
                return token, refused
            else:
                values[token] = -np.inf
        return None


class TestPlain:
    """A row that is looked at where it lies gives what a copy of it gives."""

    @settings(deadline=None, max_examples=300)
    @given(st.data())
    def test_is_the_same(self, data):
        """The token, whether another was refused, the probability, and what the mask was asked."""
        tokenization = VOCABULARIES[data.draw(st.sampled_from(sorted(VOCABULARIES)))]()
        written = data.draw(st.sampled_from([*WRITTEN, None]))
        sampling = data.draw(
            st.sampled_from([GREEDY, Sampling(0.7), Sampling(1.2, top_k=2), Sampling(1, min_p=0.1)])
        )
        seed = data.draw(st.integers(0, 10_000))
        fast, slow = (
            chooser_of(tokenization, None if written is None else mask_after(written), sampling, 1)
            for _ in range(2)
        )
        row = row_of(tokenization, seed)
        loud = data.draw(st.lists(st.sampled_from(range(len(row))), max_size=4))
        row[loud] += data.draw(st.sampled_from([5, 40, 200]))
        owed = data.draw(st.sampled_from([b"", b"", b"a"]))
        among = data.draw(st.sampled_from([None, tokenization.trie.starting_with(owed)]))
        others = data.draw(st.sets(st.sampled_from(tokenization.vocabulary.text_ids().tolist())))
        if sampling.temperature and among is not None:  # it draws from what is left
            others -= {*among.tolist()}
        not_text = np.array(sorted({*fast.not_text.tolist(), *others}), dtype=np.int64)
        fast = replace(fast, not_text=not_text)
        slow = replace(
            Plain(*(getattr(slow, part.name) for part in fields(slow))), not_text=not_text
        )
        refused = data.draw(st.sets(st.sampled_from(range(len(row))), max_size=3))

        before = row.copy()
        choice = fast(row, owed, among, lambda token: token not in refused)
        wanted = slow(row, owed, among, lambda token: token not in refused)

        assert np.array_equal(row, before)
        assert (choice is None) == (wanted is None)
        if wanted is not None:
            assert (choice.token, choice.refused) == (wanted.token, wanted.refused)
            assert choice.logprob == pytest.approx(wanted.logprob, abs=2e-5)
        if written is not None:
            assert fast.mask.asked == slow.mask.asked

    def test_marks_that_drown_all_text(self):
        """A model that wants nothing but a mark still says what it thinks of the text."""
        tokenization = toy.toy("qwen")[1]
        not_text = tokenization.trie.starting_with(b"a")
        chooser = replace(chooser_of(tokenization, None), not_text=not_text)
        row = row_of(tokenization, 2)
        quiet = chooser(row)
        row[not_text] = 500

        assert chooser(row).token == quiet.token
        assert chooser(row).logprob == pytest.approx(quiet.logprob, abs=1e-5)


class TestGrammar:
    @settings(deadline=None, max_examples=60)
    @given(
        st.sampled_from([b"", b"(", b"a[b", b"(a, [b]"]),
        st.sampled_from([b"", b")", b"\n)b"]),
        st.sampled_from([0.0, 1.0]),
        st.integers(0, 10_000),
    )
    def test_is_what_a_grammar_allows(self, tiny_completer, before, follows, temperature, seed):
        """The same with the engine of grammars, on a vocabulary of every byte and more."""
        tokenization = tiny_completer.tokenization
        rungs = ladder(rung("full", "choosing", BRACKETS))
        standing = climb(KeptStates(), "a", "toy", rungs, before)
        mask = GrammarMask(standing, [follows], inside=False)
        chooser = chooser_of(tokenization, mask, Sampling(temperature), seed)
        row = row_of(tokenization, seed)
        vocabulary = tokenization.vocabulary

        choice = chooser(row)

        allowed = [t for t in vocabulary.text_ids().tolist() if mask.allows(vocabulary[t])]
        assert choice.token is None or choice.token in allowed
        assert choice.token is not None or mask.may_end()
        if not temperature and choice.token is not None:
            assert choice.token == max(allowed, key=lambda token: row[token])


@pytest.mark.parametrize("decides", [False, True])
def test_wish_to_end(decides):
    """The end as the next best wish is a wish, but where the grammar decides what is wanted."""
    tokenization = toy.toy("qwen")[1]
    mask = ToyMask(lambda text: text.startswith(b" "), lambda _: False, decides=decides)
    chooser = chooser_of(tokenization, mask)
    row = row_of(tokenization, 1)
    [favourite, *_] = tokenization.encode(b"a")
    row[list(chooser.stops)] = 50

    chooser(row)
    assert mask.wanted > 0

    mask.wanted = 0
    row[favourite] = 60
    chooser(row)
    assert (mask.wanted == 0) == decides


class TestSampling:
    @pytest.mark.parametrize(
        "sampling",
        [
            Sampling(1.0),
            Sampling(0.6),
            Sampling(1.5, top_k=12),
            Sampling(1.0, top_p=0.9),
            Sampling(1.0, min_p=0.02),
        ],
        ids=["all", "cooler", "top-k", "top-p", "min-p"],
    )
    @pytest.mark.parametrize("written", [b"", b"a"])
    def test_has_the_distribution_of_a_full_mask(self, sampling, written):
        """Truncated first, as the model means it, then masked and renormalised.

        Chi-square with at most 29 degrees of freedom: 70 is beyond one in 30,000.
        """
        tokenization = toy.toy("qwen")[1]
        chooser = chooser_of(tokenization, mask_after(written), sampling, seed=5)
        row = row_of(tokenization, 21)
        usable = [t for t in range(len(row)) if t not in chooser.not_text]
        logits = np.full(len(row), -np.inf)
        logits[usable] = row[usable].astype(np.float64) / sampling.temperature
        kept = truncate(logits, sampling)
        weights = {t: np.exp(kept[t]) for t in allowed_by(chooser) if np.isfinite(kept[t])}
        total = sum(weights.values())
        draws = 4000
        stop = min(chooser.stops)
        drawn = (chooser(row).token for _ in range(draws))
        counts = Counter(stop if token is None else token for token in drawn)

        assert counts.keys() <= weights.keys()
        wanted = {t: draws * w / total for t, w in weights.items() if draws * w / total > 5}
        assert 1 < len(wanted) <= 30
        assert sum((counts[t] - wanted[t]) ** 2 / wanted[t] for t in wanted) < 70

    def test_the_best_of_the_others_if_truncation_left_none(self):
        """A mask may refuse all that top-k keeps; the text goes on all the same."""
        tokenization = toy.toy("qwen")[1]
        row = row_of(tokenization, 30)
        first = chooser_of(tokenization, None)(row).token
        start = tokenization.vocabulary[first][:1]
        mask = ToyMask(lambda text: not text.startswith(start), lambda _: False)
        chooser = chooser_of(tokenization, mask, Sampling(1.0, top_k=1))

        choice = chooser(row)

        assert choice.token == max(allowed_by(chooser), key=lambda token: row[token])


class TestProbability:
    @given(st.integers(0, 1000), st.sampled_from([GREEDY, Sampling(0.7), Sampling(1.3, top_k=3)]))
    def test_is_the_models_own(self, seed, sampling):
        """Over all that is text or its end, refused or not."""
        tokenization = toy.toy("qwen")[1]
        chooser = chooser_of(tokenization, mask_after(b"a"), sampling, seed)
        row = row_of(tokenization, seed)

        choice = chooser(row)

        token = min(chooser.stops) if choice.token is None else choice.token
        usable = [t for t in range(len(row)) if t not in chooser.not_text]
        scaled = row.astype(np.float64) / (sampling.temperature or 1.0)
        assert choice.logprob == pytest.approx(
            scaled[token] - np.logaddexp.reduce(scaled[usable]), abs=1e-5
        )


class TestAccepting:
    @given(st.lists(st.text("ab(", min_size=1, max_size=4).map(str.encode), max_size=20))
    def test_is_the_mask(self, texts):
        """Its answers are those of the mask, in any order, the end included."""
        mask = ToyMask(no_doubles, closed)
        mask.push(b"a")
        accepts = accepting(mask)

        assert [accepts(text) for text in texts] == [no_doubles(b"a" + text) for text in texts]
        assert accepts(b"") == closed(b"a")

    def test_asks_once(self):
        """What starts with refused bytes is refused without a question."""
        mask = ToyMask(no_doubles)
        accepts = accepting(mask)

        answers = [accepts(text) for text in (b"abba", b"abbb", b"abb", b"ab", b"ab", b"abb(")]

        assert answers == [False, False, False, True, True, False]
        assert mask.asked == [b"abba", b"ab"]
