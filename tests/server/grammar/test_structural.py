r"""Brackets, strings and comments of many languages: real code passes, at every cut.

Each sample is hard for somebody who reads the language in a hurry, and whole: it may end.
"""

from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.grammar.state import SyntaxState, Template, compile_grammar
from server.grammar.structural import LADDERS

SAMPLES = {
    "c": (
        b"#include <sys/types.h>\n#define F(x) do { \\\n  g(x); \\\n} while (0)\n",
        b"#error Don't do { this\nint a = 'a' + '\\'' + '\"' + L'\\x41';\n",
        b'char *s = "/* no comment \\" */ // {" "(" L"[";\n',
        b"int f(void) { return a / b; /* ) ' \" */ // }\n}\n",
        b"// goes on \\\n { ' \" (\nint x;\n",
        b'#define X 1 /* over\n two lines \' { */\nint y;\n#include "a/*b.h"\nint z;\n',
        b"#if A\nif (a) {\n#else\nif (b) {\n#endif\n}\n",
        b"#if 0\nit's prose ({\n#endif\nint x;\n",
        b"char *s = \"a\\\nb\";\nint i = 1; // \xc3\xa9 {\nwchar_t c = L'\xc3\xa9';\n",
        b"",
    ),
    "cpp": (
        b"auto n = 1'000'000 + 0xFF'FF; char c = '1'; auto s = u8'a';\n",
        b'auto r = R"({ " )x" [ )"; auto t = LR"(a)" "b";\n',
        b'auto r = R"x({ " )" [ )x"; auto b = f(1);\n',
        b"auto f = [&](auto x) -> std::vector<int> { return {x >> 1, x < 2}; };\n",
        b'#ifdef __cplusplus\nextern "C" {\n#endif\nvoid f();\n#ifdef __cplusplus\n}\n#endif\n',
        b'kernel<<<grid, block>>>(x[[maybe_unused]]);\nR"plain"\n',
    ),
    "objective-c": (b"NSString *s = @\"a\"; id x = @[ @'a', @{ @1: @(2) } ]; [a b:^{ }];\n",),
    "csharp": (
        b'var s = $"{a:#,##0.00} {{x}} {(b ? "c" : $"{d}")}";\n',
        b'var p = @"C:\\" + $@"{x}""{{ \\ {y[0]}" + @$"""q""";\n',
        b'var e = $"" + "" + @"";\nvar r = """a "" {b""" + $$"""{x} {{y}}""";\n',
        b'var r = """"a """ b"""";\n',
        b"#region Don't panic (\nchar c = '\"', d = '\\'';\n#endregion\n",
        b"#if DEBUG\nif (a) {\n#else\nif (b) {\n#endif\n}\n",
        b"/// <summary>don't {</summary>\n/* ( */ int @class = a / b;\n",
        b"var s = $\"{d:HH'h'mm} {u}//{v}\";\n",
    ),
    "java": (
        b'String s = "a\\"" + \'"\' + \'\\\'\' + "//" + "";\n',
        b'String t = """\n  a "quoted" \\""" { ""\n  """;\n',
        b"/** don't { */ int a = b / c; // }\nint[] x = {1, 2};\n@A(b = {C.class}) void f() {}\n",
    ),
    "kotlin": (
        b'val s = "a ${if (b) "c" else "${d["e"]}"} $f \\${ \\" }"\n',
        b'val r = """a "quoted" ""two"" ${x + "y"} $ z""""\nval e = ""\n',
        b"/* a /* nested ' */ { */ fun `it's (fine`() { val c = '\"' }\n",
        b'val u = "http://x" // { don\'t\n',
    ),
    "lua": (
        b"#!/usr/bin/lua\nlocal s = [[ it's ]] .. [==[ ]] ]=] ]==] .. 'a\\'' -- {\n",
        b"--[[ a\n( ]] local t = { [1] = a[b[1]], ['end'] = #x } --[=[ ]] ]=]\n",
        b"--[ line ( '\n--[==\n--[\n--\nlocal x = a - -1\n",
        b"local s = 'a\\z\n   b\\\nc'\n",
        b"if a then f(function() return 1 end) elseif b then else end\n",
        b"while x do if y then break end end repeat local z until z for i = 1, 2 do end\n",
        b"local enders, iffy, done = endless, x.if_, repeated\n",
    ),
    "php": (
        b"<p>it's (</p>\n<?php if (a) { // don't ( ?>\n<b x='{'>\n<?php } # it's ?> <?= $b[1] ?> <",
        b'<?php\n$s = "a {$b["c"]} ${d} $e {f} \\" \\{$g}" . \'\\\'\' . `h)`; /* \' { */\n',
        b"<?php\n#[A(1)]\nfunction f() { return 1 << 2 / 3 ? a?->b : ''; }\n// last ?",
        b"<?php\n$s = <<<'X'\nit's ({\n  X;\nf(1);\n",
        b"<html>{ ' \"\n",
        b"",
    ),
    "rust": (
        b"fn f<'a>(x: &'a str, c: char) -> &'a str { 'l: loop { break 'l; } }\n",
        b"let c = ['a', '\\'', '\"', '\\u{1F600}', b'\\\\', '\xc3\xa9', '\xe2\x86\x92', '{'];\n",
        b'let s = r#"a " b"#; let t = r##"a "# b"##; let u = br"\\"; let r#type = r"";\n',
        b"/* a /* nested */ ' ( */ /**/ /***/ let x = a / b; // don't {\n",
        b'let s = "a\nb\\" {" ; #[doc = "x"] fn g() {}\n',
        b'let s = r####"a"### b"####; let t = 1;\n',
    ),
    "shellscript": (
        b"#!/bin/sh\n# don't (\nf() { echo \"a $(g \"b)\" 'c') ${x#*'}'} d\"; }\n",
        b"case $x in\n  a|b) (f) ;;\n  (c) case $y in d) ;; esac ;;\n  *) echo it\\'s ;;\nesac\n",
        b"cat <<EOF\nit's ( \" `\nEOF\necho b\n",
        b"n=$((1 << 2)); m=$#; a=(1 # it's\n 2); cat <<< \"x\"; echo a#b $'it\\'s'\n",
        b'x="${a:-"b"}" y="${c//\\"/}" z=`echo ")"` w=${#a}\n',
        b"if [[ $a =~ ^(b|c)\\)$ ]]; then echo \\( \\# \\\" >&2; fi # ' (\n",
        b'x="a" \\\n  # it\'s a comment\necho case esac\n',
        b'x="$(case $y in a) echo "b" ;; esac)"; z="it\'s"\n',
        b"diff <(a) <(b) > >(c); d=${e:-'}'}; echo \"`f \\`g\\``\" }\n",
    ),
    "sql": (
        b"select 'it''s (', \"a \"\"b\", `c'`, [d], e[1] -- don't (\nfrom t;\n",
        b"select 1 /* ' ( */ from t where a / b - 1 -- ' (\n",
        b"create function f() returns int as $$ it's ( $$ language sql;\n",
        b"create function f() returns int as $body$ it's ( $$ $body$ language sql;\n",
        b"select E'it\\'s (', e'a\\\\', 'C:\\dir', U&'\\0041', N'x';\n",
        b"insert into t values ('it\\'s (');\n# don't (\nselect 1;\n",
        b"select a #>> '{b}', c # d from #t;\n\\echo it's (\nselect ';';\n",
        b"select {{ x }} {% if y %} ( {% endif %}\n",
        b"copy t from stdin;\nit's\t(\n\\.\nselect 1;\n",
        b"/* a /* nested */ ' */ select q'[it's]' from t;\n",
        b'select """it\'s "quoted"""" from t;\n',
    ),
    "toml": (
        b"# it's [\na = 1\nb.\"c d\".'e' = [ 1, [2, ], # ]\n 'x' ]\n",
        b'[[t.u]]\nv = {w = 1, x.y = ""}\n[a . b]\n-x- = 1\n1 = 2\n',
        b"d = 1979-05-27 07:32:00Z # c\ne = 1979-05-27 # c\nf = 07:32:00.5\n",
        b"g = 1979-05-27T07:32:00+01:00\n",
        b's = """a "" \\" \\\\ b"""""\nt = \'\'\'it\'\'s\'\'\'\'\'\nu = \'\'\nv = ""\n',
        b"i = [0, -1, +1_000, 0xFF, 0o7, 0b1, 1e5, 1.5E-3, inf, -nan, true]\n",
        b"[a]",
        b"",
    ),
    "yaml": (
        b"# it's {\na: it's 'fine' {x\n   and \"so\" on\nb: \"c: d\n\n e\" # f\n'g' : 'h''i'\n",
        b"a:\n- b\n-   c: d\n    e:\n    - f\n- - g\n  - h\n-\n  i: j\nk: l\n",
        b"a: |\n  if x: [\n\n    # y\n   ' z\nb:\n  - >-2\n      \"c\n    d\n  - e\n",
        b"a: [b, 'c', {d: e, \"f\":g, h: it's}, # x ]\n  [i]]\nj: {}\n{{ k }}: l\n",
        b"a: &x !t\n- b\n- &y c: *x\n  d: !u [e]\n- <<: *y\n  f: !v |\n    g\n",
        b"a: http://b:80#c # d: e\n:f: g\nh: -1\ni: --\nj: ::k\nl: ?m\nn#o: p\n",
        b"%YAML 1.2\n--- # x\na: b\n...\n---\n- a\n---\n{a: b}\n--- text\n",
        b"? a\n: b\n",
        b"\n\n   \n  a:\n\n\n  # x\n# y\n    b: c\n  d: e\n",
        b"a:\n  - b\n\n  - c: 1\n\n    d: 2\n\ne: 3\n",
        b"",
    ),
}

