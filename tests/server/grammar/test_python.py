"""Python's ladder: which grammar a text is checked by, and what is left where text is broken."""

import pytest
from hypothesis import given, settings

from server.errors import GrammarError
from server.grammar import templates
from server.grammar.python import FULL_BYTES, NEAR_BYTES, STATEMENT_BYTES, ladder, near
from tests.server.grammar.test_python_lines import texts

BOM = b"\xef\xbb\xbf"


def accepted(before: bytes) -> tuple[str, str, bytes] | None:
    """The first rung whose window fits: its level, the grammar's variant, the window."""
    for rung in ladder(before):
        try:
            window = rung.window(before)
        except GrammarError:
            continue
        if templates.get(rung.source, 60).state().feed(window) == len(window):
            return rung.level, rung.source.name.removeprefix("python "), window
    return None


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (b"a = (b", ("window", "(spaces)", b"a = (b")),
        (b"if a:\n\tb(\n  c", ("window", "(tabs)", b"if 1:\n\tb(\n  c")),
        (b"'''\n\ta\n'''\nif b:\n c", ("window", "(spaces)", b"if 1:\n c")),
        (b"if a:\n b\nif c:\n\td", ("window", "(tabs)", b"if 1:\n\td")),
        (b"if a:\n    if b:\n\tc", ("window", "(spaces)", b"if 1:\n    if 1:\n\tc")),
        (b"if a:\n\tb\nc", ("window", "(tabs)", b"if 1: pass\nc")),
        (BOM + b"if a:\n b", ("window", "(spaces)", b"if 1:\n b")),
        (b"a b c\nd = (", ("window", "(spaces)", b"d = (")),
        (b"try:\n  a\nb = (", ("statement", "(spaces)", b"b = (")),
        (b"  a\n  b = (", ("statement", "(spaces)", b"if 1:\n  b = (")),
        (b"print 'a', (", ("structural", "(structural)", b"print 'a', (")),
        (b"a b)] + {", ("structural", "(structural)", b"[(a b)] + {")),
        (b"a b(]", None),
        (b"'\xff", None),
    ],
)
def test_the_first_rung_that_fits(before: bytes, expected: tuple[str, str, bytes] | None):
    assert accepted(before) == expected


def test_text_that_is_broken_above_is_checked_all_the_same():
    """A bracket that was never closed, a string, an unknown statement, a wrong dedent."""
    for broken in (b"f(a\n", b"a = 'b\n", b"class def\n", b"if a:\n    b\n  c\n", b"a)\n"):
        assert accepted(broken + b"\ndef f(a):\n    return (")[0] == "window"


def test_the_whole_of_a_long_text_is_no_rung():
    levels = [rung.level for rung in ladder(b"a = 1\n" * (FULL_BYTES // 6 + 1))]
    assert levels == ["window", "statement", "structural"]


LONG = b"a = f([\n" + b"    '(', # [\n" * (STATEMENT_BYTES // 13)


@pytest.mark.parametrize(
    ("line", "window"),
    [
        (b"    'b', {", b"(\n[\n    'b', {"),
        (b'  """c\n(\n  d', b'(\n[\n  """c\n(\n  d'),
        (b"  f'{g(\n'', {\n", b"(\n[\n{\n"),
        (b"  {b: c,\n  d", b"(\n[\n{\n  d"),
        (b"]\n,", b"(\n,"),
        (b"}, [\n  (d", b"(\n[\n[\n  (d"),
    ],
    ids=["line", "long string", "quote left open", "bracket", "closed", "broken"],
)
def test_of_a_long_statement_brackets_are_watched(line: bytes, window: bytes):
    """Also where one of its lines is broken, which ends strings."""
    assert accepted(LONG + line) == ("structural", "(structural)", window)


def test_why_a_long_statement_is_watched_less():
    rung, _ = ladder(LONG)
    with pytest.raises(GrammarError, match="the statement is longer than 20 kB"):
        rung.window(LONG)
    assert accepted(LONG + b"])\nb")[0] == "window"


def test_of_a_very_long_text_the_end_is_read():
    text = b"def f(a):\n    return a\n\n" * (10 * NEAR_BYTES // 24)
    end = near(text)
    assert end is not None
    assert text.endswith(end)
    assert end.startswith(b"def f")
    assert NEAR_BYTES <= len(end) <= 2 * NEAR_BYTES
    assert near(text + b"a\n").startswith(end)  # what was read can be kept
    assert accepted(text + b"x = (")[2] == b"x = ("


def test_a_very_long_text_without_statements_is_not_checked():
    assert ladder(b"  a = 1\n" * (3 * NEAR_BYTES // 8)) == ()


@settings(deadline=None)
@given(texts)
def test_every_text_has_a_ladder_and_windows(text: bytes):
    for rung in ladder(text):
        window = rung.window(text)
        assert window.endswith(text[text.rfind(b"\n") + 1 :].removeprefix(BOM))
        templates.get(rung.source, 60).state().feed(window)
