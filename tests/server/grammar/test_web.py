"""The languages of the web: brackets, strings, templates, regular expressions, elements."""

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.grammar import css, html, javascript
from server.grammar.brackets_window import LONGEST
from server.grammar.state import Template, compile_grammar
from tests.server.grammar.corpora import fetch_debian, fetch_npm, sources
from tests.server.grammar.corpus import accepts_every_cut, cuts

LADDERS = javascript.LADDERS | css.LADDERS | html.LADDERS

JAVASCRIPT = r"""#!/usr/bin/env node
// don't stop at (
/* nor at { */ import a, { b as c } from 'x"y'
const re = /[/"'`]\/(/.test(s) ? a / b / c : /=(/u;
if (x) /re"/.exec(y); while (f(a)) /'/.test(b)
x = (a) / 2 + "'" / arr[0] / 3; i++ / 2 / (b)
const t = `one ${`two ${"}"} // ${a}` + `//`} don't $ {{ ( \` $${1}`
obj.if(a) / 2 / (b); obj?.for(c) / 2 / (d); p.#q / r / (s)
return /* c */ /\//g
typeof /x(/; a = b
/ c / (d)
x = a ?.5 : b?.[0]?.(1)
s = "\
(" + '\'('
label: for (const k of /[)]/[Symbol.iterator]()) { }
function* g() { yield /(/ }
x = {} ; y = { return: 1, if() { return 1 } }
a = b ? (c, d) : e => ({ f }); @dec class A { static #x = 1 }
"""

TYPESCRIPT = r"""
type F = <T>(a: T, b?: Array<Array<T>>) => void; let x = <any>y
x! / 2 / (a!); a!.b! / (c)
interface I { <T>(x: T): T; new <U>(): U; m?<V>(x: V): void; [k: string]: 'a' | `b${string}` }
function f<T extends { a: '(' }, U = {}>(this: T): asserts this is U {}
"""

JSX = r"""
const a = <p className="it's" title='"' {...props} data-x:y={`(`}>
  Don't (close [ this " or ` http://x // y {/* don't */} {cond && <b>it's</b>} &nbsp; a = b</p>
const f = <T,>(x: T) => x, g = <T extends object>(x: T) => <></>
const h = (<a.b.C /* c ' */ disabled icon=<i/> render={() => <b/>} /> )
x = a < b && c > d; useState<string | null>('x'); y = i < 10 / 2
return <Select<Option> options={[]}>({x})</Select>
if (a) <b>{x}</b>
type G = { <T>(x: T): Promise<T> }; const after = "any thing
"""

CSS = r"""@charset "utf-8"; @import url(//cdn.x/a.css?b=c;d);
.a\:b\[1\]::after { content: "\"}" ; background: url(data:image/png;base64,a/*b==) } /* don't ( */
.b { background: URL( "a)b" ) ; width: calc((1px + 2px) / 3) } a[href='x{'] , x{}
"""

SCSS = r"""// don't (
@use "a//b"; $map: (a: 1, b: "x#{map-get($m, "y)")}z", c: 'it#s');
.a-#{$b} { &:hover { background: url(http://x/#{$y}.png) url("a" + $b) } } /* ( */ @if $a == '"' {}
.m() when (@a) { @r: ~"escape(@{b}"; color: @@name; .n(@a; @b) !important; w: 10 / 2 }
"""

HTML = """<!DOCTYPE html><!-- <div> -- > --><html lang=en><p title='"<div>' data-x = a/b"c>1 < 2
& 3<4
<DIV id="it's" hidden><ul><li>don't<li><a href=/a/>x</b></ul><br/><img src=x/ ></div  ></p>
<script>if (a < b) x = "<div></span><!--"</SCRIPT ><style>a > b { }</style><title></title>
<svg viewBox='0'><path d=""/></svg><my-div></other><divx></divx></section></ul><?xml x?></3></>
<table><tr><td><span>a</span><tbody></table><![CDATA[ x ]]><textarea><b>" </textarea> <span/>
<div
  a="
b">"""