WRONG = {
    "c": (
        b"f(]",
        b"}\n",
        b"int a[2};",
        b'char *s = "a\n',
        b"char c = 'a\n;",
        b"/* */ )",
        b"#define X (\n)",
    ),
    "cpp": (b"f(1'000]", b'R"(a")") )', b'x(R"(\n)" }'),
    "objective-c": (b"@[ @1 }",),
    "csharp": (
        b'$"{a)"',
        b'$"a\n\n',
        b"f(]",
        b'$"{a}" )',
        b'@"a""b" }',
        b'"""a""" )',
        b"#region (\n)",
    ),
    "java": (b"f(]", b"}", b'"a\n', b'""" " """ )', b"'\n", b"// (\n)"),
    "kotlin": (b'"${a)"', b"}", b'"${"}"} )', b"/* /* */ */ )", b"`a\n", b"`(`)"),
    "lua": (
        b"f(]",
        b"end",
        b"if a then }",
        b"(end",
        b"repeat end",
        b"[[ ]] ]",
        b"--[[ ]] )",
        b"'a\n",
        b"do until",
    ),
    "php": (
        b"<?php }",
        b"<?php f(]",
        b"<?php // (\n)",
        b"<?php '(' )",
        b'<?php "{$a]',
        b"<?php (?>)<?php ]",
    ),
    "rust": (b"f(]", b"}", b"'(' )", b'r#" "# )', b"/* /* */ */ )", b"<'a> )", b"'ab\n'"),
    "shellscript": (
        b"f)",
        b"$(a))",
        b'"$(a)" )',
        b"(case x in a) esac))",
        b"# (\n)",
        b"'(' )",
        b"a#(\n))",
    ),
    "sql": (b"f(]", b")", b"'(' )", b"-- (\n)", b"$$ ( $$ )", b"E'\\'(' )", b"/* ( */ )"),
    "toml": (
        b"a",
        b"= 1",
        b"a = \n",
        b"a = 1 2",
        b"a = [1 2]",
        b"[a]]",
        b"a = 'b\n",
        b"a = 01",
        b"a = tru\n",
        b"[a\n",
        b"a = 1 b = 2",
        b"a = {b}",
        b"a = 1979-05-27 x",
    ),
    "yaml": (
        b"a: b\n  c: d",
        b"a:\n  b: c\n d: e",
        b"a: 'b' c",
        b"a:\n\t- b",
        b"a: |\n x\ny",
        b"- a\nb: c",
        b"a: - b",
        b'a: "b": c',
        b"a: b: c",
        b"a: [b]]",
        b"a: b:",
        b"a: @b",
        b"  a: b\nc: d",
        b"a:\n  b: c\n   d: e",
    ),
}
"""Texts without any continuation; those of TOML end where that shows."""

