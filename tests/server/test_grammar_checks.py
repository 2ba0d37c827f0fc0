"""The grammar of a request, from the document to what is shown, with a toy language."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.answers import present
from server.completer import load_completer
from server.completion_options import CompletionOptions
from server.engine.llama_load import EngineOptions
from server.grammar.fit import Fits
from server.grammar.languages import LADDERS
from server.grammar_checks import (
    GIVEN_UP,
    MOST_CLOSERS,
    NOT_ALLOWED,
    RULE,
    GrammarChecks,
    finish_fitting,
    fits_of,
    follows_at,
)
from server.lsp_items import completion_options
from server.memory import remainder
from server.option_sections import GrammarSection
from server.options import Options
from server.rules import Place, place_at
from server.snapshot import Snapshot, line_bounds
from tests.server.grammar.toys import BRACKETS, ladder, open_brackets, rung


@pytest.fixture(scope="module", autouse=True)
def _toy_languages():
    """Documents of brackets, and of a language in which no text may go on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(LADDERS, "brackets", ladder(rung("full", "checks", BRACKETS)))
        patch.setitem(LADDERS, "closed", ladder(rung("full", "checks closed", 'start: "x"')))
        yield


def snapshot_of(text: str, language: str = "brackets") -> Snapshot:
    before, after = (part.encode() for part in text.split("║"))
    return Snapshot("a.toy", 0, before + after, len(before), language)


def follows(text: str) -> tuple[bytes, ...]:
    snapshot = snapshot_of(text)
    return follows_at(snapshot, place_at(snapshot))


class TestWhatFollows:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("foo(║\nb", (b"\nb",)),
            ("foo(║)\nb", (b"\nb", b")\nb")),
            ("foo([║])  \r\nb", (b"\nb", b")\nb", b"])\nb")),
            ("foo(║, b)\n", (b", b)\n",)),
            ("calc_to║tal(x)\n", (b"(x)\n",)),
            ("a║", (b"",)),
        ],
        ids=["line end", "closer", "closers, CRLF", "code", "inside a word", "end of the text"],
    )
    def test_text(self, text, expected):
        """As the prompt's suffix, and before it as many of the closers as the model leaves."""
        assert follows(text) == expected

    def test_many_closers(self):
        """All of them, or none, or the last few."""
        found = follows("║" + ")" * 500 + "\n")

        assert len(found) == MOST_CLOSERS + 1
        assert found[0] == b"\n"
        assert found[-1] == b")" * 500 + b"\n"


class TestBegin:
    @pytest.mark.parametrize(
        ("text", "language", "mode", "reason"),
        [
            ("(a║", "brackets", "off", "switched off (grammar.mode)"),
            ("(a║", "brackets", "structural", "no grammar for this text in brackets"),
            ("(a║", "plaintext", "auto", "no grammar for plaintext"),
            ("a\n)a║", "brackets", "auto", "full: line 2 does not fit toy checks"),
        ],
        ids=["switched off", "no structural rung", "no language", "broken text"],
    )
    def test_off(self, text, language, mode, reason):
        """There is a reason."""
        snapshot = snapshot_of(text, language)
        ladder = LADDERS.get(language)
        mask, report = GrammarChecks().begin(snapshot, place_at(snapshot), ladder, mode)

        assert mask is None
        assert (report.state, report.reason) == ("off", reason)

    def test_on(self):
        """Line ends are LF for the grammar; the mask knows what follows."""
        snapshot = snapshot_of("(a\r\n║\r\n)b")
        ladder = LADDERS["brackets"]
        mask, report = GrammarChecks().begin(snapshot, place_at(snapshot), ladder, "auto")

        assert (report.state, report.level, report.window_bytes) == ("on", "full", 3)
        assert mask.may_end()
        mask.push(b"[")
        assert not mask.may_end()

    def test_forget(self):
        """What is kept of a document that was closed is freed."""
        checks, snapshot = GrammarChecks(), snapshot_of("(a║")
        checks.begin(snapshot, place_at(snapshot), LADDERS["brackets"], "auto")
        assert len(checks._kept) == 1

        checks.forget("another.toy")
        assert len(checks._kept) == 1
        checks.forget(snapshot.uri)
        assert len(checks._kept) == 0


def finished(place, text, fits, multiline="auto", off=frozenset()):
    place = Place(place.typed, place.rest, place.following, off=off)
    shown, good = finish_fitting(place, text, True, b"", multiline, fits)
    return shown.text, shown.rules, good


