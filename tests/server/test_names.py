"""The names in a document."""

import doctest
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server import names
from server.names import LARGEST, Name, merged, names_in, word_bytes, word_end, word_start


def test_the_example_is_right():
    """The module's own example."""
    assert doctest.testmod(names).failed == 0


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        ("python", "if x1: f\"no {way}\"; b'n' # none\n", "x1"),
        ("python", '"""doc string\nof two lines"""\nname', "name"),
        ("python", "it = 'an open string\nnext_one", "it an open string next_one"),
        ("python", "größe = 0x1F + 1_000", "größe"),
        ("c", 'int a; /* b\n*/ char *c = "d"; // e\n#define F', "a c define F"),
        ("rust", "fn f<'a>(x: &'a str) { 'b' }", "f a x str"),
        ("javascript", "const $el = `text ${value}`", "$el text value"),
        ("css", ".top-bar { --main-color: red } /* no */", "top-bar --main-color red"),
        ("emacs-lisp", "(my-call 'name) ; no", "my-call name"),
        ("lua", "local t = {} -- comment", "t"),
        ("go", "func Read() error { return nil }", "Read error"),
        ("plaintext", "it's a word", "it s a word"),
        ("unheard-of", "class Name", "class Name"),
    ],
)
def test_what_is_a_name(language, text, found):
    """No keywords, and nothing of strings and comments where the language is known."""
    assert b" ".join(name.text for name in names_in(text.encode(), language)).decode() == found


def test_counts_and_places():
    """How often a name comes, and where last: before the cursor, if it does."""
    text = b"a = b\nb = a + b + c"

    assert names_in(text, "python") == [Name(b"a", 2, 10), Name(b"b", 3, 14), Name(b"c", 1, 18)]
    assert names_in(text, "python", 8) == [Name(b"a", 2, 0), Name(b"b", 3, 6), Name(b"c", 1, 18)]


def test_the_word_at_the_cursor_is_not_there():
    """It is being typed; elsewhere the same word counts."""
    text = b"value = va + va"

    found = names_in(text, "python", text.index(b"va +") + 1)

    assert [(name.text, name.count) for name in found] == [(b"value", 1), (b"va", 1)]


def test_a_byte_order_mark_is_part_of_no_name():
    """Neither of one that is found nor of a word that is typed; a cursor may stand before it."""
    text = "\ufeffname = na".encode()

    assert [name.text for name in names_in(text, "python", len(text))] == [b"name"]
    assert word_start(text, 5, "python") == 3
    assert word_start(text, 0, "python") == 0


def test_documents_are_merged():
    """Counts are added; places are those of the document with the cursor."""
    found = merged(names_in(b"a b", "python"), names_in(b"b c c", "python"))

    assert found == [Name(b"a", 1, 0), Name(b"b", 2, 2), Name(b"c", 2, -1)]


@given(st.binary(max_size=200), st.sampled_from(["python", "rust", "css", "php", "plaintext"]))
def test_any_bytes(text, language):
    """Any text has names that are in it, whole words of UTF-8, at their places."""
    word = word_bytes(language)
    for name in names_in(text, language):
        assert text[name.nearest :].startswith(name.text)
        assert set(name.text) <= word
        assert name.text.decode()


@given(st.text("ab -$é\n", max_size=30).map(str.encode), st.data())
def test_words_around_a_cursor(text, data):
    """They reach as far as the language's letters do."""
    cursor = data.draw(st.integers(0, len(text)))
    word = word_bytes("javascript")
    start, end = word_start(text, cursor, "javascript"), word_end(text, cursor, "javascript")

    assert set(text[start:end]) <= word
    assert start == 0 or text[start - 1] not in word
    assert end == len(text) or text[end] not in word


@pytest.mark.parametrize("line", ["name_{} = value_{}  # some words\n", '"{}'])
def test_large_documents(line, report: Callable[[str], None]):
    """Of a large one the part around the cursor is read, in a bounded time."""
    text = "".join(line.format(number, number) for number in range(100_000)).encode()
    cursor = len(text) // 2
    started = time.perf_counter()

    found = names_in(text, "python", cursor)

    report(f"{len(found)} names in {len(text) >> 10} kB: {time.perf_counter() - started:.2f} s")
    assert all(abs(name.nearest - cursor) <= LARGEST for name in found)
