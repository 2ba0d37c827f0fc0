"""Vocabularies: what tokens spell and which of them may spell text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models

from healing.vocabulary import TokenKind, Vocabulary, byte_level_alphabet
from tests.healing import toy

KINDS = st.sampled_from(list(TokenKind))


class TestVocabulary:
    """Bytes and kinds by id."""

    @given(st.lists(st.tuples(st.binary(max_size=5), KINDS)))
    def test_gives_back_what_it_was_made_of(self, tokens):
        """Every token has the bytes and the kind that were given."""
        vocabulary = Vocabulary.from_tokens([t for t, _ in tokens], [k for _, k in tokens])

        assert [(vocabulary[i], vocabulary.kind(i)) for i in range(len(vocabulary))] == tokens
        assert vocabulary.decode(range(len(tokens))) == b"".join(t for t, _ in tokens)

    @given(st.lists(st.tuples(st.binary(max_size=3), KINDS)))
    def test_only_normal_and_byte_tokens_spell_text(self, tokens):
        """Empty tokens, control, unknown, unused and added ones never do."""
        vocabulary = Vocabulary.from_tokens([t for t, _ in tokens], [k for _, k in tokens])
        text = (TokenKind.NORMAL, TokenKind.BYTE)

        ids = [i for i, (token, kind) in enumerate(tokens) if token and kind in text]
        assert vocabulary.text_ids().tolist() == ids
        assert sorted([*ids, *vocabulary.other_ids.tolist()]) == list(range(len(tokens)))
        assert vocabulary.longest == max([len(tokens[i][0]) for i in ids], default=0)
        singles = [i for i in ids if len(tokens[i][0]) == 1]
        assert vocabulary.byte_ids() == {tokens[i][0][0]: i for i in reversed(singles)}

    @pytest.mark.parametrize("token", [-1, 2])
    def test_refuses_ids_that_do_not_exist(self, token):
        """Negative ids do not count from the end."""
        with pytest.raises(IndexError, match=f"{token} is outside the vocabulary of 2"):
            Vocabulary.from_tokens([b"a", b"b"], [1, 1])[token]

    @pytest.mark.parametrize(
        ("offsets", "message"),
        [
            ([0, 1], "one offset more"),
            ([1, 1, 2], "span"),
            ([0, 1, 1], "span"),
            ([0, 3, 2], "back"),
        ],
    )
    def test_refuses_wrong_offsets(self, offsets, message):
        """Offsets that do not fit the blob are found at once, not at the first use."""
        with pytest.raises(ValueError, match=message):
            Vocabulary(b"ab", np.array(offsets), np.ones(2, dtype=np.uint8))


class TestByteLevel:
    """The alphabet of GPT-2."""

    def test_has_a_letter_for_every_byte(self):
        """Blank, line end and printable bytes are written as everybody writes them."""
        alphabet = byte_level_alphabet()
        bytes_of = {letter: byte for letter, byte in alphabet.items() if byte < 256}

        assert sorted(bytes_of.values()) == list(range(256))
        assert bytes_of[ord("Ġ")] == 0x20
        assert bytes_of[ord("Ċ")] == 0x0A
        assert bytes_of[ord("a")] == 0x61

    def test_spells_normal_tokens_and_leaves_names_alone(self):
        """`Ġa` is a blank and an a; the name of a control token is not translated."""
        vocabulary = Vocabulary.from_byte_level(["Ġa", "Ã©", "<Ġ>"], [1, 1, TokenKind.CONTROL])

        assert [vocabulary[i] for i in range(3)] == [b" a", "é".encode(), "<Ġ>".encode()]

    @pytest.mark.parametrize("token", ["a b", "日", "\n"])
    def test_refuses_letters_outside_the_alphabet(self, token):
        """A file that is not byte-level is not read as if it were."""
        with pytest.raises(ValueError, match=r"token 1 .* is not in the byte-level alphabet"):
            Vocabulary.from_byte_level(["a", token], [1, 1])


class TestFromTokenizer:
    """Vocabularies of `tokenizers`."""

    def test_reads_kinds_and_bytes(self):
        """Special added tokens are control, other added ones user-defined, the rest text."""
        tokenizer = toy.byte_level(toy.QWEN, toy.CORPUS, 30, 3)
        tokenizer.add_tokens(["ab1"])
        tokenizer.add_special_tokens([AddedToken("<mid>", special=True)])
        ids = tokenizer.get_vocab()

        vocabulary = Vocabulary.from_tokenizer(tokenizer)

        assert vocabulary.kind(ids["<end>"]) == vocabulary.kind(ids["<mid>"]) == TokenKind.CONTROL
        assert vocabulary.kind(ids["ab1"]) == TokenKind.USER_DEFINED
        assert vocabulary[ids["Ġa"]] == b" a"
        assert ids["Ġa"] in vocabulary.text_ids()

    def test_marks_gaps_as_unused(self):
        """Ids that a tokenizer skips spell nothing."""
        vocabulary = Vocabulary.from_tokenizer(Tokenizer(models.WordLevel({"a": 0, "b": 2}, "a")))

        assert vocabulary.kind(0) == TokenKind.UNKNOWN
        assert vocabulary.kind(1) == TokenKind.UNUSED
        assert vocabulary[2] == b"b"

    def test_refuses_an_empty_tokenizer(self):
        """There is nothing to make a vocabulary of."""
        with pytest.raises(ValueError, match="no tokens"):
            Vocabulary.from_tokenizer(Tokenizer(models.BPE()))
