"""Continuations that leave the first one further on, where its first text is sure."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from healing.alternatives import agree
from healing.sampling import GREEDY, Sampling
from server.bans import Bans
from server.choosing import chooser_for
from server.forks import LEAST, Begun, other_tokens
from tests.server.masks import ToyMask, brackets, closed
from tests.server.test_ban_decoding import TYPED
from tests.server.test_candidates import OneByOne, Together, told, write_fixture  # noqa: F401

COUNTS = st.integers(2, 6)
MASKS = st.sampled_from([None, (brackets, closed)])


def surely(rows, last, size, wanted):
    """After two of three tokens there is one word that comes next."""
    row = rows(last, size)
    choice = np.random.default_rng([7, *(token % 8 for token in last)])
    if choice.integers(3):
        row[choice.choice(wanted)] += 20
    return row


class Sure(Together):
    def row(self, last, size):
        return surely(super().row, last, size, self.wanted)


class SureOneByOne(OneByOne):
    def row(self, last, size):
        return surely(super().row, last, size, self.wanted)


@given(
    st.sampled_from(TYPED),
    COUNTS,
    MASKS,
    st.sampled_from([GREEDY, Sampling(2.0, seed=5)]),
    st.integers(0, 10_000),
)
@settings(max_examples=100)
def test_the_first_is_the_usual_one(write, tiny_completer, typed, count, language, sampling, seed):
    """Whoever leaves it."""
    engine = Sure(tiny_completer.engine, seed)

    def options():
        return {"mask": ToyMask(*language) if language else None, "sampling": sampling}

    usual = write(engine, typed, 0, **options())
    found = write(engine, typed, count, **options())

    assert told(found[0].generation) == told(usual)
    assert len(found) <= count


@given(st.sampled_from(TYPED), COUNTS, MASKS, st.integers(0, 10_000))
@settings(max_examples=100)
def test_each_is_as_if_it_were_alone(write, tiny_completer, typed, count, language, seed):
    """Whatever is written beside it."""

    def run(kind):
        mask = ToyMask(*language) if language else None
        found = write(kind(tiny_completer.engine, seed), typed, count, mask=mask)
        return [told(one.generation) for one in found]

    assert run(Sure) == run(SureOneByOne)


@given(st.sampled_from(TYPED), COUNTS, st.integers(0, 10_000))
@settings(max_examples=100)
def test_all_are_different(write, tiny_completer, typed, count, seed):
    """No text begins with another one; what two share has the same probability in both."""
    found = write(Sure(tiny_completer.engine, seed), typed, count)

    first, *others = [one.generation for one in found]
    texts = [one.text for one in (first, *others)]
    assert not any(agree(a, b) for number, a in enumerate(texts) for b in texts[:number])
    for other in others:
        assert len(other.logprobs) == len(other.ends) <= 8
        same = 0
        while same < len(other.ends) and other.ends[same] <= len(first.text):
            if first.text[: other.ends[same]] != other.text[: other.ends[same]]:
                break
            same += 1
        assert other.logprobs[:same] == first.logprobs[:same]
        assert same < len(other.logprobs)


@given(st.sampled_from(TYPED), COUNTS, st.integers(0, 10_000))
@settings(max_examples=60)
def test_a_grammar_is_kept(write, tiny_completer, typed, count, seed):
    """In what is shared and in what is not."""
    found = write(Sure(tiny_completer.engine, seed), typed, count, mask=ToyMask(brackets, closed))

    for one in found:
        if one.mask is not None and one.generation.masked:
            assert brackets(one.generation.text)
            assert one.mask.written.startswith(one.generation.text)


def test_where_the_first_text_is_sure(write, tiny_completer):
    """There would be one without them; with bans there is."""

    class One(Together):
        def row(self, last, size):
            row = super().row(last, size)
            if last[-1] == self.engine.fim.middle:
                row[self.engine.encode(b"print")[0]] += 30
            return row

    engine = One(tiny_completer.engine, 3)
    found = write(engine, b"", 4)
    banned = write(engine, b"", 4, bans=Bans(["never"], []))

    assert len(found) == 4
    assert len({one.generation.ends[0] for one in found}) == 1
    assert len(banned) == 1


@given(st.integers(0, 10_000), st.integers(0, 487))
@settings(max_examples=100)
def test_tokens(tiny_completer, seed, chosen):
    """All with the share that is asked for, but those that agree with better ones."""
    engine, tokenization = tiny_completer.engine, tiny_completer.tokenization
    chooser = chooser_for(engine, tokenization, GREEDY, None)
    random = np.random.default_rng(seed)
    row = random.normal(scale=3, size=len(engine.vocabulary)).astype(np.float32)

    found = other_tokens(chooser, row, chosen, lambda _: True)

    logprobs = [logprob for _, logprob in found]
    assert logprobs == sorted(logprobs, reverse=True)
    for token, _ in found:
        assert row[token] >= row[chosen] + np.log(LEAST) - 1e-3
        assert token not in chooser.stops
        assert token not in chooser.not_text
    texts = [engine.vocabulary[token] for token in (chosen, *(token for token, _ in found))]
    assert not any(agree(a, b) for number, a in enumerate(texts) for b in texts[:number])


def test_nothing_begun_changes_nothing(write, tiny_completer):
    """A text that leaves no other one is as it was written."""
    generation = write(Sure(tiny_completer.engine, 1), b"x = ", 0)

    assert Begun().whole(generation) == generation
