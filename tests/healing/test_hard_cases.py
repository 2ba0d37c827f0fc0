"""Thirty cases that healing gets wrong elsewhere, each by name, in the default vocabulary.

Tokens are written as what they spell. `allows(prefix, *pieces)` says whether the covering tree of
`prefix` has the path of all pieces but the last, with the last one as a leaf across the cursor.
"""

import numpy as np
import pytest

from healing import exact
from healing.covers import CoveringTree, covering_tree
from healing.stitch import Stitch
from healing.tokenization import Tokenization
from healing.vocabulary import TokenKind
from tests.healing.structure import holds

pytestmark = pytest.mark.model


class Case:
    """Questions about the covering tree of one prefix."""

    def __init__(self, tokenization: Tokenization, prefix: str | bytes) -> None:
        self.typed = prefix.encode() if isinstance(prefix, str) else prefix
        self.tokenization = tokenization
        self.tree: CoveringTree = covering_tree(self.typed, tokenization)

    def ids(self, pieces: tuple[str | bytes, ...]) -> tuple[int, ...]:
        spelled = [p.encode() if isinstance(p, str) else p for p in pieces]
        return tuple(self.tokenization.trie.spelling(piece)[0] for piece in spelled)

    def allows(self, *pieces: str | bytes) -> bool:
        """Whether these tokens are a cover: a path, and a leaf across the cursor."""
        *path, leaf = self.ids(pieces)
        return any(
            self.tree.path(boundary.node) == tuple(path)
            and leaf in self.tokenization.trie.extending(self.typed[boundary.start :])
            and self.tree.admits(boundary, leaf)
            for boundary in self.tree.boundaries
        )

    def may_end(self, *pieces: str | bytes) -> bool:
        """Whether the text may end at the cursor, spelled like this."""
        stops = [boundary for boundary in self.tree.boundaries if boundary.stop]
        return [self.tree.path(boundary.node) for boundary in stops] == [self.ids(pieces)]

    def continues(self, continuation: str) -> bool:
        """Whether the tokenizer's own way through the text with a continuation is in the tree."""
        whole = self.typed + continuation.encode()
        return holds(self.tree, self.tokenization.encode(whole))


@pytest.fixture
def case(tokenization: Tokenization):
    return lambda prefix: Case(tokenization, prefix)


def test_01_module_name(case):
    """`import nump` may become ` numpy`, two tokens back; ` n|ump` can't be gone on with."""
    nump = case("import nump")

    assert nump.allows("import", " numpy")
    assert nump.tree.backed_up == b" nump"
    assert nump.may_end("import", " n", "ump")
    assert not nump.allows("import", " n", "ump", "y")


def test_02_long_name(case):
    """`raise NotImpleme` goes back over four tokens to one."""
    name = case("raise NotImpleme")

    assert name.allows("raise", " NotImplementedError")
    assert name.may_end("raise", " Not", "Im", "ple", "me")
    assert name.tree.backed_up == b" NotImpleme"


def test_03_full_indentation(case):
    """After four blanks the word takes the fourth; ` return` after all four is a fifth blank."""
    head = ("def", " f", "(x", "):\n")
    body = case("def f(x):\n    ")

    assert body.allows(*head, "   ", " return")
    assert not body.allows(*head, "    ", "return")
    assert body.allows(*head, "    ", " return")
    assert body.continues(" return 5 blanks")


def test_04_half_an_indentation(case):
    """After two of four blanks all depths are open."""
    head = ("def", " f", "(x", "):\n")
    body = case("def f(x):\n  ")

    assert body.allows(*head, " ", " x")
    assert body.allows(*head, "   ")
    assert body.allows(*head, "       ")
    assert body.continues("  x = 4 blanks")
    assert body.continues("      x = 8 blanks")


def test_05_tabs(case):
    """The last tab belongs to the word, and no tab is lost."""
    body = case("\tif a:\n\t\t")

    assert body.allows("\tif", " a", ":\n", "\t", "\treturn")
    assert body.continues("  mixed")
    assert body.tokenization.vocabulary.decode(body.tree.trunk) == b"\tif a:\n"


def test_06_blank_before_a_digit(case):
    """A word takes the blank before it, a digit does not."""
    value = case("return ")

    assert value.allows("return", " x")
    assert not value.allows("return", " ", "x")
    assert value.allows("return", " ", " x")  # two blanks
    assert value.allows("return", " ", "1")


def test_07_open_parenthesis(case):
    """`(x` is one pretoken, so `(` alone can't stand before a letter."""
    call = case("x = foo(")

    assert call.allows("x", " =", " foo", "(x")
    assert call.allows("x", " =", " foo", "()")
    assert call.allows("x", " =", " foo", '("')
    assert not call.allows("x", " =", " foo", "(", "x")


