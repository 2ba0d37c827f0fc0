"""TOML's last rung: strings, comments and brackets, where the rest of a text is broken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.grammar import templates
from server.grammar.structural import LADDERS, TOML_STRUCTURE
from tests.server.grammar.structural_samples import SAMPLES
from tests.server.grammar.structural_states import behind

PIECES = [
    b"a = ",
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b"\n",
    b'"',
    b"'",
    b'"""',
    b"'''",
    b"# ",
    b"\\",
    b"1",
]
texts = st.lists(st.sampled_from(PIECES), max_size=20).map(b"".join)


def structure():
    return templates.get(TOML_STRUCTURE, 60).state()


@pytest.mark.parametrize("text", SAMPLES["toml"])
def test_the_structure_of_whole_texts_is_accepted(text):
    state = structure()
    assert state.feed(text) == len(text)
    assert state.accepting


@pytest.mark.parametrize(
    "text", [b"a]", b"[a}", b"a = 'b\n", b'a = "\\"\n', b'""" " ""\n""" ]', b"# [\n]", b"{[]}}"]
)
def test_what_fits_no_structure_is_refused(text):
    assert structure().feed(text + b"\n") <= len(text)
    assert not structure().check(text + b"\n")


def test_a_text_that_is_broken_on_the_line_has_its_brackets_watched():
    ladder = LADDERS["toml"](b"")
    assert [rung.level for rung in ladder] == ["window", "full", "structural"]

    state = behind("toml", b"a = [\n 1 2, 'b',\n")
    assert state.check(b"[ # ]\n]]\n[c]\n")
    assert not state.check(b"}")
    assert not state.check(b"]]")


@given(texts, texts)
def test_a_window_allows_what_the_whole_text_allows(before, after):
    """For texts that the grammar accepts."""
    state = structure()
    while (fed := state.feed(before)) < len(before):
        before = before[:fed] + before[fed + 1 :]
        state = structure()
    windowed = structure()
    window = LADDERS["toml"](before)[-1].window(before)

    assert windowed.feed(window) == len(window)
    assert windowed.fitting(after) >= state.fitting(after)
