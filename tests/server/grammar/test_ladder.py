"""Climbing down: the first rung that fits is taken, and every one before it leaves a reason."""

from dataclasses import replace
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.errors import GrammarError
from server.grammar.kept import KeptStates
from server.grammar.ladder import climb
from server.grammar.schemas import with_schema
from server.grammar.user_grammars import grammar_ladder
from tests.server.grammar.toys import BRACKETS, WILD, ladder, rung

WORDS = "start: (/[a-z]+/ | /\\n/)*"
ANY = "start: /(.|\\n)*/"


def stand(before, *rungs, mode="auto"):
    return climb(KeptStates(), "a", "toy", ladder(*rungs), before, mode)


def last_line(before):
    return before[before.rfind(b"\n") + 1 :]


class TestRungs:
    def test_best(self):
        """The best rung that fits is taken, and nothing is said."""
        standing = stand(b"a\nb", rung("full", "words", WORDS), rung("structural", "any", ANY))

        assert standing.report.state == "on"
        assert (standing.report.level, standing.report.reason) == ("full", None)
        assert standing.report.window_bytes == standing.state.fed == 3
        assert not standing.state.check(b"(")

    def test_second_best(self):
        """Where the text does not fit a rung, its line is said, and the next is taken."""
        standing = stand(b"a\nb\n(c", rung("full", "words", WORDS), rung("statement", "any", ANY))

        assert standing.report.level == "statement"
        assert standing.report.reason == "full: line 3 does not fit toy words"

    def test_decides(self):
        """Whether the grammar knows what is wanted is said of the rung that was taken."""
        words, other = rung("full", "words", WORDS), rung("structural", "any", ANY)
        schema = replace(words, source=replace(words.source, decides=True))

        assert stand(b"a", schema, other).decides
        assert not stand(b"(", schema, other).decides

    def test_schemas_and_own_grammars_decide(self, tmp_path):
        """What a person attached to a document knows what is wanted in it."""
        path = tmp_path / "a.json"
        path.write_text('{"type": "boolean"}')
        (tmp_path / "a.lark").write_text('start: "a"*')
        with_json = with_schema(path, lambda _: (rung("structural", "any", ANY),))(b"")

        assert [one.source.decides for one in with_json] == [True] * (len(with_json) - 1) + [False]
        assert [one.source.decides for one in grammar_ladder(tmp_path / "a.lark")(b"")] == [True]

    def test_window(self):
        """A rung is given its window; lines are those of the document."""
        lines = rung("window", "words", WORDS, last_line)
        assert stand(b"(\nb", lines).report.level == "window"

        assert "line 3 does" in stand(b"(\n\nb(", lines).report.reason

    def test_changed_window(self):
        """In a window that holds other text than the document, no line is named."""
        changed = rung("window", "words", WORDS, lambda before: b"if:\n" + before)
        report = stand(b"a\n\n", changed).report

        assert report.reason == "window: what is open above the cursor does not fit toy words"

    def test_off(self):
        """Where nothing fits, nothing is checked, and all reasons are there."""
        rungs = [rung(level, "words", WORDS) for level in ("window", "full")]
        standing = stand(b"(a", *rungs, rung("structural", "one", 'start: "(" "b"'))

        assert standing.state is None
        assert (standing.report.state, standing.report.level) == ("off", None)
        assert standing.report.reason == (
            "window, full: line 1 does not fit toy words; structural: line 1 does not fit toy one"
        )

    def test_structural(self):
        """Only structural rungs, where that is asked for."""
        rungs = rung("full", "words", WORDS), rung("structural", "any", ANY)

        assert stand(b"a", *rungs, mode="structural").report.level == "structural"
        report = stand(b"a", rungs[0], mode="structural").report
        assert (report.state, report.reason) == ("off", "no grammar for this text in toy")

    def test_switched_off(self):
        """Nothing is compiled or read where the grammar is switched off, or where there is none."""
        wrong = rung("full", "not asked for", None)

        assert "switched off" in stand(b"a", wrong, mode="off").report.reason
        report = climb(KeptStates(), "a", "toy", None, b"a").report
        assert report.reason == "no grammar for toy"

    def test_own_state(self):
        """The state is one's own: the next request does not see what was done to it."""
        kept, rungs = KeptStates(), ladder(rung("full", "words", WORDS))
        climb(kept, "a", "toy", rungs, b"ab").state.feed(b"cd")

        assert climb(kept, "a", "toy", rungs, b"abc").report.window_bytes == 3

    def test_json(self):
        """A report is plain data."""
        report = stand(b"a", rung("full", "words", WORDS)).report.as_json()

        assert report["state"] == "on"
        assert report["level"] == "full"
        assert report["fits"] is None


