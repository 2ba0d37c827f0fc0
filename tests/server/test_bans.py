"""What is banned: strings and patterns over a text that grows, against plain searches of it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server import bans as module
from server.ban_watch import BanWatch
from server.bans import Bans, Match, SlowPatternError, check_pattern, compiled

small = st.text("ab(", min_size=1, max_size=5)
pieces = st.lists(st.text("ab( é", min_size=1, max_size=4).map(str.encode), max_size=12)
PATTERNS = [r"a+b", r"\(b", r"ab$", r"^a\(", r"b.a", r"(?<=a)b\(", r"[^a\n]{3}", r"é"]
PATTERNS += [r"a.*", r"b\S+", r"ab(a.*\()?", r"\(+?", r"a\(*?b?"]


def watched(strings, before, written=(), patterns=()):
    watch = BanWatch(compiled(tuple(strings), tuple(patterns)), before)
    for piece in written:
        watch.push(piece)
    return watch


def last_begun(strings, before, text):
    """Where the last of the banned strings begins that end first in a text; None if none does."""
    whole = before + text
    ends = {}
    for string in map(str.encode, strings):
        for start in range(len(whole) - len(string) + 1):
            end = start + len(string)
            if whole[start:end] == string and end > len(before):
                ends.setdefault(end, []).append(start - len(before))
    return max(ends[min(ends)]) if ends else None


@given(st.lists(small, max_size=6), st.text("ab(", max_size=8).map(str.encode), pieces)
def test_strings_as_by_plain_search(strings, before, texts):
    """The same match as by looking at every place, however the text comes in pieces."""
    near, state = Bans(strings, ()).begin(before)
    written = b""
    for piece in texts:
        looked = Bans(strings, ()).look(near, state, written, piece)
        expected = last_begun(strings, before, written + piece)
        assert (None if looked.match is None else looked.match.start) == expected
        if looked.match is not None:
            return
        written += piece
        state = looked.state
        open_since = [
            size
            for size in range(1, len(before + written) + 1)
            if any(
                string.encode().startswith((before + written)[-size:]) and len(string) > size
                for string in strings
            )
        ]
        assert looked.open_since == len(written) - max(open_since, default=0)


@given(st.sets(st.sampled_from(PATTERNS)), st.text("ab( \n", max_size=8).map(str.encode), pieces)
def test_patterns_as_by_plain_search(patterns, before, texts):
    """A match is found with the first piece with which a plain search finds one."""
    written = b""
    near, state = Bans((), patterns).begin(before)
    for piece in texts:
        looked = Bans((), patterns).look(near, state, written, piece)
        written += piece
        whole, cursor = (before + written).decode(), len(before.decode())
        found = [
            match.start()
            for pattern in patterns
            for start in range(len(whole))
            if (match := re.compile(pattern, re.MULTILINE).match(whole, start))
            and match.end() > cursor
        ]
        assert (looked.match is not None) == bool(found)
        if looked.match is not None:
            assert looked.match.start in {len(whole[cursor:at].encode()) for at in found} | {
                at - cursor for at in found
            }
            return
        state = looked.state


class TestTyped:
    def test_what_is_typed_takes_part(self):
        """A ban may begin before the cursor, on the lines before, too, with any line ends."""
        bans = Bans(["print(", "a\r\nb"], ())

        assert bans.are_in(b"    pri", b"nt(x)")
        assert bans.are_in(b"a\n", b"b")
        assert not bans.are_in(b"pri\n", b"nt(x)")

    def test_what_is_typed_is_the_persons(self):
        """A match that ends before the cursor does not count."""
        assert not Bans(["print("], ["pri.t"]).are_in(b"print(", b"x)")

    @pytest.mark.parametrize(
        ("pattern", "before", "text"),
        [
            ("SPDX-License-Identifier: .*", b"# SPDX-License-Identifier: ", b"MIT"),
            ("SPDX-License-Identifier: .*", b"# SPDX-License-Identifier: M", b"IT"),
            (r"https?://\S+", b'"http://a', b".b"),
            (r"\bTODO\w*", b"# TODO", b"S"),
            ("foo(.*bar)?", b"foo x ", b"ba"),
        ],
    )
    def test_what_is_whole_may_get_longer(self, pattern, before, text):
        """Then the suggestion has a part in it."""
        bans = Bans((), [pattern])
        assert bans.are_in(before, text + b"r")
        assert not bans.are_in(before, b"\nx")
        near, state = bans.begin(before)
        looked = bans.look(near, state, b"", text)
        whole = looked.match is not None
        assert whole or bans.look(near, looked.state, text, b"r").match is not None

    def test_what_follows(self):
        """What follows may complete a ban that begins in the text, and has its own otherwise."""
        bans = Bans(["int(", "x"], [r"t\(+y"])

        assert bans.are_in(b"", b"int", b"(a)")
        assert bans.are_in(b"", b"t(", b"(y)")
        assert not bans.are_in(b"", b"a", b"x int( t(y")

    def test_long_before(self):
        """One kilobyte before the cursor takes part."""
        begun = b"(" * (module.BEFORE_BYTES - 1)
        assert Bans(["(" * module.BEFORE_BYTES], ()).are_in(begun, b"(")
        assert Bans((), [r"a\(+b"]).are_in(b"a" + begun, b"b")
        assert not Bans((), [r"a\(+b"]).are_in(b"a(" + begun, b"b")

    def test_a_pattern_that_is_open_behind_a_whole_match(self):
        """What may begin is found beside what is whole already."""
        assert Bans((), [r"a.*z|b"]).are_in(b"a b ", b"z")

    def test_no_text(self):
        """What is no text in a list, or not yet whole in a text, is nowhere."""
        assert not Bans(["\ud800", ""], ["é"]).are_in(b"", "é".encode()[:1])


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("a*", "it matches empty text"),
        ("a|", "it matches empty text"),
        ("$", "it matches empty text"),
        ("(", "it is no pattern: missing"),
        ("a" * 1001, "it is longer than 1000 characters"),
        ("((a{100}){100}){2}", "it repeats something more than 10000 times"),
        ("(?R)", "it calls itself or a part of it"),
        ("a(?0)", "it calls itself or a part of it"),
        ("(x|(?1)y)", "it calls itself or a part of it"),
        ("(?P<a>x|(?&a)y)", "it calls itself or a part of it"),
        ("(?P<a>x|(?P>a)y)", "it calls itself or a part of it"),
        ("(" * 900, "it is nested too deeply"),
        ("(" * 51 + "a" + ")" * 51, "it is nested too deeply"),
    ],
)
def test_patterns_that_cannot_be_used(pattern, reason):
    """The reason is a sentence's end, for a person; a list names the pattern."""
    with pytest.raises(ValueError, match=r"^it ") as error:
        check_pattern(pattern)
    assert str(error.value).startswith(reason)
    with pytest.raises(ValueError, match=re.escape(f"the pattern {pattern!r} can't be used: it ")):
        compiled((), ("fine", pattern))


