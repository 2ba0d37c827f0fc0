"""How sure a text is: what falls along it, what rises while it is typed, and where it ends."""

import json
from itertools import accumulate, pairwise
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.completion_options import CompletionOptions
from server.confidence import (
    UNCALIBRATED,
    WORD_END,
    Calibration,
    Judged,
    _table,
    calibration_of,
    is_fitted,
    own_table,
    read_table,
)
from server.snapshot import Snapshot

FITTED = "Qwen2.5 Coder 0.5B Instruct AWQ"

weights = st.floats(0, 3)
calibrations = st.builds(Calibration, st.floats(-3, 3), weights, weights)
tokens = st.lists(
    st.tuples(
        st.sampled_from([b"ab", b"(", b" x", b"\n", b"\n    ", "ö".encode(), b") ", b"_", b"1.5"]),
        st.floats(-9, 0),
    ),
    min_size=1,
    max_size=12,
)


def judged(pieces: list[tuple[bytes, float]], calibration=UNCALIBRATED, typed=0) -> Judged:
    """A text of tokens, with their log-probabilities."""
    ends = tuple(accumulate(len(piece) for piece, _ in pieces))
    text = b"".join(piece for piece, _ in pieces)
    return Judged(text, ends, [logprob for _, logprob in pieces], calibration, typed)


class TestProbability:
    def test_without_weights(self):
        """Uncalibrated, it is the product of the tokens' probabilities."""
        assert Calibration().probability([log(0.5), log(0.4)]) == pytest.approx(0.2, abs=1e-5)

    def test_certain(self):
        """A text without a token that is not typed is certain."""
        assert Calibration(bias=-3).probability([]) == 1.0

    def test_what_a_token_holds(self):
        """A text that ends inside a token takes the whole of it, and none after it."""
        text = judged([(b"ab", log(0.5)), (b"cd", log(0.4)), (b"e", log(0.1))])
        found = [round(text.up_to(size), 3) for size in range(6)]

        assert found == [1.0, 0.5, 0.5, 0.2, 0.2, 0.02]

    def test_the_models_own_opinion(self):
        """The product of what is not typed, whatever the calibration."""
        pieces, calibration = [(b"ab", log(0.5)), (b"cd", log(0.4))], Calibration(bias=-3)
        found = [judged(pieces, calibration, typed).product(3) for typed in (0, 1, 2, 3)]

        assert found == pytest.approx([0.2, 0.2, 0.4, 1.0])

    @given(calibrations, tokens, st.data())
    def test_along_a_text(self, calibration, pieces, data):
        """It never falls by typing more of the text, and never rises with its length."""
        whole = judged(pieces, calibration)
        size = len(whole.text)
        for shorter, longer in pairwise(range(size + 1)):
            assert whole.up_to(longer) <= whole.up_to(shorter)
        less, more = sorted(data.draw(st.lists(st.integers(0, size), min_size=2, max_size=2)))
        assert (
            judged(pieces, calibration, less).up_to(size)
            <= judged(pieces, calibration, more).up_to(size)
            <= 1
        )

    @given(tokens, st.data())
    def test_the_rest_is_a_text(self, pieces, data):
        """Where whole tokens are typed, the rest is judged as a text of its own."""
        count = data.draw(st.integers(0, len(pieces) - 1))
        typed = sum(len(piece) for piece, _ in pieces[:count])
        whole, rest = judged(pieces, typed=typed), judged(pieces[count:])

        for size in range(len(rest.text) + 1):
            assert whole.up_to(typed + size) == rest.up_to(size)

    def test_words_and_lines(self):
        """A first word or line is the first that can be seen, and no longer than what is shown."""
        pieces = [(b"\n  ", log(0.5)), (b"ab", log(0.5)), (b" c", log(0.5)), (b"\nd", log(0.5))]
        text = judged(pieces)

        assert text.first_word(99) == pytest.approx(0.25, abs=1e-5)
        assert text.first_line(99) == pytest.approx(0.125, abs=1e-5)
        assert text.first_line(4) == pytest.approx(0.25, abs=1e-5)
        assert text.first_line(3) == text.first_word(3) == pytest.approx(0.5, abs=1e-5)


