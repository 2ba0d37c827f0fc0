"""Kept states: moved from text to text, they are the states that new ones would be."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.grammar.kept import KeptStates, common_prefix
from server.grammar.state import TooSlow, compile_grammar
from tests.server.grammar.toys import BRACKETS, WILD, brackets

texts = st.lists(st.text("ab([)], \n", max_size=200).map(str.encode), min_size=1, max_size=8)


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=40))
def test_common_prefix(shared, one, other):
    """The length of the longest start that two texts share."""
    one, other = shared + one, shared + other
    length = common_prefix(one, other)

    assert one[:length] == other[:length]
    assert length == min(len(one), len(other)) or one[length] != other[length]


@given(texts)
def test_same_as_new(edited):
    """After any edits, right or wrong, a kept state is a new one at the same text."""
    kept = KeptStates()
    for text in edited:
        moved = kept.move(("a", "whole"), brackets, text, 10)
        new = brackets.state()

        assert moved.fits == new.feed(text) == moved.state.fed
        assert moved.state.accepting == new.accepting
        for more in (b"a", b")", b"]", b"()", b"\x00"):
            assert moved.state.check(more) == new.check(more)


def test_only_the_difference_is_fed():
    """A keystroke at the end of a long text costs a keystroke: the same state goes on."""
    kept = KeptStates()
    first = kept.move(("a", "whole"), brackets, b"(a" * 300, 10).state
    again = kept.move(("a", "whole"), brackets, b"(a" * 300 + b")", 10)

    assert again.state is first
    assert again.fits == 601


def test_another_grammar():
    """Another version of a grammar starts anew."""
    kept = KeptStates()
    kept.move(("a", "whole"), brackets, b"(a", 10)
    moved = kept.move(("a", "whole"), compile_grammar("x", 'start: "(" "b"'), b"(a", 10)

    assert moved.fits == 1


def test_few_states():
    """The least recently used ones are freed, and those of a document that is closed."""
    kept = KeptStates(most=2)
    first = kept.move(("a", "whole"), brackets, b"a", 10).state
    kept.move(("b", "whole"), brackets, b"b", 10)
    assert kept.move(("a", "whole"), brackets, b"a", 10).state is first
    kept.move(("c", "whole"), brackets, b"c", 10)
    assert len(kept) == 2
    assert kept.move(("a", "whole"), brackets, b"a", 10).state is first

    kept.forget("a")
    assert len(kept) == 1


def test_reading_goes_on():
    """What takes too long is read on by the next call."""
    kept = KeptStates()
    template = compile_grammar("long", BRACKETS)
    text = b"(a" * 20_000
    calls = 0
    moved = None
    with pytest.raises(TooSlow, match="takes longer than 0 ms"):
        kept.move(("a", "whole"), template, text, 1e-4)
    while moved is None:
        calls += 1
        assert calls < 1000
        with suppress(TooSlow):
            moved = kept.move(("a", "whole"), template, text, 1e-3)

    assert moved.fits == len(text)


def test_too_ambiguous():
    """A grammar that is too ambiguous for a text is not tried again on it, but on others."""
    kept = KeptStates()
    template = compile_grammar("wild", WILD)
    with pytest.raises(TooSlow):
        kept.move(("a", "whole"), template, b"a" * 4000, 20)
    with pytest.raises(TooSlow, match="too ambiguous"):
        kept.move(("a", "whole"), template, b"a" * 4001, 0)

    assert kept.move(("a", "whole"), template, b"aab", 1).fits == 2
