"""`midtoken bench team`: several typists, one engine elsewhere, and the figures of it."""

import json

import pytest
from click.testing import CliRunner

from server.bench.team import figures_of, users_of
from server.bench.typing.record import Record, Stretch
from server.cli import cli
from server.errors import UsageError
from tests.server.remote.fake_engine import FakeEngine, running


class TestUsers:
    def test_numbers(self):
        assert users_of("1,4, 16") == [1, 4, 16]

    @pytest.mark.parametrize("given", ["", "1,", "a", "0", "65", "-1", "1000", "1;2"])
    def test_what_is_none(self, given):
        with pytest.raises(UsageError, match="--users"):
            users_of(given)

    def test_an_engine_is_named(self):
        result = CliRunner().invoke(cli, ["bench", "team"])
        assert isinstance(result.exception, UsageError)


class TestFigures:
    def test_rates_are_of_the_time_that_all_shared(self):
        """Two typed for ten seconds each, at once."""
        stretch = Stretch("python", keys=80, needed=100, new_ms=[10.0, 20.0, 30.0])
        record = Record(
            stretches=[stretch],
            keys={"character": 80},
            seconds=20.0,
            tokens=500,
            requests=80,
            answers={"items": 50, "empty": 10, "cancelled": 20},
            details={"forward_passes": 40, "from_memory": 40},
        )
        found = figures_of(record, 2)

        assert found["seconds"] == 10.0
        assert found["asked"] == 40
        assert found["asked_per_second"] == 4.0
        assert found["tokens_per_second"] == 50.0
        assert found["keystrokes_saved"] == 0.2
        assert (found["median_ms"], found["p95_ms"]) == (20.0, 30.0)
        assert found["in_time"] == 0.75

    def test_nothing_was_shown(self):
        found = figures_of(Record(seconds=1.0), 1)
        assert found["median_ms"] is None
        assert found["in_time"] is None
        assert found["keystrokes_saved"] is None


def test_a_small_run():
    """Two typists through real servers, which ask an engine and get what it writes."""
    with running(FakeEngine(wish="self.name = name\n")) as engine:
        arguments = ["bench", "team", "--remote", engine.url, "--users", "2", "--keys", "12"]
        result = CliRunner().invoke(cli, [*arguments, "--json"])
        assert result.exception is None, result.exception
        [row] = json.loads(result.stdout)["results"]

    assert row["users"] == 2
    assert row["keys"] >= 12
    assert row["errors"] == []
    assert row["unanswered"] == 0
    assert row["asked"] > 0
    assert engine.completions


def test_one_server_for_all(tiny_file):
    """What it has asked of its model is counted once, however many typed."""
    arguments = ["--model", str(tiny_file()), "--threads", "1", "--users", "2", "--keys", "12"]
    result = CliRunner().invoke(cli, ["bench", "team", "--shared", "--json", *arguments])
    assert result.exception is None, result.exception
    found = json.loads(result.stdout)
    [row] = found["results"]

    assert found["settings"]["shared"]
    assert row["errors"] == []
    assert row["unanswered"] == 0
    assert row["asked"] > 0
    assert 0 < row["in_time"] <= 1


def test_one_server_and_an_engine():
    with running(FakeEngine(wish="self.name = name\n")) as engine:
        arguments = ["--shared", "--parallel", "2", "--users", "2", "--keys", "12", "--json"]
        result = CliRunner().invoke(cli, ["bench", "team", "--remote", engine.url, *arguments])
        assert result.exception is None, result.exception
        [row] = json.loads(result.stdout)["results"]

    assert row["errors"] == []
    assert row["asked"] == len(engine.completions)
    assert engine.paths().count("/v1/models") == 1
