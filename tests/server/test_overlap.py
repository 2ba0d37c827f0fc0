"""Code after the cursor: nothing that follows is written twice, and words are joined or left.

The golden cases are in `test_golden`.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.overlap import (
    stop_before_following,
    trim_overlap,
    word_end,
    word_head,
    word_tail,
)

quiet_lines = st.text("ab +=.()[],:ß", max_size=16).map(str.encode)
lines = st.one_of(st.text("ab +=.()[]\"',:ß", max_size=16).map(str.encode), st.binary(max_size=16))


class TestStopBeforeFollowing:
    @pytest.mark.parametrize(
        ("generated", "rest", "kept"),
        [
            ("a if q", " if y else z", "a "),
            ("a", "", "a"),
            ("a  b", "  ", "a  b"),
        ],
    )
    def test_cases(self, generated, rest, kept):
        """The text ends where it starts to write what follows, brackets and strings aside."""
        assert stop_before_following(generated.encode(), rest.encode()).decode() == kept

    @given(lines, lines, lines)
    def test_prefix(self, generated, rest, typed):
        """What is kept is the start of the text."""
        assert generated.startswith(stop_before_following(generated, rest, typed))

    @given(quiet_lines, quiet_lines)
    def test_idempotent(self, generated, rest):
        """A text that stopped before what follows stays as it is."""
        kept = stop_before_following(generated, rest)

        assert stop_before_following(kept, rest) == kept


class TestTrimOverlap:
    @pytest.mark.parametrize(
        ("generated", "following", "kept"),
        [
            ("a ", " if y", "a"),
            ("a ", "if y", "a "),
            ("data", "a + b", "data"),
            ("x + a", "a + b", "x + "),
            ("x + 1 + 2", " + 1", "x"),
            ("x", "", "x"),
            ("", "x", ""),
        ],
    )
    def test_cases(self, generated, following, kept):
        """The longest end that follows anyway is cut, whole words and outer brackets only."""
        assert trim_overlap(generated.encode(), following.encode()).decode() == kept

    def test_whole_characters(self):
        """Bytes that follow and are no UTF-8 cut no character of the text."""
        assert trim_overlap("é".encode(), b"\xa9 x") == "é".encode()

    @given(lines, lines)
    def test_prefix(self, generated, following):
        """What is kept is the start of the text; all of what is cut at the end follows."""
        kept = trim_overlap(generated, following)

        assert generated.startswith(kept)
        cut = generated[len(kept) :]
        assert following.startswith(cut) or cut.startswith(following.strip(b" \t")[:1])


class TestWords:
    @pytest.mark.parametrize(
        ("typed", "rest", "tail"),
        [
            ("calc_to", "tal(x)", "tal"),
            ("Grö", "ße = 1", "ße"),
            ("x1", "2", "2"),
            ("self.", "name", ""),
            ("name", ".x", ""),
            ("", "name", ""),
            ("名", "前)", "前"),
            ("a", "\u2028b", ""),
            ("हिन", "्दी", "्दी"),
            ("e", "\u0301t", "\u0301t"),
            ("می", "\u200cخواهم", "\u200cخواهم"),
        ],
    )
    def test_tail(self, typed, rest, tail):
        """A cursor is inside a word if identifier characters stand on both sides."""
        assert word_tail(typed.encode(), rest.encode()).decode() == tail

    def test_invalid_bytes(self):
        """Bytes that are not UTF-8 belong to no word."""
        assert word_tail(b"a\xff", b"b") == b""
        assert word_head(b"a\xffb") == b"a"
        assert word_end("ß\u00e9".encode()[1:]) == "é".encode()
