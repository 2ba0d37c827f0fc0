"""From raw model text to what is shown: each rule alone, and what holds for every text.

The golden cases are in `test_golden`.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.brackets import units
from server.rules import (
    Finished,
    Place,
    drop_chatter,
    drop_line_separators,
    finish,
    first_line,
    place_at,
    repeats_next_line,
    settled,
    should_stop,
    trim_end,
)
from server.snapshot import Snapshot

pieces = st.text("ab_ß ()[]{}\"'`,;:.+=\\#<|>`", max_size=16)
generated_text = st.text("ab_ß ()[]{}\"',;:.+=\n", max_size=16).map(str.encode)
quiet_text = st.text("ab_ß ()[]{},;:.+=", max_size=16).map(str.encode)


def place(line, following=b"", language="python"):
    """A place from a line with its cursor at `|`."""
    typed, rest = line.encode().split(b"|")
    return Place(typed, rest, following, language)


class TestFinish:
    def test_rules_are_named(self):
        """The result says which rules changed the text."""
        assert finish(place("print(ro|)"), b"w))\n", finished=True) == Finished(
            b"w)", 1, ("one line", "no doubled closers"), None
        )

    def test_unfinished(self):
        """Blanks at the end of a text that was cut off are the model's way to go on."""
        assert finish(place("x = a|"), b" + ", finished=False).text == b" + "
        assert finish(place("x = a|"), b" + ", finished=True).text == b" +"

    @given(pieces, pieces, generated_text, st.booleans())
    def test_only_the_range_changes(self, typed, rest, generated, finished):
        """The range lies on the line, every closer in it is kept, and the text is one line."""
        where = Place(typed.encode(), rest.encode())
        result = finish(where, generated, finished)

        replaced = where.rest[: result.range_end]
        found = iter(result.text)
        assert 0 <= result.range_end <= len(where.rest)
        assert all(byte in found for byte in b"".join(units(replaced)))
        assert not result.text or replaced.strip(b")]}\"'`;,: \t") == b""
        assert b"\n" not in result.text

    @given(pieces, pieces, generated_text, st.booleans())
    def test_empty_changes_nothing(self, typed, rest, generated, finished):
        """Nothing shown means an empty range and a reason; something shown means a change."""
        where = Place(typed.encode(), rest.encode())
        result = finish(where, generated, finished)

        assert (result.empty_reason is None) == bool(result.text)
        assert (result.range_end == 0) or result.text
        assert not result.text or result.text != where.rest[: result.range_end]


class TestShouldStop:
    @pytest.mark.parametrize(
        ("line", "generated", "stops"),
        [
            ("x = |", b"1", False),
            ("x = |", b"1\n", True),
            ("calc_to|tal", b"_sub", False),
            ("calc_to|tal", b"_subtotal(", True),
            ("f(|, b)", b"a, ", False),
            ("f(|, b)", b"a, b)", True),
            ("print(ro|)", b"w)", False),
            ("print(ro|)", b"w))", True),
            ("print(ro|)", b"w)\r", True),
        ],
    )
    def test_cases(self, line, generated, stops):
        """Generation stops when more text could not change the line."""
        assert should_stop(place(line), generated) is stops

    @given(pieces, pieces, quiet_text, quiet_text)
    def test_agrees_with_finish(self, typed, rest, generated, more):
        """After a stop, text without quotes changes nothing of what is shown."""
        where = Place(typed.encode(), rest.encode())
        if not should_stop(where, generated):
            more = b""

        one = finish(where, generated, finished=True)
        two = finish(where, generated + more, finished=True)

        assert (one.text, one.range_end) == (two.text, two.range_end)


class TestDropChatter:
    def test_typed(self):
        """What the person began is theirs; a fence on a line of its own is not."""
        assert drop_chatter(b"```rust", b"/// ") == b"```rust"
        assert drop_chatter(b"```python", b"    ") == b""
        assert drop_chatter(b"istant", b"ass") == b"istant"

    def test_allowed(self):
        """Markdown has fences, and a document about marks has marks."""
        assert drop_chatter(b"```py\nx\n```", fences=True) == b"```py\nx\n```"
        assert drop_chatter(b"x<|im_end|>", marks=True) == b"x<|im_end|>"

    @given(st.text("a\n`<|>_", max_size=20).map(str.encode), st.booleans(), st.booleans())
    def test_idempotent(self, generated, fences, marks):
        """A text without chatter stays as it is."""
        once = drop_chatter(generated, fences=fences, marks=marks)

        assert drop_chatter(once, fences=fences, marks=marks) == once