CASES = [(language, text) for language, texts in SAMPLES.items() for text in texts]


@cache
def template(language: str) -> Template:
    source = LADDERS[language](b"")[0].source
    return compile_grammar(source.name, source.lark())


def behind(language: str, before: bytes) -> SyntaxState | None:
    """The state of the first rung whose window fits; None if there is none."""
    for rung in LADDERS[language](before):
        window = rung.window(before)
        state = template(language).state()
        if state.feed(window, 20) == len(window):
            return state
    return None


class TestSamples:
    @pytest.mark.parametrize(("language", "text"), CASES)
    def test_are_accepted_and_may_end(self, language, text):
        state = template(language).state()

        assert (text[: state.feed(text)], state.accepting) == (text, True)

    @pytest.mark.parametrize(("language", "text"), CASES)
    def test_pass_from_a_window_at_every_cut(self, language, text):
        """Also between an escape and its character, and within characters."""
        for cut in range(len(text) + 1):
            state = behind(language, text[:cut])

            assert state is not None, text[:cut]
            assert state.feed(text[cut:]) == len(text) - cut, text[:cut]
            assert state.accepting, text[:cut]

    @pytest.mark.parametrize(
        ("language", "text"), [(language, text) for language in WRONG for text in WRONG[language]]
    )
    def test_of_wrong_texts_are_refused(self, language, text):
        assert template(language).state().feed(text + b"\n") < len(text) + 1