def test_08_line_end_after_punctuation(case):
    """`):` takes the line end in; a line end of its own after it is impossible."""
    head = ("def", " f", "(self")
    line = case("def f(self):")

    assert line.may_end(*head, "):")
    assert line.allows(*head, "):\n")
    assert line.allows(*head, "):\r\n")
    assert not line.allows(*head, "):", "\n")


def test_09_arrow(case):
    """` -` and `>` are ` ->`."""
    arrow = case("def f(x) -")

    assert arrow.allows("def", " f", "(x", ")", " ->")
    assert not arrow.allows("def", " f", "(x", ")", " -", ">")


def test_10_triple_quotes(case):
    """Three quotes may take a line end in, or a fourth quote as two and two."""
    quotes = case('s = """')

    assert quotes.may_end("s", " =", ' """')
    assert quotes.allows("s", " =", ' """\n')
    assert quotes.allows("s", " =", ' ""', '""')
    assert not quotes.allows("s", " =", ' """', '"')


def test_11_address(case):
    """`:` and `//` are `://`."""
    address = case('url = "https:')

    assert address.allows("url", " =", ' "', "https", "://")
    assert not address.allows("url", " =", ' "', "https", ":", "//")


def test_12_digits(case):
    """Digits are single tokens: there is nothing to heal, and healing is plain decoding."""
    number = case("n = 123")

    [boundary] = number.tree.boundaries
    assert number.tree.nodes == ()
    assert number.may_end("n", " =", " ", "1", "2", "3")
    assert number.tree.trunk == tuple(number.tokenization.encode(number.typed))
    assert number.tree.admits(boundary, number.ids(("4",))[0])


def test_13_decimal_point(case):
    """A point joins letters, never digits."""
    number = case("x = 3.")

    assert number.allows("x", " =", " ", "3", ".", "1")
    assert number.allows("x", " =", " ", "3", ".append")
    assert not number.allows("x", " =", " ", "3", ".", "append")


def test_14_windows_line_end(case):
    """CR LF may become two of it; a second LF is never put behind it as a token of its own."""
    line = case("a = 1\r\n")

    assert line.may_end("a", " =", " ", "1", "\r\n")
    assert line.allows("a", " =", " ", "1", "\r\n\r\n")
    assert not line.allows("a", " =", " ", "1", "\r\n", "\n")
    assert line.continues("\r\nb = 2")
    assert line.continues("    b = 2")


def test_15_blank_lines(case):
    """Line ends join over blanks, so a later one re-splits what is before it."""
    assert case("x\n\n").allows("x", "\n\n\n")
    assert case("x\n  ").allows("x", "\n  \n")
    assert case("x\n  ").allows("x", "\n", " ", " y")


def test_16_joined_emoji(case):
    """A token may end inside a character: its text is withheld until the character is there."""
    family = case("👨")
    stitch = Stitch()

    assert family.allows("👨", b"\xe2\x80")
    assert family.continues("\u200d👩\u200d👧")
    assert case("👨\u200d👩").continues("\u200d👧")
    assert [stitch.push(piece) for piece in (b"\xe2\x80", b"\x8d")] == [b"", "\u200d".encode()]


def test_17_prefix_cut_inside_a_character(case):
    """Half a character can be finished; no replacement character is made of it."""
    half = case("x = '日".encode()[:-1])

    assert [boundary.start for boundary in half.tree.boundaries if boundary.stop] == [7]
    assert any(half.tree.path(boundary.node) for boundary in half.tree.boundaries)
    stitch = Stitch(owed=0)
    assert stitch.push("日".encode()[:-1]) == b""
    assert stitch.finish() == b""


def test_18_ideographs(case):
    """`日` may become `日本`, or stand before something else."""
    day = case("日")

    assert day.allows("日本")
    assert day.allows("日", "x")


def test_19_combining_accent(case):
    """An e and an accent stay two characters."""
    word = case("cafe\u0301")

    assert word.may_end("ca", "fe", b"\xcc\x81")
    assert word.tokenization.vocabulary.decode(word.tokenization.encode(word.typed)) == word.typed


def test_20_text_that_spells_a_control_token(case):
    """`<|endoftext|>` in a string is seven ordinary tokens."""
    end = case('s = "<|endoftext|>')
    spelled = end.tokenization.encode(b"<|endoftext|>")
    kinds = end.tokenization.vocabulary.kinds

    assert len(spelled) == 7
    for boundary in end.tree.boundaries:
        path = end.tree.path(boundary.node)
        assert set(kinds[list(path)].tolist()) == {TokenKind.NORMAL}


