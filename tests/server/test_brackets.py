"""What the generated text opens and closes, read with what was typed before it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.brackets import scan, units

text = st.text("ab ()[]{}\"'`,;:\\#ß", max_size=20).map(str.encode)


def summary(typed, generated, closers=b"", comment=b""):
    """Kind and text of each mark, as `close )`."""
    marks = scan(typed, generated, closers, comment).marks
    return [f"{mark.kind} {mark.text.decode()}" for mark in marks]


class TestScan:
    def test_opener_before_the_cursor(self):
        """A bracket that was opened before the cursor has a negative opener."""
        (mark,) = scan(b"f(a", b"b)").marks

        assert (mark.start, mark.opener, mark.is_own, mark.jumped) == (1, -2, False, False)

    def test_own_brackets(self):
        """Brackets that the text opened itself are its own."""
        marks = scan(b"f(", b"g(a))").marks

        assert [mark.opener for mark in marks] == [1, 1, -1]

    def test_jump(self):
        """A bracket that closes over an open one is marked."""
        (mark,) = scan(b"x = [f(a", b"b]").marks

        assert (mark.opener, mark.jumped) == (-4, True)

    @pytest.mark.parametrize(
        ("typed", "generated", "closers", "marks"),
        [
            (b'f("a', b'b")', b"", ['close "', "close )"]),
            (b'f("a', b"b", b'")', []),
            (b"don", b"'t (a)", b"", ["point '", "open (", "close )"]),
            (b"# it", b"'s 'a' (", b"", ["point '", "open '", "close '", "open ("]),
            (
                b"f(x: ",
                b"&'a str, y: &'b str)",
                b"",
                ["point '", "point ,", "point :", "point '", "close )"],
            ),
            (b"x = ", b"f'{a}'", b"", ["open '", "open {", "close }", "close '"]),
            (b"x = 'a", rb"b\'c'", b"", ["close '"]),
            (
                b'"""It is ',
                b'"so" (a)."""',
                b"",
                ['point "', 'point "', "open (", "close )", 'close """'],
            ),
            (b"text in ", b'a "string" here"""', b'"""', ['point "', 'point "', 'close """']),
            (b"f(a", b")  # (b", b"", ["close )", "comment #"]),
            (b"# f(a", b") # b)", b"", ["close )", "close )"]),
            (b'x = "', b'a # b"', b"", ['close "']),
            ("l'été (".encode(), "l'ß)".encode(), b"", ["point '", "close )"]),
        ],
    )
    def test_strings(self, typed, generated, closers, marks):
        """Strings, apostrophes and comments are told apart."""
        assert summary(typed, generated, closers, b"#") == marks

    def test_open_brackets(self):
        """The brackets of the code are known also where the cursor is in a string."""
        assert scan(b'f([a], "(', b'b")').open_brackets == {b")"}

    @given(text, text, text)
    def test_marks_are_text(self, typed, generated, closers):
        """Marks lie in the generated text in order, and each partner comes before its mark."""
        marks = scan(typed, generated, closers, b"#").marks

        assert all(generated[mark.start : mark.end] == mark.text for mark in marks)
        assert all(one.end <= two.start for one, two in pairwise(marks))
        assert all(m.opener < m.start for m in marks if m.kind == "close" and m.opener is not None)


def test_units():
    """Three equal quotes are one unit, two are two."""
    assert units(b'""")  "",') == [b'"""', b")", b'"', b'"', b","]
