"""The decoding loop under a grammar's mask, with toy languages."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healing.rows import RowCache
from healing.sampling import GREEDY, Sampling
from server.decoding import METHODS, generate
from server.prompt import Prompt
from tests.server.engines import Scripted
from tests.server.masks import ToyMask, brackets, closed, no_doubles

HEALING = [*METHODS, "loose"]


@pytest.fixture(scope="module")
def write(tiny_completer):
    """Lets an engine go on with what is typed, under a mask."""

    def run(mask, method="off", typed=b"", *, engine=tiny_completer.engine, tokens=12, **options):
        fim = engine.fim
        head = (fim.prefix, fim.suffix, fim.middle)
        return generate(
            engine,
            tiny_completer.tokenization,
            Prompt(head, typed if method != "off" else b"", "fim"),
            method,
            rows=RowCache(),
            max_tokens=tokens,
            should_stop=lambda _: False,
            mask=mask,
            **options,
        )

    return run


@given(
    st.sampled_from(HEALING),
    st.sampled_from([b"", b"print(to", b"x = ", b"\xff", "größ".encode()[:4]]),
    st.sampled_from([(no_doubles, lambda _: True), (brackets, closed)]),
    st.sampled_from([0.0, 0.5, 4.0]),
    st.integers(0, 2**32),
)
@settings(deadline=None, max_examples=150)
def test_all_that_is_written_is_viable(write, method, typed, language, temperature, seed):
    """Whatever the model wants: after every token the text can go on, and it ends where it may."""
    mask = ToyMask(*language)
    viable, ends = language

    sampling = Sampling(temperature, seed=seed) if temperature else GREEDY
    generation = write(mask, method, typed, sampling=sampling)

    assert generation.masked
    assert viable(mask.written)
    assert mask.written.startswith(generation.text)
    if generation.ended in {"stop token", "other wishes"}:
        assert ends(mask.written)
    else:
        assert generation.ended == "token limit"


@pytest.mark.parametrize("method", HEALING)
def test_a_mask_that_allows_everything_changes_nothing(write, method):
    """Not even the probabilities, but for the noise of what is in memory."""
    with_mask = write(ToyMask(lambda _: True), method, b"print(to")
    without = write(None, method, b"print(to")

    assert with_mask.text == without.text
    assert with_mask.logprobs == pytest.approx(without.logprobs, abs=0.02)
    assert with_mask.masked
    assert not without.masked


@pytest.mark.parametrize("sampling", [GREEDY, Sampling(1.0, seed=3)], ids=["greedy", "drawn"])
@pytest.mark.parametrize("method", HEALING)
def test_a_mask_that_refuses_everything_is_given_up(write, method, sampling):
    """A grammar never prevents a completion; it is not asked again."""
    mask = ToyMask(lambda _: False, lambda _: False)

    generation = write(mask, method, b"print(to", sampling=sampling)
    refused = write(None, method, b"print(to", sampling=sampling)

    assert not generation.masked
    assert mask.written == b""
    assert generation.ended != "no fitting token"
    if method in {"exact", "off"} and sampling == GREEDY:  # the others went another way by then
        assert generation.text == refused.text


def test_refused_text_is_replaced(write, tiny_completer):
    """The model's wish is refused, and it goes on from what it wrote instead."""
    script = tiny_completer.tokenization.encode(b"f(a))) + 1")
    engine = Scripted(tiny_completer.engine, script)

    mask = ToyMask(brackets, lambda _: False)

    generation = write(mask, engine=engine, tokens=len(script) + 2)

    assert generation.ended == "token limit"
    assert brackets(generation.text)
    assert generation.text.startswith(b"f(a)")
    assert b"))" not in generation.text


