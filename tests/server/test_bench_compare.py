"""Figures of two suggesters: ratios with their intervals, tables, and what is written down."""

import json
import math

import pytest

from server.bench.typing.comparison import compare, interval, saved_share
from server.bench.typing.plots import plot
from server.bench.typing.record import Judged, Record, Stretch, together
from server.bench.typing.report import comparison_rows, language_rows, markdown, results_of
from server.bench.typing.settings import settings_of
from server.bench.typing.suggesters import Usage, cpu_seconds
from server.errors import UsageError


def run(keys, needed=40, new_ms=(), language="python", count=8, part=""):
    """A run of equal stretches."""
    record = Record(keys={"character": keys * count}, tokens=100, cpu_s=2.0)
    for _ in range(count):
        shown = [Judged(line_right=True, word_right=True, doubled=False, slip=False)]
        stretch = Stretch(language, keys, needed, shown, list(new_ms), [0.0, *new_ms], part)
        record.stretches.append(stretch)
    return record


class TestComparison:
    def test_equal_stretches(self):
        """Where all stretches are the same, there is no doubt."""
        assert interval(run(30)) == {"value": 0.25, "low": 0.25, "high": 0.25}
        assert compare(run(30, new_ms=[10.0]), run(35, new_ms=[40.0])) == {
            "keystrokes_saved_more": {"value": 0.125, "low": 0.125, "high": 0.125},
            "keystrokes_saved": {"value": 2.0, "low": 2.0, "high": 2.0},
            "new_suggestion_ms": {"value": 0.25, "low": 0.25, "high": 0.25},
            "on_screen_ms": {"value": 0.25, "low": 0.25, "high": 0.25},
            "stretches": 8,
        }

    def test_spread(self):
        """Stretches that differ give an interval around the value."""
        mixed = together([run(20), run(40)])
        found = interval(mixed)

        assert found["low"] < found["value"] == 0.25 < found["high"]

    def test_same_draws(self):
        """What is hard for both does not blur their ratio."""
        ours = together([run(20), run(36)])
        peer = together([run(30), run(38)])

        assert compare(ours, peer)["keystrokes_saved"]["low"] == pytest.approx(2.0)

    def test_a_part_in_fewer_stretches(self):
        """One stretch less at the beginning does not put all later ones beside others' text."""
        ours = together([run(20, part="a", count=7), run(36, part="b")])
        peer = together([run(30, part="a"), run(38, part="b")])
        found = compare(ours, peer)

        assert found["stretches"] == 15
        # Saved is 20 of 40 against 10 in `a`, and 4 against 2 in `b`: twice as much in every draw.
        ratio = found["keystrokes_saved"]
        assert ratio["low"] == ratio["high"] == pytest.approx(2.0)

    def test_nothing_saved(self):
        """A peer that saves nothing gives no ratio, and nothing typed no share."""
        found = compare(run(30), run(40))

        assert found["keystrokes_saved_more"]["value"] == 0.25
        assert found["keystrokes_saved"] == {"value": None, "low": None, "high": None}
        assert math.isnan(saved_share([]))
        assert interval(Record())["value"] is None


class TestRecord:
    def test_together(self):
        """Two runs as one: sums, and the worst of what is worst."""
        one, other = run(30), run(20)
        one.details = {"started": 1, "worst_loop_delay_ms": 5.0}
        other.details = {"started": 2, "worst_loop_delay_ms": 3.0}
        whole = together([one, other])

        assert (whole.pressed, whole.needed, whole.tokens, whole.cpu_s) == (400, 640, 200, 4.0)
        assert whole.details == {"started": 3, "worst_loop_delay_ms": 5.0}

    def test_unknown_time(self):
        """A system that tells no processor time gives none."""
        record = Record()
        record.take_usage(Usage(5, None, {}), Usage(9, None, {}))

        assert (record.tokens, record.cpu_s) == (4, None)
        assert together([run(30), record]).cpu_s is None
        assert cpu_seconds(None) is None


class TestSettings:
    def test_values(self):
        """JSON, or a word; several with commas between them."""
        assert settings_of(["completion.stopUnsure=0.5", "trigger.debounce=auto"]) == {
            "completion.stopUnsure": 0.5,
            "trigger.debounce": "auto",
        }
        given = ['filters.bans=["a", "b="],trigger.minConfidence=1,engine.idleWork=false']
        assert settings_of(given) == {
            "filters.bans": ["a", "b="],
            "trigger.minConfidence": 1,
            "engine.idleWork": False,
        }

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ("completion.stopUnsure", "is no setting"),
            ("completion.stopUnsur=0.3", "completion.stopUnsure meant"),
            ("completion.stopUnsure=2", "completion.stopUnsure"),
            ("=1", "no option"),
        ],
    )
    def test_wrong(self, given, said):
        """What is wrong is told before anything is loaded."""
        with pytest.raises(UsageError, match=said):
            settings_of([given])


class TestReport:
    @pytest.fixture
    def records(self):
        return {
            "midtoken": {"python": run(30, new_ms=[10.0]), "go": run(36, language="go")},
            "llama-server": {"python": run(35, new_ms=[40.0]), "go": run(40, language="go")},
        }

    def test_rows(self, records):
        """Each figure stands beside the peer's."""
        figures = json.loads(json.dumps(results_of(records)))
        rows = {row[0]: row[1:] for row in comparison_rows(figures)}

        assert rows["right in the first word"] == ["100.0 %", "100.0 %", ""]
        assert rows["key to new suggestion: median, 90 %"][:2] == [
            "10, 10 ms (8)",
            "40, 40 ms (8)",
        ]
        assert rows["tokens evaluated a saved key"][0] == f"{200 / (80 + 32):.1f}"
        assert language_rows(figures)[0] == [
            "python",
            "25.0 % (25.0 to 25.0)",
            "12.5 % (12.5 to 12.5)",
            "2.00 (2.00 to 2.00)",
        ]

    def test_stretches(self, records):
        """What was measured is written down, not only what became of it."""
        ours = results_of(records)["results"]["midtoken"]

        assert len(ours["stretches"]) == 16
        first = ours["stretches"][0]
        assert (first["language"], first["keys"], first["needed"]) == ("python", 30, 40)
        assert (first["new_ms"], first["screen_ms"]) == ([10.0], [0.0, 10.0])

    def test_one_suggester(self, records):
        """Without a peer there is nothing to compare."""
        figures = results_of({"midtoken": records["midtoken"]})

        assert figures["comparison"] is None
        assert {row[-1] for row in comparison_rows(figures)} == {""}

    def test_variants(self, records, tmp_path):
        """Each of our own runs says what it saves more than the first one."""
        runs = dict(zip(("midtoken", "stopUnsure=0.3"), reversed(records.values()), strict=True))
        found = results_of(runs, variants=True)
        rows = {row[0]: row[1:] for row in comparison_rows(found)}

        assert found["comparison"] is None
        assert rows["saved more"] == ["0.0 % (0.0 to 0.0)", "11.2 % (10.6 to 11.9)", ""]
        assert plot(runs, found["results"], tmp_path)

    def test_markdown(self, records):
        """Every row has as many cells as its heading."""
        lines = markdown(results_of(records), "About.").splitlines()
        tables = [line for line in lines if line.startswith("|")]

        assert {line.count("|") for line in tables} == {5}

    def test_plot(self, records, tmp_path):
        """The picture is written twice."""
        written = plot(records, results_of(records)["results"], tmp_path)

        assert [path.name for path in written] == ["typing.png", "typing.svg"]
        assert all(path.stat().st_size > 1000 for path in written)