VUE = """<script setup lang="ts" generic="T extends 'a>'">
const x = a < b && c > d // don't </div>
</script>
<template><!-- it's -->
  <div v-if="a > b" @click.stop='f("x")' :[key]="`${x}`" #default="{ y }"><XItem v-for="i in 3" />
    {{ a < b ? "it's" : c > d }} <template v-slot:x></template><span>&lt;</span></div>
</template>
<style scoped>a > b { content: "</div>" }</style>
"""

SAMPLES = {
    "javascript": JAVASCRIPT + JSX.replace("type G", "// type G").replace('"any thing', ""),
    "typescript": JAVASCRIPT + TYPESCRIPT,
    "typescriptreact": JAVASCRIPT + JSX,
    "css": CSS,
    "scss": SCSS,
    "less": SCSS,
    "html": HTML,
    "vue": VUE,
}


@cache
def template(language: str) -> Template:
    source = LADDERS[language](b"")[0].source
    return compile_grammar(source.name, source.lark())


def fits(language: str, text: str) -> bool:
    """Whether all of a text is accepted as a beginning."""
    return accepts_every_cut(template(language), text.encode()) is None


@pytest.mark.parametrize("language", SAMPLES)
def test_hard_samples_are_accepted_at_every_cut(language):
    state = template(language).state()
    text = SAMPLES[language].encode()

    assert text[: state.feed(text)] == text


@pytest.mark.parametrize("language", SAMPLES)
def test_lines_of_the_hard_samples_end_where_code_may_end(language):
    """All but the last, which is unfinished on purpose."""
    state = template(language).state()
    state.feed(SAMPLES[language].rpartition("type G")[0].rpartition("\n")[0].encode())

    assert language in {"typescriptreact", "html"} or state.accepting


WRONG = {
    "javascript": [
        "f(a]",
        "}",
        "x = 'a\n",
        "`${a)`",
        "x = /a\n",
        "a / b)",
        "if (x) /(/ )",
        "x = <a>{b)</a>",
        "x = <a b={c)",
        "x = <a b='c' )",
        "(<a>b</a>]",
    ],
    "typescript": ["f<(a]>", "x! / 2)", "type A = {)", "`${`${a}`)"],
    "css": ["a { b: (c }", "a )", "a { b: 'c\n", "a { b: url(c'd'( "],
    "html": [
        "<div></span>",
        "<UL><b></Table></b>",
        "<h1>a</h2>",
        "<ul><script></ul></script></p></ol>",
    ],
    "scss": ['a { b: "#{c)}" }', "#{ )", 'a { b: "c\n', "$m: (a]"],
}


@pytest.mark.parametrize(
    ("language", "text"), [(language, text) for language in WRONG for text in WRONG[language]]
)
def test_wrong_brackets_and_strings(language, text):
    assert not fits(language, text)