COMMON = [bytes([byte]) for byte in b"()[]{}'\"/*#-\\ a1\n"] + [b"//", b"/*", b"*/", b"x=1;\n"]
SOUP = {
    "c": (
        b'R"(',
        b')"',
        b"1'0",
        b"#define a\\\n",
        b"\\\n",
        b"u8",
        b"#if 0\n",
        b"#else\n",
        b"#endif\n",
    ),
    "java": (b'"""', b'\\"'),
    "lua": (
        b"[[",
        b"]]",
        b"[=[",
        b"]=]",
        b"--[[",
        b" if ",
        b" end ",
        b" do ",
        b" repeat ",
        b" until ",
    ),
    "php": (b"<?php ", b"?>", b"<?", b"<", b"{$", b"${", b"$", b"`", b"#[", b"?"),
    "rust": (b'r#"', b'"#', b'r"', b"'a", b"'a'", b"'\\''", b'r##"', b'"##', b"\xc3\xa9"),
    "shellscript": (
        b"$(",
        b"${",
        b"`",
        b"$'",
        b" case ",
        b" in ",
        b" esac\n",
        b"a)",
        b"$#",
        b"\\\n",
    ),
    "sql": (b"--", b"''", b"`", b"$$", b" E'", b"$a$", b"\\'"),
    "toml": (b"a = ", b"a = [", b",", b"\n[a]\n", b'"""', b"'''", b"."),
}
"""What random texts are made of. Not for C# and Kotlin: there a window writes an opener of a string
on a line of its own, which ends a string that a real line end would end."""

EVERYTHING = b"}\n)\n]\n'\n\"\n*/ }"