class TestSmallRules:
    def test_repeats_next_line(self):
        """Blank lines and blanks at line ends do not hide a repeat; indentation counts."""
        assert repeats_next_line(b"  x = 1", b"\n  \n  x = 1  \n")
        assert not repeats_next_line(b"    }", b"}\n")
        assert not repeats_next_line(b"x", b"")

    def test_first_line(self):
        """A line ends at any line end."""
        assert [first_line(text) for text in (b"a\nb", b"a\r\nb", b"a\rb", b"a\x0cb")] == [
            b"a",
            b"a",
            b"a",
            b"a\x0cb",
        ]

    def test_trim_end(self):
        """Only blanks go."""
        assert trim_end(b" a \t") == b" a"

    @pytest.mark.parametrize(
        "control",
        [
            *(b"\0", b"\x0b", b"\x0c", b"\x1b", b"\x7f"),
            # An escape sequence without an escape, and directions: override, isolate.
            *(text.encode() for text in ("\x80", "\x9b31m", "\u202e", "\u2066")),
        ],
    )
    def test_control_characters(self, control):
        """The text ends before one; tabs and line ends are none, and it can be switched off."""
        shown = finish(Place(b"x = ", b""), b"a\t1 " + control + b"b", finished=False)

        assert (shown.text, shown.rules) == (
            b"a\t1",
            ("no control characters", "no trailing blanks"),
        )
        assert should_stop(Place(b"", b""), control)
        assert finish(Place(b"", b""), control + b"b", finished=True).empty_reason == (
            "nothing is left (no control characters)"
        )
        off = Place(b"", b"", off=frozenset(["no control characters"]))
        assert finish(off, b"a" + control + b"b", finished=True).text == b"a" + control + b"b"
        assert not should_stop(off, control)

    def test_drop_line_separators(self):
        """What some editors take for a line's end goes, blanks around it too; blanks alone stay."""
        assert drop_line_separators("a \u2028\x0c ".encode()) == b"a"
        assert drop_line_separators("a\u2028b \xff".encode("latin-1", "replace")) == b"a?b \xff"
        assert drop_line_separators(b"a \t\n") == b"a \t\n"


class TestPlaceAt:
    def test_crlf(self):
        """The line's parts are exact, and what follows has the model's line ends."""
        text = b"a\r\nprint(ro)\r\n\r\nb\r\n"

        where = place_at(Snapshot("a.py", 0, text, 11, "python"))

        assert where == Place(b"print(ro", b")", b"\nb\n", "python")
        assert where.closers == b")"

    def test_inside_crlf(self):
        """A cursor between the two characters of a line end is at the line's end."""
        where = place_at(Snapshot("a", 0, b"ab\r\nc", 3, "plaintext"))

        assert (where.typed, where.rest, where.following) == (b"ab", b"", b"c")

    def test_chat_marks(self):
        """A document that spells a mark is known to."""
        assert place_at(Snapshot("a", 0, b"x = '<|end|>'\n", 0, "python")).chat_marks


code_pieces = st.sampled_from(
    [
        "a",
        "ab",
        "x",
        "els",
        "else",
        "user",
        "im",
        "é",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ";",
        ":",
        "+",
        "=",
        "#",
        "//",
        "```",
        "<|",
        "|>",
        '"',
        "'",
        "\\",
        " ",
        "\t",
        "# ",
        "\x0c",
        "\u2028",
        "\x9b31m",
        "\u202e",
    ]
).map(str.encode)
code_lines = st.lists(code_pieces, max_size=8).map(b"".join)


class TestSettled:
    @given(
        code_lines,
        code_lines,
        st.lists(code_lines, max_size=2).map(b"\n".join),
        st.lists(code_pieces, max_size=10),
        st.sampled_from(["python", "c", "markdown"]),
    )
    def test_is_never_taken_back(self, typed, rest, following, generated, language):
        """What was streamed is the start of what is shown in the end."""
        where = Place(typed, rest, following, language)
        text, streamed = b"", []
        for piece in generated:
            text += piece
            streamed.append(settled(where, text))
            if should_stop(where, text):
                break

        shown = finish(where, text, finished=True).text

        assert all(shown.startswith(part) for part in streamed)

    def test_streams_whole_words(self):
        """The words before the last one are shown while the line is written."""
        assert settled(place("retu|"), b"rn total + 1") == b"rn total +"
