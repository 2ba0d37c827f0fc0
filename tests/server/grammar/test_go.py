"""Go: the grammar, its window, and what is left of both where a person's text is broken."""

import subprocess
from functools import cache
from pathlib import Path
from random import Random

import pytest

from server.grammar.brackets_window import LONGEST
from server.grammar.go import FILE, STATEMENTS, STRUCTURE, declaration, ladder, statements
from server.grammar.rungs import Source
from server.grammar.state import Template, compile_grammar
from tests.server.grammar.corpora import fetch_debian, sources
from tests.server.grammar.corpus import accepts_every_cut, cuts, mutated

SAMPLE = """\ufeff// A comment first.
/* Another */ package main /* and
one that ends the line */
import "fmt"
import (
	. "strings"; _ "embed"

	str2 `raw/path`
)

//go:embed x
var a, b int = 1, 0x_1F
var (
	c = []byte("x")
	d map[string][]func(int, ...string) (n int, err error)
)
const ()
const (
	A = iota << 1 // shifted
	B
	C uint8 = 'x' + '\\'' + '\\u00e4' + '\\n'
)

type (
	T[K comparable, V ~int | ~string | interface{ String() string }] struct {
		*fmt.Stringer `tag:"x"`
		Pair[K, V]
		x, y   K "tag"
		next   *T[K, V]
		f      func() <-chan int
		arr    [2 * 3]struct{}
	}
	Alias = T[int, string]
	I interface {
		~[]byte | *T[int, string]
		M(a, b int, c ...string) (x <-chan chan<- int)
		fmt.Stringer; N()
	}
)

func external(x float64) float64

func (t *T[K, V]) Get(k K) (v V, ok bool) {
	defer func() { recover() }()
	if v, ok := t.m[k]; !ok && (T{} == t0) || f(T{1}) {
		return
	} else if x := <-ch; x {
		goto end
	} else {
	}
	for {
		break
	}
	for i, j := 0, 1; i < 10 && <-c; i, j = i+1, j-1 {
		continue outer
	}
	for range xs { }; for i := range []int{1, 2} { _ = i }
	for ;; { x++ ; y-- }
	switch y := x.(type) {
	case nil, *int, []string, func(), map[string]int:
		fallthrough
	default:
	}
	switch x := f(); { case x > 1, x/2 < y/3: }
	switch x / 2 {
	case 1:
		x := a[1:2:3][:][i](
			1,
			xs...,
		)
	}
	select {
	case c <- 1:
	case v, ok := <-c:
	case <-time.After(1e3 * .5i):
	default:
	}
outer:
	for i := 0; i < n; i++ { }
	x = struct{ a int }{1}.a
	m := map[string][2]P{"a": {{1, 2}, {3, 4}}, `b`: {},
	}
	y = [...]string{2: "x", "y"}
	z := (*[]T)(nil) == (<-chan int)(ch) || chan int(c) == nil
	w = a &^ b & ^c | -d * *p << 1 ^ q &&
		!r
	p = &T[int]{x: 1}
	go func(a int) { f(a) }(1)
	s := `raw " \\
` + "\\x41\\101\\U0001F600" + Generic[[]int](a)[0].
		Method(make([]int, 3), new(struct{ x int }))
	x <<= 1; y &^= 2
	interface{ m() }.m(x)
	h := struct{ T }.m
	var q interface{} = interface{}(x)
end:
}
"""


@cache
def template(source: Source = FILE) -> Template:
    return compile_grammar(source.name, source.lark())


def fits(text: str, source: Source = FILE) -> bool:
    """Whether all of a text is accepted as a beginning."""
    return accepts_every_cut(template(source), text.encode()) is None


def body(text: str) -> str:
    """The text as the beginning of a function."""
    return "package p\nfunc f() {\n" + text


def test_a_file_with_everything_is_accepted_at_every_cut():
    state = template().state()
    text = SAMPLE.encode()

    assert text[: state.feed(text)].decode() == SAMPLE
    assert state.accepting


