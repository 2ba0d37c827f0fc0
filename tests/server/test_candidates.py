"""Several continuations at once: the first is the usual one, and each is as if it were alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healing.alternatives import LEAST, agree
from healing.rows import RowCache
from healing.sampling import GREEDY, Sampling
from server.ban_watch import BanWatch
from server.bans import Bans
from server.candidates import candidates
from server.decoding import generate
from server.engine import ROOT
from server.errors import Cancelled, EngineError
from server.prompt import Prompt
from tests.server.engine.fresh import TOLERANCE, before_pass, held
from tests.server.masks import ToyMask, brackets, closed
from tests.server.test_ban_decoding import BANS, TYPED, Wordy
from tests.server.test_chain import Adversary

COUNTS = st.integers(2, 10)
MASKS = st.sampled_from([None, (brackets, closed)])


class Together(Wordy):
    """Texts that grow together are told apart by their last two tokens, without any noise."""

    def evaluate_each(self, slots, tokens):
        rows = self.engine.evaluate_each(slots, tokens)
        return [self.row(slot.tokens[-2:], len(row)) for slot, row in zip(slots, rows, strict=True)]


class OneByOne(Wordy):
    """The same, one text after the other: nothing is evaluated together."""

    def evaluate_each(self, slots, tokens):
        rows = []
        for slot, token in zip(slots, tokens, strict=True):
            rows += [row.copy() for row in self.evaluate(slot, [(ROOT, token)], [0])]
            self.engine.keep(slot, 0)
        return rows


class Full(Together):
    """Has room for so many steps of several texts, and then for one only."""

    def __init__(self, engine, seed, steps):
        super().__init__(engine, seed)
        self.steps = steps

    def evaluate_each(self, slots, tokens):
        if not self.steps:
            raise EngineError("the context is full")
        self.steps -= 1
        return super().evaluate_each(slots, tokens)


@pytest.fixture(scope="module", name="write")
def write_fixture(tiny_completer):
    """Writes some continuations, or with a count of 0 the usual one by `generate`."""

    def run(engine, typed, count, *, bans=None, tokens=8, rows=None, **options):
        for slot in tuple(engine._slots._slots):
            engine.drop(slot)
        fim = engine.fim
        prompt = Prompt((fim.prefix, fim.suffix, fim.middle), typed, "fim")
        should_stop = options.pop("should_stop", lambda _: False)
        rows = RowCache() if rows is None else rows
        common = {"rows": rows, "max_tokens": tokens, **options}

        def watch():
            return None if bans is None else BanWatch(bans, typed)

        tokenization = tiny_completer.tokenization
        if count == 0:
            return generate(
                engine,
                tokenization,
                prompt,
                "exact",
                bans=watch(),
                should_stop=should_stop,
                **common,
            )
        found = candidates(
            engine, tokenization, prompt, count, bans=watch, stops=lambda: should_stop, **common
        )
        assert sum(length > 0 for length in held(engine)) == len(engine._slots._slots)
        assert not any(slot.is_beside for slot in engine._slots._slots)
        return found

    return run


def told(generation):
    """What a generation says of its text."""
    return generation.text, generation.logprobs, generation.ended, generation.ends


@given(
    st.sampled_from(TYPED),
    COUNTS,
    MASKS,
    st.one_of(st.none(), BANS),
    st.sampled_from([GREEDY, Sampling(2.0, seed=5)]),
    st.integers(0, 10_000),
)
@settings(max_examples=100)
def test_the_first_is_the_usual_one(
    write, tiny_completer, typed, count, language, strings, sampling, seed
):
    """Text, probabilities and end, with a grammar, bans, draws and drafts; and what is shown."""
    engine = Together(tiny_completer.engine, seed)
    bans = None if strings is None else Bans(strings, [])

    def options():
        shown.append([])
        return {
            "bans": bans,
            "mask": ToyMask(*language) if language else None,
            "sampling": sampling,
            "on_progress": lambda so_far: shown[-1].append(so_far.text),
        }

    shown = []
    usual = write(engine, typed, 0, **options())
    drafts = Adversary(seed, (), typed, engine.vocabulary)
    [first, *others] = write(engine, typed, count, drafts=drafts, **options())

    assert told(first.generation) == told(usual)
    assert first.generation.bans == usual.bans
    assert shown[0] == shown[1]
    assert drafts.finished[0].startswith(usual.text)
    assert len(others) < count


@given(st.sampled_from(TYPED), COUNTS, MASKS, st.one_of(st.none(), BANS), st.integers(0, 10_000))
@settings(max_examples=100)
def test_each_is_as_if_it_were_alone(write, tiny_completer, typed, count, language, strings, seed):
    """Whatever is written beside it."""
    bans = None if strings is None else Bans(strings, [])

    def run(kind):
        mask = ToyMask(*language) if language else None
        found = write(kind(tiny_completer.engine, seed), typed, count, bans=bans, mask=mask)
        return [told(one.generation) for one in found]

    assert run(Together) == run(OneByOne)


@given(st.sampled_from(TYPED), COUNTS, MASKS, st.one_of(st.none(), BANS), st.integers(0, 10_000))
@settings(max_examples=100)
def test_what_they_are(write, tiny_completer, typed, count, language, strings, seed):
    """Different from their first character or word on, likeliest first; viable, nothing banned."""
    engine = Together(tiny_completer.engine, seed)
    bans = Bans([] if strings is None else strings, [])
    mask = ToyMask(*language) if language else None

    found = write(engine, typed, count, bans=bans, mask=mask)

    first, others = found[0].generation, [one.generation for one in found[1:]]
    begun = [one.text[: one.ends[0]] for one in others]
    assert not any(agree(a, b) for n, a in enumerate(begun) for b in begun[:n])
    logprobs = [one.logprobs[0] for one in others]
    assert logprobs == sorted(logprobs, reverse=True)
    if not first.bans.went_back:
        assert not any(agree(first.text[: first.ends[0]], text) for text in begun if first.ends)
        if not first.bans.refused:
            best = first.logprobs[0]
            assert all(one >= best + np.log(LEAST) - 1e-6 for one in logprobs)
    for one in found:
        assert not bans.are_in(typed, one.generation.text)
        if one.mask is not None and one.generation.masked:
            assert brackets(one.generation.text)
            assert one.mask.written.startswith(one.generation.text)
    assert len({id(one.mask) for one in found if one.mask}) in {0, len(found)}


def test_real_rows(write, tiny_completer):
    """A model's own rows differ by no more than the shape of a batch makes of them."""

    class Plain(OneByOne):
        def evaluate(self, slot, nodes, want):
            return self.engine.evaluate(slot, nodes, want)

    alone = write(Plain(tiny_completer.engine), b"def ", 5)
    together = write(tiny_completer.engine, b"def ", 5)

    assert len(alone) == len(together) == 5
    for one, other in zip(alone, together, strict=True):
        same = [a == b for a, b in zip(one.generation.ends, other.generation.ends, strict=False)]
        count = same.index(False) if False in same else len(same)
        assert count
        pairs = zip(one.generation.logprobs[:count], other.generation.logprobs, strict=False)
        assert all(abs(a - b) < 2 * TOLERANCE for a, b in pairs)


