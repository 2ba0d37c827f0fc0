"""GBNF: the grammar means the same as by its definition; wrong ones are named with the line."""

import pytest
from hypothesis import given, settings

from server.errors import GrammarError
from server.grammar.gbnf import MOST_NESTED, gbnf_to_lark
from server.grammar.state import TooSlow, compile_grammar
from tests.server.grammar.gbnf_reference import gbnf, grammars, matches, texts
from tests.server.grammar.json_documents import fits


def template(text):
    return compile_grammar("x", gbnf_to_lark("x", text))


@settings(max_examples=200, deadline=None)
@given(grammars)
def test_it_matches_what_the_definition_matches(grammar):
    """On all texts of up to three characters; what matches is accepted at every byte, too."""
    compiled = template(gbnf(grammar))

    for text in texts(3):
        try:
            found = fits(compiled, text.encode())
        except TooSlow:
            continue
        assert found == matches(grammar, text), text


JSON = r"""
# JSON, written after llama.cpp's example (MIT)
root   ::= ws value
value  ::= (object | array | string | number | "true" | "false" | "null") ws
object ::= "{" ws (member ("," ws member)*)? "}"
member ::=
  string ws ":" ws value
array  ::= "[" ws ( value ("," ws value)* )? "]"
string ::= "\"" (
    [^"\\\x00-\x1F] |
    "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\""
number ::= "-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]+)? ([eE] [-+]? [0-9]{1,})?
ws     ::= [ \t\n]*
"""

ARITHMETIC = r"""
root  ::= (expr "=" ws term "\n")+
expr  ::= term ([-+*/] term)*
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num   ::= [0-9]+ ws
ws    ::= [ \t\n]*
"""

CHESS = r"""
root ::= (move " ")* move "\n"
move ::= (pawn | piece | "O-O" "-O"?) [+#]?
piece ::= [NBKQR] [a-h]? [1-8]? "x"? square
pawn ::= ([a-h] "x")? square ("=" [NBKQR])?
square ::= [a-h] [1-8]
"""

LIST = r"""
root ::= item+
item ::= "- " [^\r\n\x0b\x0c\x85\u2028\u2029]+ "\n"
"""


@pytest.mark.parametrize(
    ("grammar", "good", "bad"),
    [
        (JSON, ['{"a": [1.5e3, true, {"ä": "\\u00e4"}]}', " null "], ['{"a" 1}', "[1,]", "01"]),
        (ARITHMETIC, ["x1 = y\n", "(1+2)*z=3\na=1\n"], ["1+=2\n", "x=1"]),
        (CHESS, ["e4\n", "Nf3 exd5 O-O-O Qxh7+\n", "a8=Q#\n"], ["Zf3\n", "e9\n"]),
        (LIST, ["- ä b\n- c\n"], ["- \n", "-a\n"]),
        ("root ::= root [a] | [a]", ["a", "aaaa"], ["", "b"]),
        ('root ::= "a"{2} "b"{1,} [c]{,2}', ["aab", "aabbcc"], ["ab", "aabccc"]),
        ('root ::= "x"{0} "y"{,0} "z" { 0 , 0 } "a"{ 0, }', ["", "aa"], ["x", "y", "z"]),
        ('root ::= "ab"+ | "é"', ["abab", "é"], ["aba", "è"]),
        (r'root ::= "\U0001F600" [\u00e4-\u00fc] [^\]a-] [\--\]]', ["😀öx-", "😀ä\n]"], ["😀ö]-"]),
        ('root ::= "return" " "? name\nname ::= [a-z]+', ["return a", "returna"], ["return"]),
        ('root ::= ("a" | ) ("" | "b")* .', ["x", "abb\n", "ba"], ["", "xa"]),
        ('root ::=\n  "a" |\n  # b\n  ("b"\n "c")\n', ["a", "bc"], ["b"]),
    ],
)
def test_grammars(grammar, good, bad):
    compiled = template(grammar)

    assert [text for text in good if not fits(compiled, text.encode())] == []
    assert [text for text in bad if fits(compiled, text.encode())] == []


def test_brackets_may_be_nested():
    """As deep as is allowed, the engine takes them in their longest form."""
    compiled = template("root ::= " + "(" * MOST_NESTED + '"ab"{2}' + ")+" * MOST_NESTED)

    assert fits(compiled, b"abab" * 2)


def test_words_may_be_broken_anywhere():
    """What a lexer would read as one word may be two: `ab` is `a` and `b` here."""
    compiled = template('root ::= name name\nname ::= "a" | "ab" | "b"')

    assert all(fits(compiled, text) for text in (b"ab", b"aab", b"abab", b"abb"))


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", 1, "it has no rule root"),
        ('x ::= "a"', 1, "it has no rule root"),
        ('root ::= "a"\n\nb ::= missing', 3, "the rule missing is not defined"),
        ('root ::= "a"\nroot ::= "b"', 2, "the rule root is defined twice"),
        ('root ::= "a', 1, "'\"a' is not GBNF"),
        ('root ::= (\n"a"\n', 1, "this ( has no )"),
        ('root ::= "a")', 1, "the end of the line should stand before )"),
        ('root "a"', 1, '::= should stand before "a"'),
        ('root ::= "a"\n= x', 2, "'= x' is not GBNF"),
        ("root ::= | * ", 1, "nothing stands before *"),
        ('root ::= "a"{3,2}', 1, "{3,2} is no number of repetitions"),
        ('root ::= "a"{}', 1, "{} is no number of repetitions"),
        ('root ::= "a"{9999}', 1, "{9999} is more than 2000"),
        ("root ::= [z-a]", 1, "the range z-a is empty"),
        ("root ::= []", 1, "the class [] holds no character"),
        (r'root ::= "\q"', 1, r"\q is no escape"),
        (r'root ::= "\uD800"', 1, r"\uD800 is no character"),
        (r'root ::= "\U00110000"', 1, r"\U00110000 is no character"),
        ("root ::=\n" + "(" * 5000, 2, "brackets are nested deeper than 24"),
        ('root ::= "a"\n  \nb ::= "b"' + "*" * 10**5, 3, "more than 24 repetitions in a row"),
        ("root ::= <think>", 1, "'<think>' is not GBNF"),
    ],
)
def test_wrong_grammars_are_named_with_the_line(text, line, reason):
    with pytest.raises(GrammarError) as caught:
        gbnf_to_lark("g.gbnf", text)

    assert str(caught.value) == f"the grammar g.gbnf is wrong in line {line}: {reason}"
