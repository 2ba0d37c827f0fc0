"""The prefix trie against a twin that looks at every token."""

from hypothesis import given
from hypothesis import strategies as st

from healing.trie import PrefixTrie, successor
from healing.vocabulary import TokenKind, Vocabulary

SHORT = st.lists(st.sampled_from([0x00, 0x61, 0x62, 0xFE, 0xFF]), max_size=4).map(bytes)
"""Few byte values, so that prefixes and equal spellings are common; 0xFF has no successor."""
TOKENS = st.lists(st.tuples(SHORT, st.sampled_from(list(TokenKind))), max_size=30)


def vocabulary_of(tokens: list[tuple[bytes, TokenKind]]) -> Vocabulary:
    return Vocabulary.from_tokens([token for token, _ in tokens], [kind for _, kind in tokens])


def in_byte_order(vocabulary: Vocabulary) -> list[int]:
    return sorted(vocabulary.text_ids().tolist(), key=lambda i: (vocabulary[i], i))


class TestPrefixTrie:
    """Each query says what a look at every token says."""

    @given(TOKENS, SHORT)
    def test_finds_tokens_that_start_with_bytes(self, tokens, prefix):
        """`starting_with` has the equal ones too, `extending` only longer ones; in byte order."""
        vocabulary = vocabulary_of(tokens)
        trie = PrefixTrie.build(vocabulary)
        found = [i for i in in_byte_order(vocabulary) if vocabulary[i].startswith(prefix)]

        assert trie.starting_with(prefix).tolist() == found
        assert trie.extending(prefix).tolist() == [i for i in found if vocabulary[i] != prefix]
        assert trie.is_extended(prefix) == any(vocabulary[i] != prefix for i in found)
        assert trie.spelling(prefix) == [i for i in found if vocabulary[i] == prefix]

    @given(TOKENS, SHORT)
    def test_finds_tokens_that_bytes_start_with(self, tokens, text):
        """`prefixes_of` has them shortest first."""
        vocabulary = vocabulary_of(tokens)
        found = [i for i in in_byte_order(vocabulary) if text.startswith(vocabulary[i])]

        assert PrefixTrie.build(vocabulary).prefixes_of(text) == found

    def test_reports_its_memory(self):
        """Every spelling counts."""
        small = PrefixTrie.build(vocabulary_of([(b"a", TokenKind.NORMAL)]))
        large = PrefixTrie.build(vocabulary_of([(b"a" * 1000, TokenKind.NORMAL)]))

        assert large.memory_bytes() - small.memory_bytes() == 999


@given(st.binary(max_size=5), st.binary(max_size=5), st.binary(max_size=3))
def test_successor_is_the_least_upper_bound(prefix, other, more):
    """It is after everything that starts with the prefix, and before all else that is after it."""
    after = successor(prefix)

    assert after is None or prefix + more < after
    assert after is not None or set(prefix) <= {0xFF}
    if other > prefix and not other.startswith(prefix):
        assert after is not None
        assert other >= after
