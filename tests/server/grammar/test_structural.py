"""Brackets, strings and comments of many languages: real code passes, at every cut."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.grammar.structural import LADDERS
from tests.server.grammar.structural_samples import SAMPLES, WRONG
from tests.server.grammar.structural_states import behind, template

CASES = [(language, text) for language, texts in SAMPLES.items() for text in texts]


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

    @pytest.mark.parametrize("begun", [b"')", b"match c {\n    '('|')"])
    def test_knows_that_a_character_is_begun(self, begun):
        """Its bracket is none: a window that took it for one would see a lifetime next."""
        window = behind("rust", begun)
        assert window.check(b"' => 1,")
        assert not window.check(b" => 1,")

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
        rung, *_ = LADDERS["toml"](b"a = = 1\n[b]\nc = [\n 1,\n")

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