def test_brackets_side_by_side():
    """Only those that are open at once are counted, and none that stand for themselves."""
    check_pattern("(a)" * 50 + r"\(" * 60 + "[(]" * 60 + "(" * 50 + "a" + ")" * 50)
    with pytest.raises(ValueError, match="nested too deeply"):
        check_pattern("([)]" * 51 + ")" * 51)


def test_an_empty_match_is_none():
    """A pattern that matches empty text only at some places is ignored there."""
    assert not Bans((), [r"\b|aa"]).are_in(b"", b"a b")
    assert Bans((), [r"\B(?=x)|aa"]).are_in(b"", b"b aa")


def test_a_slow_pattern():
    """A search without an end is given up, and the text ends."""
    slow = r"(?:a+)+b"
    with pytest.raises(SlowPatternError, match="takes too long"):
        Bans((), [slow]).are_in(b"", b"a" * 600)
    watch = watched((), b"", [b"x = "], [slow])
    assert not watch.is_stuck
    assert watch.refusal(b"a" * 600) is None
    assert watch.is_stuck
    assert watch.end_before(b"a" * 600, "") == (4, 1)
    assert watch.report.note == f"the pattern {slow!r} takes too long"
    assert watched((), b"a" * 1000, (), [slow]).is_stuck


def test_slow_at_many_places():
    """Each place alone takes no time to speak of, and all of them seconds."""
    bans = Bans((), [r"a|x*x*y"])
    with pytest.raises(SlowPatternError, match="takes too long"):
        bans.begin(b"a" + b"x" * 1000)
    assert bans.begin(b"a" + b"x" * 9)[0] == "a" + "x" * 9


