"""Python's window: as good as the whole text, and better where that is broken."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.grammar import templates
from server.grammar.python_grammar import SPACES_SOURCE
from server.grammar.python_window import indents, statement, window
from tests.server.grammar.pythons import PROBES, verdicts_after
from tests.server.grammar.test_python_lines import texts

HEADS = ["if 1:", "elif 1:", "else:", "for x in x:", "while 1:", "try:", "except:", "except x:"]
HEADS += ["except* x:", "finally:", "with x:", "def f():", "class C:", "async def f():", "pass"]
HEADS += ["match x:", "case 1:", "@x", "if 1: pass", "else: pass", "a = (\n1)", "try: pass", "# x"]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("", ""),
        ("import a\nb = 1\nc.", "c."),
        ("a = 1\n", "pass\n"),
        ("# a\n# b", "# b"),
        ("a = [\n  1,\n", "a = [\n  1,\n"),
        ("def f(a,\n  b):\n    c\n    d", "def f():\n    d"),
        (
            "class A(B):\n    c\n\n    async def f(a): # d\n        ",
            "class C:\n    async def f(a): # d\n        ",
        ),
        ("if a:\n  b\nel", "if 1: pass\nel"),
        ("if a:\n  b\nelif c: d\nelse:\n  e", "if 1: pass\nelse:\n  e"),
        ("if a:\n  b\n  c\n\n", "if 1:\n  pass\n"),
        ("for a in b:\n  c\nelse:\n  d\ne", "e"),
        ("async for a in b: c\ne", "while 1: pass\ne"),
        ("try:\n  a\ne", "try: pass\ne"),
        ("try:\n  a\nexcept B:\n  c\ne", "try: pass\nexcept x: pass\ne"),
        ("try: a\nexcept *B: c\nexcept* D:\n  e\nf", "try: pass\nexcept* x: pass\nf"),
        ("try: a\nexcept B: c\nexcept: d\nelse: e\nf", "try: pass\nexcept: pass\nelse: pass\nf"),
        ("try: a\nexcept B: c\nelse:\n  d", "try: pass\nexcept x: pass\nelse:\n  d"),
        ("try: a\nfinally:\n  b", "try: pass\nfinally:\n  b"),
        ("try: a\nfinally: b\nc", "c"),
        ("match a:\n  case b:\n    c\n  ca", "match x:\n  ca"),
        ("match a:\n  case b:\n    c\n", "match x:\n  case 1:\n    pass\n"),
        ("@a(b)\n@c\nasync de", "@x\nasync de"),
        ("@a(b)\n\n  # c\n", "@x\n"),
        ("if a: b; c", "if a: b; c"),
        ("if a:\n\tif b:\n\t\tc\n\te", "if 1:\n\tif 1: pass\n\te"),
        ("if a:\n \f  b", "if 1:\n \f  b"),
        ("if a b:\n  c = = d\n  f(", "if 1:\n  f("),
        ("a\n    b", "pass\n    b"),
    ],
)
def test_what_is_kept_of_a_text(before: str, expected: str):
    assert window(before.encode()).decode() == expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("a b\nc.", "c."),
        ("    a\n    b", "if 1:\n    b"),
        ("if a\n  b c\n  d\nelse", "if 1: pass\nelse"),
        ("a b:\n  ", "if 1:\n  "),
        ("a b:  # c\n", "if 1:\n"),
        ("a b\n", "if 1: pass\n"),
        ("match a:\n  case b:\n    c\n  case d:\n    e", "match x:\n  case 1:\n    e"),
        ("match a:\n  case b:\n    c\n  case d", "match x:\n  case d"),
        ("match a:\n  case b: c\n", "match x:\n  case 1: pass\n"),
        ("try:\n  a\nb\nif c:\n    d", "if 1:\n    d"),
    ],
)
def test_what_a_statement_gets_before_it(before: str, expected: str):
    assert statement(before.encode()).decode() == expected


def test_indentation_is_that_of_the_nearest_blocks():
    assert indents(b"if a:\n  b\nif c:\n\tif d:\n\t\te") == [b"\t", b"\t\t"]
    assert indents(b"if a:\n  b\nc\n") == [b"  "]
    assert indents(b"a\n") == indents(b"") == []


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(HEADS)), max_size=12), st.data())
def test_whatever_the_grammar_accepts_the_window_accepts_alike(lines, data):
    """Random clauses; most are wrong somewhere, so the longest beginning that fits is taken."""
    text = "\n".join("  " * depth + line for depth, line in lines).encode() + b"\n"
    template = templates.get(SPACES_SOURCE, 60)
    fits = template.state().feed(text)
    before = text[: data.draw(st.integers(0, fits))]
    assert verdicts_after(template, window(before)) == verdicts_after(template, before)


@given(texts)
def test_windows_end_as_the_text_does(text: bytes):
    for found in (window(text), statement(text)):
        assert found.endswith(text[text.rfind(b"\n") + 1 :])


def test_probes_tell_states_apart():
    """The continuations that windows are compared by are all possible somewhere."""
    template = templates.get(SPACES_SOURCE, 60)
    places = [
        b"x",
        b"x\n",
        b"",
        b"f(x",
        b"'",
        b'f"{x',
        b"if x: y\n",
        b"try: x\n",
        b"try: x\nexcept: y\n",
    ]
    places += [
        b"match x:\n    ",
        b"if x:\n  try:\n   y\n",
        b"if x",
        b"if x:\n    ",
        b"[x",
        b"{x: x",
    ]
    places += [b"match x:\n    case y: z", b"if x:\n    if y: z"]
    seen = [verdicts_after(template, place) for place in places]
    assert all(any(column) for column in zip(*seen, strict=True)), [
        probe for probe, *column in zip(PROBES, *seen, strict=False) if not any(column)
    ]
