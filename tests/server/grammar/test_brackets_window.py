"""The window of bracket languages: what it keeps, and that it decides as the whole text does."""

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.errors import GrammarError
from server.grammar import brackets_window
from server.grammar.brackets_window import bracket_window, innermost, item_start
from server.grammar.go import LEXEMES, STRUCTURE
from server.grammar.state import compile_grammar

TEMPLATES = {b"`": re.compile(rb"(?P<skip>[^`$\n]+|\n|\$(?!\{))|(?P<open>\$\{)|(?P<close>`)")}
WITH_TEMPLATES = re.compile(rb"(?P<skip>//[^\n]*)|(?P<open>`|[(\[{])|(?P<close>[)\]}])")
DEPENDENT = re.compile(rb"[ \t]*(?:/|(?=\n|\Z))")

pieces = st.sampled_from(
    [*map(bytes, zip(b"()[]{}\"'`\n/*\\a ", strict=True)), b"//", b"/*", b"*/"]
)
texts = st.lists(pieces, max_size=40).map(b"".join)


class TestWindow:
    @pytest.mark.parametrize(
        ("before", "window"),
        [
            (b"", b""),
            (b"a\nb", b"b"),
            (b"a\n", b""),
            (b"f(a,\n b[", b"(\n b["),
            (b"f(a, b[1,\n2], {\n\n", b"(\n{\n"),
            (b"{(\n)}\nx", b"x"),
            (b'{ "(" // (\n /* ( */\nx', b"{\nx"),
            (b"{\n  a /* one\n two", b"{\n  a /* one\n two"),  # from the comment's line on
            (b"{\n  a = `one\n two`, b", b"{\n  a = `one\n two`, b"),
            (b'{\n  a = "one\n(', b"{\n("),  # a string that is not closed ends with its line
        ],
    )
    def test_is_openers_and_line(self, before, window):
        assert bracket_window(before, LEXEMES) == window

    @pytest.mark.parametrize(
        ("before", "window"),
        [
            (b"}\nx(", b"x("),
            (b"a) b(", b" b("),  # the closer was dropped: the window starts behind it
            (b"{ ( }\nx", b"x"),  # the brace closes the parenthesis, too
            (b"{ ( } x", b" x"),
            (b"( { ) ] [\nx", b"[\nx"),
        ],
    )
    def test_of_brackets_that_do_not_match(self, before, window):
        assert bracket_window(before, LEXEMES) == window

    @pytest.mark.parametrize(
        ("before", "window"),
        [
            (b"(`a\n) b", b"(\n`\n) b"),
            (b"(`a ${\n{} b", b"(\n`\n${\n{} b"),
            (b"`a ${ {\n}} (\n b` (\nc", b"(\nc"),
            (b"`a ${ `${\n1", b"`\n${\n`\n${\n1"),
            (b"(`${ )\n1", b"(\n`\n${\n1"),  # no bracket outside of a template is closed in it
        ],
    )
    def test_of_templates(self, before, window):
        """Text within an opener has lexemes of its own, and code within that text as well."""
        assert bracket_window(before, WITH_TEMPLATES, TEMPLATES) == window

    def test_starts_at_a_line_that_stands_alone(self):
        before = b"{\nf(\na(b)\n\n/ c // d\n / "

        assert bracket_window(before, LEXEMES, dependent=DEPENDENT) == b"{\n(\n" + before[5:]
        assert bracket_window(before, LEXEMES) == b"{\n(\n / "

    def test_of_a_long_line_starts_at_a_bracket(self):
        before = b"[" + b"f(a), " * 10_000

        assert len(bracket_window(before, LEXEMES)) < 5000

    def test_of_too_many_brackets_is_none(self):
        """They would all be in it; and nothing is scanned behind them."""
        for size in (50_000, 50_001):
            with pytest.raises(GrammarError, match="more than 2,000 brackets are open"):
                bracket_window(b"(\n" * size, LEXEMES)
        assert brackets_window._scans[-1].end.position == 4001
        assert bracket_window(b"(\n" * 2000, LEXEMES) == b"(\n" * 2000


@settings(max_examples=300)
@given(texts, texts)
def test_same_verdict_as_the_whole_text(before, more):
    """For texts that the grammar accepts; those are many, as brackets are dropped until it does."""
    state = STRUCTURE_TEMPLATE.state()
    while (fed := state.feed(before)) < len(before):
        before = before[:fed] + before[fed + 1 :]
        state = STRUCTURE_TEMPLATE.state()
    window = bracket_window(before, LEXEMES)
    windowed = STRUCTURE_TEMPLATE.state()

    assert windowed.feed(window) == len(window)
    assert windowed.fitting(more) == state.fitting(more)
    assert windowed.accepting == state.accepting


STRUCTURE_TEMPLATE = compile_grammar(STRUCTURE.name, STRUCTURE.lark())


@settings(max_examples=200)
@given(texts, st.lists(st.tuples(st.integers(0, 200), st.integers(0, 20), texts), max_size=8))
def test_a_scan_that_is_gone_on_with_is_that_of_a_new_text(text, edits):
    """Typing, deleting, jumping: remembered scans change nothing."""
    text = text * 6
    for start, length, inserted in edits:
        text = text[:start] + inserted + text[start + length :]
        before = text[: 2 * start + 5]
        remembered = bracket_window(before, WITH_TEMPLATES, TEMPLATES, DEPENDENT)
        brackets_window._scans.clear()
        assert bracket_window(before, WITH_TEMPLATES, TEMPLATES, DEPENDENT) == remembered
        bracket_window(text, WITH_TEMPLATES, TEMPLATES, DEPENDENT)


