"""Syntax states: fed, asked, rolled back and forked byte by byte."""

import pytest

from server.errors import GrammarError
from server.grammar.state import SyntaxState, TooSlow, compile_grammar

SUM = "start: N (OP N)*\nN: /[0-9]+/\nOP: /[-+]/\n%ignore / +/"


def test_feeding_says_how_far_a_text_fits():
    state = compile_grammar("sum", SUM).state()
    assert state.feed(b"1 + 22 * 3") == 7
    assert state.fed == 7
    assert state.feed(b"- 3") == 3


def test_a_check_leaves_the_state_as_it_was():
    state = compile_grammar("sum", SUM).state()
    state.feed(b"1+")
    assert not state.check(b"+")
    assert state.check(b"1+" * 100)
    assert state.fitting(b"1+1*") == 3
    assert state.fed == 2
    assert not state.accepting


@pytest.mark.parametrize("numbers", [1, 8, 60, 500, 3000])
def test_the_end_of_a_text_counts_as_a_byte(numbers):
    """In one call, after several, and where the text is too long to be asked about."""
    state = compile_grammar("sum", SUM).state()
    state.feed(b"1+")
    text = b"1+" * numbers
    assert state.fitting(text, end=True) == len(text)
    assert state.fitting(text + b"1", end=True) == len(text) + 2
    assert state.fitting(text + b"1*", end=True) == len(text) + 1
    assert state.fed == 2


def test_a_rollback_is_exact_to_the_byte():
    state = compile_grammar("sum", SUM).state()
    state.feed(b"12+34")
    state.rollback(3)
    assert state.accepting
    assert state.check(b"5")
    with pytest.raises(ValueError, match="cannot go back 3 bytes of 2"):
        state.rollback(3)


def test_a_state_that_nothing_can_follow_can_still_be_rolled_back():
    state = compile_grammar("ab", 'start: "a" "b"').state()
    assert state.feed(b"abc") == 2
    assert state.accepting
    assert not state.check(b"c")
    state.rollback(1)
    assert state.check(b"b")


def test_a_fork_goes_its_own_way():
    state = compile_grammar("sum", SUM).state()
    state.feed(b"1")
    fork = state.fork()
    assert fork.feed(b"+2") == 2
    assert state.fed == 1
    assert state.check(b"-")


def test_a_wrong_grammar_is_named_with_line_and_reason():
    with pytest.raises(GrammarError, match=r"the grammar sum is wrong in line 2: .*TERM"):
        compile_grammar("sum", 'start: a\na: TERM "x"')


def test_an_ambiguous_grammar_ends_with_an_error_and_not_after_minutes():
    state = compile_grammar("wild", 'start: "a" start | "a" start start | "a"').state()
    with pytest.raises(TooSlow):
        state.feed(b"a" * 5000, seconds=0.5)


class Clockwork:
    """A matcher whose calls take a given time a byte, on a clock of its own; all text fits."""

    def __init__(self, seconds_at):
        self.seconds_at = seconds_at
        self.now = 0.0
        self.fed = 0
        self.calls = []

    def _take(self, tokens):
        took = sum(self.seconds_at(self.fed + at) for at in range(len(tokens)))
        self.now += took
        self.calls.append(took)
        return len(tokens)

    def consume_tokens(self, tokens):
        self.fed += self._take(tokens)
        return True

    validate_tokens = _take

    def is_error(self):
        return False

    def deep_copy(self):
        return self


@pytest.fixture
def clockwork(monkeypatch):
    """A state behind 10 bytes whose text gets slower, from 1 us a byte to 9 ms."""
    matcher = Clockwork(lambda at: min(9e-3, 1e-6 + 1e-8 * at**2))
    monkeypatch.setattr("server.grammar.state.thread_time", lambda: matcher.now)
    state = SyntaxState(matcher)
    state.feed(b"a" * 10)
    return state, matcher


def test_slow_text_is_fed_by_small_pieces(clockwork):
    state, matcher = clockwork
    assert state.feed(b"a" * 2000) == 2000
    assert max(matcher.calls) < 10e-3
    assert len(matcher.calls) < 4000


def test_slow_text_is_not_asked_about_in_one_call(clockwork):
    state, matcher = clockwork
    state.feed(b"a" * 500)
    matcher.calls.clear()
    assert state.fitting(b"a" * 300) == 300
    assert max(matcher.calls) < 10e-3


def test_quick_text_is_fed_and_asked_about_at_once(monkeypatch):
    matcher = Clockwork(lambda at: 4e-6)
    monkeypatch.setattr("server.grammar.state.thread_time", lambda: matcher.now)
    state = SyntaxState(matcher)
    state.feed(b"a" * 2000)
    assert len(matcher.calls) < 140
    matcher.calls.clear()
    state.feed(b"a" * 2000, sure=True)
    assert len(matcher.calls) < 70
    matcher.calls.clear()
    state.fitting(b"a" * 1800)
    assert len(matcher.calls) < 5


@pytest.mark.parametrize(
    ("lark", "said"),
    [
        ("start: a\n\na: \x01\n", "wrong in line 3: "),
        ("start: \x01\n", "wrong in line 1: "),
        ("start: A\nA: /(/\n", 'wrong in line 2: invalid regex "(": unclosed group'),
    ],
)
def test_a_wrong_grammar_is_explained_in_its_own_lines(lark, said):
    with pytest.raises(GrammarError) as caught:
        compile_grammar("own", lark)
    assert said in str(caught.value)
