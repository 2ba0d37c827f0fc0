"""`midtoken bench confidence`: places, what is judged, constants, figures and files."""

import json
import random
import sys
from itertools import accumulate, islice
from math import exp, log

import numpy as np
import pytest

from server.bench.confidence import command
from server.bench.confidence.figures import SMALLEST, THRESHOLDS, calibration_error, summarise
from server.bench.confidence.fit import Example, fit
from server.bench.confidence.places import places
from server.bench.confidence.plots import plot
from server.bench.confidence.records import FOLDS, Record, fitted, held_out
from server.bench.confidence.suggestions import suggestion_at
from server.bench.confidence.tables import markdown
from server.bench.corpus import project_files, take_out
from server.cli import main
from server.confidence import UNCALIBRATED, Calibration, _table, calibration_of, own_table
from server.errors import UsageError

TEXT = """import os

def first(x):
    y = größe(x)

    return [y]

z = 1
def second(x):
    return x
"""


def record_of(pieces, agreed, file="a.py"):
    """A suggestion of tokens, each with its probability."""
    ends = tuple(accumulate(len(piece) for piece, _ in pieces))
    shown = b"".join(piece for piece, _ in pieces)
    return Record(file, "python", shown, agreed, ends, tuple(log(share) for _, share in pieces))


