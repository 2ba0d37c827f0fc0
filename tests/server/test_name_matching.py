"""How names fit what is typed."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server import name_matching
from server.name_matching import LIKELIHOODS, match

LETTERS = st.text("abV_1ä", max_size=8)


def test_the_example_is_right():
    """The module's own example."""
    assert doctest.testmod(name_matching).failed == 0


@pytest.mark.parametrize(
    ("typed", "name", "kind"),
    [
        ("", "anything", "start"),
        ("ge", "get_all", "start"),
        ("get_all", "get_all", "start"),
        ("GE", "get_all", "other case"),
        ("gVN", "getVariableName", "initials"),
        ("gvn", "get_variable_name", "initials"),
        ("geVaNa", "getVariableName", "initials"),
        ("gva", "get_variable_name", "initials"),
        ("HSC", "HTTPServerClient", "initials"),
        ("pn", "_private_name", "initials"),
        ("p2", "page2", "initials"),
        ("gn", "get_variable_name", None),  # a part left out
        ("ab", "axbx", None),  # too short to be mistyped
        ("gte", "get_all", "one mistyped"),  # two letters in each other's place
        ("gat", "get_all", "one mistyped"),
        ("gett", "get_all", "one mistyped"),
        ("lenght", "length", "one mistyped"),
        ("retrun_valeu", "return_value", "two mistyped"),
        ("größ", "größe", "start"),
        ("grss", "größe", None),
        ("variabel", "variable", "one mistyped"),
        ("xyz", "get_all", None),
    ],
)
def test_kinds(typed, name, kind):
    """Each kind of match, and what is none."""
    assert match(typed.encode(), name.encode()) == kind


@given(LETTERS, LETTERS)
def test_a_beginning_is_always_a_start(typed, rest):
    """What goes on from what is typed matches best."""
    assert match(typed.encode(), (typed + rest).encode()) == "start"


@given(LETTERS.filter(lambda text: len(text) >= 6), LETTERS, st.data())
def test_a_mistyped_letter_is_found(name, rest, data):
    """Wherever it is, and whatever comes after it in the name."""
    at = data.draw(st.integers(0, len(name) - 1))
    other = data.draw(st.sampled_from("xyz"))
    typed = name[:at] + other + name[at + 1 :]

    assert match(typed.encode(), (name + rest).encode()) is not None


@given(st.binary(max_size=6), LETTERS)
def test_anything_may_be_typed(typed, name):
    """Bytes that are no text match nothing, or something, and raise nothing."""
    assert match(typed, name.encode()) in {None, *LIKELIHOODS}
