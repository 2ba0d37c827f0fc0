"""What an editor wants: where it works, as far as opening and editing a document tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from server.confidence import BOLD, Caution
from server.documents import Change, Document
from server.options import Options, with_values
from server.positions import Encoding, Position, Range
from server.wishes import OPENED_BYTES, Wish, request_of, spot_after, spot_in_new

TEXT = "import os\n\ngröße = 1\n"


def document_of(text: str, encoding: Encoding = Encoding.UTF16) -> Document:
    return Document("file:///a.py", text, 1, "python", encoding)


class TestEdits:
    @pytest.mark.parametrize(
        ("change", "before"),
        [
            (Change("x", Range(Position(1, 0), Position(1, 0))), "import os\nx"),
            (Change("", Range(Position(2, 3), Position(2, 1))), "import os\n\ng"),
            (Change("ü\n  😀", Range(Position(0, 9), Position(2, 0))), "import osü\n  😀"),
            (Change("\ud800", Range(Position(0, 0), Position(0, 0))), "\ufffd"),
        ],
    )
    @pytest.mark.parametrize("encoding", list(Encoding))
    def test_the_end_of_it(self, change, before, encoding):
        """Somebody works where a change ends, in any encoding of positions."""
        document = document_of(TEXT, encoding)
        document.apply(2, [change])
        snapshot = spot_after(document, change, Options())().snapshot

        assert snapshot.text[: snapshot.cursor].decode() == before

    def test_the_whole_document(self):
        """A new text tells no place."""
        assert spot_after(document_of(TEXT), Change(TEXT), Options()) is None

    @given(st.text(max_size=9), st.integers(0, 4), st.integers(0, 12))
    def test_any_place(self, text, line, character):
        """Whatever comes later, the place is inside the text."""
        document, place = document_of(TEXT), Position(line, character)
        change = Change(text, Range(place, place))
        document.apply(2, [change])
        where = spot_after(document, change, Options())
        document.apply(3, [Change("")])

        assert where().snapshot.cursor == 0


class TestCaution:
    """How sure a suggestion has to be."""

    def caution(self, options: Options, *, automatic: bool) -> Caution:
        snapshot = document_of(TEXT).snapshot(Position(2, 8))
        wish = Wish("file:///a.py", types.Position(2, 8), automatic)
        return request_of(wish, 1, snapshot, options, offloaded=False, pause=float).caution

    def test_by_itself(self):
        """Options say it for suggestions that nobody asked for; others show everything."""
        options = with_values(
            Options(), {"trigger.minConfidence": 0.2, "completion.stopUnsure": 0.5}
        )

        assert self.caution(options, automatic=True) == Caution(least=0.2, stop=0.5)
        assert self.caution(options, automatic=False) == BOLD

    def test_of_a_language(self):
        """A language may differ."""
        overrides = {"python": {"trigger.minConfidence": 0.7, "completion.stopUnsure": 0.0}}
        options = with_values(Options(), {"languages.overrides": overrides})

        assert self.caution(options, automatic=True) == Caution(least=0.7)


class TestNewDocuments:
    def test_a_short_one(self):
        """All of it is read, for any place in it."""
        spot = spot_in_new(document_of(TEXT), Options())()

        assert (spot.snapshot.cursor, spot.only_largest) == (len(TEXT.encode()), True)

    @pytest.mark.parametrize("text", ["", "x" * (OPENED_BYTES + 1)])
    def test_others(self, text):
        """An empty one is read when somebody types; of a long one, nobody knows which part."""
        assert spot_in_new(document_of(text), Options()) is None


class TestCandidates:
    @pytest.mark.parametrize(
        ("automatic", "is_single", "asked"),
        [(False, False, 3), (False, True, 1), (True, False, 1), (True, True, 1)],
    )
    def test_who_gets_several(self, automatic, is_single, asked):
        """Whoever asks by hand. What is known of others is shown to all."""
        document = document_of(TEXT)
        wish = Wish(document.uri, types.Position(0, 0), automatic, is_single=is_single)
        snapshot = document.snapshot(Position(0, 0))
        request = request_of(
            wish, document.uri, snapshot, Options(), offloaded=False, pause=lambda: 0.0
        )

        assert (request.options.candidates, request.most) == (asked, 3)
