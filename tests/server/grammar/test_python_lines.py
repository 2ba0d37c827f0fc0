"""Python's logical lines: where they start, in whole and broken texts, and after edits."""

import io
import tokenize
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.errors import GrammarError
from server.grammar import python_lines
from server.grammar.python_lines import column_of, logical_lines, missing_brackets
from tests.server.grammar.corpus import mutated, sample, stdlib_files

SKIPPED = {
    tokenize.ENCODING,
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
PIECES = [
    b"if x:\n",
    b"    ",
    b"\n",
    b"#",
    b"'",
    b'"""',
    b"(",
    b")",
    b"\\",
    b"a",
    b"f'{",
    b"}",
    b"\t",
]
PIECES += [
    b"return x\n",
    b"def ",
    b"async def f",
    b"\f",
    b"\xff",
    b"\r",
    b"  y = [1,\n 2]\n",
    b"\n\n",
]
texts = st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join)


def fresh(text: bytes) -> python_lines.Lines:
    """Lines read from the start."""
    python_lines._known.clear()
    return logical_lines(text)


def starts(text: str) -> list[str]:
    """The first ten characters of each logical line, and `|` if the last one has ended."""
    lines = fresh(text.encode())
    found = [lines.text[start:].decode()[:10].split("\n")[0] for start in lines.starts]
    return found if lines.end is None else [*found, "|"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["|"]),
        ("a", ["a"]),
        ("a\n", ["a", "|"]),
        ("# a\n\n  # b", ["|"]),
        ("a # b\n  ", ["a # b", "|"]),
        ("if a:\n  b\n\n  c", ["if a:", "  b", "  c"]),
        ("f(\n a\n)\nb", ["f(", "b"]),
        ("f([{\n]})\nb", ["f([{", "b"]),
        ("a = '''\nb\n'''\nc", ["a = '''", "c"]),
        ("a = '''\nb\n''\nc", ["a = '''"]),
        ("a = \\\nb\nc", ["a = \\", "c"]),
        ("a = \\\n", ["a = \\"]),
        ("'(' # (\nb", ["'(' # (", "b"]),
        ("'\\'(\\\n('\nb", ["'\\'(\\", "b"]),
        ("'' '' \"\"\nb", ["'' '' \"\"", "b"]),
        ('f\'{"#"}\' f"{"#"}" f"{d["\'"]:>{w}}"\nb', ["f'{\"#\"}' f", "b"]),
        ("f'{a:'\nb", ["f'{a:'", "b"]),
        ("f'a {\n  b(\n  1)['c']\n:{d}} {e}'\nf", ["f'a {", "f"]),
        # broken texts
        ("f'{a\n  b}'\nd", ["f'{a", "  b}'", "d"]),
        ("a = 'b\nc", ["a = 'b", "c"]),
        ("a)\nb", ["a)", "b"]),
        ("f(a\nb = 1", ["f(a"]),
        ("f(a\nb = 1\nimport c\nd", ["f(a", "import c", "d"]),
        ("f(a\n    return", ["f(a"]),
        ("f(a\n    return b", ["f(a", "    return"]),
        ("f(a\n    returned b\n  class_\n async for a in b", ["f(a"]),
        ("[a\nasync def b", ["[a", "async def "]),
    ],
)
def test_where_lines_start(text: str, expected: list[str]):
    assert starts(text) == expected


def test_columns_are_those_of_cpython():
    assert [column_of(text) for text in (b"", b"  ", b"\t", b"  \t ", b"  \f \t")] == [
        0,
        2,
        8,
        9,
        8,
    ]


def test_missing_brackets_open_what_is_closed():
    assert missing_brackets(b"a, (b)]) + c(") == b"(["
    assert missing_brackets(b"') }' # ]") == b""


def test_lines_are_those_of_the_tokenizer():
    for path, text in sample(stdlib_files(), 20, Random(11), most=60_000).items():
        expected, new = [], True
        for token in tokenize.tokenize(io.BytesIO(text).readline):
            if token.type in SKIPPED:
                continue
            if new:
                expected.append(token.start[0])
            new = token.type == tokenize.NEWLINE
        found = fresh(text)
        assert [text.count(b"\n", 0, start) + 1 for start in found.starts] == expected, path