class TestFailures:
    @given(st.binary(max_size=60), st.sampled_from([BRACKETS, WORDS, ANY, "start: b", WILD]))
    def test_any_text(self, before, lark):
        """Whatever the text and the grammar, there is an answer."""
        standing = stand(before, rung("full", f"any text {hash(lark)}", lark))

        assert (standing.state is None) == (standing.report.state == "off")
        assert (standing.report.reason is None) == (standing.report.state == "on")

    def test_wrong_grammar(self):
        """A grammar that is wrong is a reason; the next rung is taken."""
        rungs = rung("full", "bad", "start: x\n"), rung("structural", "any", ANY)
        report = stand(b"a", *rungs).report

        assert report.level == "structural"
        assert report.reason.startswith("full: the grammar toy bad is wrong in line 1: ")

    def test_attached_grammar(self):
        """What is wrong with a grammar of the settings is to be told, but not of another."""
        for attached in (False, True):
            bad = rung("full", f"bad {attached}", "start: x\n")
            bad = replace(bad, source=replace(bad.source, attached=attached))
            report = stand(b"a", bad, rung("structural", "any", ANY)).report

            assert report.wrong == (report.reason.removeprefix("full: ") if attached else None)
            assert "wrong" not in report.as_json()

    @pytest.mark.parametrize("failure", [GrammarError("too large a text"), ValueError("oh")])
    def test_failing_window(self, failure):
        """Language modules that give up, or fail, don't end the request."""

        def window(before):
            raise failure

        report = stand(
            b"a", rung("full", "words", WORDS, window), rung("statement", "any", ANY)
        ).report

        assert report.level == "statement"
        assert str(failure) in report.reason

    def test_no_time_left(self, monkeypatch):
        """Rungs share a time; those for which nothing of it is left wait for the next request."""
        monkeypatch.setattr("server.grammar.ladder.CLIMB_S", 0.0)
        rungs = rung("full", "words", WORDS), rung("structural", "any", ANY)
        report = stand(b"a", *rungs).report

        assert (report.state, report.reason) == ("off", "full, structural: no time was left")

    def test_long_window(self, monkeypatch):
        """What is too long to be kept in mind is not read."""
        monkeypatch.setattr("server.grammar.ladder.LONGEST_WINDOW", 1 << 10)
        rungs = rung("full", "words", WORDS), rung("structural", "any", ANY, last_line)
        report = stand(b"a\n" * 600 + b"b", *rungs).report

        assert report.level == "structural"
        assert report.reason == "full: what decides is longer than 1 KiB"

    @pytest.mark.parametrize("failure", [GrammarError("too large a text"), ValueError("oh")])
    def test_failing_ladder(self, failure):
        """The same for the choice of rungs."""

        def rungs(before):
            raise failure

        report = climb(KeptStates(), "a", "toy", rungs, b"a").report

        assert report.state == "off"
        assert str(failure) in report.reason

    def test_exponential(self):
        """A grammar that goes wild is off with a reason, after little work; the next time too."""
        kept, rungs = KeptStates(), ladder(rung("full", "wild", WILD))
        climb(kept, "a", "toy", rungs, b"")
        for _ in range(2):
            started = thread_time()
            report = climb(kept, "a", "toy", rungs, b"a" * 5000).report

            assert report.state == "off"
            assert "too ambiguous" in report.reason or "takes longer" in report.reason
            assert thread_time() - started < 5