def test_the_model_is_not_forced(write, tiny_completer):
    """Where the text may end, and the model wants what is refused and nothing else, it ends."""
    script = tiny_completer.tokenization.encode(b"f(a)")
    wish = tiny_completer.tokenization.encode(b")```")
    engine = Scripted(tiny_completer.engine, script + wish)

    generation = write(ToyMask(brackets, closed), engine=engine)

    assert (generation.text, generation.ended) == (b"f(a)", "other wishes")
    assert len(generation.logprobs) == len(script)


def test_an_end_that_nobody_wanted(write, tiny_completer):
    """Where the model wants what is refused and the text could not end, no end is noted."""
    script = tiny_completer.tokenization.encode(b"f(a")
    wish = tiny_completer.tokenization.encode(b"]")
    engine = Scripted(tiny_completer.engine, script + wish * 20)
    mask = ToyMask(lambda text: b"]" not in text, lambda _: False, decides=True)

    write(mask, engine=engine, tokens=len(script) + 3)

    assert len(mask.written) > 3
    assert mask.wanted == 0


def keyword(text: bytes) -> bool:
    """After the word `elif` nothing may come but more of a word."""
    return re.match(rb"(?s)(.*\W)?elif\W", text) is None


@pytest.mark.parametrize(
    ("said", "decides", "expected"),
    [
        (b"elif", False, b""),
        (b"a = b\n  elif", False, b"a = b\n  "),
        (b"elif", True, None),
        (b"elife", False, b"elife"),
    ],
    ids=["at once", "later", "a grammar that decides", "another word"],
)
def test_word_that_is_none(write, tiny_completer, said, decides, expected):
    """Where the model's last word could only become another one, it is not written."""
    encode = tiny_completer.tokenization.encode
    engine = Scripted(tiny_completer.engine, encode(said) + encode(b" x:"))
    mask = ToyMask(keyword, decides=decides)
    if said == b"elife":
        mask.viable = lambda text: not text.startswith(b"elife ")

    generation = write(mask, engine=engine)

    if expected is None:
        assert generation.text.startswith(said)
    else:
        assert (generation.text, generation.ended) == (expected, "other wishes")


@pytest.mark.parametrize("decides", [False, True])
def test_first_text_that_is_refused(write, tiny_completer, decides):
    """Nothing is written against all that the model wants, but where a grammar decides."""
    [first] = tiny_completer.tokenization.encode(b")")
    engine = Scripted(tiny_completer.engine, [first])
    engine.tempting = [first]
    mask = ToyMask(brackets, decides=decides)

    generation = write(mask, "exact", b"x", engine=engine)

    assert generation.masked
    assert (generation.ended == "other wishes" and not generation.text) != decides
    assert mask.written.startswith(generation.text)


def test_the_end_may_be_refused(write, tiny_completer):
    """What follows does not fit yet: the text goes on up to the limit, or to where it fits."""
    script = tiny_completer.tokenization.encode(b"f(a")
    mask = ToyMask(brackets, closed)
    engine = Scripted(tiny_completer.engine, script)

    generation = write(mask, engine=engine, tokens=len(script) + 5)

    assert generation.text.startswith(b"f(a")
    assert len(generation.text) > 3
    assert generation.ended == ("stop token" if closed(generation.text) else "token limit")


def test_no_fitting_token(write):
    """Where nothing may follow and the text may not end, it ends, and says so."""
    mask = ToyMask(lambda text: len(text) <= 4, lambda _: False)

    generation = write(mask, tokens=12)

    assert generation.ended == "no fitting token"
    assert len(mask.written) == 4


def test_probabilities_are_the_models_own(write, tiny_completer):
    """A refused favourite leaves its probability with itself."""
    script = tiny_completer.tokenization.encode(b")")
    engine = Scripted(tiny_completer.engine, script)
    usable = len({*engine.vocabulary.text_ids().tolist(), *engine.stops})

    generation = write(ToyMask(brackets), engine=engine, tokens=1)

    assert generation.text != b")"
    other = -9 - np.log(1 + (usable - 1) * np.exp(-9.0))
    assert generation.logprobs == pytest.approx([other], abs=1e-4)
