"""The forced end of what was typed: nothing is lost, whatever is typed, and by whatever method."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from healing.vocabulary import TokenKind
from server.remote.literal import can_be_forced
from server.remote.retyped import LAST_TOKENS, forced_end
from server.remote.served import LearnedVocabulary, ServedEncode, without_marks
from server.remote.vocabulary import from_json
from tests.server.remote.fake_engine import MODEL, tokenizer

WORDS = ["    ", "return", "fibo", "(n", " - 1)", "\n", "é", "本", "😀", "\0", "\t", '"', "x = "]
typed_texts = st.lists(st.sampled_from(WORDS), max_size=8).map(
    lambda words: "".join(words).encode()
)
typed_bytes = st.one_of(
    typed_texts, st.binary(max_size=20), st.tuples(typed_texts, st.binary(max_size=3)).map(b"".join)
)


@pytest.fixture(scope="module")
def known(tokenizer_json):
    return from_json(tokenizer_json, MODEL)


def pieces(text):
    """What an engine says of a text: tokens, and what they spell."""
    encoded = tokenizer().encode(text, add_special_tokens=False)
    from healing.vocabulary import byte_level_alphabet

    return [
        (token, name.translate(byte_level_alphabet()).encode("latin-1"))
        for token, name in zip(encoded.ids, encoded.tokens, strict=True)
    ]


class TestForcedEnd:
    @given(
        typed_bytes,
        st.sampled_from(["align", "one"]),
        st.sampled_from([(True, True), (False, True), (False, False)]),
    )
    @example(b"    retu", "align", (True, True))
    @example(b"x\0", "align", (True, True))
    @example(b"\xe6\x9c", "align", (False, True))
    def test_nothing_is_lost(self, known, typed, method, kind):
        """Kept tokens and forced bytes are the typed text, and the latter can be said."""
        exact, whole = kind
        tokenization = known.tokenization
        forced = forced_end(typed, tokenization, method, exact=exact, whole=whole)

        assert tokenization.vocabulary.decode(forced.kept) + forced.owed == typed
        assert can_be_forced(forced.owed)
        assert bool(forced.owed_tokens) == bool(forced.owed)
        assert forced.owed_tokens <= len(tokenization.encode(typed))

    @given(typed_texts.filter(lambda text: b"\0" not in text))
    def test_enough_is_forced(self, known, typed):
        """With the engine's own tokenizer the last tokens are, and where needed more."""
        tokenization = known.tokenization
        forced = forced_end(typed, tokenization, "align", exact=False, whole=False)
        ids = tokenization.encode(typed)

        assert forced.owed.endswith(tokenization.vocabulary.decode(ids[-LAST_TOKENS:]))
        assert [*forced.kept, *ids[-forced.owed_tokens or len(ids) :]] == ids

    def test_words_that_could_come_out_differently(self, known):
        """`retu` may be the beginning of `return`: all of it is written again."""
        forced = forced_end(b"    retu", known.tokenization, "align", exact=True, whole=True)
        assert forced.owed.endswith(b"retu")


class TestServedTokenizers:
    @given(st.lists(st.text(st.sampled_from("ab (=\n\té本<|>fim_"), max_size=12), max_size=12))
    @example(["  ", "<"])
    def test_asking_together_changes_nothing(self, texts):
        """What is asked for in one request comes out as it does alone, or is asked for again.

        Only blanks at an end may be split in another way: they are no end in a request.
        """
        lines = [text.encode() for text in texts]
        vocabulary = LearnedVocabulary()
        together = ServedEncode(pieces, vocabulary, cuts_marks=True)
        together.prefetch(lines)
        for line in lines:
            alone = ServedEncode(pieces, LearnedVocabulary(), cuts_marks=True)
            assert vocabulary.decode(together(line)) == line
            assert together(line) == alone(line) or line[-1:].isspace()

    @given(st.text(max_size=30))
    def test_cutting_marks_loses_nothing(self, text):
        assert "".join(without_marks(text)) == text

    def test_marks_are_cut(self):
        """No part is a special token any more."""
        for mark in (
            "<|fim_middle|>",
            "<fim_prefix>",
            "<｜fim▁hole｜>",
            "</s>",
            "[SUFFIX]",
            "<EOT>",
        ):
            assert mark not in without_marks(f"a {mark} b")

    def test_a_vocabulary_learns(self):
        """What it knows it keeps; what it never heard of spells nothing."""
        vocabulary = LearnedVocabulary()
        vocabulary.learn([(5, b"ab"), (2, b"c")], TokenKind.NORMAL)
        assert vocabulary.longest == 2
        vocabulary.learn([(7, b"<end>"), (5, b"other")], TokenKind.CONTROL)

        assert vocabulary.decode([5, 2]) == b"abc"
        assert vocabulary[3] == b""
        assert vocabulary.kind(7) == TokenKind.CONTROL
        assert vocabulary.kind(3) == TokenKind.UNUSED
        assert vocabulary.text_ids().tolist() == [2, 5]
        assert len(vocabulary) == 8
