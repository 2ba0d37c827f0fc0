r"""Syntax states: how far a text fits a grammar, and what may follow it. Byte by byte.

The engine is llguidance (Earley parsing over lexemes) with a vocabulary of the 256 bytes, so that a
state can be fed any text, asked about any text, and rolled back by any number of bytes.

    >>> template = compile_grammar("sum", 'start: N ("+" N)*\nN: /[0-9]+/')
    >>> state = template.state()
    >>> state.feed(b"1+2")
    3
    >>> state.check(b"+33"), state.check(b"++"), state.accepting
    (True, False, True)

llguidance holds Python's lock while it is fed or asked, some 17 us a byte at worst where a grammar
is sane and without any bound where it is not. So text goes in by pieces that are the smaller the
slower the last one was, and against a clock.

What is not here: which grammar a document has (`languages`), and what is done if text does not fit.
"""

from functools import cache
from time import perf_counter, thread_time

from llguidance import LLMatcher, LLParserLimits, LLTokenizer

from server.errors import GrammarError
from server.possessive import re

PIECE = 32
"""Bytes fed in one call at most; other threads run between two calls."""

CALL_S = 2e-3
"""How long a call should take at most, at the pace of the last one. Where work grows with the cube
of the text, the next call takes some times as long."""

PROBE = 32
"""Bytes that are asked about in the first call: the engine's limits do not hold there, so a grammar
gone wild could keep Python's lock for minutes."""

GROWTH = 4
"""How many times as long the next call's text is, where a call was quick."""

LONGEST_PROBE = 2048
"""Bytes that are asked about in one call where the calls before were quick."""

LONGEST_S = 8e-3
"""How long a call that asks may take, at the pace of the last one: it is four times as fast as to
feed a copy by pieces, which is done instead."""

ROW_ITEMS, STEP_ITEMS = 1000, 20_000
"""Limits of a parser's step: more than real code needs in the largest grammar here."""


class TooSlow(GrammarError):
    """A grammar took longer than allowed for a text."""


@cache
def _bytes_tokenizer() -> LLTokenizer:
    return LLTokenizer("byte")


class Template:
    """A compiled grammar; states of it are copies."""

    def __init__(self, name: str, matcher: LLMatcher) -> None:
        self.name = name
        self._matcher = matcher

    def state(self) -> "SyntaxState":
        """A new state before any text; takes some 10 us."""
        return SyntaxState(self._matcher.deep_copy())


def compile_grammar(name: str, lark: str) -> Template:
    """Compile a grammar in llguidance's dialect of Lark; takes up to 0.3 s without Python's lock.

    Masks are exact only with `no_forcing`: without it llguidance allows a single spelling of text
    that the grammar forces. The directive is added.

    Raises:
        GrammarError: The grammar is wrong; says in which line and why.
    """
    directive = '%llguidance {"no_forcing": true}\n'
    own = lark.lstrip().startswith("%llguidance")
    grammar = LLMatcher.grammar_from_lark(lark if own else directive + lark)
    limits = LLParserLimits(
        max_items_in_row=ROW_ITEMS, step_max_items=STEP_ITEMS, verbose_errors=False
    )
    matcher = LLMatcher(_bytes_tokenizer(), grammar, log_level=0, limits=limits)
    if matcher.is_error():
        raise GrammarError(_explain(name, matcher.get_error(), added=0 if own else 1))
    return Template(name, matcher)


class SyntaxState:
    """How far a text got in a grammar. Not safe for use by two threads at once."""

    def __init__(self, matcher: LLMatcher) -> None:
        self._matcher = matcher
        self.fed = 0
        """Bytes of text that it stands behind."""
        self._pace = 4 * CALL_S / PIECE
        """Seconds that a byte takes to be fed, as the last call went; not known at first."""

    def feed(self, text: bytes, seconds: float | None = None, *, sure: bool = False) -> int:
        """Go on over a text, as far as it fits; returns how many bytes did.

        llguidance does both in one call, too, which asks before each byte: half as long again.

        Args:
            text: Any bytes.
            seconds: The longest that it may take; None for any time.
            sure: Whether it was asked before, and all of it fits.

        Raises:
            TooSlow: It took longer, or one byte needed more work than allowed. The state is of no
                use any more.
        """
        started, done = perf_counter(), 0
        while done < len(text):
            piece = text[done : done + max(1, min(PIECE, int(CALL_S / self._pace)))]
            called = thread_time()
            taken = len(piece) if sure else self._matcher.validate_tokens(list(piece))
            if taken:
                self._matcher.consume_tokens(list(piece[:taken]))
            self._pace = max(thread_time() - called, 1e-6) / len(piece)
            if self._matcher.is_error():
                raise TooSlow("the grammar is too ambiguous for this text")
            done += taken
            self.fed += taken
            if taken < len(piece):
                break
            if seconds is not None and perf_counter() - started > seconds:
                raise TooSlow(f"the text took longer than {1e3 * seconds:.0f} ms to read")
        return done

    def check(self, text: bytes) -> bool:
        """Whether the state could go on over all of a text; it does not. Raises as `fitting`."""
        return self.fitting(text) == len(text)

    def fitting(self, text: bytes, *, end: bool = False) -> int:
        """How many bytes of a text the state could go on over; it does not.

        Args:
            text: Any bytes.
            end: Whether the text's end is asked for, too: it counts as one byte more.

        Raises:
            TooSlow: One byte needed more work than allowed.
        """
        asked = [*text, _bytes_tokenizer().eos_token] if end else list(text)
        size, pace = PROBE, self._pace
        while size <= LONGEST_PROBE and pace * min(size, len(asked)) < LONGEST_S:
            called = thread_time()
            fits = self._matcher.validate_tokens(asked[:size])
            if fits < size or size >= len(asked):
                return fits
            pace = (thread_time() - called) / size
            size *= GROWTH
        fork = self.fork()
        fits = fork.feed(text)
        return fits + (end and fits == len(text) and fork.accepting)

    def rollback(self, count: int) -> None:
        """Go back by so many bytes. Raises ValueError if it was not fed so many."""
        if not 0 <= count <= self.fed:
            raise ValueError(f"cannot go back {count} bytes of {self.fed}")
        if count:
            self._matcher.rollback(count)
            self.fed -= count

    def fork(self) -> "SyntaxState":
        """A state of its own at the same place; takes up to 10 ms behind 40 kB of text."""
        copy = SyntaxState(self._matcher.deep_copy())
        copy.fed, copy._pace = self.fed, self._pace
        return copy

    @property
    def accepting(self) -> bool:
        """Whether the text may end here."""
        return self._matcher.is_accepting()


def _explain(name: str, message: str, added: int) -> str:
    """One line for a person from llguidance's message, which quotes the grammar's lines."""
    found = re.match(r"(?:at )?(\d+)\(\d+\): (.*)", message)
    reason = (found[2] if found else message).split("\n")[0]
    cause = re.search(r"^error: (.*)", message, re.MULTILINE)
    if cause:  # of a regular expression, which is quoted between the two
        reason = f"{reason.removesuffix(' (in regex): regex parse error:')}: {cause[1]}"
    line = f" in line {max(1, int(found[1]) - added)}" if found else ""
    return f"the grammar {name} is wrong{line}: {' '.join(reason.split())}"
