"""Known names for a list, by the measure that written texts have, in bounded work."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.completion_options import CompletionOptions
from server.errors import Cancelled
from server.name_index import NameIndex
from server.name_list import (
    MOST,
    UNLIKELY,
    Limits,
    NameList,
    NameSources,
    list_names,
    opening,
)
from server.ranking import CPU_PATHS, rank
from server.snapshot import Snapshot
from tests.server.documents import documents
from tests.server.engines import Watched, around

TEXT = b"import os\n\ndef reader(number):\n    REASON = numbers\n    remaining = "
ENOUGH = Limits(tokens=64, reading=500)


def at(typed: bytes, text: bytes = TEXT, after: bytes = b")\n") -> Snapshot:
    return Snapshot("file:///a.py", 1, text + typed + after, len(text + typed), "python")


def listed(
    completer, place: Snapshot, *written: bytes, limits: Limits = ENOUGH, **options
) -> NameList | None:
    wanted = CompletionOptions(**options)
    return list_names(completer, NameSources(), place, (), written, wanted, limits)


class TestOpenings:
    """What a text makes of the typed word."""

    @pytest.mark.parametrize(
        ("word", "text", "expected"),
        [
            (b"re", b"ader.numbers)", b"reader"),
            (b"re", b"ader", b"reader"),
            (b"re", b"(x)", b"re"),
            (b"re", b"", b"re"),
            (b"re", b"\n    x", b"re"),
            (b"", b"reader)", b"reader"),
            (b"", b"  reader)", b"  reader"),
            (b"", b'"text"', b'"'),
            (b"", b" (x)", b" ("),
            (b"", "größe + 1".encode(), "größe".encode()),
            (b"", b"\n    x", None),
            (b"", b"", None),
            (b"", b"  ", None),
        ],
    )
    def test_openings(self, word, text, expected):
        """A word, or where there is none a mark."""
        assert opening(word, text, "python") == expected

    def test_words_are_the_languages(self):
        """A dash is in a name of CSS."""
        assert opening(b"margin", b"-top: 1", "css") == b"margin-top"
        assert opening(b"margin", b"-top: 1", "python") == b"margin"


class TestLists:
    """Which names are in a list, and what is said of them."""

    def test_probabilities(self, tiny_completer):
        """They are those of `rank`, whatever was written."""
        found = listed(tiny_completer, at(b"re"), b"ader.numbers", b"mains")
        labels = ["reader", "remaining", "REASON", "remains"]
        ranking = rank(tiny_completer, at(b"re"), labels)

        expected = dict(zip([one.label for one in ranking.names], ranking.meant(), strict=True))
        for one in found.names:
            assert one.probability == pytest.approx(expected[one.text], rel=0.1)
        assert found.written == (
            pytest.approx(expected["reader"], rel=0.1),
            pytest.approx(expected["remains"], rel=0.1),
        )

    def test_order_and_kinds(self, tiny_completer):
        """Best first; each with what it is."""
        found = listed(tiny_completer, at(b"re"))

        shares = [one.probability for one in found.names]
        assert shares == sorted(shares, reverse=True)
        assert {one.text: (one.kind, one.match) for one in found.names} == {
            "reader": ("function", "start"),
            "remaining": ("variable", "start"),
            "REASON": ("variable", "other case"),
        }

    def test_few(self, tiny_completer):
        """No more than a menu shows; where nothing is typed, likely ones only."""
        many = b"".join(b"re_%d = %d\n" % (number, number) for number in range(40))

        assert len(listed(tiny_completer, at(b"re", many)).names) == MOST
        nothing_typed = listed(tiny_completer, at(b"", many))
        assert all(one.probability >= UNLIKELY for one in nothing_typed.names)

    def test_none(self, tiny_completer):
        """Where no name fits, the model is not asked; the typed word is no name to suggest."""
        before = tiny_completer.engine.evaluated_tokens

        assert listed(tiny_completer, at(b"zz"), b"z") is None
        assert listed(tiny_completer, at(b"zz", b"zz = 1\n"), b"z") is None
        assert tiny_completer.engine.evaluated_tokens == before

    def test_bans(self, tiny_completer):
        """No name holds what is banned."""
        found = listed(tiny_completer, at(b"re"), bans=("ader",))

        assert {one.text for one in found.names} == {"remaining", "REASON"}

    @pytest.mark.parametrize(
        "arguments", [{"architecture": "mamba"}, {"vocabulary": "unigram"}], ids=str
    )
    def test_models_that_cannot(self, load_tiny, arguments, monkeypatch):
        """They have no names, and no document is read for it."""
        sources = NameSources()
        monkeypatch.delattr(NameIndex, "at")
        names = list_names(
            load_tiny(**arguments), sources, at(b"re"), (), (b"ader",), CompletionOptions(), ENOUGH
        )

        assert names is None

    def test_cancelled(self, load_tiny):
        """It is told, and not taken for a model that can't."""
        completer = load_tiny()
        completer.cancel()

        with pytest.raises(Cancelled):
            listed(completer, at(b"re"))

    @settings(max_examples=25, deadline=None)
    @given(documents(), st.binary(max_size=4))
    def test_any_place(self, tiny_completer, document, written):
        """Whatever stands there."""
        text, cursor = document
        place = Snapshot("file:///a.py", 0, text, cursor, "python")
        found = listed(tiny_completer, place, written, limits=Limits(20, 500))

        if found is not None:
            assert len(found.written) == 1
            assert all(0 <= one.probability <= 1 for one in found.names)
            assert all(one.text.encode() in text for one in found.names)