@settings(max_examples=300)
@given(
    st.lists(texts | st.sampled_from([b"a b\n" * 40, b"a" * 200]), max_size=8), st.integers(0, 99)
)
def test_a_text_that_is_searched_in_stretches(parts, cut):
    """Windows are the same, and so is what is remembered."""
    text = b"".join(parts)
    for lexemes, inner in ((LEXEMES, {}), (WITH_TEMPLATES, TEMPLATES)):
        brackets_window._scans.clear()
        whole = bracket_window(text, lexemes, inner)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(brackets_window, "STRETCH", 200)
            patch.setattr(brackets_window, "OVERLAP", 100)
            for before in (text[: len(text) * cut // 100], text, text[:-1]):
                remembered = bracket_window(before, lexemes, inner)
                brackets_window._scans.clear()
                assert bracket_window(before, lexemes, inner) == remembered
            brackets_window._scans.clear()
            assert bracket_window(text, lexemes, inner) == whole


@pytest.mark.parametrize("indentation", [b"", b"  "])
def test_a_long_line_is_the_same_again(indentation):
    """A scan that begins at the line finds what one that begins before it has found."""
    text = b"\n" + indentation + b"x" * 5000 + b"("
    first, *others = (bracket_window(bytes(bytearray(text)), LEXEMES, {}) for _ in range(3))
    assert others == [first] * 2


@settings(max_examples=200)
@given(st.lists(texts | st.just(b"x" * 5000), max_size=4), st.integers(1, 20), texts)
def test_a_long_scan_goes_on_with_the_next_request(parts, most, typed):
    """Also while the person types."""
    text = b"".join(parts)
    for lexemes, inner in ((LEXEMES, {}), (WITH_TEMPLATES, TEMPLATES)):
        brackets_window._scans.clear()
        whole = bracket_window(text + typed, lexemes, inner)
        brackets_window._scans.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(brackets_window, "MOST_STEPS", most)
            found = [_window_or_none(text, lexemes, inner)]
            while found[-1] is None:
                assert len(found) <= 2 + len(text + typed)
                found.append(_window_or_none(text + typed, lexemes, inner))
            patch.setattr(brackets_window, "MOST_STEPS", 1 << 30)
            assert bracket_window(text + typed, lexemes, inner) == whole


def _window_or_none(text, lexemes, inner):
    try:
        return bracket_window(bytes(bytearray(text)), lexemes, inner)
    except GrammarError:
        return None


def test_a_hostile_text_is_left_after_so_much_work(monkeypatch):
    """Closers without an opener, and such that are compared with many openers."""
    next_one, searched = brackets_window._next, []

    def counted(text, pattern, position):
        searched.append(position)
        return next_one(text, pattern, position)

    monkeypatch.setattr(brackets_window, "_next", counted)
    for text in (b")" * 400_000, b"(" * 1999 + b"]" * 400_000, b"{}" * 400_000):
        searched.clear()
        assert _window_or_none(text, LEXEMES, {}) is None
        assert len(searched) <= brackets_window.MOST_STEPS


def test_text_without_lexemes_is_searched_once(monkeypatch):
    """As in a table of numbers."""
    text, searched = b"{\n" + b"  0x01, 0x02,\n" * 20_000, []
    next_one = brackets_window._next

    def counted(text, pattern, position):
        searched.append(position)
        return next_one(text, pattern, position)

    monkeypatch.setattr(brackets_window, "_next", counted)
    assert bracket_window(text, LEXEMES) == b"{\n"
    searched.clear()
    assert bracket_window(text + b"  0x", LEXEMES) == b"{\n  0x"
    assert min(searched) > len(text) - 2 * brackets_window.STRETCH


def test_a_key_stroke_scans_a_few_lines(monkeypatch):
    """At the end of a large text, in its middle, and back at the end."""
    line = b'    if (f(a, b[1])) { return "x(" + g(y); } // (\n'
    text, steps = b"{\n" + line * 5_000, []
    go_on = brackets_window._go_on

    def counted(text, lexemes, texts, closer, places, since):
        steps.append(len(text) - since.position)
        return go_on(text, lexemes, texts, closer, places, since)

    monkeypatch.setattr(brackets_window, "_go_on", counted)
    middle = 2 + len(line) * 2500
    for before in (text, text + b"x", text + b"x(", text[:middle], text + b"x(y"):
        bracket_window(before, LEXEMES)

    assert steps[0] == len(text)
    assert max(steps[1:]) < 300


ITEM = re.compile(rb"func\b")


def test_items_start_outside_of_brackets():
    text = b"func a() {\n}\nfunc b(\n x) {\nfunc c() {\n /*\nfunc */"

    assert item_start(text, LEXEMES, ITEM) == text.index(b"func b")
    assert item_start(text, LEXEMES, ITEM, anywhere=True) == text.index(b"func c")
    assert item_start(text[5:11], LEXEMES, ITEM) is None
    assert item_start(b"func a()\n\n", LEXEMES, ITEM) == 0


def test_innermost_bracket_of_a_kind():
    text = b"{ {} ( [ '{"

    assert innermost(text, LEXEMES, b"{") == 0
    assert innermost(text, LEXEMES, b"(") == 5
    assert innermost(b"( { }", LEXEMES, b"{") is None


def test_random_cuts_of_code_end_as_the_text_does():
    random = Random(3)
    for _ in range(50):
        text = bytes(random.choices(b"(){}[]\"'`/*\n\\ab ", k=200))
        cut = text[: random.randrange(200)]
        window = bracket_window(cut, LEXEMES)
        assert cut.endswith(window[window.rfind(b"\n") + 1 :])