@pytest.mark.parametrize(
    "text",
    [
        "x := a / b / c",  # a comment's first byte is an operator
        "x := a /* one */ / b // end\n",
        "x := 1 /* two\nlines */ y = 2",  # a comment over two lines is a semicolon
        "f(a,\n\n// why\nb,\n)",
        "if x == y {",
        "x := y.\n\n z",
        "ifx := forx + gox.rangey",  # names that start with keywords
        "x.typ = t.(type_)",
        "s := `a`+`\n`",
        "r := '\\''",
        "for x := range ch {",
        "for i := range 10 {",
        "var x = 1; ;; y()",
        "a[i], b = b, a[j]",
        "return\n}",
        "return f(func() {\n}, 1)",
        "}\ntype T = [N]int",
        "L:\n}",
    ],
)
def test_right_beginnings(text):
    assert fits(body(text))


@pytest.mark.parametrize(
    "text",
    [
        "x := f(a\n)",  # a semicolon is inserted after a
        "x := []int{1\n}",
        "x := a\n+ b\n.c",
        "f(1 /* two\nlines */ )",
        "if x\n{",
        "if x == T{} {",
        "else",
        "x := = 1",
        "x y",
        "x := 'ab'",
        'x := "\\q"',
        'x := "a\n',
        "x = var",
        "var func",
        "f(a]",
        "for i := 0; i < n {",
        "switch x { y()",
        "import",
        "x := y.(type)\n",
        "}\nx := 1",
        "}\nimport",
        "*p := 1",
        "go f\n}",
        "if x = 1 {",
        "switch x { case 1: y() case 2:",
        "const (\nA = 1\n;",
        "return 1 2",
        "a, b int",
    ],
)
def test_wrong_beginnings(text):
    assert not fits(body(text) + " ")


def test_import_paths_are_no_strings():
    assert fits('package p\nimport "a/b.c-d_ä"\nimport `x`\n')
    assert not fits('package p\nimport "a b')
    assert not fits('package p\nimport ""')


class TestWindow:
    def test_is_a_package_and_the_declaration(self):
        text = b'package main\nimport "x"\nvar a = f(`\nfunc (`)\n/*\nfunc */\nfunc g() {\n\tx'

        assert declaration(text) == b"package p\nconst ()\nfunc g() {\n\tx"

    @pytest.mark.parametrize(
        ("text", "window"),
        [
            (b"", b""),
            (b"// doc\npackage ma", b"package ma"),
            (b'package main\n\nimport "x"\n\nimport (\n', b"package p\nimport (\n"),
            (b"package main\ntype T int\n\n", b"package p\nconst ()\ntype T int\n\n"),
            (b"func f() {\nfunc g() {\n", b"package p\nconst ()\nfunc f() {\nfunc g() {\n"),
        ],
    )
    def test_of_small_texts(self, text, window):
        assert declaration(text) == window

    def test_has_the_verdict_of_the_whole_text(self):
        """What may follow is the same, whatever the cut; half words and comments, too."""
        text = SAMPLE.encode()
        same_window(text, cuts(text, 120, Random(1)))


CONTINUATIONS = r"""
} ) ] , ; : . = x 1 " ` ' / // * := + ( [ { <- else~{ ~{ case */~+ `) int\n ~x \nx )\n ,\n \n}
\n\n\nfunc~f()~{ \nimport \nvar~x \ncase~x:\n \n}\n\n//~doc\ntype~T~[]int\n
"""
"""Texts that come next or do not; `~` is a blank."""


def same_window(text: bytes, places: list[int]) -> None:
    more_texts = [m.replace("~", " ").replace("\\n", "\n").encode() for m in CONTINUATIONS.split()]
    for place in places:
        before = text[:place]
        whole, window = template().state(), template().state()
        assert whole.feed(before) == place
        windowed = declaration(before)
        assert window.feed(windowed) == len(windowed), (before[-200:], windowed[-300:])
        assert window.check(text[place : place + 32]), (before[-200:], windowed[-300:])
        for more in more_texts:
            assert whole.check(more) == window.check(more), (before, more)