class TestRule:
    INSIDE = Place(b"f(", b", b)", b"\n")
    LINE = Place(b"f(", b"", b"\n")

    def test_inside_a_line(self):
        """The longest start that fits is kept; and the rule is named."""
        text, rules, good = finished(self.INSIDE, b"a + (", Fits((1,)))

        assert (text, good) == (b"a", True)
        assert rules[-1] == RULE

    def test_switched_off(self):
        """Then the text stays, and the report says what it is."""
        text, rules, good = finished(self.INSIDE, b"a + (", Fits((1,)), off=frozenset({RULE}))

        assert (text, good) == (b"a + (", False)
        assert RULE not in rules

    def test_nothing_fits(self):
        """Nothing is cut for it."""
        assert finished(self.INSIDE, b"a + (", Fits())[::2] == (b"a + (", False)

    def test_whole_lines(self):
        """Of several lines those that fit."""
        text, rules, good = finished(self.LINE, b"a)\ng(", Fits((2,)))

        assert (text, good) == (b"a)", True)
        assert rules[-1] == RULE

    def test_one_line_at_a_lines_end(self):
        """What can be gone on from is kept."""
        assert finished(self.LINE, b"a, (", Fits((1,)), "never") == (b"a, (", (), False)

    def test_whole_characters(self):
        """A model that wanted to end inside a character ends before it."""
        assert finished(self.LINE, "a, ü(".encode(), Fits((), 4), "never")[0] == b"a,"

    def test_unknown(self):
        """Without a grammar there is nothing to say."""
        assert finished(self.INSIDE, b"a + (", None)[::2] == (b"a + (", None)

    def test_closers_are_put_back(self):
        """Where text is cut, what stood after the cursor is still there."""
        place = Place(b"f(", b")", b"\n")
        text, _, good = finished(place, b"a) g(", Fits((1,), 1), "never")

        assert (text, good) == (b"a)", True)

    def test_before_closers(self):
        """Where closers follow, one line is cut as inside a line."""
        text, rules, good = finished(Place(b"f(", b")", b"\n"), b"a, [", Fits((1,)), "never")

        assert (text, good) == (b"a)", True)
        assert rules[-1] == RULE

    def test_comma_too_many(self):
        """At a line's end a comma is left out if the text fits without it only."""
        text, rules, good = finished(self.LINE, b"a,", Fits((1,)), "never")

        assert (text, rules, good) == (b"a", (RULE,), True)


def fits_after(
    text: str, generated: bytes, multiline: str = "never", language: str = "brackets"
) -> tuple[str, bool | None]:
    """What is shown of a text that was written in a document, and whether what follows fits."""
    snapshot = snapshot_of(text, language)
    place = place_at(snapshot)
    mask, _ = GrammarChecks().begin(snapshot, place, LADDERS[language], "auto")
    mask.push(generated)
    fits = fits_of(mask, snapshot, place, generated, True, b"", multiline)
    shown, good = finish_fitting(place, generated, True, b"", multiline, fits)
    return shown.text.decode(), good


class TestShown:
    """What is judged is what is shown, with the closers that are put back."""

    @pytest.mark.parametrize(
        ("text", "generated", "expected"),
        [
            ("(a║)\nb", b", b", (", b)", True)),
            ("([║])\nb", b"a", ("a])", True)),
            ("([║])\nb", b"a, (", ("a,])", True)),
            ("((║)\nb", b"a", ("a)", True)),
            ("((║)\nb", b"a)", ("a)", True)),
            ("(║)", b"a", ("a)", True)),
            ("((║)", b"a", ("a)", False)),
            ("(║", b"a", ("a", False)),
            ("(║", b"a)", ("a)", True)),
        ],
    )
    def test_closers(self, text, generated, expected):
        """The text is cut to the longest that fits, or it is said that it does not."""
        assert fits_after(text, generated) == expected

    @given(
        st.sampled_from(["(a║)\nb", "([║])\n", "((║)\nb)", "f(║,)", "(║\n)", "║", "a;(║];"]),
        st.text("ab([)], \n;", max_size=8).map(str.encode),
        st.sampled_from(["never", "auto", "always"]),
    )
    def test_is_true(self, text, generated, multiline):
        """Where what follows is said to fit, the document is one that could be gone on from."""
        snapshot = snapshot_of(text)
        before, after = snapshot.text[: snapshot.cursor], snapshot.text[snapshot.cursor :]
        if open_brackets(before + generated) is None:
            return
        shown, good = fits_after(text, generated, multiline)
        place = place_at(snapshot)
        if not good or not shown:
            return
        kept = len(place.closers.rstrip(b" ")) if place.closers is not None else 0
        follow = after[kept:]
        opened = open_brackets(before + shown.encode() + follow)
        assert opened is not None
        assert opened == b"" or follow.strip()


class TestDoubledBrackets:
    """A bracket that stands on a later line is not written again, in whatever column."""

    @pytest.mark.parametrize(
        ("text", "generated", "multiline", "expected"),
        [
            ("f(\n    ║\n)\n", b"a, b)", "never", "a, b"),
            ("f(\n    ║\n)\n", b"a,\n    b\n    )", "auto", "a,\n    b"),
            ("f(\n    ║\n)\n", b"g(a))", "never", "g(a)"),
            ("f(\n    ║\n)\n", b"g(a)", "never", "g(a)"),
            ("x = f(\n        ║\n    )\ny = 1\n", b"a, b)", "never", "a, b"),
            ("x = f(\n        ║\n    )\ny = 1\n", b"a\n)\nprint()", "auto", "a"),
            ("f(║\n)\n", b"a)\nz = 2", "auto", "a"),
            ("f(\n    a,\n    ║\n)\n", b")", "never", ""),
            ("f(g(\n    ║\n)\n", b"a)", "never", "a)"),
            ("f(\n    ║\n", b"a)", "never", "a)"),
        ],
    )
    def test_python(self, text, generated, multiline, expected):
        """With the grammar, which knows what is open."""
        shown, good = fits_after(text, generated, multiline, "python")

        assert (shown, good) == (expected, True)


