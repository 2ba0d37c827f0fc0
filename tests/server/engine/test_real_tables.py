"""Tests of the tables of real vocabularies: they agree with llama.cpp and with `tokenizers`."""

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from healing.vocabulary import TokenKind, Vocabulary
from server.engine.gguf import read_metadata
from server.engine.llama_library import load_library
from server.engine.llama_vocabulary import vocabulary_of
from server.engine.tables import build_tables, load_tables
from server.models import store
from server.models.catalog import DEFAULT_MODEL
from tests.server.engine.same_tables import same
from tests.vocabularies import BYTE_LEVEL, PLAIN, vocabularies, vocabulary_only


class TestRealVocabularies:
    @pytest.mark.parametrize("name", [*BYTE_LEVEL, *PLAIN])
    def test_agrees_with_llama_cpp(self, name):
        """Bytes, kinds and the beginning-of-sequence rule are llama.cpp's, for every vocabulary."""
        path = vocabularies()[name]
        tables = build_tables(read_metadata(path))
        with vocabulary_only(path) as pointer:
            reference = vocabulary_of(pointer)
            add_bos = bool(load_library().llama_vocab_get_add_bos(pointer))

        assert_agree(tables.vocabulary, reference)
        assert tables.add_bos == add_bos
        assert tables.byte_level == (name in BYTE_LEVEL)
        assert tables.skipped_merges == 0

    def test_all_are_tested(self):
        """The lists of names are what the archive has."""
        assert sorted(vocabularies()) == sorted([*BYTE_LEVEL, *PLAIN])

    @pytest.mark.model
    def test_three_sources_agree_on_the_default_model(self, tmp_path):
        """Metadata, llama.cpp and a tokenizer made of the same lists give one vocabulary."""
        path = store.resolve(DEFAULT_MODEL)
        metadata = read_metadata(path)
        tables = load_tables(path, tmp_path)
        with vocabulary_only(path) as pointer:
            assert_agree(tables.vocabulary, vocabulary_of(pointer))

        tokenizer = rebuilt_tokenizer(
            [token.decode() for token in metadata.strings("tokenizer.ggml.tokens")][:151_643],
            [merge.decode() for merge in metadata.strings("tokenizer.ggml.merges")],
        )
        third = Vocabulary.from_tokenizer(tokenizer)
        assert len(third) == 151_643
        assert all(third[i] == tables.vocabulary[i] for i in range(len(third)))
        # The name of one ordinary token looks like structure; see STRUCTURE_NAMES.
        normal = [i for i in range(len(third)) if third[i] != b"</s>"]
        assert tables.vocabulary.text_ids().tolist() == normal == third.text_ids()[normal].tolist()
        assert same(load_tables(path, tmp_path), tables)


def assert_agree(ours: Vocabulary, reference: Vocabulary) -> None:
    """The same bytes and kinds, but for tokens that llama.cpp cannot spell."""
    assert len(ours) == len(reference)
    # Some files call tokens normal that are not written in their alphabet.
    odd = [i for i in range(len(ours)) if reference[i].startswith(b"[UNK_BYTE_")]
    assert (ours.kinds[odd] == TokenKind.UNUSED).all()
    rest = np.setdiff1d(np.arange(len(ours)), odd).astype(np.int64)
    assert np.array_equal(ours.kinds[rest], reference.kinds[rest])
    assert [ours[i] for i in rest.tolist()] == [reference[i] for i in rest.tolist()]


def rebuilt_tokenizer(tokens: list[str], merges: list[str]) -> Tokenizer:
    """A tokenizer of the Hugging Face kind from a file's tokens and merges."""
    pairs = [tuple(merge.split(" ")) for merge in merges]
    ids = {token: index for index, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer
