"""Python's grammars: what they accept and reject, and the traps of greedy lexemes."""

import ast
import re
import textwrap
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.grammar import templates
from server.grammar.python_grammar import (
    SPACES,
    SPACES_SOURCE,
    STRUCTURAL_SOURCE,
    TABS,
    TABS_SOURCE,
)
from server.grammar.state import SyntaxState


def spaces() -> SyntaxState:
    return templates.get(SPACES_SOURCE, 60).state()


def tabs() -> SyntaxState:
    return templates.get(TABS_SOURCE, 60).state()


def structure() -> SyntaxState:
    return templates.get(STRUCTURAL_SOURCE, 60).state()


WHOLE = {
    "operators": "x = -a ** -b // c @ d << 1 | ~e and not f or g is not h not in i < j != k",
    "assignments": "a, *b = c = (d, [e.f]) = g[h], *i; a += yield; (b) @= 1; a.b: int = 2; (c): d",
    "one target in brackets": "(a) = [b] = () = []\ndel (a, b), [c], d.e, f[0]",
    "lambda": "f = lambda a, /, b=1, *c, d, e=2, **f: (yield), lambda: 0, lambda *, a: a",
    "conditional": "x = a if b else c if d else lambda: e",
    "calls": "f(*a, b, *c, d=1, *e, **g, h=2, **i)(x for x in y)(a := 1)[::, 1:2:3, *d, b := 2]",
    "comprehensions": "[x for x, *y in z if a if not b async for c in d]; {k: v for k in v}",
    "displays": "[], (), {}, {1, *a}, {1: 2, **b,}, (1,), (yield), [*a], {c := 1}",
    "numbers": "0x_F + 0b1 - 0o7 * 1_0.0_1e-1_0j + .5 + 1. + 00 + 1if x else 2",
    "a number before else": "x = 1 if a and b + 1else 0; [0xfor x in y]; y = 1 if 1.else.5",
    "bytes and strings": "b'a' Rb'\\'' u'b'" + ' rB"""c"d\n""" \'\' "" ',
    "a long import": "from . import a\nfrom .. .b import (c as d, e,)\nimport f.g as h, i",
    "statements": "pass; return; assert a, b; raise a from b; global c, d; nonlocal e; del f;",
    "print function": "print('a', file=b) or print",
    "soft keywords as names": "match = case = type = _ = 1; match(case)[type]; type, x = y; case.a",
    "type statement": "type A = int; type B[T: int = str, *U = *V, **W = [X]] = C[T]",
    "generic": "def f[T](x: T) -> T: ...\nclass C[*Ts, **P](A, metaclass=B): pass",
    "parameters": "def f(a, b: int = 1, /, c=2, *d: *e, g, h=3, **i) -> j: pass",
    "only keywords": "def f(*, a, b=1): pass\ndef g(a=1, /, b=2): 3\ndef h(a, /, b=1, *, c,): 2",
    "decorators": "@a.b(c)[d]\n\n# e\n@f if g else h\nasync def i(): await j; return await k",
    "loops": "while (a := b): break\nelse: continue\nfor a, b[c].d in *e, f: pass\nelse: pass",
    "with": "with a, b as (c, d): pass\nwith (a as b, c): pass\nwith (a, b) as c, (d): pass",
    "async": "async def f():\n async with a as b: pass\n async for c in d: pass\n else: await e",
    "try": "try: a\nexcept B: c\nexcept (D, E) as f: g\nexcept: h\nelse: i\nfinally: j",
    "try finally": "try:\n  a\nfinally:\n  b",
    "groups of exceptions": "try: a\nexcept* B as c: d\nexcept *(E, F): g",
    "exceptions without brackets": "try: a\nexcept B, C: d\nexcept E, F,: g",
    "f-strings": """f'{a!r:>{b}.{c}}' f"{d['e']=}" F'\\'{{}}\\{f}' fr'\\d{g:\\d}' f'\\N{A}{h}'""",
    "f-strings with their own quotes": '''f"{a["b"]}" f'{f'{f'{1}'}'}' f"{', '.join(x)}{"'"}"''',
    "long f-strings": "f'''a'b''c{d:{e}'}\n{\nf # comment\n}''' rf\"\"\"\"{a}\\\n\"\"\"",
    "empty f-strings": "f'' rf\"\" f'''''' F'' t'' f''\n",
    "t-strings": "t'{a!s:{b}}' Tr\"\\{c}\" rt'''{d}'''",
    "lambdas in fields": "f'{(lambda x: 1)}{[lambda: 2][0]}{f(lambda a: b)}{a if b else (c)}'",
    "what fields hold": "def f():\n  f'{yield}{yield a, *b}{yield from c}{*d, e}{a if b else c!r}'",
    "braces and brackets in fields": "f'{ {1: 2}[1] }{(lambda x: 1)}{x != y}{z!=y}{a if b else c}'",
    "lines joined by backslash": "a = \\\n  b + \\\n\\\n c\nif a and \\\n   b: pass\n\\\nc",
    "backslashes before a line": "\\\na\nif b:\n\\\n  c\n  \\\n d\n\\\ne",
    "lines inside brackets": "f(  # one\n\n a,\n  # two\n     b)\nx = [\n1,\n]\n{\n}",
    "comments and slashes": "a / b # c\n# d / e\nf //= g #",
    "letters": "häß = ñ.ö; 变量 = 'ä' + \"\\xe4\"  # ü",
    "blank lines": "\n\n  \n# a\nif b:\n\n      # c\n  d\n # e\n\t\n  f\n\n",
    "form feeds": "a\n\f\nb\n\fclass C:\n \f  d\nif e:\n    \f\n  f",
    "comment without newline": "if a:\n  b # c\n  # d",
    "blanks at the end": "if a:\n  b\n    ",
    "dedents": "if a:\n    if b:\n       c\n    d\nelif e:\n f\nelse:\n   if g: h\n   elif i: j\nk",
    "one tab reaches to column 8": "if a:\n    if b:\n\tc\n        d\n    \te",
    "nothing": "",
    "only comments": "  # a\n\n  # b",
    "only blanks": "\n  ",
    "match": """
        match a, *b:
            case 1 | -2.5 | 3+4j | -5-6J | 'a' "b" | None | True: pass
            case [x, *_] | (y, z) | [] | () | ((w)): pass
            case {"k": v, -1: w, A.b: c, **rest}: pass
            case P(1, x=2, y=Q()) | a.b.P() as d if e := f: pass
            case a, *b,: pass
            case _:
                match (c):
                    case d: pass
        """,
}


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_whole_texts_are_accepted_and_may_end(text: str):
    data = textwrap.dedent(text).encode()
    state = spaces()
    assert state.feed(data) == len(data)
    assert state.accepting


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_the_structure_of_whole_texts_is_accepted(text: str):
    data = text.encode()
    state = structure()
    assert state.feed(data) == len(data)
    assert state.accepting


WRONG = {
    "two names": "a |b",
    "a statement of Python 2": "print |'a'",
    "a word that begins like an operator": "x = a int| ",
    "a word that begins like for": "[a format|]",
    "as glued to a name": "from a import b asc|\n",
    "import glued to a name": "from a importb|\n",
    "a comma of keywords": "f(a=1, b|)",
    "a star after two": "f(**a, *|b)",
    "a default before none": "def f(a=1, b|):",
    "a star alone": "def f(*|):",
    "a call as target": "f() =| 1",
    "a literal as target": "1 =| x",
    "an assignment in an expression": "x = (a =| 1)",
    "a keyword as name": "class |= 1",
    "a bracket of another kind": "f(a|]",
    "a bracket too many": "f(a)|)",
    "a newline in a string": "'abc|\n'",
    "a newline in an f-string": "f'abc|\n'",
    "an empty field": "f'{|}'",
    "a lambda in a field": "f'{lambda| x: x}'",
    "a lambda in a part of a field": "f'{a, lambda|: 1}'",
    "a lambda in a condition": "f'{a if b else lambda|: c}'",
    "a single brace": "f'a}| '",
    "else without if": "a\nelse|:",
    "elif after else": "if a: b\nelse: c\nelif|:",
    "except after all exceptions": "try: a\nexcept: b\nexcept| c:",
    "two kinds of except": "try: a\nexcept b: c\nexcept |* d: e",
    "try alone": "try: a\n|x",
    "nothing in a block": "if a:\n|x",
    "a deeper line": "a\n  |b",
    "a deeper line in a block": "if a:\n  b\n    |c",
    "a dedent to no block": "if a:\n    b\n  |c",
    "a decorated statement": "@a\n|x = 1",
    "a case outside of match": "case a|:\n",
    "a statement inside match": "match a:\n  |x",
    "a block on the head's line": "if a: if| b",
    "half of two operators": "a < |> b",
    "an arrow": "a -|> b",
    "a number with letters": "1|x",
    "a zero byte": "a|\0",
    "async alone": "async |x",
}


