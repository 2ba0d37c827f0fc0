"""Outlines of JSON: read on from an earlier text, they are those of a new one."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.errors import GrammarError
from server.grammar import json_outline, json_window
from server.grammar.json_outline import Container, outline
from server.grammar.json_window import has_comments, is_at_top, schema_window, window

NAMES = frozenset({"a", "b"})

# Broken text as well: strings, comments and brackets that are not closed.
SIGNS = ["{", "}", "[", "]", ",", '"', "\\", "\n", "/", "//", "/*", "*/", "1", " "]
PARTS = ['"a":', '"b": ', '"x,]"', '"\\""', '{"a": 1, "b": [2, 3], ', "[1, 2, ", '"c": {"a": 1}, ']
atoms = st.sampled_from(SIGNS + PARTS)
texts = st.lists(atoms, max_size=60).map(lambda parts: "".join(parts).encode())
edits = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000), texts), max_size=6)


@pytest.fixture(autouse=True)
def everything_is_kept(monkeypatch):
    """Places are near, and few members are worth being remembered."""
    monkeypatch.setattr(json_outline, "SPACING", 1)
    monkeypatch.setattr(json_window, "LONG", 1)


def forget():
    json_outline._outlines.clear()
    json_window._recent.clear()


def seen(text):
    """Everything that is asked of a text."""
    windows = [window(text), *(schema_window(text, NAMES, values) for values in (True, False))]
    return windows, has_comments(text), is_at_top(text)


def openers(text):
    return b"".join(one.opener for one in outline(text).containers)


@settings(max_examples=400, deadline=None)
@given(texts, edits)
def test_the_same_as_new(text, edited):
    """After any edits, what was read before makes no difference."""
    forget()
    states = [text]
    for offset, size, more in edited:
        start = offset % (len(text) + 1)
        text = text[:start] + more + text[start + size % 8 :]
        states.append(text)
    going_on = [seen(state) for state in states]
    for state, before in zip(states, going_on, strict=True):
        forget()
        assert seen(state) == before


@settings(deadline=None)
@given(texts, st.integers(0, 1000))
def test_up_and_down(text, offset):
    """The cursor goes up, and comes back."""
    forget()
    cut = text[: offset % (len(text) + 1)]
    going_on = [seen(one) for one in (text, cut, text)]

    assert going_on[0] == going_on[2]
    forget()
    assert seen(cut) == going_on[1]


def test_a_closing_bracket_closes_the_innermost_such_container():
    assert openers(b'{"a": [1, {"b": [2') == b"{[{["
    assert openers(b'{"a": [1, {"b": [2}') == b"{["
    assert openers(b'{"a": [1, {"b": 2]') == b"{"
    assert openers(b"[[[}") == b"[[["
    assert openers(b"]") == b""


def test_little_is_read_again(monkeypatch):
    """A keystroke reads what is behind the last place in front of it."""
    monkeypatch.setattr(json_outline, "SPACING", 256)
    texts = [b"[" + b'{"a": 1}, ' * 2000, b"[" + b'"abc", ' * 3000, b"[" + b"1, " * 7000]
    for text in texts:
        forget()
        outline(text)
        again = outline(text[:-40] + b"7" + text[-40:])

        assert len(again.text) - again.places[-1].position < 8192
        first, newest = json_outline._outlines[0], json_outline._outlines[-1]
        assert first is newest is again


def test_pieces_are_shared():
    """Going on copies none of what was read before."""
    forget()
    before = outline(b"[" + b"{}, " * 100)
    after = outline(b"[" + b"{}, " * 101)
    pieces = [set[int](), set[int]()]
    for one, known in ((before.innermost, pieces[0]), (after.innermost, pieces[1])):
        assert isinstance(one, Container)
        own = one.own
        while own is not None:
            known.add(id(own))
            own = own.before

    assert len(pieces[0] & pieces[1]) > 150


@pytest.mark.parametrize(
    "text", [b"[" * 2000 + b"}" * 30_000, b'{"a":' * 2000 + b"]" * 9], ids=["arrays", "objects"]
)
def test_deep(text):
    """Many open brackets, and closing ones that fit none of them."""
    forget()

    assert len(outline(text).containers) >= 2000


@pytest.mark.parametrize("text", [b"[" * 500_000, b"[1, " * 2001 + b"]" * 2000])
def test_too_deep(text, monkeypatch):
    """Nothing is read behind what is too deep, also when the text is typed on."""
    monkeypatch.setattr(json_outline, "SPACING", 256)
    forget()
    for size in (len(text), len(text) - 10, len(text)):
        with pytest.raises(GrammarError, match="more than 2,000 brackets are open"):
            outline(text[:size])
    assert json_outline._outlines[-1].places[-1].position <= 4 * 2001
    assert outline(text[:2000]).innermost.depth <= 2000
    assert not is_at_top(text)


def test_a_hostile_text_is_read_by_several_requests():
    """Not more than so many steps at once; an equal text is gone on with."""
    forget()
    text = b"[" + b"{}," * 50_000
    with pytest.raises(GrammarError, match="the next request goes on"):
        outline(text)
    for _ in range(5):
        with suppress(GrammarError):
            assert outline(bytes(bytearray(text))).innermost.depth == 1
            return
    pytest.fail("not read within so many requests")