class TestWindow:
    @pytest.mark.parametrize(
        ("before", "window"),
        [
            ("f(a, {\n  b: '(',\n  c", "(\n{\n  c"),
            ("if (a &&\n  b) /(/.test(", "if (\n  b) /(/.test("),
            ("a = b\n  / c", "a = b\n  / c"),  # a line that starts with `/` does not stand alone
            ("x = /[(]/; y = a / (b\n + 1", "(\n + 1"),
            ("`a ${b(\n  c", "`\n${\n(\n  c"),
            ("(\n  // don't\n  <div a='('\n    b={c}>\n d (", "(\n  <div\n>\n d ("),
            ("x = <a>\n</a>\nf(", "f("),
            ("const f = <\n  T ext", "const f = <\n  T ext"),
        ],
    )
    def test_of_javascript(self, before, window):
        (rung,) = LADDERS["javascript"](b"")

        assert rung.window(before.encode()).decode() == window

    @pytest.mark.parametrize(
        ("before", "window"),
        [
            ("<div a='>'><p>\n<ul></ul>\nx", "<div a='>'>\nx"),
            ("<DIV>\n<span>\n</div>\n</ul> x", "> x"),
            ("<p\n a='<div>'\n b", "<p\n a='<div>'\n b"),
            ("<script>\n'<div>'\n</script>\n<", "<"),
            ("<div>\n<!-- <ul>\n", "<div>\n<!-- <ul>\n"),
        ],
    )
    def test_of_html(self, before, window):
        (rung,) = LADDERS["html"](b"")

        assert rung.window(before.encode()).decode() == window

    def test_of_a_tag_with_many_attributes_and_no_end(self):
        """A pattern with two ways to read an attribute would take for ever to find no end."""
        (rung,) = LADDERS["html"](b"")
        before = b"<div" + b" a=bcdefg" * 200 + b" x='"

        assert rung.window(before) == before

    def test_of_a_page_that_is_made_by_a_template(self):
        assert LADDERS["html"](b"<div>{% if a %}<p>") == ()

    @given(st.lists(st.sampled_from([b"a<b", b"{", b"% x", b"<", b"?php", b"}}", b"{{"])))
    def test_of_a_page_that_becomes_one(self, parts):
        """While it is typed, and when it is no template any more."""
        html._clean.clear()
        for text in [
            b"".join(parts[:end]) for end in (*range(len(parts)), *range(len(parts), 0, -1))
        ]:
            template = any(mark in text for mark in html.TEMPLATES)
            assert (LADDERS["html"](text) == ()) == template

    def test_of_a_large_page_searches_what_is_typed(self):
        """What a known text has is not looked through again."""
        html._clean.clear()
        page = b"<p>text</p>\n" * 50_000
        for end in range(4):
            assert LADDERS["html"](page + b"<b>{"[:end])
        assert len(html._clean) == 1

    def test_of_scss_strings(self):
        (rung,) = LADDERS["scss"](b"")

        assert rung.window(b'a { b: "#{c("{")}"; // {\n d') == b"{\n d"

    @pytest.mark.parametrize("language", SAMPLES)
    def test_has_the_verdict_of_the_whole_text(self, language):
        text = SAMPLES[language].rpartition("type G")[0] or SAMPLES[language]
        same_window(language, text.encode(), cuts(text.encode(), 150, Random(2)))

    @pytest.mark.parametrize("language", LADDERS)
    def test_of_random_marks(self, language):
        """Whatever the text is, its window ends as it does, and none takes long."""
        random = Random(21)
        for _ in range(60):
            marks = random.choices(["/", "[", "<a ", "`", "${", "'", "url(", "\n", "*", "}"], k=3)
            before = "".join(random.choices(marks, k=2000)).encode()
            (rung,) = LADDERS[language](before)
            window = rung.window(before)
            assert before.endswith(window[window.rfind(b"\n") + 1 :])

    @pytest.mark.parametrize("language", LADDERS)
    def test_of_a_text_far_too_long(self, language):
        assert LADDERS[language](b"x" * (LONGEST + 1)) == ()


CONTINUATIONS = r"""
) ] } ` ' " / /~2; /~( ${ < > </div> /> */ \n) \n} \n] ~) x) x} <b> ;} )}</p>) \n/>
</ul> </table></div> "></div> '> --></div> </script></p></div> </h1> </section></div>
"""
"""Texts that come next or do not; `~` is a blank."""


def same_window(language: str, text: bytes, places: list[int]) -> None:
    more_texts = [m.replace("~", " ").replace("\\n", "\n").encode() for m in CONTINUATIONS.split()]
    (rung,) = LADDERS[language](b"")
    whole = template(language).state()
    for place in sorted(places):
        before = text[:place]
        whole.feed(text[whole.fed : place])
        assert whole.fed == place
        window, windowed = rung.window(before), template(language).state()
        assert windowed.feed(window) == len(window), (before[-200:], window[-300:])
        assert windowed.check(text[place : place + 32]), (before[-200:], window[-300:])
        for more in more_texts:
            assert whole.check(more) == windowed.check(more), (before[-200:], window[-300:], more)


DEBIAN = "debian"
"""Instead of a version: the package is one of Debian's."""