class TestWindow:
    @pytest.mark.parametrize("language", SOUP)
    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def test_allows_what_the_whole_text_allows(self, language, data):
        """For texts that the grammar accepts, however odd."""
        pieces = st.sampled_from([*COMMON, *SOUP[language] * 2])
        state, before = template(language).state(), b""
        for piece in data.draw(st.lists(pieces, max_size=30)):
            before += piece[: state.feed(piece)]
        after = b"".join(data.draw(st.lists(pieces, max_size=5)))
        window = behind(language, before)

        assert window is not None
        if not state.check(EVERYTHING):  # else nothing is known there, and the window may know more
            assert window.fitting(after) >= state.fitting(after)

    def test_has_no_branch_that_is_read_over(self):
        """Either branch opens one bracket: one counts."""
        text = b"#if A\nif (a) {\n#else\nif (b) {\n#endif\n"
        state = behind("c", b"void f() {\n" + text)

        assert (state.check(b"}}"), state.check(b"}}}")) == (True, False)

    def test_in_a_branch_that_is_read_over_accepts_everything(self):
        assert behind("c", b"#if A\n#else\n").check(b"}}")

    def test_knows_the_name_of_a_raw_string(self):
        state = behind("cpp", b'auto s = R"x( } )" )x";\nf(\n')

        assert (state.check(b")"), state.check(b"}")) == (True, False)

    def test_knows_where_a_here_document_ends(self):
        state = behind("shellscript", b"cat <<'A B' <<EOF\n\nEOF\n(a\n")
        closed = behind("shellscript", b"(cat <<EOF\n)\nEOF\na\n")

        assert state.check(b"))")
        assert (closed.check(b")"), closed.check(b"))")) == (True, False)

    def test_of_broken_text_starts_anew(self):
        state = behind("java", b'void f() {\n  g(1]);\n  s = "a;\n')

        assert (state.check(b"g(1); }"), state.check(b"]")) == (True, False)

    def test_of_yaml_is_what_the_line_hangs_on(self):
        """Earlier siblings do not matter, even if they are broken."""
        text = b"a: 'b' c\nd:\n- e\n- f:\n    g: |\n      h\n    i: "
        (rung, _) = LADDERS["yaml"](text)

        assert rung.window(text) == b"d:\n- f:\n    i: "

    def test_of_yaml_knows_brackets_whose_text_is_not_indented(self):
        text = b"a: {\n  b: [\n  {\n  'c': d\n  },\n  {\n  'e': f,\n"
        closed = b"a: {\n'b': c\n}\nd: "

        assert behind("yaml", text).check(b"  'g': h\n  }\n  ]\n}\n")
        assert LADDERS["yaml"](closed)[0].window(closed) == b"d: "

    def test_of_yaml_on_an_empty_line_has_the_line_above(self):
        text = b"a:\n  b: 1\n  c:\n    d: 2\n\n"
        state = behind("yaml", text)

        assert [state.check(b" " * n + b"x: y\n") for n in range(6)] == [
            True,
            False,
            True,
            False,
            True,
            False,
        ]

    def test_of_a_table_is_its_last_item(self):
        """What is broken above does not matter."""
        (rung, _) = LADDERS["toml"](b"a = = 1\n[b]\nc = [\n 1,\n")

        assert rung.window(b"a = = 1\n[b]\nc = [\n 1,\n") == b"c = [\n 1,\n"


class TestLadder:
    @pytest.mark.parametrize("language", LADDERS)
    @pytest.mark.parametrize(
        "text",
        [b"\0", b"a\rb", b"\xff\xfe", bytes(range(256)), b"([{" * 500, b"'\"`" * 500, b"- " * 200],
        ids=["nul", "lone-cr", "no-utf-8", "all-bytes", "deep", "quotes", "items"],
    )
    def test_survives(self, language, text):
        """Whatever the text is, a rung reads it or stops somewhere in it."""
        for rung in LADDERS[language](text):
            window = rung.window(text)

            assert template(language).state().feed(window, 20) <= len(window)

    def test_of_another_shell_is_none(self):
        assert LADDERS["shellscript"](b"#!/usr/bin/env zsh\n") == ()

    def test_of_a_huge_text_is_none(self):
        huge = b"x\n" * (3 << 20)

        assert [language for language in LADDERS if LADDERS[language](huge)] == []

    def test_is_there_for_no_text(self):
        assert {level for ladder in LADDERS.values() for level in [ladder(b"")[0].level]} == {
            "structural",
            "window",
        }
