"""What is kept of a text: the ends that fit, chosen by where it is written."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from server.grammar.fit import Fits, bare_lengths, fitting_length, may_end_at


def kept(text, fits, where, length=None, wanted=None):
    length = len(text) if length is None else length
    return text[: fitting_length(text, length, Fits(tuple(fits), wanted), where)]


class TestPlaces:
    def test_legal_end(self):
        """A text that ends where it may is kept, wherever it is."""
        for where in ("inside", "lines", "end"):
            assert kept(b"a\nb", [1, 3], where) == b"a\nb"

    def test_blanks(self):
        """Blanks that other rules took from the end are no difference."""
        assert kept(b"x = 1  \n", [7], "lines", length=5) == b"x = 1"

    def test_inside(self):
        """Inside a line the longest start that fits is kept."""
        assert kept(b"a, (", [1, 2], "inside") == b"a,"

    def test_lines(self):
        """Of several lines whole ones are kept, as many as fit."""
        assert kept(b"a\nb(c\nd", [1, 3], "lines") == b"a"

    def test_end(self):
        """One line at a line's end is what a person goes on from."""
        assert kept(b"foo(a,", [3], "end") == b"foo(a,"

    @pytest.mark.parametrize("text", [b"a,", b"a ;", b"a,  "])
    def test_comma_too_many(self, text):
        """But not a comma without which the text fits."""
        for where in ("lines", "end"):
            assert kept(text, [1], where) == b"a"
            assert kept(text, [], where) == text
        assert kept(b"a\nb,", [1, 3], "lines") == b"a\nb"

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (b"a, b)", b"a, b"),
            (b"g(b))", b"g(b)"),
            (b"g(b)])", b"g(b)"),
            (b"b\n  )", b"b"),
            (b"b),  ", b"b"),
            (b")", b""),
            (b")\ng(", b""),
            (b"b)\ng(", b"b"),
        ],
    )
    def test_bracket_too_many(self, text, expected):
        """Nor a bracket that comes again on a later line, whatever column that stands in."""
        fits = [len(expected)]
        assert kept(text, fits, "lines") == expected
        if b"\n" not in text:
            assert kept(text, fits, "end") == expected
        assert kept(text, [], "lines") == kept(text, [], "end") == text

    def test_own_brackets(self):
        """What the text opened is closed in it, even if the brackets after it would do that."""
        assert kept(b"g(b)", [3], "end") == b"g(b)"
        assert kept(b"g(b))", [3], "end") == b"g(b))"

    def test_blanks_before_what_is_too_much(self):
        """Blanks before a comma or bracket that is too much are no difference."""
        assert kept(b"a ,", [2], "lines") == kept(b"a ,", [2], "end") == b"a "
        assert kept(b"\n)", [1], "lines") == b"\n"

    @pytest.mark.parametrize("where", ["inside", "lines", "end"])
    def test_nothing_fits(self, where):
        """Where nothing fits, nothing is cut; nor does nothing at all count as fitting."""
        assert kept(b" a\nb", [], where) == b" a\nb"
        assert kept(b" a\nb", [0, 1], where) == b" a\nb"

    @pytest.mark.parametrize("where", ["inside", "lines", "end"])
    def test_wanted(self, where):
        """Where nothing fits, the text ends where the model wanted to end."""
        assert kept(b"a\nb c", [], where, wanted=3) == b"a\nb"
        assert kept(b"a\nb c", [5], where, wanted=3) == b"a\nb c"


fits = st.builds(
    Fits,
    st.lists(st.integers(0, 12), unique=True).map(lambda ends: tuple(sorted(ends))),
    st.none() | st.integers(0, 12),
)
texts = st.text("a, )\n", min_size=12, max_size=12).map(str.encode)
places = st.sampled_from(["inside", "lines", "end"])


@given(texts, st.integers(0, 12), fits, places)
@example(b" ,aaaaaaaaaa", 2, Fits((1,)), "lines")
def test_never_more(text, length, fits, where):
    """What may end is not cut, and what is cut ends where it may or was to.

    Nothing is left only before what is too much; blanks are nothing.
    """
    left = fitting_length(text, length, fits, where)

    assert left <= length
    before_bare = [text[:bare].strip() for bare in bare_lengths(text, length)]
    assert left == length or text[:left].strip() or b"" in before_bare
    assert left in {length, fits.wanted, *fits.lengths}
    assert not may_end_at(text, length, fits) or left == length


@given(texts, st.integers(0, 12), fits, places, st.data())
def test_typed_along(text, length, fits, where, data):
    """When the start of a text is typed, the same end of it is kept."""
    left = fitting_length(text, length, fits, where)
    typed = data.draw(st.integers(0, left))
    if not text[typed:left].strip() or left == typed:
        return
    assert fitting_length(text[typed:], length - typed, fits.later(typed), where) == left - typed