def test_a_slow_pattern_is_tried_once(monkeypatch):
    """What was given up on a text before the cursor is not tried again on the same text."""
    searched = []
    real = module._searched
    monkeypatch.setattr(
        module, "_searched", lambda *one, **more: (searched.append(one), real(*one, **more))[1]
    )
    bans = Bans((), [r"(?:a+)+b"])

    for _ in range(3):
        with pytest.raises(SlowPatternError, match="takes too long"):
            bans.begin(b"a" * 1000)
    assert len(searched) == 1
    assert bans.begin(b"c")[0] == "c"


class TestWatch:
    def test_refused_at_once(self):
        """A token that holds all of it, or the rest of what is typed, is never taken."""
        watch = watched(["print("], b"    pri")

        assert watch.refusal(b"nt(") == Match(-3, 3, True)
        assert watch.refusal(b"nt") is None
        watch.push(b"ntx ")
        assert watch.refusal(b"print(") == Match(4, 10, True)
        assert watch.report.refused == 2

    def test_goes_back_to_where_it_began(self):
        """That very choice is forbidden there, and nowhere else."""
        watch = watched(["print("], b"", [b"x ", b"pr", b"int"])

        assert watch.refusal(b"(") is None
        assert watch.place_of(b"(a") == 1
        assert watch.go_back(1) == 2
        assert watch.refusal(b"pr") == Match(2, 4, False)
        assert watch.refusal(b"print") is watch.refusal(b"p") is None
        watch.push(b"y ")
        assert watch.refusal(b"pr") is None
        assert watch.report.went_back == 1

    def test_began_before_the_cursor(self):
        """The first token that shows something is where to go back to."""
        watch = watched(["print("], b"pri", [b"", b"n", b"t"])

        assert watch.place_of(b"(") == 1
        assert watch.settled == 0

    def test_settled(self):
        """Nothing that may be taken back, and whole words only."""
        assert watched(["print("], b"", [b"a b"]).settled == 2
        assert watched(["print("], b"", [b"a b", b" pri"]).settled == 2
        assert watched(["print("], b"", [b"a ", b"; pri", b"n"]).settled == 2
        assert watched(["print("], b"", [b"a ", b"; pri", b"n", b"!"]).settled == 9
        # Back at the second token, what began in the first one may be completed after all.
        assert watched(["ba"], b"", [b"(b", b"b"]).settled == 0

    def test_ends_before(self):
        """Before the banned text, without half a word."""
        assert watched(["t("], b"", [b"a ", b"prin"]).end_before(b"t(", "") == (2, 1)
        assert watched(["(a"], b"", [b"a ", b"prin"]).end_before(b"(a", "") == (6, 2)
        assert watched(["(a"], b"", [b"a ", b"prin"]).end_before(b"", "why") == (2, 1)


@given(st.lists(small, min_size=1, max_size=4), pieces)
@settings(max_examples=200)
def test_what_is_settled_stays(strings, texts):
    """Whichever way is taken, what was settled is a start of what is written in the end."""
    watch, written, shown = watched(strings, b""), [b""], b""
    for piece in texts:
        place = watch.place_of(piece)
        if watch.refusal(piece):
            continue
        if place is not None:
            assert b"".join(written)[: watch.go_back(place)].startswith(shown)
            del written[place + 1 :]
            continue
        watch.push(piece)
        written.append(piece)
        settled = b"".join(written)[: watch.settled]
        assert settled.startswith(shown) or shown.startswith(settled)
        shown = max(shown, settled, key=len)
        assert last_begun(strings, b"", b"".join(written)) is None
        end, _ = watch.end_before(b"", "")
        assert end >= len(shown)