def random_records(count, seed=0):
    """Suggestions that are right as often as the model says."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        pieces = [(b"ab ", chance.uniform(0.2, 0.99)) for _ in range(chance.randrange(1, 6))]
        agreed = 0
        for piece, share in pieces:
            if chance.random() > share:
                break
            agreed += len(piece)
        found.append(record_of(pieces, agreed, f"{number // 2}.py"))
    return found


class TestPlaces:
    def test_text(self):
        """All of a file is there, but for the rest of a function; never inside indentation."""
        source = take_out("a.py", TEXT, [3, 9], [6, 10])
        for place in islice(places(iter([source] * 60), 1), 60):
            assert (place.before + place.gold + place.after).decode() == TEXT
            line = place.before.rpartition(b"\n")[2]
            assert line.strip() or not place.gold.startswith((b" ", b"\t"))
            assert place.gold.strip()
            assert place.snapshot.text == place.before + place.after

    def test_the_same_for_a_seed(self):
        """And others for another one."""
        first, again, other = (
            list(islice(places(project_files("standard-library", 0), seed), 5))
            for seed in (1, 1, 2)
        )
        assert first == again != other


class TestRecords:
    def test_from_a_model(self, tiny_completer):
        """What is shown is made of the tokens that are told, and agrees as far as it says."""
        source = take_out("a.py", TEXT, [3, 9], [6, 10])
        for place in islice(places(iter([source] * 20), 1), 20):
            result = json.loads(json.dumps(suggestion_at(tiny_completer, place, 60)))
            record = Record.of(result)
            gold = place.gold + place.after
            assert gold[: record.agreed] == record.shown[: record.agreed]
            assert not record.shown or record.ends
            if record.agreed < min(len(record.shown), len(gold)):
                assert gold[record.agreed] != record.shown[record.agreed]

    def test_examples(self):
        """Each beginning of whole words, with the tokens that it takes."""
        record = record_of([(b"foo", 0.5), (b"(a", 0.4), (b")", 0.3)], 4)
        examples = record.examples()

        assert [round(exp(sum(one.logprobs)), 3) for one in examples] == [0.5, 0.2, 0.2, 0.06]
        assert [one.right for one in examples] == [True, True, False, False]
        assert sum(one.weight for one in examples) == pytest.approx(1)
        assert (record.word, record.line) == (3, 6)

    def test_held_out(self):
        """No suggestion is judged by constants that its own file took part in."""
        records = random_records(60)
        found = held_out(records)

        assert len({record.fold for record in records}) == FOLDS
        for number in (0, 17, 43):
            others = [one for one in records if one.fold != records[number].fold]
            assert found[number] == fitted(others)
        assert held_out(records[:2]) == [UNCALIBRATED] * 2


class TestFit:
    def test_known_constants(self):
        """Those by which the examples were made."""
        true = Calibration(-0.5, 0.6, 0.4)
        chance = np.random.default_rng(0)
        examples = []
        for _ in range(5_000):
            logprobs = tuple(-chance.exponential(0.5, chance.integers(1, 9)))
            examples.append(Example(logprobs, chance.random() < true.probability(logprobs)))
        found = fit(examples)

        assert found.odds == pytest.approx(true.odds, abs=0.05)
        assert found.tokens == pytest.approx(true.tokens, abs=0.15)
        assert found.bias == pytest.approx(true.bias, abs=0.25)

    def test_no_negative_weights(self):
        """Not even where the surest are wrong."""
        examples = [Example((log(0.9),), False), Example((log(0.1),), True)] * 200
        found = fit(examples)

        assert min(found.odds, found.tokens) >= 0

    def test_few_examples(self):
        """Next to nothing is changed."""
        found = fit([Example((log(0.5),), True)])

        assert found.probability([log(0.5)]) == pytest.approx(0.5, abs=0.05)


@pytest.fixture(scope="module")
def figures():
    """Those of a model that is right as often as it says."""
    return summarise(random_records(300))


class TestFigures:
    def test_true_probabilities(self, figures):
        """Where the model is right as often as it says, the figures show it."""
        for part in figures["parts"].values():
            for name in ("uncalibrated", "calibrated"):
                assert part[name]["said"] == pytest.approx(part["right"]["mean"], abs=0.06)
                assert part[name]["error"]["mean"] < 0.12
                assert sum(one["count"] for one in part[name]["bins"]) == 300
                low, mean, high = (part[name]["brier"][key] for key in ("low", "mean", "high"))
                assert low < mean < high
        assert figures["languages"]["python"]["shown"] == 300

    def test_thresholds(self, figures):
        """The higher, the less is shown, and the surer; none shows everything."""
        least, stop = figures["least"], figures["stop"]

        assert [row["threshold"] for row in least] == list(THRESHOLDS)
        shares = [row["shown"] for row in least]
        assert shares == sorted(shares, reverse=True)
        assert (shares[0], least[0]["saved_of_possible"]) == (1, 1)
        assert least[5]["right"] > least[0]["right"]
        assert {row["shown"] for row in stop} == {1}
        assert stop[0] == least[0]
        assert stop[5]["right"] > stop[0]["right"]
        assert stop[5]["bytes"] < stop[0]["bytes"]

    def test_calibration_error(self):
        """The mean distance between what was said and what was right."""
        said, right = np.array([0.9] * 20 + [0.3] * 20), np.array([1.0] * 20 + [0.0] * 20)

        assert calibration_error(said, right) == pytest.approx(0.2)

    def test_too_few(self):
        """Nothing is said of a handful."""
        figures = summarise(random_records(SMALLEST - 1))
        settings = {"model": "m", "seed": 0, "context_tokens": 1, "midtoken": "0"}

        assert figures["parts"] == {}
        assert "Too few" in markdown(figures, settings, {"processor": "p"})

    def test_picture(self, figures, tmp_path):
        """The same figures make the same file."""
        parts = figures["parts"]
        first = [path.read_bytes() for path in plot(parts, tmp_path)]

        assert first == [path.read_bytes() for path in plot(parts, tmp_path)]


class TestKeeping:
    @pytest.fixture(autouse=True)
    def _home(self, tmp_path, monkeypatch):
        monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path))
        _table.cache_clear()
        yield
        _table.cache_clear()

    def test_a_model(self):
        """What was fitted is used for that model; others in the file stay."""
        records = random_records(40)
        command.keep("One", records)
        command.keep("Other", records[:20])

        assert calibration_of("One") == fitted(records)
        assert calibration_of("Other") == fitted(records[:20])

    def test_too_few(self):
        """Nothing is kept of a handful."""
        with pytest.raises(UsageError, match="too few"):
            command.keep("One", random_records(3))
        assert not own_table().exists()

    def test_a_wrong_file(self):
        """What somebody else wrote there is not lost."""
        own_table().write_text("mine")
        with pytest.raises(UsageError, match=str(own_table())):
            command.keep("One", random_records(40))
        assert own_table().read_text() == "mine"


def test_the_command(tiny_file, tmp_path, capsys, monkeypatch):
    """From places to tables; a second run goes on with what is there."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    asked = []
    real = command.suggestion_at
    monkeypatch.setattr(
        command, "suggestion_at", lambda *given: asked.append(given[1]) or real(*given)
    )
    arguments = ["--model", str(tiny_file()), "--threads", "1", "--context-tokens", "40"]
    arguments += ["--out", str(tmp_path), "--json"]
    for count in (2, 3):
        with pytest.raises(SystemExit) as ended:
            main(["bench", "confidence", "--places", str(count), *arguments])
        assert ended.value.code == 0
        report = json.loads(capsys.readouterr().out)
        assert report["figures"]["places"] == count
        assert len(asked) == count
    assert (tmp_path / "tables.md").read_text().startswith("Model ")

    with pytest.raises(SystemExit) as ended:
        main(["bench", "confidence", "--places", "3", "--fit", *arguments])
    assert ended.value.code == 2
    assert "too few to fit anything" in capsys.readouterr().err
