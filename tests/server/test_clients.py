"""What known editors need, and texts that leave the closers after the cursor where they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.clients import Client, client_named
from server.closers import closers, join_closers, leave_closers

LINE = st.text(alphabet="fg ()[]\"',;#ab", max_size=12).map(str.encode)
CLOSERS = st.text(alphabet=")]\"';", min_size=1, max_size=4).map(str.encode).filter(closers)


def test_unknown_clients() -> None:
    """A client that says no name, or one that nobody knows, is taken to keep to the protocol."""
    assert client_named(None) == client_named("Some Editor") == Client()


@pytest.mark.parametrize(
    ("typed", "text", "after", "left"),
    [
        ("print(ro", "w)", ")", "w"),
        ("print(ro", "w)  # each row", ")", "w"),
        ("f(g(", "x) + g(y))", "))", "x) + g(y"),
        ("f(g(", "x) + y)", "))", "x"),
        ('print("ro', 'w")', '")', "w"),
        ('print("ro', 'w", end="")', '")', 'w", end="'),
    ],
)
def test_closers_are_left(typed: str, text: str, after: str, left: str) -> None:
    """With the closers where they were, the line is what it would be, or shorter; never doubled."""
    assert leave_closers(typed.encode(), text.encode(), after.encode()).decode() == left


@given(LINE, LINE, CLOSERS)
def test_what_is_left_begins_the_text(typed: bytes, generated: bytes, after: bytes) -> None:
    """Leaving closers only ever cuts the end of a text."""
    text = join_closers(typed, generated, after)

    assert text.startswith(leave_closers(typed, text, after))
