"""The merge-order test against the byte-pair encoding of `tokenizers` itself."""

from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from healing import merges
from healing.covers import covering_tree
from healing.merges import Merges
from tests.healing import toy
from tests.healing.real import file_of, tokenization_of_file
from tests.healing.structure import holds

CORPORA = {
    "repeats": "abababab aabbaabb aaaaaaa bbbbbbb abbaabba " * 3,
    "nested": "abcabcd bcdbcd cdcd ddd abcdabcd dcba " * 3,
    "runs": "aaaa" * 9 + "b" * 17 + "ab" * 9 + "ba" * 5,
    "mixed": toy.CORPUS.replace("\n", " ").replace(" ", ""),
}


def trained(corpus: str, size: int) -> tuple[Tokenizer, Merges, dict[str, int]]:
    """A byte-pair tokenizer without a pretokenizer, its merges and its ids."""
    tokenizer = toy.byte_level(toy.WHOLE, corpus, size, 8)
    ids = tokenizer.get_vocab()
    return tokenizer, toy.merges_of(tokenizer, len(ids)), ids


@cache
def by_name(name: str) -> tuple[Tokenizer, Merges, dict[str, int]]:
    return trained(CORPORA[name], 60)


def check_all_pairs(tokenizer: Tokenizer, merges: Merges, ids: dict[str, int]) -> int:
    """Both directions for every pair of tokens; returns how many pairs are separate."""
    tokens = [(text, i) for text, i in ids.items() if text != "<end>"]
    pairs = list(product(tokens, repeat=2))
    # `Ġ` and the like are letters of the byte-level alphabet; these corpora spell plain ASCII.
    texts = [(a + b).replace("Ġ", " ") for (a, _), (b, _) in pairs]
    found = tokenizer.encode_batch_fast(texts)
    count = 0
    for ((_, a), (_, b)), encoding in zip(pairs, found, strict=True):
        assert merges.separate(a, b) == (encoding.ids == [a, b]), (a, b)
        count += encoding.ids == [a, b]
    return count


class TestSeparate:
    """Two tokens can be neighbours if and only if their text is encoded as these two."""

    @pytest.mark.parametrize("name", CORPORA)
    def test_agrees_with_the_encoder_on_every_pair(self, name):
        """Some thousand pairs a vocabulary, those that are separate and those that are not."""
        tokenizer, merges, ids = by_name(name)

        count = check_all_pairs(tokenizer, merges, ids)

        assert 0 < count < (len(ids) - 1) ** 2

    @settings(deadline=None, max_examples=30)
    @given(st.text("abc", min_size=8, max_size=60), st.integers(6, 24))
    def test_agrees_for_any_corpus(self, corpus, size):
        """Merge lists learned from random text, with all their ties and repetitions."""
        check_all_pairs(*trained(corpus, size))

    @settings(deadline=None, max_examples=200)
    @given(st.sampled_from(sorted(CORPORA)), st.data())
    def test_neighbours_in_an_encoding_are_separate(self, name, data):
        """However long the text is."""
        tokenizer, merges, ids = by_name(name)
        letters = sorted(token for token in ids if len(token) == 1 and token != "Ġ")
        text = data.draw(st.text(letters, max_size=40))

        assert all(merges.separate(a, b) for a, b in pairwise(tokenizer.encode(text).ids))

    @settings(deadline=None, max_examples=200)
    @given(st.sampled_from(sorted(CORPORA)), st.data())
    def test_separate_neighbours_are_an_encoding(self, name, data):
        """A path is how its text is encoded if all its neighbours are separate, and only then."""
        tokenizer, merges, ids = by_name(name)
        names = sorted(token for token in ids if token != "<end>")
        path = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=6))
        wanted = [ids[token] for token in path]

        split = tokenizer.encode("".join(path).replace("Ġ", " ")).ids
        apart = all(merges.separate(a, b) for a, b in pairwise(wanted))
        assert apart == (split == wanted)


class TestMerges:
    """By hand: the merges `a b` and `ab c`."""

    MERGES = Merges(np.array([(0, 1, 3), (3, 2, 4)], dtype=np.int32), 5)

    @pytest.mark.parametrize(
        ("left", "right", "separate"),
        [(0, 1, False), (3, 2, False), (0, 2, True), (1, 2, True), (2, 0, True), (4, 4, True)],
        ids=["a|b", "ab|c", "a|c", "b|c", "c|a", "abc|abc"],
    )
    def test_separate(self, left, right, separate):
        """`ab` takes a `c` in; a lone `a` or `b` does not."""
        assert self.MERGES.separate(left, right) == separate

    def test_an_empty_list_joins_nothing(self):
        """A vocabulary of single bytes."""
        assert Merges(np.empty((0, 3), dtype=np.int32), 2).separate(0, 1)

    def test_large_tables(self, monkeypatch):
        """A table is read in pieces; of a merge that is listed twice the first one counts."""
        table = np.array([(0, 1, 3), (3, 2, 4), (0, 1, 3), (1, 2, 5), (3, 2, 4)], dtype=np.int32)
        whole = Merges(table, 6)._ranks
        monkeypatch.setattr(merges, "PIECE", 2)

        assert Merges(table, 6)._ranks == whole == {1: 0, 20: 1, 8: 3}

    @pytest.mark.parametrize(
        ("table", "message"), [([(0, 1)], "three columns"), ([(0, 1, 2)], "vocabulary of 2")]
    )
    def test_refuses_wrong_tables(self, table, message):
        """Ids outside the vocabulary are found at once."""
        with pytest.raises(ValueError, match=message):
            Merges(np.array(table, dtype=np.int32), 2)


class TestAdditions:
    """Runs of blanks that were added to GPT-NeoX's vocabulary, as MPT has it."""

    @pytest.mark.parametrize(
        ("left", "right", "separate"),
        [
            ("    ", "return", True),
            ("    ", " return", False),
            ("    ", "     ", False),
            (" " * 24, " " * 6, True),
            (" " * 6, " " * 24, False),
            ("\n", "    ", True),
            (" return", "    ", True),
            (" ret", "urn", False),
        ],
    )
    def test_a_run_is_as_long_as_it_can_be(self, left, right, separate):
        """The longest one comes first, and a word after a run has no blank of its own."""
        with tokenization_of_file(file_of("mpt")) as tokenization:
            pair = [tokenization.encode(text.encode()) for text in (left, right)]

            assert [len(ids) for ids in pair] == [1, 1]
            assert tokenization.merges.separate(pair[0][0], pair[1][0]) == separate

    def test_they_are_text(self):
        """Typed blanks become the tokens that they were in training, and are gone on with."""
        with tokenization_of_file(file_of("mpt")) as tokenization:
            vocabulary = tokenization.vocabulary
            ids = tokenization.encode(b"if x:\n        return")

            assert [vocabulary[token] for token in ids] == [
                *(b"if", b" x", b":", b"\n", b"        ", b"return")
            ]
            assert set(ids) <= set(vocabulary.text_ids().tolist())
            assert holds(covering_tree(b"if x:\n    ", tokenization), ids)
            assert holds(covering_tree(b"if x:\n        ", tokenization), ids)
