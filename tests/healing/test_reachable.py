"""Tokens that no text is made of are found, and only these."""

import numpy as np
import pytest
from tokenizers import models

from healing.reachable import reachable
from healing.tokenization import Tokenization
from tests.healing import spm, toy
from tests.healing.real import file_of, tokenization_of_file
from tests.healing.toy import texts


def test_marks_of_a_vocabulary_are_found_by_texts():
    """Over a toy's alphabet: what is in the encoding of some text, and nothing else."""
    for name in toy.SPLITS:
        tokenizer, tokenization = toy.toy(name)
        every = tokenizer.encode_batch_fast(texts(toy.ASCII, 5))
        used = {token for encoding in every for token in encoding.ids}

        ids = tokenization.vocabulary.text_ids().tolist()
        assert {token for token in ids if reachable(tokenization, token)} == used & {*ids}, name


def test_merges_that_lead_past_a_token():
    """`bc` is merged before `ab` is, so `abc` never comes of its own two parts."""
    letters = ["<end>", "a", "b", "c", "bc", "ab", "abc"]
    merges = [("b", "c"), ("a", "b"), ("ab", "c")]
    ids = {letter: index for index, letter in enumerate(letters)}
    tokenizer = toy.with_pretokenizer(models.BPE(ids, merges), toy.WHOLE)
    tokenizer.add_special_tokens(["<end>"])
    tokenization = toy.tokenization_of(tokenizer)

    assert [reachable(tokenization, ids[letter]) for letter in ("ab", "bc", "abc")] == [
        *(True, True, False)
    ]


def test_sentencepiece(tmp_path):
    """A byte's token only where a character has none, and every piece that the method makes."""
    with spm.toy(tmp_path) as tokenization:
        vocabulary = tokenization.vocabulary
        found = {token for token in range(3, len(vocabulary)) if reachable(tokenization, token)}
        split = {piece for text in texts("ab (1é", 6) for piece in spm.split(text)}

        pieces = range(3 + 256, len(vocabulary))
        assert {vocabulary[token] for token in found if token in pieces} == split
        single = {vocabulary[token][0] for token in found if token not in pieces}
        assert single == {*range(128)} - {*b"ab (1"} | {*range(0x80, 0xC0), *range(0xC2, 0xF5)}


class TestRealVocabularies:
    """What is in their files and was never in a text."""

    @pytest.mark.parametrize(
        ("name", "never", "always"),
        [
            ("gemma-4", ["<unused299>", "[multimodal]"], ["    ", "\n\n", " return", "日本"]),
            ("baichuan", ["<reserved_8>", "</img>"], [" return", "的"]),
            ("qwen2", ["พื้น"], [" return", "    ", "\n\n", "'s", "1"]),
            ("deepseek-coder", [" segü"], [" return", "ü"]),
        ],
    )
    def test_names(self, name, never, always):
        """Reserved names that files call normal; words that the pretokenizer always splits."""
        with tokenization_of_file(file_of(name)) as tokenization:
            assert [text for text in never if any(_reachable(tokenization, text))] == []
            assert [text for text in always if not any(_reachable(tokenization, text))] == []

    def test_two_tokens_of_one_text(self):
        """Where five blanks were added, the ones that merges made are out of use."""
        with tokenization_of_file(file_of("mpt")) as tokenization:
            assert sorted(_reachable(tokenization, " " * 5)) == [False, True]

    def test_bytes_that_are_in_no_text(self):
        """C0, C1 and F5 to FF begin no character."""
        with tokenization_of_file(file_of("starcoder")) as tokenization:
            ids = tokenization.vocabulary.byte_ids()
            found = {byte for byte, token in ids.items() if reachable(tokenization, token)}

        assert found == ids.keys() - {0xC0, 0xC1, *range(0xF5, 0x100)}


def _reachable(tokenization: Tokenization, text: str) -> list[bool]:
    found = tokenization.trie.spelling(text.encode())
    assert found, text
    return [reachable(tokenization, token) for token in found]


def test_other_encoders_are_believed():
    """Where pairs are not merged, nothing is known, and nothing is left out."""
    tokenization = toy.other("wordpiece")[1]

    assert all(reachable(tokenization, token) for token in np.arange(len(tokenization.vocabulary)))