class TestBrokenText:
    """The first rung whose window fits is taken."""

    def first(self, before: str) -> tuple[str, str, bytes]:
        for rung in ladder(before.encode()):
            window = rung.window(before.encode())
            if fits(window.decode(), rung.source):
                return rung.level, rung.source.name, window
        return "off", "", b""

    def test_in_another_declaration_does_not_matter(self):
        level, _, window = self.first("package p\nfunc f() { x y z }\nfunc g() {\n\treturn a +")

        assert level == "window"
        assert window.endswith(b")\nfunc g() {\n\treturn a +")

    def test_a_brace_that_was_never_closed(self):
        level, _, window = self.first(
            "package p\nfunc f() {\n\tif x {\n}\n\nfunc g() {\n\treturn a +"
        )

        assert level == "window"
        assert window.endswith(b")\nfunc g() {\n\treturn a +")

    def test_in_the_same_function_leaves_the_statements_after_it(self):
        level, name, window = self.first(
            "package p\nfunc f() {\n\tx y z\n\tf(\n\t\ta,\n\t)\n\tb := c."
        )

        assert (level, name) == ("statement", STATEMENTS.name)
        assert window == b"\tb := c."

    def test_in_the_same_statement_leaves_the_brackets(self):
        level, name, _ = self.first("package p\nfunc f() {\n\tx y z(a, ")

        assert (level, name) == ("structural", STRUCTURE.name)

    def test_statements_end_where_their_block_does(self):
        """What comes behind the block is not known, so anything may."""
        assert fits("\tx()\n}), a: 1} else if", STATEMENTS)
        assert not fits("\tx y", STATEMENTS)

    def test_a_text_far_too_long_has_no_rungs(self):
        assert ladder(b"x" * (LONGEST + 1)) == ()

    def test_a_large_text_is_not_read_as_a_whole(self):
        large = b"package p\n" + b"var x = 1\n" * 10_000
        levels = [rung.level for rung in ladder(large)]
        assert levels == ["window", "statement", "structural"]

    @pytest.mark.parametrize("seed", range(30))
    def test_windows_of_mutants(self, seed):
        """A window ends as the text does, and none raises."""
        random = Random(seed)
        text = mutated(mutated(SAMPLE.encode(), random), random)
        before = text[: random.randrange(len(text))]
        for window in (declaration(before), declaration(before, True), statements(before)):
            assert before.endswith(window.removeprefix(b"package p\n").removeprefix(b"const ()\n"))


@cache
def go_files() -> tuple[Path, ...]:
    """Sources of Go's own library; those in `testdata` are wrong on purpose."""
    found = sources([fetch_debian("golang-1.19-src")], ".go")
    right = [path for path in found if "testdata" not in path.parts and path.parts[-3] != "test"]
    Random(7).shuffle(right)
    return tuple(right)


@pytest.mark.corpus
@pytest.mark.parametrize("source", [FILE, STRUCTURE], ids=lambda source: source.name)
def test_every_cut_of_real_files(source, report):
    total = 0
    for path in go_files()[:400]:
        text = path.read_bytes().replace(b"\r\n", b"\n")
        total += len(text)
        assert accepts_every_cut(template(source), text) is None, path
    report(f"{source.name}: 400 files, all {total:,} cuts accepted")


@pytest.mark.corpus
def test_windows_of_real_files():
    """2,000 cuts have the verdict of the whole file."""
    random = Random(11)
    for path in go_files()[400:600]:
        text = path.read_bytes()[:20_000]
        same_window(text, cuts(text, 10, random))


@pytest.mark.corpus
def test_mutants_of_real_files(report):
    """What `gofmt` reads is accepted, and little of what it refuses."""
    gofmt = fetch_debian("golang-1.19-go", only="gofmt") / "usr/lib/go-1.19/bin/gofmt"
    random = Random(17)
    small = [path for path in go_files() if path.stat().st_size < 6000]
    wrong = refused = 0
    for path in small[:500]:
        text = mutated(path.read_bytes(), random)
        done = subprocess.run([gofmt, "-e"], input=text, capture_output=True, check=False)
        state = template().state()
        fits_all = state.feed(text) == len(text) and state.accepting
        if done.returncode == 0:
            assert fits_all, (path, text[state.fed - 200 : state.fed + 50])
        else:
            wrong += 1
            refused += not fits_all
    report(f"go: of {wrong} mutants that gofmt refuses {refused} are refused")
    assert refused >= 0.97 * wrong
