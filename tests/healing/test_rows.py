"""The cache of rows, against a plain list of what was used last."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from healing.rows import RowCache
from healing.sampling import log_normaliser

PATHS = st.lists(st.integers(0, 2), max_size=2).map(tuple)


class TestRowCache:
    """The most recently used rows, by path."""

    @given(st.integers(1, 4), st.lists(st.tuples(st.sampled_from(["add", "get"]), PATHS)))
    def test_keeps_the_most_recently_used(self, capacity, steps):
        """Adding and reading both count as use; looking whether it is there does not."""
        cache, used = RowCache(capacity), []
        for number, (step, path) in enumerate(steps):
            if step == "add":
                cache.add(path, np.array([number]))
            elif path not in cache:
                continue
            else:
                assert len(cache[path]) == 1
            used = [path, *(other for other in used if other != path)][:capacity]

            assert set(cache) == set(used)
            assert len(cache) == len(used)

    @given(st.lists(st.tuples(PATHS, st.floats(-5, 5), st.sampled_from([0.5, 1.0]))))
    def test_normalisers(self, steps):
        """They are those of the rows that are there, at any temperature, however often asked."""
        cache, rows = RowCache(3), {}
        for path, logit, temperature in steps:
            rows[path] = np.array([logit, 1.0, -1.0])
            cache.add(path, rows[path])

            for known in cache:
                found = cache.normaliser(known, temperature)
                assert found == log_normaliser(rows[known], temperature)
                assert found == cache.normaliser(known, temperature)

    def test_normaliser_of_nothing(self):
        with pytest.raises(KeyError):
            RowCache().normaliser((1,), 1.0)

    def test_keeps_copies(self):
        """An engine may write its next rows where this one was."""
        cache, row = RowCache(), np.array([1.0, 2.0])
        cache.add((1,), row)
        row[0] = 5

        assert cache[(1,)].tolist() == [1, 2]

    def test_has_only_what_was_added(self):
        """A path that is not there is a KeyError, as in every mapping."""
        with pytest.raises(KeyError):
            RowCache()[(1,)]

    def test_refuses_to_hold_nothing(self):
        """A capacity of zero would lose the row that was just evaluated."""
        with pytest.raises(ValueError, match="at least one row, not 0"):
            RowCache(0)
