"""How long is waited for the next key."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server import rhythm
from server.rhythm import LONGEST_S, SHARE, SHORTEST_S, TYPING_S, Rhythm

seconds = st.floats(0, 1e4)


def typed(*gaps):
    """The rhythm of somebody who typed with these gaps, in seconds."""
    found, now = Rhythm(), 100.0
    found.key(now)
    for gap in gaps:
        now += gap
        found.key(now)
    return found


def test_example():
    """The module's example is right."""
    assert doctest.testmod(rhythm).failed == 0


def test_nothing_known():
    """Before the second key nothing is waited for, whatever the model."""
    assert typed().pause() == typed().pause(5.0) == SHORTEST_S


def test_rhythm_alone():
    """Where the model was not measured, the pause is a part of the gap."""
    assert typed(0.2, 0.2, 0.2).pause() == pytest.approx(SHARE * 0.2)


def test_pauses_are_no_rhythm():
    """Who stops to think types as fast as before."""
    assert typed(0.2, 0.2, 30.0, 0.2).pause() == typed(0.2).pause()


@pytest.mark.parametrize(("first_text_s", "share"), [(0.05, 0.5), (0.2, 1.0), (0.45, 1.5)])
def test_model(first_text_s, share):
    """A fast model waits less, a slow one more."""
    assert typed(0.2).pause(first_text_s) == pytest.approx(share * SHARE * 0.2)


def test_lately():
    """Who begins to type faster has a shorter pause after some keys."""
    assert typed(*[0.3] * 30, *[0.1] * 30).pause() == pytest.approx(SHARE * 0.1)


@given(st.lists(seconds, max_size=30), seconds | st.none())
def test_bounds(gaps, first_text_s):
    """Whatever was measured, the pause is within its bounds."""
    assert SHORTEST_S <= typed(*gaps).pause(first_text_s) <= LONGEST_S


@given(st.lists(seconds, max_size=9), seconds, seconds)
def test_never_less_for_a_slower_model(gaps, one, other):
    """The slower the model, the longer the pause, or it stays the same."""
    rhythm = typed(*gaps)

    assert rhythm.pause(min(one, other)) <= rhythm.pause(max(one, other))


@given(st.lists(st.floats(0, 2), max_size=5), st.floats(0, 10))
def test_a_moment_after_a_key(gaps, later):
    """Whoever has just pressed a key is typing; before the first key nobody is."""
    found = typed(*gaps)
    now = 100.0
    for gap in gaps:
        now += gap

    assert found.is_typing(now + later) == (now + later - now < TYPING_S)
    assert not Rhythm().is_typing(later)
