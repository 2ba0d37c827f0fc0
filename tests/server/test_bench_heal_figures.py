"""`midtoken bench heal`: figures with their intervals, and plots of them."""

import pytest

from server.bench.heal.plots import plot
from server.bench.heal.statistics import difference_of, mean_of


class TestStatistics:
    def test_interval(self):
        """The interval is around the mean, the same every time, and narrower with more values."""
        few, many = mean_of([0, 1] * 10), mean_of([0, 1] * 200)
        assert few == mean_of([0, 1] * 10)
        assert few.low < few.mean == 0.5 < few.high
        assert many.high - many.low < few.high - few.low

    def test_pairs(self):
        """A constant difference has no spread, however spread the values are."""
        found = difference_of([1.0, 5.0, 9.0], [0.0, 4.0, 8.0])
        assert (found.mean, found.low, found.high) == (1.0, 1.0, 1.0)

    def test_none_in_a_row(self):
        """That something was never seen does not say that it can't be: 3 of 300 in a hundred."""
        never, always = mean_of([False] * 300), mean_of([True] * 60)
        assert (never.mean, never.low, never.high) == (0.0, 0.0, pytest.approx(0.0122, abs=1e-4))
        assert (always.low, always.high) == (pytest.approx(0.9404, abs=1e-4), 1.0)
        same = difference_of([True] * 9, [True] * 9)
        assert (same.low, same.high) == (0.0, 0.0)

    def test_values_of_one_place(self):
        """Values that belong together are drawn together: five times the same is no news."""
        values = [value for value in (0, 1) * 10 for _ in range(5)]
        places = [place for place in range(20) for _ in range(5)]
        alone, together = mean_of(values), mean_of(values, places)
        assert together.mean == alone.mean == 0.5
        assert (together.low, together.high) == (
            mean_of([0, 1] * 10).low,
            mean_of([0, 1] * 10).high,
        )
        assert together.high - together.low > 2 * (alone.high - alone.low)
        assert mean_of([False] * 100, places).high == mean_of([False] * 20).high

    def test_nothing(self):
        """No values have no mean."""
        assert mean_of([]).mean is None


def test_plots(tmp_path):
    """Bars with their intervals, as PNG and SVG."""
    mean = {"count": 2, "mean": 0.5, "low": 0.2, "high": 0.8, "median": 0.5}
    methods = {"off": {"token_right": mean}, "exact": {"token_right": mean}}
    figures = {
        "scores": {"left": {"line start": {"methods": methods}}, "fim": {}},
        "repeat": {"code, inside a token": {"writing": {"exact": {"line": mean}}}},
    }
    written = plot(figures, tmp_path)
    assert [path.name for path in written] == [
        *("heal-tokens-left.png", "heal-tokens-left.svg", "heal-repeat.png", "heal-repeat.svg")
    ]
    assert all(path.stat().st_size > 1000 for path in written)