class TestLimits:
    """The work, in tokens that are put through the model."""

    def test_in_memory(self, load_tiny):
        """After a completion, names take the tokens that they may take and no prompt."""
        completer = load_tiny()
        completer.complete(at(b"re"))
        before = completer.engine.evaluated_tokens

        found = listed(completer, at(b"re"), limits=Limits(8, 8))

        assert found.evaluated == completer.engine.evaluated_tokens - before
        assert 0 < found.evaluated <= 8 + CPU_PATHS

    def test_again(self, load_tiny):
        """What has been evaluated for names is remembered while one types on, and as exact."""
        completer = load_tiny()
        completer.complete(at(b"r"))
        first = listed(completer, at(b"r"), limits=Limits(40, 20))
        completer.complete(at(b"re"))

        again = listed(completer, at(b"r"), limits=Limits(0, 0))
        later = listed(completer, at(b"re"), limits=Limits(0, 0))

        assert first.evaluated > 0
        assert (again.names, again.evaluated) == (first.names, 0)
        assert later.evaluated == 0
        exact = {one.text for one in first.names if one.exact and one.match == "start"}
        assert exact
        assert exact <= {one.text for one in later.names if one.exact}

    def test_no_tokens(self, load_tiny):
        """What is in memory tells the most that names can have, and that they are not known."""
        completer = load_tiny()
        completer.complete(at(b"re"))
        other = load_tiny()
        known = {one.text: one.probability for one in listed(other, at(b"re")).names}

        bounds = listed(completer, at(b"re"), limits=Limits(0, 0))

        assert bounds.evaluated == 0
        assert not all(one.exact for one in bounds.names)
        for one in bounds.names:
            assert one.probability >= known[one.text] * math.exp(-0.1)

    def test_a_prompt_that_is_not_in_memory(self, load_tiny):
        """It is not read beyond the limit."""
        completer = load_tiny()
        engine = Watched(completer.engine)
        completer = around(completer, engine)

        assert listed(completer, at(b"re"), limits=Limits(20, 20)) is None
        assert engine.evaluated_tokens == 0
        assert listed(completer, at(b"re")) is not None
        assert engine.evaluated_tokens > 20
