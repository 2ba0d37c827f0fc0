"""Characters that are cut in the middle."""

from hypothesis import example, given
from hypothesis import strategies as st

from healing.unfinished import TRIES, finishing_bytes, unfinished_tail
from tests.healing import toy

LEADS = st.sampled_from(
    [0x61, 0xC2, 0xDF, 0xE0, 0xE6, 0xED, 0xF0, 0xF4, 0xF5, 0x80, 0x9F, 0xA0, 0xBF]
)
BROKEN = st.lists(LEADS, max_size=5).map(bytes)


def is_character(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


class TestUnfinishedTail:
    """The bytes at the end that may still become a character."""

    @given(st.text(max_size=5), st.characters(min_codepoint=128, codec="utf-8"), st.integers(1, 3))
    @example("", "\ue000", 1)
    @example("", "\U0010ffff", 3)
    @example("", "\ud7ff", 2)
    def test_is_what_is_there_of_the_last_character(self, text, character, cut):
        """However much of it is there."""
        whole = character.encode()
        part = whole[: min(cut, len(whole) - 1)]

        assert unfinished_tail(text.encode() + part) == part
        assert unfinished_tail(text.encode() + whole) == b""

    @given(st.binary(max_size=8) | BROKEN)
    def test_is_exactly_what_some_bytes_complete(self, text):
        """There is a tail if and only if some bytes make it a character."""
        ends = [
            bytes([second, *[0x80] * more]) for second in range(0x80, 0xC0) for more in range(3)
        ]
        tails = [text[start:] for start in range(max(0, len(text) - 3), len(text))]
        open_ones = [t for t in tails if any(is_character(t + end) for end in ends)]

        assert [unfinished_tail(text)] == (open_ones or [b""])

    def test_sees_bytes_that_begin_no_character(self):
        """Overlong forms, surrogates, and code points that do not exist can't be finished."""
        for text in (b"\xc0", b"\xc1", b"\xe0\x80", b"\xed\xa0", b"\xf0\x80", b"\xf4\x90", b"\xf5"):
            assert unfinished_tail(text) == b"", text


class TestFinishingBytes:
    """Endings that make it whole."""

    TOKENIZATION = toy.closed()[1]

    @given(st.characters(min_codepoint=0x800, max_codepoint=0xFFFF, codec="utf-8"))
    def test_finish_the_character(self, character):
        """Each ending makes whole characters; none is offered twice, or for whole text."""
        whole = character.encode()

        assert list(finishing_bytes(b"ab" + whole, self.TOKENIZATION)) == []
        for count in (1, 2):
            endings = list(finishing_bytes(b"ab" + whole[:count], self.TOKENIZATION))
            assert len(set(endings)) == len(endings) <= TRIES
            assert all((whole[:count] + ending).decode() for ending in endings)

    def test_leave_out_what_would_be_merged_into_the_token(self):
        """An ending whose first byte the merges join to the token is no proof of anything."""
        merges, token = self.TOKENIZATION.merges, self.TOKENIZATION.vocabulary.byte_ids()
        inner = self.TOKENIZATION.inner_tokens
        apart = {piece[0] for other, piece in inner if merges.separate(token[0xE6], other)}

        endings = finishing_bytes(b"\xe6", self.TOKENIZATION, token[0xE6])

        assert apart
        assert {ending[0] for ending in endings} <= apart
