"""Positions in three encodings: counting, clamping, choosing, and half surrogate pairs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.positions import (
    Encoding,
    byte_offset,
    character_at,
    choose_encoding,
    count_characters,
    to_bytes,
    without_surrogates,
)

UTF8, UTF16, UTF32 = Encoding.UTF8, Encoding.UTF16, Encoding.UTF32

# ASCII, two to four bytes, a combining accent, a joined family, separators that are no line ends,
# NUL, a byte order mark, the last Hangul (0xED as its first byte) and both halves of a pair.
CHARACTERS = "a\t\0\x0b\x0cé\x85e\u0301好\u2028\ufeff힣\U0001f600👨\u200d👩\ud83d\ude00\U0010ffff"
short = st.text(st.sampled_from(CHARACTERS), max_size=20)
# Long lines are searched by halving: repeated, as hypothesis makes few long texts by itself.
lines = short | st.builds(str.__mul__, short, st.integers(1, 20))
encodings = st.sampled_from(Encoding)


def widths(line: str, encoding: Encoding) -> list[int]:
    """How many characters each code point counts: the specification, by Python's own codecs."""
    unit = {UTF8: 1, UTF16: 2, UTF32: 4}[encoding]
    codec = {UTF8: "utf-8", UTF16: "utf-16-le", UTF32: "utf-32-le"}[encoding]
    return [len(character.encode(codec, "surrogatepass")) // unit for character in line]


class TestChooseEncoding:
    @pytest.mark.parametrize(
        ("offered", "chosen"),
        [
            (None, UTF16),
            ([], UTF16),
            (["utf-16"], UTF16),
            (["utf-8", "utf-16", "utf-32"], UTF8),  # Neovim
            (["utf-32", "utf-8", "utf-16"], UTF32),  # Emacs
            (["utf-7", "utf-32"], UTF32),
            (["UTF-8", "latin-1", ""], UTF16),
        ],
    )
    def test_choice(self, offered, chosen):
        """The client's first choice that we know is taken, UTF-16 where there is none."""
        assert choose_encoding(offered) is chosen


class TestCounting:
    @settings(deadline=None)
    @given(lines, encodings)
    def test_count(self, line, encoding):
        """A line has as many characters as Python's codecs say."""
        assert count_characters(to_bytes(line), encoding) == sum(widths(line, encoding))

    @settings(deadline=None)
    @given(lines, encodings)
    def test_every_border(self, line, encoding):
        """Before each code point, byte offset and character lead to each other."""
        data, counts = to_bytes(line), widths(line, encoding)

        for index in range(len(line) + 1):
            offset, character = len(to_bytes(line[:index])), sum(counts[:index])
            assert byte_offset(data, character, encoding) == offset
            assert character_at(data, offset, encoding) == character

    @settings(deadline=None)
    @given(lines, encodings, st.integers(-3, 500))
    def test_any_character(self, line, encoding, character):
        """Any number is a place: the last border of a code point that is not after it."""
        counts = widths(line, encoding)
        whole = max(n for n in range(len(line) + 1) if n == 0 or sum(counts[:n]) <= character)

        assert byte_offset(to_bytes(line), character, encoding) == len(to_bytes(line[:whole]))

    @settings(deadline=None)
    @given(lines, encodings, st.integers(-3, 900))
    def test_any_offset(self, line, encoding, offset):
        """An offset inside a code point counts as the place before it, outside as the end."""
        whole = max(n for n in range(len(line) + 1) if n == 0 or len(to_bytes(line[:n])) <= offset)

        assert character_at(to_bytes(line), offset, encoding) == sum(widths(line, encoding)[:whole])

    @settings(deadline=None)
    @given(
        st.binary(max_size=200) | st.binary(max_size=3).map(lambda end: b"\x80" * 200 + end),
        encodings,
        st.integers(0, 300),
    )
    def test_invalid(self, line, encoding, number):
        """Bytes that are no UTF-8 give some place on the line, not an error."""
        assert 0 <= byte_offset(line, number, encoding) <= len(line)
        # A lone first byte of a pair counts as the pair.
        assert 0 <= character_at(line, number, encoding) <= 2 * len(line)

    def test_long_line(self):
        """On a line of 2 MB a place near its end is found."""
        line = to_bytes("é😀" * 350_000)

        assert byte_offset(line, 3 * 349_999, UTF16) == 6 * 349_999
        assert character_at(line, 6 * 349_999, UTF32) == 2 * 349_999


class TestClamping:
    @pytest.mark.parametrize(
        ("line", "encoding", "character", "offset"),
        [
            ("abc", UTF16, 5, 3),
            ("abc", UTF16, 3, 3),
            ("abc", UTF16, 2**31 - 1, 3),
            ("abc", UTF8, -1, 0),
            ("é", UTF16, -1, 0),
            ("", UTF32, 1, 0),
            ("a😀b", UTF16, 2, 1),  # between the halves of the pair
            ("a😀b", UTF16, 3, 5),
            ("a😀b", UTF8, 2, 1),
            ("a😀b", UTF8, 4, 1),
            ("a😀b", UTF8, 5, 5),
            ("a😀b", UTF32, 2, 5),
            ("e\u0301x", UTF16, 1, 1),  # an accent is a character of its own
            ("好x", UTF8, 1, 0),
            ("好x", UTF16, 9, 4),
        ],
    )
    def test_table(self, line, encoding, character, offset):
        """Past the end is the end, inside a code point is before it."""
        assert byte_offset(to_bytes(line), character, encoding) == offset


class TestSurrogates:
    def test_halves_stay_apart(self):
        """Two halves that meet count one each, as in the client, and are not made one."""
        line = to_bytes("\ud83d") + to_bytes("\ude00")

        assert [count_characters(line, encoding) for encoding in Encoding] == [6, 2, 2]
        assert byte_offset(line, 1, UTF16) == 3

    @settings(deadline=None)
    @given(lines)
    def test_harmless_form(self, line):
        """Models get valid UTF-8 of the same length, in which all other text is unchanged."""
        clean = without_surrogates(to_bytes(line))

        assert len(clean) == len(to_bytes(line))
        assert clean.decode() == "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in line)
