"""`midtoken bench rank`: places, orders and figures, with a tiny model."""

import json
import sys
from itertools import islice

import pytest

from server.bench.rank.command import measure, summarise
from server.bench.rank.orders import METHODS, STARTS, places_of, typed_of
from server.bench.rank.places import Place, places
from server.cli import main
from server.errors import DocumentError
from server.names import Name

TEXT = """import os

def read_all(path, limit):
    found = os.listdir(path)
    return found[:limit]

def count(path):
    found = read_all(path, 10)
    return len(found)
"""


@pytest.fixture
def source(tmp_path):
    """A file with names that come twice."""
    path = tmp_path / "a.py"
    path.write_text(TEXT, encoding="utf-8")
    return path


def place_of(gold: bytes, names: list[Name]) -> Place:
    """A place in a document of one line."""
    return Place("a.py", b"x = ", b"\ny = 1\n", gold, tuple(names), "python")


class TestPlaces:
    """Names that stand somewhere and are known from elsewhere."""

    def test_the_name_is_known_and_not_there(self, source):
        """The rest of its line is gone; it is in the file elsewhere."""
        for place in islice(places([source], 1), 20):
            assert place.gold in {name.text for name in place.names}
            assert not place.before.endswith(place.gold)
            assert TEXT.encode().startswith(place.before + place.gold)
            assert TEXT.encode().endswith(place.after)
            assert place.snapshot(b"ab").text == place.before + b"ab" + place.after

    def test_the_same_for_a_seed(self, source):
        """And others for another one."""
        first, again, other = (list(islice(places([source], seed), 9)) for seed in (1, 1, 2))

        assert first == again != other

    def test_files_without_places(self, tmp_path):
        """That is said, with the file's name."""
        path = tmp_path / "b.py"
        path.write_text("once = only\n", encoding="utf-8")

        with pytest.raises(DocumentError, match=r"b\.py: no name in it comes twice"):
            next(places([path], 1))


class TestOrders:
    """The place of the true name in each order."""

    @pytest.mark.parametrize(
        ("gold", "kind", "typed"),
        [
            (b"read_all", "0 letters", b""),
            (b"read_all", "3 letters", b"rea"),
            (b"read_all", "initials", b"ra"),
            (b"read_all", "mistyped", b"raed"),
            (b"reader", "initials", None),
            (b"aaaa", "mistyped", None),
        ],
    )
    def test_what_is_typed(self, gold, kind, typed):
        """Some names can't be typed in some ways."""
        assert typed_of(place_of(gold, []), kind) == typed

    def test_places(self, tiny_completer):
        """Orders without a model, by hand; orders with one are of the same names."""
        names = [Name(b"beta", 3, 40), Name(b"alfa", 1, 2), Name(b"bali", 1, 3)]
        place = place_of(b"bali", names)

        found = places_of(tiny_completer, place, "0 letters")
        after_a_letter = places_of(tiny_completer, place, "1 letter")

        assert (found["alphabet"], found["frequency"], found["nearest"]) == (2, 2, 1)
        assert set(found) == set(METHODS)
        assert all(1 <= found[method] <= 3 for method in METHODS)
        assert all(after_a_letter[method] <= 2 for method in METHODS)

    def test_an_only_name_is_first(self, tiny_completer):
        """Whoever is asked."""
        place = place_of(b"alfa", [Name(b"alfa", 1, 2), Name(b"beta", 1, 2)])

        assert set(places_of(tiny_completer, place, "1 letter").values()) == {1}


def test_figures(tiny_completer, source):
    """A count of every kind, means of reciprocal places, and shares of first ones."""
    chosen = list(islice(places([source], 1), 4))

    found = measure(tiny_completer, chosen)
    figures = summarise(found)

    for kind in STARTS:
        for method in METHODS:
            where = found[kind][method]
            mean = sum(1 / place for place in where) / len(where)
            assert len(where) == 4
            assert figures[kind][method]["mrr"]["mean"] == pytest.approx(mean, abs=1e-5)
            assert figures[kind][method]["first"]["mean"] == where.count(1) / 4
    assert summarise({"initials": {"exact": []}})["initials"]["exact"]["mrr"]["mean"] is None


@pytest.mark.parametrize("as_json", [True, False])
def test_the_command(source, tiny_file, capsys, monkeypatch, as_json):
    """From files to a table, or an object."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    options = ["--places", "2", "--model", str(tiny_file()), "--threads", "1"]
    with pytest.raises(SystemExit) as ended:
        main(["bench", "rank", str(source), *options, *(["--json"] if as_json else [])])
    printed = capsys.readouterr().out

    assert ended.value.code == 0
    if as_json:
        figures = json.loads(printed)
        assert figures["places"] == 2
        assert all(row["names"] > 1 and row["tokens"] for row in figures["times"])
    else:
        assert "Mean reciprocal rank" in printed
        assert "2 letters" in printed
