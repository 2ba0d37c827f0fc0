"""Tokens that go along many names at once, against looking at each name alone."""

import doctest

from hypothesis import given
from hypothesis import strategies as st

from healing import spelled
from healing.spelled import Endings, parts_of
from tests.healing import toy

NAMES = st.lists(st.text("ab 1(", max_size=6).map(str.encode), unique=True, max_size=12)


def test_the_example_is_right():
    """The module's own example."""
    assert doctest.testmod(spelled).failed == 0


@given(st.sampled_from(sorted(toy.SPLITS)), NAMES, st.sampled_from([b"", b"a", b" ("]))
def test_parts_are_those_of_each_name(split, names, owed):
    """A run holds a name exactly if its token begins the name and is longer than what is owed."""
    trie = toy.toy(split)[1].trie
    ordered = sorted(owed + name for name in names)

    parts = list(parts_of(ordered, trie, len(owed)))

    found = [
        {part.token for part in parts if part.first <= index < part.end}
        for index in range(len(ordered))
    ]
    vocabulary = toy.toy(split)[1].vocabulary
    assert found == [
        {token for token in trie.prefixes_of(name) if len(vocabulary[token]) > len(owed)}
        for name in ordered
    ]
    assert len({(part.token, part.first) for part in parts}) == len(parts)


@given(
    st.sampled_from(sorted(toy.SPLITS)), st.text("ab 1(", max_size=3), st.sets(st.integers(0, 255))
)
def test_endings_are_those_of_each_token(split, rest, word):
    """A token ends a name if it starts with the rest and a byte of no name comes next."""
    tokenization = toy.toy(split)[1]
    data = rest.encode()

    found = Endings(tokenization.vocabulary, tokenization.trie, frozenset(word)).after(data)

    assert sorted(found.tolist()) == [
        token
        for token in sorted(tokenization.trie.ids.tolist())
        if (piece := tokenization.vocabulary[token]).startswith(data)
        and len(piece) > len(data)
        and piece[len(data)] not in word
    ]
