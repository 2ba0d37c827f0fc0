"""Making HTML: whatever is put in as a string stays text, and can be seen."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.explain_page import markup
from server.explain_page.facts import Token
from server.explain_page.markup import bar, chip, code, cropped, element, flat, likely, rendered
from tests.server.explain_page.parsing import Builder

HOSTILE = ["</script>", "</style>", "<!--", "]]>", "<img src=x onerror=alert(1)>", '"', "'", "&lt;"]
texts = st.lists(st.one_of(st.text(), st.sampled_from(HOSTILE)), max_size=4).map("".join)


def test_examples():
    """The examples of the docstrings are right."""
    assert doctest.testmod(markup).failed == 0


@given(texts, texts)
def test_strings_are_text(inner, attribute):
    """No string opens or closes an element, and each can be read in what is written."""
    written = rendered(element("p", inner, element("b", inner), inner, title=attribute))
    builder = Builder()
    builder.feed(written)
    builder.close()
    [paragraph] = builder.root.children

    assert [node.tag for node in paragraph.walk()] == ["p", "b"]
    assert paragraph.text == "\n".join(map(markup.visible, inner.split("\n"))) * 3
    assert paragraph.attributes == {"title": markup.visible(attribute)}


@given(st.binary(max_size=40))
def test_all_bytes_can_be_seen(text):
    """Any bytes become printable text; what needs no sign stays as it is."""
    shown = flat(text)

    assert all(character.isprintable() for character in shown)
    assert markup.cells(text) >= 0
    for lines in (False, True):
        html = rendered(element("p", *code(text, lines=lines)))
        assert all(character.isprintable() or (lines and character == "\n") for character in html)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (b" a ", "·a·"),
        (b"\n\t\r\0", "↵⇥␍␀"),
        ("\u202eabc\u2066".encode(), "<U+202E>abc<U+2066>"),
        (b"\xe6\x97", "E697"),
        ("\u0301e".encode(), "◌\u0301e"),
        ("e\u0301".encode(), "e\u0301"),
        ("日本".encode(), "日本"),
        ("\u00a0".encode(), "<U+00A0>"),
    ],
)
def test_signs(text, shown):
    """Blanks, controls, marks that turn text, half characters and marks without a base."""
    assert flat(text) == shown


def test_text_that_spells_a_mark_is_no_mark():
    """A mark's frame can't be had by writing its name."""
    text = rendered(chip(Token(1, b"<|fim_middle|>")))
    mark = rendered(chip(Token(1, b"<|fim_middle|>", is_mark=True)))

    assert 'class="token"' in text
    assert 'class="mark"' in mark


@given(st.floats(0, 1), st.integers(10, 300))
def test_bars_stay_in_their_track(share, width):
    """A bar is never longer than its track, and never nothing."""
    _, fill = bar(share, width=width)

    assert 0 < float(fill.get("width")) <= width


@given(st.floats(0, 1), st.floats(0, 1))
def test_probabilities_are_short(one, other):
    """A probability takes a few characters, and equal ones read the same."""
    assert len(likely(one)) <= 16
    assert (likely(one) == likely(other)) or one != other


@given(st.binary(max_size=30), st.integers(0, 10))
def test_cropped_bytes_begin_the_text(text, most):
    """Cropping keeps the beginning, and says whether that is all."""
    kept, more = cropped(text, most)

    assert text.startswith(kept)
    assert more == (kept != text)
