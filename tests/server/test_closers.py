"""Closers after the cursor: none lost, none doubled. The golden cases are in `test_golden`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.closers import closers, cut_doubled, join_closers

lines = st.text("ab ()[]{}\"'`,;:\\#", max_size=20).map(str.encode)
closing = st.text(")]}\"'`;,: ", max_size=6).map(str.encode)


def is_subsequence(wanted, found):
    rest = iter(found)
    return all(byte in rest for byte in wanted)


class TestClosers:
    @pytest.mark.parametrize(
        "rest", [b"", b"  ", b")", b'")]', b" ) ;", b'"""', b"''')", b'":', b"},"]
    )
    def test_only_closers(self, rest):
        """Closing marks and blanks are taken whole."""
        assert closers(rest) == rest

    @pytest.mark.parametrize(
        "rest",
        [b"x", b") + 1", b"=", b"(", b'"")', b"'',", b"``", b"// )", b").", b'"  ")', b"' '"],
    )
    def test_code(self, rest):
        """Anything else is code, and so is a string that is empty or of blanks."""
        assert closers(rest) is None


class TestJoinClosers:
    @given(lines, lines, closing)
    def test_none_lost(self, typed, generated, closers):
        """Everything after the cursor is in the joined text, in its order: blanks, too."""
        joined = join_closers(typed, generated, closers, b"#")

        assert is_subsequence(closers.rstrip(), joined)

    @given(lines, lines, closing)
    def test_nothing_else_added(self, typed, generated, closers):
        """What is added to the text is closers, and no more of them than follow the cursor."""
        kept = cut_doubled(typed, generated, closers.rstrip(), b"#")
        joined = join_closers(typed, generated, closers, b"#")

        assert is_subsequence(kept, joined)
        assert len(kept) <= len(joined) <= len(kept) + len(closers)

    @given(
        lines,
        st.text("ab ):", max_size=12).map(str.encode),
        st.from_regex(rb"['\"]?[): ]{0,4};?", fullmatch=True),
    )
    def test_idempotent(self, typed, generated, rest):
        """Joining again changes nothing, if the text opens nothing and mixes no brackets."""
        joined = join_closers(typed, generated, rest)

        assert join_closers(typed, joined, rest) == joined

    @given(lines, lines)
    def test_no_closers(self, typed, generated):
        """At a line's end the text stays as it is."""
        assert join_closers(typed, generated, b"  ") == generated


def test_uncertain_is_kept():
    """A bracket that may belong to an earlier line is not called doubled."""
    assert cut_doubled(b"    foo, ba", b"r))", b")") == b"r))"
    assert cut_doubled(b"print(ro", b"w))", b"") == b"w))"