def test_one_pass_a_token(write, tiny_completer):
    """Five texts of eight tokens take as many passes as one, and one for the tree."""
    engine = Together(tiny_completer.engine, 1)
    before = engine.forward_passes

    found = write(engine, b"x = ", 5)

    assert [len(one.generation.logprobs) for one in found] == [8] * 5
    assert engine.forward_passes - before == 8


def test_known_rows(write, tiny_completer):
    """Where healing takes no pass, the prompt is read once for all of them."""
    rows = RowCache()
    engine = Together(tiny_completer.engine, 1)
    first = write(engine, b"x = ", 4, rows=rows)
    before = engine.evaluated_tokens

    again = write(engine, b"x = ", 4, rows=rows)

    assert [one.generation.text for one in again] == [one.generation.text for one in first]
    assert len(again) == 4
    prompt = again[0].generation.prompt
    assert prompt + 4 * 7 <= engine.evaluated_tokens - before <= prompt + 4 * 9


@given(st.integers(0, 8), st.integers(0, 1000))
@settings(max_examples=30)
def test_no_room(write, tiny_completer, steps, seed):
    """Where memory runs out, the first one goes on alone."""
    usual = write(Together(tiny_completer.engine, seed), b"x = ", 0)

    found = write(Full(tiny_completer.engine, seed, steps), b"x = ", 4)

    assert told(found[0].generation) == told(usual)
    if steps < 7:
        assert len(found) == 1


@pytest.mark.parametrize("number", [0, 1, 2, 5])
def test_a_cancel_stops_all(write, tiny_completer, number):
    """Nothing of the others is left in memory."""
    engine = Together(tiny_completer.engine, 1)
    decode = engine._passes._batch.decode
    before_pass(tiny_completer.engine, number, engine.cancel)
    try:
        with pytest.raises(Cancelled):
            write(engine, b"x = ", 4)
    finally:
        engine._passes._batch.decode = decode
        engine.resume()

    assert not any(slot.is_beside for slot in engine._slots._slots)
    assert len(write(engine, b"x = ", 4)) == 4


def test_nothing_to_write(write, tiny_completer):
    """Where the text is to end at the cursor, nothing else is written either."""
    engine = tiny_completer.engine

    class Ending(Together):
        def row(self, last, size):
            row = super().row(last, size)
            row[min(engine.stops)] += 30
            return row

    [only] = write(Ending(engine), b"x = ", 5)

    assert only.generation.text == b""


def test_lines_that_would_be_empty(write, tiny_completer):
    """A first text that ends the line at once is no continuation of it."""
    engine = tiny_completer.engine

    class Lines(Together):
        liking = 8

        def row(self, last, size):
            row = super().row(last, size)
            row[engine.encode(b"\n")] += self.liking
            return row

    lines = Lines(engine, 1)
    found = write(lines, b"x = ", 10, should_stop=lambda text: b"\n" in text)
    lines.liking = 30
    only = write(lines, b"x = ", 10, should_stop=lambda text: b"\n" in text)

    assert len(found) > 2
    assert all(one.generation.text.strip() for one in found)
    assert [one.generation.text for one in only] == [b"\n"]
