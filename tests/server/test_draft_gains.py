"""How long a draft is: what is believed, what is measured, what is forgotten."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from server.draft_gains import LENGTHS, LONGEST, Gains
from server.drafts import SIZES


def measured(costs, rounds=20, single=0.05):
    """Gains on a machine with these costs of batches."""
    gains = Gains()
    for _ in range(rounds):
        gains.took(1, single)
        for size, cost in costs.items():
            gains.took(size, single * cost)
    return gains


def seen(gains, match, share, count=400):
    """Let a share of guesses after a match hold."""
    for index in range(count):
        gains.saw(match, index * share % 1 + share >= 1)
    return gains


def test_what_is_believed():
    """On a CPU only what nearly always holds is drafted, on a GPU much more."""
    assert Gains().best_length([4] * LONGEST) == 0
    assert Gains().best_length([64] * LONGEST) > 0
    assert Gains(1.0).best_length([16] * LONGEST) > 0
    assert Gains(1.0).best_length([64] * LONGEST) == LONGEST


def test_costs_are_measured():
    """Costs go from what was believed to what was measured, also of sizes in between."""
    cheap, dear = measured({4: 1.1, 16: 1.4}), measured({4: 4.0, 8: 8.0, 12: 12.0, 16: 16.0})

    assert cheap.cost(4) == pytest.approx(1.1, abs=0.4)
    assert dear.cost(16) == pytest.approx(16, abs=1.5)
    assert cheap.cost(8) < Gains().cost(8) < dear.cost(8)
    assert Gains().best_length([64] * LONGEST) > dear.best_length([64] * LONGEST) == 0
    assert cheap.best_length([24] * LONGEST) > Gains().best_length([24] * LONGEST) == 0


def test_acceptance_is_measured():
    """What never holds is not drafted any more; what always does is drafted as far as it goes."""
    never, always = seen(Gains(), 64, 0.0), seen(Gains(), 4, 1.0)

    assert never.acceptance(64) < 0.2
    assert never.best_length([64] * LONGEST) == 0
    assert always.acceptance(4) > 0.8
    assert always.best_length([4] * LONGEST) > 0
    assert always.acceptance(64) == Gains().acceptance(64)


def test_one_slow_moment():
    """One pass that another program held up changes little."""
    gains = measured({4: 2.0})
    before = gains.cost(4)

    gains.took(4, 5.0)

    assert gains.cost(4) == pytest.approx(before, rel=0.05)


def test_slow_times_are_forgotten():
    """Drafts that were dear are tried again after a while, though nothing new is known of them."""
    gains = measured(dict.fromkeys((2, 4, 8, 12, 16), 40.0))
    assert gains.best_length([64] * LONGEST) == 0

    for _ in range(600):
        gains.took(1, 0.05)

    assert gains.best_length([64] * LONGEST) > 0


def test_a_machine_that_gets_slower():
    """Batches are compared with single steps of their own time."""
    gains = measured({4: 2.0})
    slower = measured({4: 2.0}, single=0.2)
    for _ in range(20):
        gains.took(1, 0.2)
        gains.took(4, 0.4)

    assert gains.cost(4) == pytest.approx(slower.cost(4), rel=0.05)


@given(
    st.lists(st.tuples(st.integers(1, LONGEST + 1), st.floats(1e-4, 10)), max_size=60),
    st.lists(st.tuples(st.sampled_from(SIZES), st.booleans()), max_size=60),
    st.lists(st.integers(1, 200), max_size=LONGEST + 5),
    st.floats(0, 1),
)
def test_always_a_length(times, fates, matches, share):
    """Whatever is measured: no draft, or one of the lengths that is there; costs are no gift."""
    gains = Gains(share)
    for size, seconds in times:
        gains.took(size, seconds)
    for match, held in fates:
        gains.saw(match, held)

    assert gains.best_length(sorted(matches)) in {0, *LENGTHS}
    assert gains.best_length(sorted(matches)) <= len(matches)
    if gains.best_length(sorted(matches)):
        assert gains.least_match() <= max(SIZES[0], min(matches))
    assert all(gains.cost(size) >= 1 for size in range(1, LONGEST + 2))
    assert all(0 <= gains.acceptance(match) <= 1 for match in matches)


@given(
    st.floats(0, 1),
    st.lists(
        st.tuples(st.integers(1, LONGEST + 1), st.floats(1e-4, 10), st.sampled_from([0, 0, 400])),
        max_size=30,
    ),
)
@example(0.0, [(1, 1.0, 0), (3, 1.0, 400), (1, 1.0, 400)])  # the last cost is forgotten
def test_costs_are_remembered(share, times):
    """Asking in between changes nothing: neither what is measured later nor what is forgotten."""
    asked, fresh = Gains(share), Gains(share)
    for size, seconds, steps in times:
        for gains in (asked, fresh):
            gains.took(size, seconds)
            for _ in range(steps):
                gains.took(1, seconds)
        asked.cost(1 + size % LONGEST)
        asked.best_length([64] * LONGEST)
        asked.least_match()

    assert asked.least_match() == fresh.least_match()
    sizes = range(1, LONGEST + 2)
    assert [asked.cost(size) for size in sizes] == [fresh.cost(size) for size in sizes]