def test_21_text_that_begins_like_a_control_token(case):
    """`<|fim_mid` may become the text `<|fim_middle|>`, never the control token."""
    text = case('f = "<|fim_mid')
    kinds = text.tokenization.vocabulary.kinds

    assert text.continues('dle|>"')
    for boundary in text.tree.boundaries:
        leaves = text.tokenization.trie.extending(text.typed[boundary.start :])
        assert set(kinds[leaves].tolist()) <= {TokenKind.NORMAL}
    marks = np.flatnonzero(kinds == TokenKind.CONTROL)
    assert b"<|fim_middle|>" in {text.tokenization.vocabulary[int(mark)] for mark in marks}


def test_22_empty_prompt(case):
    """Nothing to type again: the distribution is the model's own."""
    nothing = case("")

    [boundary] = nothing.tree.boundaries
    assert nothing.tree.nodes == ()
    assert nothing.tree.path(boundary.node) == ()
    assert nothing.tree.backed_up == b""
    assert nothing.allows("import")
    assert nothing.allows("\n")


def test_23_one_character(case):
    """The way back reaches the start of the text."""
    assert case("e").allows("each")
    assert case("@").allows("@property")
    assert case("e").tree.backed_up == b"e"


def test_24_text_shorter_or_longer_than_the_window(case):
    """The search never starts inside a character, and has no fixed number of tokens."""
    assert case("日本").continues("語")
    assert case("日本語" * 60).continues("日本")
    assert case("é" * 200).continues("é")


def test_25_text_after_a_control_token(case, tokenization):
    """The root is whatever stands before the typed text: it is never part of the tree."""
    middle = case("retu")
    whole = set(tokenization.vocabulary.text_ids().tolist())

    assert middle.tree.trunk == ()
    assert middle.allows("return")
    assert {node.token for node in middle.tree.nodes} <= whole


def test_26_longest_tokens(case):
    """Rulers and runs of blanks go back a hundred bytes, over one token or many."""
    assert case("# " + "-" * 50).allows("#", " " + "-" * 80)
    assert case("-" * 79).allows("-" * 80)
    assert case(" " * 100).allows(" " * 128)
    assert case("x = 1\n" + " " * 100).continues(" " * 27 + "y")
    assert len(case("-" * 79).tree.nodes) <= 6


def test_27_tokens_that_begin_alike(case):
    """`=`, `==` and `===` are all kept; equal visible texts are one."""
    equals = case("a =")
    stops = np.flatnonzero(equals.tokenization.vocabulary.kinds == TokenKind.CONTROL)[:1]
    flat = np.zeros(len(equals.tokenization.vocabulary), dtype=np.float32)
    rows = dict.fromkeys(exact.unscored(equals.tree, {}), flat)
    scored = exact.score(equals.tree, rows, stops.tolist())

    assert equals.allows("a", " ==")
    assert equals.allows("a", " ===")
    assert equals.may_end("a", " =")
    visible = exact.read(scored, unchecked=0.9999).visible()
    assert len({text for text, _, _ in visible}) == len(visible) > 0


def test_28_contractions(case):
    """An apostrophe after a word takes a t or an s, one in code takes what it opens."""
    assert case("don'").allows("don", "'t")
    assert case("it'").allows("it", "'s")
    assert case("x='").allows("x", "='", "s")
    assert not case("x='").allows("x", "=", "'s")
    assert case("f = don'").continues("x'")


def test_29_inside_a_word(case):
    """Left of the cursor the word is open to what stands right of it."""
    word = case("foo = calc_to")

    assert word.allows("foo", " =", " calc", "_total")
    assert word.continues("tal(x)")


def test_30_exact_end(case):
    """A whole word may end as it is, or go on after it, with its own probability."""
    word = case("return x")

    assert word.may_end("return", " x")
    assert word.allows("return", " x", "\n")
    assert word.allows("return", " x", " +")
    assert word.allows("return", " xx")


@pytest.mark.parametrize(
    ("prefix", "continuation"),
    [
        ("\ufeffimp", "ort os"),
        ("a\0b", "c\0"),
        ("größ", "e = 1"),
        ("名前", " = '日本'"),
        ("x = ‘", "a’"),
        ("ab\u00a0", "c"),
    ],
    ids=["byte-order mark", "NUL", "umlauts", "ideographs", "curly quotes", "no-break space"],
)
def test_odd_characters(case, prefix: str, continuation: str):
    """Characters that other healers strip, replace or split."""
    assert case(prefix).continues(continuation)