class TestSureSize:
    @pytest.mark.parametrize(
        ("least", "shown"),
        [
            (0.6, b"foo"),
            (0.3, b"foo"),
            (0.24, b"foo("),
            (0.2, b"foo(bar"),
            (0.1, b"foo(bar)"),
            (0.01, None),
        ],
    )
    def test_a_line(self, least, shown):
        """It ends after the last word that is sure enough, and the first one stays."""
        pieces = [(b"foo", log(0.5)), (b"(b", log(0.5)), (b"ar", log(0.9)), (b")\n", log(0.5))]
        text = judged([*pieces, (b"x = 1", log(0.5))])

        assert text.text[: text.sure_size(least)] == (shown or text.text)

    def test_a_block(self):
        """From the second line on, whole lines."""
        pieces = [b"if a:", b"\n    b", b" = 1", b"\n    c", b" = 2"]
        text = judged([(piece, log(0.5)) for piece in pieces])

        sizes = [text.sure_size(least) for least in (0.4, 0.2, 0.1, 0.05, 0.01)]
        assert [text.text[:size] for size in sizes] == [
            b"if a:",
            b"if a:",
            b"if a:\n    b = 1",
            b"if a:\n    b = 1",
            text.text,
        ]

    def test_typed_along(self):
        """More is shown when some of it is certain."""
        pieces = [(b"foo", log(0.5)), (b" bar", log(0.5)), (b" baz", log(0.5))]
        shown = [judged(pieces, typed=typed).sure_size(0.4) for typed in (0, 3, 4, 7)]

        assert shown == [3, 7, 7, 11]

    @given(calibrations, tokens, st.floats(0.01, 1), st.data())
    def test_any_text(self, calibration, pieces, least, data):
        """It is sure enough or one word, ends a word, and is all there is to take."""
        size = sum(len(piece) for piece, _ in pieces)
        text = judged(pieces, calibration, data.draw(st.integers(0, size - 1)))
        found = text.sure_size(least)
        ends = {end.end() for end in WORD_END.finditer(text.text, text.typed)}
        first = min([*ends, size])

        assert text.typed < found <= size
        assert found in {*ends, size} or text.text[found : found + 1] == b"\n"
        assert text.up_to(found) >= least or found == first
        longer = [end for end in {*ends, size} if end > found and text.up_to(end) >= least]
        line_end = text.text.find(b"\n", found)
        assert not longer or max(longer) < size
        assert not longer or b"\n" in text.text[text.typed : found] or found == line_end


class TestTable:
    @pytest.fixture(autouse=True)
    def _read_again(self):
        _table.cache_clear()
        yield
        _table.cache_clear()

    def test_other_models(self):
        """A model that nothing was fitted for has the constants of the general one."""
        assert is_fitted(FITTED)
        assert not is_fitted("Other")
        assert calibration_of("Other") == calibration_of(FITTED)

    def test_own(self, tmp_path, monkeypatch):
        """What was fitted on this machine comes first."""
        monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path))
        values = {"bias": 0.5, "odds": 1, "tokens": 0}
        own_table().write_text(json.dumps({"models": {"Other": values}}))

        assert calibration_of("Other") == Calibration(0.5, 1.0, 0.0)
        assert calibration_of(FITTED) != calibration_of("Other")

    @pytest.mark.parametrize(
        "text",
        ["", "[]", "{}", '{"models": 1}', '{"models": {"a": {"bias": 1}}}', "\xff"]
        + [
            json.dumps({"models": {FITTED: dict.fromkeys(("bias", "odds", "tokens"), x)}})
            for x in (-1, float("nan"), "x", None)
        ],
    )
    def test_wrong(self, text, tmp_path, monkeypatch, caplog):
        """A file that holds no constants is left out, and the log says which."""
        monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path))
        own_table().write_bytes(text.encode("latin-1"))

        assert calibration_of(FITTED).probability([-1.0]) < exp(-0.1)
        assert str(own_table()) in caplog.text

    def test_no_negative_weights(self):
        """They would make a text surer than its beginning."""
        values = {"bias": -1, "odds": 1, "tokens": -0.1}
        with pytest.raises(ValueError, match="no calibration"):
            read_table({"models": {"a": values}})


@pytest.mark.parametrize("method", ["exact", "align"])
def test_what_is_typed_is_certain_for_each_method(completer, method):
    """`else` is likelier there than `return`, but `retu` is typed: the word is sure."""
    text = b"def fibonacci(n):\n    if n < 2:\n        return n\n    retu"
    options = CompletionOptions(healing=method, max_tokens=1)
    completion = completer.complete(Snapshot("a.py", 0, text, len(text), "python"), options)

    [item] = completion.items
    assert item.text == "rn"
    assert item.probability > 0.9
