"""Positions and edits: those of `server/documents.py`'s own tests, for longer."""

from hypothesis import given
from hypothesis import strategies as st

from server.documents import uri_key
from server.errors import MidtokenError, UsageError
from server.snapshot import offset_at, parse_location
from tests.server import test_documents, test_positions

OTHERS = [
    test_documents.TestEdits().test_equal_to_the_slow_model,
    test_documents.TestEdits().test_in_one_message,
    test_documents.TestSnapshots().test_edits,
    test_positions.TestCounting().test_any_character,
    test_positions.TestCounting().test_any_offset,
    test_positions.TestCounting().test_every_border,
]
"""Properties that have their place elsewhere."""


@given(st.text(), st.integers(-3, 9), st.integers(-3, 9))
def test_places_on_the_command_line(name, line, column):
    """What is written is what is read, or a usage error; any text is one or the other."""
    try:
        found = parse_location(f"{name}:{line}:{column}")
    except UsageError:
        assert min(line, column) < 1 or not name
    else:
        assert found == (name, line, column)


@given(st.text())
def test_any_place(text):
    """Any text is a place or a usage error."""
    try:
        name, line, column = parse_location(text)
    except UsageError:
        return
    assert text.startswith(name)
    assert min(line, column) >= 1


@given(st.binary(), st.integers(1, 20), st.integers(1, 20))
def test_any_text_at_a_place(text, line, column):
    """A place is in the text, at the beginning of a character, or said to be outside."""
    try:
        offset = offset_at(text, line, column)
    except MidtokenError:
        return
    assert 0 <= offset <= len(text)


@given(st.text(), st.text())
def test_addresses(one, other):
    """Any text is an address; its key is that of its key, and other addresses have others."""
    key = uri_key(one)
    assert uri_key(key.decode("utf-8", "surrogatepass")) == key
    if "%" not in one + other and ":" not in one + other:
        assert (uri_key(other) == key) == (one == other)