PACKAGES = {
    "javascript": (
        ".js",
        ("@wordpress/block-editor", "14.9.0"),
        ("three", "0.171.0"),
        ("axios", "1.7.9"),
        ("vue", "3.5.13"),
        ("lodash", "4.17.21"),
        ("eslint", "9.17.0"),
        ("@docusaurus/theme-classic", "3.6.3"),
    ),
    "typescript": (".ts", ("zod", "3.24.1"), ("rxjs", "7.8.1"), ("ra-ui-materialui", "5.4.0")),
    "typescriptreact": (
        ".tsx",
        ("ra-ui-materialui", "5.4.0"),
        ("@docusaurus/theme-classic", "3.6.3"),
        ("react-aria-components", "1.5.0"),
        ("@wordpress/components", "29.0.0"),
    ),
    "css": (
        ".css",
        ("antd", "4.24.16"),
        ("bootstrap", "5.3.3"),
        ("@docusaurus/theme-classic", "3.6.3"),
        ("less", "4.2.1"),
        ("@wordpress/block-editor", "14.9.0"),
        ("swagger-ui-dist", "5.18.2"),
        ("highlight.js", "11.11.0"),
    ),
    "scss": (
        ".scss",
        ("bootstrap", "5.3.3"),
        ("@wordpress/block-editor", "14.9.0"),
        ("@wordpress/components", "29.0.0"),
        ("highlight.js", "11.11.0"),
    ),
    "less": (".less", ("antd", "4.24.16"), ("less", "4.2.1")),
    "html": (
        ".html",
        ("postgresql-doc-15", DEBIAN),
        ("apache2-doc", DEBIAN),
        ("sqlite3-doc", DEBIAN),
        ("nodejs-doc", DEBIAN),
        ("admin-lte", "3.2.0"),
    ),
    "vue": (".vue", ("primevue", "4.2.5"), ("vitepress", "1.5.0"), ("@nuxt/ui", "2.20.0")),
}
"""An ending, and packages that have such files."""


class _Nesting(HTMLParser):
    """Whether the elements of a page nest, by another parser."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.nested = True
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag in html.CLOSED:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in html.CLOSED and self.open and self.open.pop() != tag:
            self.nested = False


def is_right(path: Path) -> bool:
    """Whether a file can be expected to be accepted: pages close elements crosswise by mistake."""
    return path.suffix != ".html" or _Nesting(path.read_text("utf-8")).nested


@cache
def real_files(language: str) -> tuple[Path, ...]:
    """The files of a language in a fixed random order."""
    ending, *packages = PACKAGES[language]
    folders = [
        fetch_debian(name) if version == DEBIAN else fetch_npm(name, version)
        for name, version in packages
    ]
    found = sources(folders, ending, largest=30_000)
    readable = [path for path in found if ".min." not in path.name]
    Random(5).shuffle(readable)
    return tuple(path for path in readable[:800] if is_right(path))


@pytest.mark.corpus
@pytest.mark.parametrize("language", PACKAGES)
def test_every_cut_of_real_files(language, report):
    files, total, rejected, mutants = real_files(language)[:400], 0, 0, 0
    random = Random(9)
    for path in files:
        text = path.read_bytes().replace(b"\r\n", b"\n")
        total += len(text)
        assert accepts_every_cut(template(language), text) is None, path
        for mutant in without_a_mark(language, text[:8000], random):
            mutants += 1
            rejected += accepts_every_cut(template(language), mutant) is not None
    report(
        f"{language}: {len(files)} files, all {total:,} cuts accepted; of {mutants} beginnings "
        f"without a bracket, quote or tag {rejected / mutants:.0%} rejected"
    )


def without_a_mark(language: str, text: bytes, random: Random) -> list[bytes]:
    """The text without one of its brackets, quotes or tags; nothing if it has none."""
    marks = [mark.span() for mark in MARKS.get(language, BRACKET).finditer(text)]
    return [text[:start] + text[end:] for start, end in random.sample(marks, min(1, len(marks)))]


BRACKET = re.compile(rb"[()\[\]{}\"'`]")
MARKS = {
    **dict.fromkeys(("html", "vue"), re.compile(rb"</?(?:div|table|ul|ol|dl|span|h\d)\b[^>]*>"))
}


@pytest.mark.corpus
@pytest.mark.parametrize("language", PACKAGES)
def test_windows_of_real_files(language):
    """2,000 cuts have the verdict of the whole file."""
    random = Random(13)
    for path in real_files(language)[-200:]:
        text = path.read_bytes().replace(b"\r\n", b"\n")[:20_000]
        same_window(language, text, cuts(text, 10, random))
