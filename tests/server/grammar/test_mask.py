"""The mask of a request: what may come, where it may end, and that it never gets in the way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.grammar.fit import Fits
from server.grammar.grammar_mask import COMPARED, FOLLOWING, NEAR, GrammarMask
from server.grammar.kept import KeptStates
from server.grammar.ladder import climb
from tests.server.grammar.toys import BRACKETS, WILD, ladder, open_brackets, rung

signs = st.text("ab([)], \n", max_size=12).map(str.encode)


def mask_at(before, *follows, inside=False, lark=BRACKETS):
    rungs = ladder(rung("full", f"mask {lark}", lark))
    return GrammarMask(climb(KeptStates(), "a", "toy", rungs, before), follows, inside=inside)


def is_start(text):
    return open_brackets(text) is not None


def is_whole(text, follow):
    """Whether what follows fits, or if nothing does, the document may end."""
    return is_start(text + follow) if follow.strip() else open_brackets(text) == b""


class TestWhatMayCome:
    def test_words(self):
        """Texts are asked about, written, and the next ones asked about after them."""
        mask = mask_at(b"(a", b"")
        assert mask.allows(b"b, [")
        assert not mask.allows(b"b]")
        assert mask.fitting(b"b]") == 1
        mask.push(b"[")
        assert mask.allows(b"b]")

    @given(signs, st.lists(signs, max_size=5), st.binary(max_size=3) | signs)
    def test_brute_force(self, before, written, more):
        """Allowed is what a start of a text is; how much fits is how much is one."""
        if not is_start(before):
            return
        mask, text = mask_at(before, b""), before
        for piece in written:
            if is_start(text + piece):
                mask.push(piece)
                text += piece

        assert mask.allows(more) == is_start(text + more)
        starts = [size for size in range(len(more) + 1) if is_start(text + more[:size])]
        assert mask.fitting(more) == starts[-1]

    def test_report(self):
        """What was asked and refused is counted."""
        mask = mask_at(b"(", b"")
        mask.allows(b"]")
        mask.allows(b")")
        report = mask.report()

        assert (report.state, report.level, report.reason) == ("on", "full", None)
        assert (report.checks, report.refused) == (2, 1)
        assert report.check_ms > 0

    def test_steps(self):
        """Every text that is written has its own part of the time."""
        mask = mask_at(b"(", b"")
        for piece in (b"a", b",", b")"):
            mask.allows(piece)
            mask.push(piece)
        report = mask.report()

        assert len(report.steps_ms) == 3
        assert sum(report.steps_ms) == pytest.approx(report.check_ms)


class TestEnds:
    def test_what_follows(self):
        """The text may end where what follows fits."""
        mask = mask_at(b"(a", b"\nb)")
        assert mask.may_end()
        mask.push(b"[")
        assert not mask.may_end()
        mask.push(b"]")
        assert mask.may_end()

    def test_closers(self):
        """Closers that rules will put back may follow as well as be written."""
        mask = mask_at(b"(a", b"\nb", b")\nb")
        assert mask.may_end()
        mask.push(b")")
        assert mask.may_end()

    def test_words_that_meet(self):
        """A word never ends where another one follows."""
        mask = mask_at(b"a ", b"b")
        mask.push(b"c")
        assert not mask.may_end()
        mask.push(b", ")
        assert mask.may_end()

    @pytest.mark.parametrize("follow", [b"", b"\n\n"])
    def test_end_of_the_document(self, follow):
        """Where nothing follows, the text may end anywhere: more is still to be typed."""
        mask = mask_at(b"(((", follow)

        assert mask.may_end()
        assert mask.fits(0) == Fits()

        mask.push(b")))")
        assert mask.fits(3) == Fits((3,))

    def test_asked_without_noting(self):
        """That the text could not end is no sign that the model wanted to."""
        mask = mask_at(b"(", b"]")
        mask.push(b"a")
        for _ in range(4):
            assert not mask.could_end()
        assert mask.wanted is None

        assert not mask.may_end()
        assert mask.wanted == 1

    @pytest.mark.parametrize(
        ("before", "shown", "follow", "expected"),
        [
            (b"(", b"a)", b"\nb", True),
            (b"(", b"a", b"\nb)", True),
            (b"(", b"a]", b"\nb", False),
            (b"(", b"a)", b")", False),
            (b"(", b"a)", b"\n", True),
            (b"(", b"a", b"\n", False),
        ],
        ids=["closed", "closed later", "wrong", "closed twice", "at the end", "open at the end"],
    )
    def test_what_is_shown(self, before, shown, follow, expected):
        """A text with other closers than those that were written is judged from the cursor on."""
        mask = mask_at(before, follow)
        mask.push(b"a")

        assert mask.joins(shown, follow) == expected
        assert mask.allows(b"b")

    def test_comma_too_many(self):
        """Whether the text fits without the comma at its end is found out as well."""
        mask = mask_at(b"", b"\n", lark='start: "a" (", a")* "\\n"')
        mask.push(b"a, a")
        mask.push(b", ")

        assert mask.fits(6).lengths == (4,)
        assert mask.fits(5).lengths == (4,)

    def test_not_for_ever(self):
        """What follows may be broken: the end is refused at some places only, and it is said."""
        mask = mask_at(b"(", b"]")
        for _ in range(3):
            assert not mask.may_end()
            assert not mask.may_end()
            mask.push(b"a")

        assert mask.may_end()
        assert mask.fits(3).wanted == 1
        assert "fits after nothing" in mask.report().reason

    @given(signs, st.lists(signs, max_size=5), signs, st.booleans())
    def test_brute_force(self, before, written, follow, inside):
        """Lengths that are noted fit, and inside a line all those do that end no word halfway."""
        if not is_start(before):
            return
        mask, text = mask_at(before, follow, inside=inside), b""
        for piece in written:
            if is_start(before + text + piece):
                mask.push(piece)
                text += piece

        def glued(one, other):
            return one[-1:].isalpha() and other[:1].isalpha()

        fitting = [
            end
            for end in range(len(text) + 1)
            if is_whole(before + text[:end], follow) and not (end and glued(text[:end], follow))
        ]
        noted = mask.fits(len(text)).lengths
        assert set(noted) <= set(fitting)
        if inside:
            whole = [end for end in fitting if not (end and glued(text[:end], text[end:]))]
            assert set(whole) <= set(noted)
        else:
            lines = [end for end in fitting if text[end : end + 1] == b"\n" or end == len(text)]
            assert set(lines) <= set(noted)

    def test_only_what_is_shown(self):
        """Lengths beyond the text that is left are not noted."""
        mask = mask_at(b"(", b")", inside=True)
        mask.push(b"a,b")

        assert mask.fits(2).lengths == (0, 1, 2)

    def test_blanks(self):
        """Blanks that a rule takes from the end are no difference to what fits."""
        mask = mask_at(b"(", b"\n)")
        mask.push(b"a  \nb")

        assert mask.fits(1).lengths == (3,)

    def test_not_only_what_is_near(self):
        """Lengths at which the start of what follows fits, but not more of it, are not noted."""
        rest = b"\na" * NEAR + b")" + b"\na" * FOLLOWING
        mask = mask_at(b"(", rest, inside=True)
        mask.push(b"a")
        mask.push(b")")
        mask.push(b";(")

        assert mask.fits(2).lengths == (0, 1)
        assert mask.fits(4).lengths == (0, 1, 4)

    def test_swallowed(self):
        """An open bracket that swallows what follows fits less of it than the end before."""
        rest = b"\na" * FOLLOWING + b")"
        mask = mask_at(b"(", rest)
        mask.push(b"\na\n[")
        assert mask.may_end()

        assert mask.fits(4).lengths == (0, 2)

    def test_swallowed_to_the_end(self):
        """What can be read to its end, but not end there, fits less than what can."""
        mask = mask_at(b"", b"\na" * FOLLOWING)
        mask.push(b"a\n(")

        assert mask.fits(3).lengths == (1,)

    def test_broken_far_away(self):
        """What is broken after the cursor is broken for all ends: none is worse."""
        mask = mask_at(b"", b"\na" * FOLLOWING + b"]", inside=True)
        mask.push(b"a,a,a,a,a")

        assert len(mask.fits(9).lengths) > COMPARED


class TestNeverInTheWay:
    def test_text_that_was_not_allowed(self):
        """If a text was written all the same, everything may come after it, and it is kept."""
        mask = mask_at(b"(", b")")
        mask.push(b"a]")
        mask.push(b"]]")

        assert mask.allows(b"]")
        assert mask.may_end()
        assert mask.fits(4).lengths == (4,)
        assert "left the grammar" in mask.report().reason

    def test_wild_grammar(self):
        """A grammar that goes wild after the cursor lets everything pass from there."""
        mask = mask_at(b"aa", b"", lark=WILD)
        written = 0
        while mask.report().reason is None:
            mask.allows(b"a" * 16)
            mask.push(b"a" * 16)
            written += 16
            assert written < 5000

        assert mask.allows(b"]")
        assert mask.may_end()
        assert "checked no further" in mask.report().reason


@given(st.lists(signs, max_size=8), st.data())
def test_a_twin_has_no_consequences(questions, data):
    """Whatever twins are asked and told, the mask answers and reports as if there were none."""
    mask, alone = (mask_at(b"(a[", b"])\n", inside=True) for _ in range(2))
    twins = []
    for question in questions:
        twins.append(mask.twin())
        for twin in twins:
            twin.may_end()
            if twin.allows(question) and data.draw(st.booleans()):
                twin.push(question)

        assert mask.fitting(question) == alone.fitting(question)
        assert mask.may_end() == alone.may_end()
        allowed = [one.allows(question) for one in (mask, alone)]
        assert allowed[0] == allowed[1]
        if allowed[0]:
            mask.push(question)
            alone.push(question)

    assert mask.fits(20) == alone.fits(20)
    assert mask.wanted == alone.wanted
    one, other = mask.report(), alone.report()
    assert (one.checks, one.refused, one.reason) == (other.checks, other.refused, other.reason)


@given(st.lists(st.tuples(st.lists(signs, max_size=3), signs, st.integers(0, 3)), max_size=8))
def test_questions_have_no_consequences(steps):
    """A text goes the same way, whether it was asked for just before, or something else was."""
    mask, alone = (mask_at(b"(a[", b"])\n", inside=True) for _ in range(2))
    written = b""
    for questions, text, back in steps:
        for question in (*questions, text):
            mask.fitting(question)
        for one in (mask, alone):
            one.push(text)
            one.back(max(0, len(written + text) - back))
        written = (written + text)[: max(0, len(written + text) - back)]
        assert mask.fitting(b"a])(") == alone.fitting(b"a])(")

    assert mask.fits(20) == alone.fits(20)
    assert mask.report().reason == alone.report().reason