class TestReason:
    def test_other_wishes(self, toy_answer):
        """Where nothing is written against the model's will, that is the reason."""
        snapshot, answer = toy_answer("a║")
        generation = replace(answer.generation, text=b"", ended="other wishes")
        completion = present(snapshot, replace(answer, generation=generation))

        assert completion.items == ()
        assert completion.empty_reason == NOT_ALLOWED


@pytest.fixture(scope="module")
def toy_answer(tiny_completer):
    """What the tiny model writes in a document of brackets."""

    def run(text: str, **options):
        snapshot = snapshot_of(text, options.pop("language", "brackets"))
        options = CompletionOptions(max_tokens=16, **options)
        return snapshot, tiny_completer.answer(snapshot, options)

    return run


documents = st.lists(
    st.sampled_from(["foo", "(", ")", "[", "]", ", ", "\n", "a b", ""]), min_size=2, max_size=8
)


class TestCompletions:
    @given(
        documents,
        st.integers(0, 7),
        st.sampled_from(["exact", "align", "one", "off"]),
        st.sampled_from(["never", "auto"]),
    )
    @settings(deadline=None, max_examples=80)
    def test_viable(self, toy_answer, parts, at, method, multiline):
        """Whatever a document holds: where the grammar is on, no text leaves it."""
        parts.insert(min(at, len(parts)), "║")
        snapshot, answer = toy_answer("".join(parts), healing=method, multiline=multiline)
        before = snapshot.text[: snapshot.cursor]
        completion = present(snapshot, answer)

        on = answer.grammar.state == "on"
        given_up = answer.grammar.reason == GIVEN_UP and method in {"align", "one"}
        assert on or given_up or open_brackets(before) is None
        if on:
            assert open_brackets(before + answer.generation.text) is not None
            assert answer.grammar.checks > 0
        assert (answer.fits is not None) == on
        assert completion.grammar.state == answer.grammar.state
        json = completion.as_json()["grammar"]
        assert json["state"] in {"on", "off"}
        assert on or json["reason"]

    @given(documents, st.integers(0, 7))
    @settings(deadline=None, max_examples=60)
    def test_typing_along(self, toy_answer, parts, at):
        """After each character of a line that is suggested, its rest is what is suggested."""
        parts.insert(min(at, len(parts)), "║\n")
        snapshot, answer = toy_answer("".join(parts))
        start, _ = line_bounds(snapshot.text, snapshot.cursor)
        before, after = snapshot.text[: snapshot.cursor], snapshot.text[snapshot.cursor :]
        for item in present(snapshot, answer).items:
            for typed in range(1, len(item.text)):
                written = before + item.text[:typed].encode()
                later = Snapshot("a.toy", 1, written + after, len(written), "brackets")
                left = remainder(before[start:], answer, written[start:])
                [rest] = present(later, left).items or [None]

                assert rest is None or item.text.endswith(rest.text)
                assert rest is not None or not item.text[typed:].strip()

    def test_given_up(self, toy_answer):
        """A grammar that allows nothing is given up, and the report says so."""
        _, answer = toy_answer("x║\n  b", language="closed")

        assert (answer.grammar.state, answer.grammar.reason) == ("off", GIVEN_UP)
        assert answer.fits is None

    def test_switched_off(self, toy_answer):
        """Nothing is checked."""
        _, answer = toy_answer("(a║", grammar="off")

        assert (answer.grammar.state, answer.grammar.checks, answer.fits) == ("off", 0, None)

    def test_wrong_mode(self):
        """A mode that does not exist is named."""
        with pytest.raises(ValueError, match="grammar is auto, structural or off, not 'on'"):
            CompletionOptions(grammar="on")


class TestAttached:
    def test_settings(self):
        """Grammars and schemas of the settings come with every request."""
        grammar = GrammarSection(files={"*.calc": "/a.lark"}, schemas={"a.json": "/b.json"})
        options = completion_options(Options(grammar=grammar), "json", snapshot_of("(║", "json"))

        assert options.grammar_files == (("*.calc", "/a.lark"),)
        assert options.grammar_schemas == (("a.json", "/b.json"),)
        assert hash(options)

    def test_completer(self, tiny_file, tmp_path):
        """A person's own grammar is what a completion keeps to."""
        path = tmp_path / "as.lark"
        path.write_text('start: "a"*')
        completer = load_completer(tiny_file(), EngineOptions(n_ctx=512, threads=1))
        options = CompletionOptions(max_tokens=5, grammar_files=(("*.as", str(path)),))
        answer = completer.answer(Snapshot("file:///x.as", 0, b"a", 1, "plaintext"), options)
        completer.close()

        assert (answer.grammar.level, answer.grammar.reason) == ("full", None)
        assert answer.generation.text.strip(b"a") == b""