@pytest.mark.parametrize("marked", WRONG.values(), ids=WRONG)
def test_an_error_is_seen_where_it_is(marked: str):
    good, bad = marked.encode().split(b"|")
    state = spaces()
    assert state.feed(good + bad) == len(good)


@pytest.mark.parametrize(
    "word",
    ["andy", "notx", "iffy", "inner", "isx", "lambdas", "orx", "elsewhere", "asx", "Falsey"],
)
def test_a_keyword_is_a_whole_word(word: str):
    for text in (f"{word} = 1", f"x = ({word}, {word})", f"f({word}=a.{word})"):
        assert spaces().check(text.encode())


def test_tokens_of_any_length_are_checked_alike():
    """Without `no_forcing`, one spelling alone would be allowed where text is forced."""
    state = spaces()
    state.feed(b"from a impo")
    for token in (b"r", b"rt", b"rt os", b"rt *\n\nx"):
        assert state.check(token)
    assert not state.check(b"r ")


def test_half_a_character_is_viable():
    state = spaces()
    state.feed("x = ä".encode()[:-1])
    assert state.check("ä".encode()[1:])
    assert not state.check(b"x")


@pytest.mark.parametrize(("state", "unit", "columns"), [(spaces, " ", SPACES), (tabs, "\t", TABS)])
def test_blocks_are_nested_up_to_the_last_column(state, unit: str, columns: int):
    text = "".join(unit * column + "if a:\n" for column in range(columns - 1))
    text += unit * (columns - 1) + "b\n"
    fed = state()
    assert fed.feed(text.encode()) == len(text)
    assert fed.check(unit.encode() + b"\n")
    assert not fed.check(unit.encode() * columns + b"c")


def test_tabs_are_columns_of_their_own():
    text = b"if a:\n\tif b:\n\t\tc\n\n\t# d\n\te\nf"
    assert tabs().feed(text) == len(text)
    assert not tabs().check(b"if a:\n\tb\n\t\tc")
    assert not tabs().check(b"if a:\n  b")


def blocks(depth: int) -> st.SearchStrategy[list[str]]:
    """Lines of random blocks without indentation below their heads."""
    simple = st.sampled_from(["a", "b = 1; c", "return x", "if a: b", "f(\n1,\n  2)"])
    if not depth:
        return st.lists(simple, min_size=1, max_size=3)
    heads = st.sampled_from(
        [
            ["if a:"],
            ["if a:", "elif b:", "else:"],
            ["for a in b:", "else:"],
            ["def f():"],
            ["try:", "except A:", "else:", "finally:"],
            ["try:", "finally:"],
        ]
    )
    inner = blocks(depth - 1)
    widths = st.integers(1, 9)

    def compound(parts: tuple[list[str], list[tuple[list[str], int]]]) -> list[str]:
        found = []
        for head, (body, width) in zip(*parts, strict=False):
            found += [head, *(" " * width + re.sub("\n", "\n  ", line) for line in body)]
        return found

    pairs = st.lists(st.tuples(inner, widths), min_size=4, max_size=4)
    statement = st.one_of(simple.map(lambda line: [line]), st.tuples(heads, pairs).map(compound))
    return st.lists(statement, min_size=1, max_size=3).map(lambda found: [*chain(*found)])


@settings(deadline=None, max_examples=40)
@given(blocks(3))
def test_every_nesting_of_blocks_is_accepted(lines: list[str]):
    text = "\n".join(lines) + "\n"
    ast.parse(text)
    state = spaces()
    assert state.feed(text.encode()) == len(text)
    assert state.accepting
