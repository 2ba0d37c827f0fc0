"""Encoders that take any bytes and give back text only."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from healing.encoding import encode_bytes, plain_text_tokenizer, tokenizer_encode
from healing.vocabulary import TokenKind, Vocabulary


def busy_tokenizer() -> Tokenizer:
    """A tokenizer that does all that an encoder here must not do to a person's text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<end>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["the cat sat on the mat", "日本語 café <end> the end"], trainer)
    tokenizer.add_tokens([AddedToken("cat sat", normalized=False), "    "])
    tokenizer.add_special_tokens(["<start>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<start> $A <end>",
        special_tokens=[(t, tokenizer.token_to_id(t)) for t in ("<start>", "<end>")],
    )
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=12, pad_token="<end>")
    return tokenizer


TOKENIZER = busy_tokenizer()
VOCABULARY = Vocabulary.from_tokenizer(TOKENIZER)
ENCODE = tokenizer_encode(TOKENIZER, VOCABULARY.byte_ids())


class TestTokenizerEncode:
    """Any bytes go in; ids of ordinary text that spell exactly these bytes come out."""

    @given(st.binary() | st.text(max_size=60).map(str.encode))
    @example("日本".encode()[:-1] + b"<end>" + b"\xff\xfe    cat sat\x00")
    @example("\ufeffe\u0301 \ud7ff".encode())
    def test_decodes_to_the_same_bytes_of_text_tokens(self, data):
        """Nothing is added, lost, replaced, cut off or taken for structure."""
        ids = ENCODE(data)

        assert VOCABULARY.decode(ids) == data
        assert {VOCABULARY.kind(i) for i in ids} <= {TokenKind.NORMAL, TokenKind.BYTE}

    @pytest.mark.parametrize("text", ["<end>", "<start>", "a<end>b", "the cat sat", "x    y"])
    def test_takes_what_spells_an_added_token_as_text(self, text):
        """Special or not: the tokenizer itself would give one id, healing wants its letters."""
        added = {i for i in range(len(VOCABULARY)) if VOCABULARY.kind(i) != TokenKind.NORMAL}

        assert added & set(TOKENIZER.encode(text, add_special_tokens=False).ids)
        assert not added & set(ENCODE(text.encode()))

    def test_does_not_compose_characters(self):
        """An e with a combining accent stays two characters, though the tokenizer composes them."""
        decomposed = "cafe\u0301".encode()

        composed = TOKENIZER.encode("e\u0301", add_special_tokens=False).ids
        assert VOCABULARY.decode(composed).startswith("\u00e9".encode())
        assert VOCABULARY.decode(ENCODE(decomposed)) == decomposed

    def test_refuses_tokenizers_that_do_not_work_plainly(self):
        """A model whose own tokens are not in it without the added ones is refused in words."""

        class Odd:
            def to_str(self) -> str:
                return '{"model": null}'

        with pytest.raises(ValueError, match="does not work without its added tokens"):
            plain_text_tokenizer(Odd())  # type: ignore[arg-type]


class TestEncodeBytes:
    """Bytes outside UTF-8 go by themselves."""

    def test_cuts_at_invalid_bytes_only(self):
        """The runs between them are encoded as a whole."""
        seen = []

        def encode_text(text: bytes) -> list[int]:
            seen.append(text)
            return [1000]

        ids = encode_bytes(encode_text, {b: b for b in range(256)}, b"\xffab\xe6\x9cc\xf0d")

        assert ids == [0xFF, 1000, 0xE6, 0x9C, 1000, 0xF0, 1000]
        assert seen == [b"ab", b"c", b"d"]

    def test_says_which_byte_cannot_be_spelled(self):
        """A vocabulary without single bytes refuses, it does not drop them."""
        with pytest.raises(ValueError, match="no token spells the byte 0xff"):
            encode_bytes(lambda _: [], {}, b"a\xff")