@settings(deadline=None)
@given(texts, st.data())
def test_reading_on_is_the_same_as_reading_from_the_start(text: bytes, data: st.DataObject):
    for _ in range(3):
        at = data.draw(st.integers(0, len(text)))
        upto = data.draw(st.integers(at, len(text)))
        text = text[:at] + data.draw(texts) + text[upto:]
        found = logical_lines(text)
        assert found == fresh(text)
        logical_lines(text[: len(text) // 2])


@settings(deadline=None)
@given(st.lists(texts, min_size=1, max_size=4), st.booleans())
def test_long_lines_are_taken_up_again(parts: list[bytes], opened: bool):
    """Places in them are the same in every text with the same start."""
    with pytest.MonkeyPatch.context() as patch:
        plain = fresh(b"".join(parts))
        patch.setattr(python_lines, "SPACING", 1)
        fresh(b"")
        for count in range(len(parts) + 1):
            text = b"x = [\n" * opened + b"".join(parts[:count])
            found = logical_lines(text)
            assert found == fresh(text)
    if not opened:
        assert (found.starts, found.columns, found.end) == (plain.starts, plain.columns, plain.end)


def test_a_long_line_is_not_read_again(monkeypatch: pytest.MonkeyPatch):
    text = b"x = [\n" + b"  'key': (1, 2),\n" * 10_000
    fresh(text)
    begun = []
    line_end = python_lines._line_end

    def counted(text, at, places, most):
        begun.append(places[-1].position if places else at)
        return line_end(text, at, places, most)

    monkeypatch.setattr(python_lines, "_line_end", counted)
    for end in range(10):
        logical_lines(text + b"'abc': (4,"[:end])
    assert min(begun) > len(text) - 3 * python_lines.SPACING


@pytest.mark.parametrize(
    "text",
    [
        b"a)\n" * 2000 + b"if x:\n    y",
        b"x = [\n" + b"  {'k': (1)}},\n" * 2000 + b"]\ny",
        b"def f():\n  g(1,\n 2)\n\n" * 500 + b"  '''" + b"a)\n" * 3000,
    ],
    ids=["lines", "one line", "a string"],
)
def test_long_reading_goes_on_with_the_next_request(text, monkeypatch: pytest.MonkeyPatch):
    wanted = fresh(text)
    python_lines._known.clear()
    monkeypatch.setattr(python_lines, "MOST_STEPS", 1500)
    for _ in range(50):
        with suppress(GrammarError):
            found = logical_lines(bytes(bytearray(text)))
            assert (found.starts, found.end) == (wanted.starts, wanted.end)
            return
    pytest.fail("not read within so many requests")


def test_a_hostile_text_is_left_after_so_much_work():
    with pytest.raises(GrammarError, match="the next request goes on"):
        fresh(b")" * 400_000)


def test_nothing_is_read_behind_thousands_of_open_brackets():
    lines = fresh(b"a\nx = " + b"[" * 500_000 + b"\nimport b\n")
    assert (lines.starts, lines.end) == ([0, 2], None)
    assert lines.places == []


def test_reading_on_in_real_files_that_are_edited():
    random = Random(12)
    for original in sample(stdlib_files(), 10, random, most=30_000).values():
        edited = fresh(original).text
        for _ in range(10):
            edited = mutated(edited, random)
            found = logical_lines(edited)
            assert found == fresh(edited)


@given(texts)
def test_every_text_has_lines_in_order(text: bytes):
    lines = logical_lines(text)
    assert len(lines.starts) == len(lines.columns)
    assert lines.starts == sorted(set(lines.starts))
    assert lines.end is None or lines.end <= len(text)
    assert all(start == 0 or text[start - 1 : start] == b"\n" for start in lines.starts)


def test_only_a_few_texts_are_remembered():
    for number in range(20):
        logical_lines(b"%d\n" % number)
    assert len(python_lines._known) == python_lines.KNOWN


def test_the_text_before_an_edit_is_not_read_again(monkeypatch: pytest.MonkeyPatch):
    text = b"if a:\n    b = (1,\n  2)\n" * 1000
    fresh(text)
    read = []
    line_end = python_lines._line_end
    monkeypatch.setattr(python_lines, "_line_end", lambda *args: read.append(1) or line_end(*args))
    for end in range(20):
        logical_lines(text + b"x = foo(1, b'x', 2)\n"[:end])
    assert len(read) < 50
