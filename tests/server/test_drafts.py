"""The search for the same text elsewhere, against a plain reading of what it promises."""

from hypothesis import given
from hypothesis import strategies as st

from server.drafts import (
    AFTER_BYTES,
    BEFORE_BYTES,
    END,
    FOLLOWING,
    SIZES,
    Match,
    Place,
    after_cursor,
    before_cursor,
    longest_match,
)

texts = st.lists(st.sampled_from([b"ab", b"x = ", b"\n    ", b"(", b"ab\n"]), max_size=40).map(
    b"".join
)


def twin(text, others):
    """The same by looking at every place and size."""
    best = None
    for place in (Place(text), *others):
        found = []
        for size in SIZES:
            for end in range(size, len(place.text)):
                if size <= len(text) and place.text[end - size : end] == text[-size:]:
                    following = place.text[end : end + FOLLOWING]
                    found.append((size, -end if place.nearest_first else end, following))
        if found and (best is None or max(found)[0] > best.size):
            size, _, following = max(found)
            best = Match(following, size)
    return best


@given(texts, st.lists(st.tuples(texts, st.booleans()), max_size=3))
def test_the_longest_match(text, others):
    """The longest wins, then the first place, then the nearest in it."""
    places = [Place(other, nearest_first) for other, nearest_first in others]

    assert longest_match(text, places) == twin(text, places)


@given(texts, st.lists(st.tuples(texts, st.booleans()), max_size=3), st.integers(0, 250))
def test_only_long_matches(text, others, least):
    """What is found without a limit, if that is long enough; else nothing."""
    places = [Place(other, nearest_first) for other, nearest_first in others]
    longest = longest_match(text, places)

    found = longest_match(text, places, least)

    assert found == (longest if longest is not None and longest.size >= least else None)


def test_in_the_text_itself():
    """The nearest place before; never the end itself, which nothing follows."""
    text = b"self.a = 1\nself.b = 2\nself."

    assert longest_match(text, ()) == Match(b"b = 2\nself.", 6)


def test_nearest_after_the_cursor():
    """Of equal matches in what follows the cursor, the first; in what is before it, the last."""
    text, place = b"x\nreturn", b"\nreturn 1\nreturn 2\n"

    assert longest_match(text, [Place(place, nearest_first=True)]).following == b" 1\nreturn 2\n"
    assert longest_match(text, [Place(place)]).following == b" 2\n"


def test_a_longer_match_elsewhere():
    """A longer match in a later place is better than a nearer one."""
    text = b"foo(1)\nbar(2)\nfoo(3)\nbar("

    assert longest_match(text, [Place(b"foo(3)\nbar(4)\n")]) == Match(b"4)\n", 8)


def test_nothing_goes_across_the_end_of_a_text():
    """What follows stops where another text begins."""
    assert longest_match(b"total(", [Place(b"total(a)" + END + b"b")]).following == b"a)"
    assert longest_match(b"total(", [Place(b"x.total(" + END + b"b")]) is None


def test_blanks():
    """Looked for in a document of blanks: found, and fast enough to be run here."""
    assert longest_match(b"x" + b" " * 50_000, [Place(b" " * 50_000)]).size == SIZES[-1]


def test_around_a_cursor():
    """Bounded, with LF, split where the cursor is."""
    text = b"a\r\n" * 40_000

    before, after = before_cursor(text, 90_000), after_cursor(text, 90_000)

    assert len(before) <= BEFORE_BYTES
    assert len(after.text) <= AFTER_BYTES
    assert after.nearest_first
    assert before.endswith(b"a\na\n")
    assert after.text.startswith(b"a\na\n")
