"""Names that may be suggested at a place: they fit what is typed, and hold nothing banned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server import bans as module
from server.bans import Bans, SlowPatternError, compiled
from server.fitting_names import fitting_names
from server.name_matching import match
from server.snapshot import Snapshot, with_lf

NAMES = [b"gVNote", b"getVariableName", b"other"]


def place(before: bytes, after: bytes = b"") -> Snapshot:
    return Snapshot("a.py", 0, before + after, len(before), "python")


def test_fitting():
    """Those that go on from the word, and those that it may stand for; in their order."""
    assert fitting_names(NAMES, place(b"x = gVN"), None) == NAMES[:2]
    assert fitting_names(NAMES, place(b"x = gVN"), None, forgiving=False) == NAMES[:1]
    assert fitting_names(NAMES, place(b"x = "), None, most=2) == NAMES[:2]


@pytest.mark.parametrize(
    ("before", "after", "ban", "left"),
    [
        (b"x = gVN", b"", "getV", [b"gVNote"]),
        (b"x = gVN", b"", "x = getV", [b"gVNote"]),
        (b"x = gVN", b"", "gVN", [b"getVariableName", b"gVNote"]),  # it was there before
        (b"x = gVN", b"(", "gVNote(", [b"getVariableName"]),
        (b"x = gV", b"", "gVN", [b"getVariableName"]),
    ],
)
def test_bans(before, after, ban, left):
    """Counted from where a name would be put."""
    found = fitting_names(NAMES, place(before, after), compiled((ban,), ()))

    assert set(found) == set(left)


def test_slow_patterns(monkeypatch):
    """What can't be told in time is not shown; a word that stands there is the person's own."""
    names = [b"gVNote", b"gVN"]
    bans = compiled((), ("a",))
    assert fitting_names(names, place(b"x = gVN"), bans) == names

    def slow(*_, **__):
        raise SlowPatternError("too long")

    monkeypatch.setattr(module, "_search", slow)
    # The first one has seen the text before the cursor, and is slow behind it.
    for one in (bans, Bans((), ("a",))):
        assert fitting_names(names, place(b"x = gVN"), one) == [b"gVN"]


@given(
    st.binary(max_size=6).map(lambda text: text.hex().encode()),
    st.lists(st.text("abAB_1", min_size=1, max_size=6).map(str.encode), max_size=6),
    st.lists(st.text("abA", min_size=1, max_size=3), max_size=3),
    st.booleans(),
)
def test_as_one_by_one(before, names, strings, forgiving):
    """Each name stays or goes for itself, as a plain look at the text with it says."""
    word = before
    snapshot = place(b"x = " + before, b"\n")
    found = fitting_names(names, snapshot, compiled(tuple(strings), ()), forgiving=forgiving)

    def stays(name: bytes) -> bool:
        start = name.startswith(word)
        if not start and not (forgiving and match(word, name)):
            return False
        text = with_lf(snapshot.text[:4]) + name + b"\n"
        since = 4 + (len(word) if start else 0)
        if name == word:
            return True
        ends = [
            index + len(ban)
            for ban in map(str.encode, strings)
            for index in range(len(text))
            if text[index:].startswith(ban)
        ]
        return all(end <= since for end in ends)

    assert found == [name for name in names if stays(name)]
