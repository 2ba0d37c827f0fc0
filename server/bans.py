r"""Texts that a suggestion never holds: a list of strings and patterns, looked for byte by byte.

A ban counts where at least one byte of the match is the suggestion's. What stands before the cursor
takes part: after `pri`, the text `nt(x)` holds the ban `print(`. A match that ends before the
cursor is the person's own::

    >>> bans = compiled(("print(",), (r"\bTODO\b",))
    >>> bans.are_in(b"    pri", b"nt(x)")
    True
    >>> bans.are_in(b"print(x)  # ", b"TODOS")
    False

Strings are kept sorted, and each place where one may have begun is a range of them that gets
narrower with every byte. That is an automaton whose states are plain values, so that a text can be
taken back; it is built by sorting, and thousands of strings cost what a few do. (pyahocorasick is
faster and has no states to keep; nobody waits for the few microseconds.)

Patterns are those of the `regex` package: it tells where a match may have begun that is not whole
yet, and ends a search that takes too long. `^` and `$` are the ends of lines. A pattern is asked
about the text as it stands, after each token: what a later token would turn into something else
(`\bTODO\b` in `TODOS`, token by token) counts as well.

Not here: what a decoder does about a match (`ban_watch`, `decoding`).
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from operator import itemgetter
from time import thread_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

BEFORE_BYTES = 1024
"""So much text before the cursor takes part."""

PATTERN_LENGTH, PATTERN_REPEATS, PATTERN_DEPTH = 1000, 10_000, 50
"""Limits of a pattern: characters, repeats of its counts (`a{1000}`) multiplied, and open brackets:
each of them takes some of Python's stack, which is not the same wherever a pattern is compiled."""

SEARCH_S = 0.05
"""A search that takes longer is given up; `regex` looks at the clock every 0.2 s or so."""

PLACES_S = 0.2
"""The same for all places before a cursor that are looked at one by one, of this thread's work."""

TOO_SLOW = "takes too long"
"""What is said of a pattern whose search was given up."""

_ESCAPES_AND_SETS = re.compile(r"\\[\s\S]|\[\^?\]?[^\[\]\\]*\]")
_CALLS = re.compile(r"\(\?(?:R|[-+]?\d+|&\w*|P>\w*)\)")
_REPEATS = re.compile(r"\{(\d*),?(\d*)\}")

Begun = tuple[tuple[int, int, int], ...]
"""Where strings may have begun, first one first: the byte offset, and the range of the sorted
strings that agree with the text since."""


class SlowPatternError(Exception):
    """A pattern took too long; the message says which one."""


@dataclass(frozen=True)
class BanReport:
    """What bans did to a suggestion."""

    went_back: int = 0
    """How often the text was taken back to where a banned one had begun."""
    refused: int = 0
    """Tokens that were not taken because they would have completed a banned text by themselves."""
    note: str | None = None
    """Why the text ends before a banned one instead of going round it; None if it does not."""

    @property
    def slow(self) -> str | None:
        """The note if a pattern took too long: then nobody knows what is banned."""
        return self.note if self.note and self.note.endswith(TOO_SLOW) else None


@dataclass(frozen=True)
class Match:
    """A banned text; offsets in bytes after the cursor, negative before it."""

    start: int
    end: int
    by_string: bool
    """Whether all that goes on from here holds it, too; a pattern may look at what follows."""


@dataclass(frozen=True)
class State:
    """What may have begun in a text: where a search goes on from."""

    begun: Begun
    """Of strings."""
    searched: tuple[int, ...]
    """For each pattern, the character before which no match begins any more."""


@dataclass(frozen=True)
class Looked:
    """What came of a look at some more text."""

    match: Match | None
    """The last one that began, if several are whole now."""
    state: State
    """Behind the text; of no use after a match."""
    open_since: int
    """The byte offset after the cursor where the first begins that may become a match; the end of
    the text if none does."""


class Bans:
    """A compiled list. It never changes, and any thread may use it."""

    def __init__(self, strings: Iterable[str], patterns: Iterable[str]) -> None:
        """Compile a list. Raises ValueError for a pattern that can't be used (`check_pattern`)."""
        self._strings = sorted({_bytes(string) for string in strings} - {b""})
        firsts = [string[0] for string in self._strings]
        self._ranges = {
            byte: (bisect_left(firsts, byte), bisect_right(firsts, byte)) for byte in {*firsts}
        }
        self._longest = max(map(len, self._strings), default=1)
        self._begun: tuple[bytes, tuple[str, State] | SlowPatternError] | None = None
        """What counts of the last text before a cursor, and what came of it: one request asks more
        than once."""
        self._patterns: list[regex.Pattern[str]] = []
        for pattern in dict.fromkeys(patterns):
            try:
                self._patterns.append(_compile(pattern))
            except ValueError as error:
                raise ValueError(f"the pattern {pattern!r} can't be used: {error}") from error

    def begin(self, before: bytes) -> tuple[str, State]:
        r"""The part of the text before the cursor that patterns look at, and the state behind it.

        Args:
            before: The text before the cursor, with `\n` line ends.

        Raises:
            SlowPatternError: A pattern took too long. On the same text it is not tried again.
        """
        near, known = before[-BEFORE_BYTES:], self._begun
        if known is None or known[0] != near:
            known = self._begun = near, self._begin(near)
        if isinstance(known[1], SlowPatternError):
            raise SlowPatternError(*known[1].args)
        return known[1]

    def look(self, before: str, state: State, text: bytes, more: bytes) -> Looked:
        """What is found if a text goes on.

        Args:
            before: As `begin` gave it.
            state: Behind the text.
            text: What is written after the cursor.
            more: What comes next, any bytes.

        Raises:
            SlowPatternError: A pattern took too long.
        """
        begun, match = state.begun, None
        for offset, byte in enumerate(more, len(text)):
            if begun or byte in self._ranges:
                begun, starts = self._step(begun, offset, byte)
                if starts:
                    match = Match(starts[-1], offset + 1, True)
                    break
        written = text + more
        open_since = min([len(written), *(start for start, _, _ in begun[:1])])
        if not self._patterns:
            return Looked(match, State(begun, ()), open_since)
        shown = _valid(written)
        searched: list[int] = []
        for pattern, since in zip(self._patterns, state.searched, strict=True):
            start, end = _search(pattern, before + shown, since, len(before))
            place = _byte_at(shown, start - len(before))
            if end is not None and (match is None or place > match.start):
                match = Match(place, _byte_at(shown, end - len(before)), False)
            searched.append(start)
            if start < len(before) + len(shown):
                open_since = min(open_since, place)
        return Looked(match, State(begun, tuple(searched)), open_since)

    def are_in(self, before: bytes, text: bytes, after: bytes = b"") -> bool:
        """Whether a text holds a banned one, or a part of one that what is around it completes.

        Args:
            before: What stands before it.
            text: The text.
            after: What stands after it.

        Raises:
            SlowPatternError: A pattern took too long.
        """
        near, state = self.begin(before)
        return self._are_in(near, state, text, after)

    def allowed(self, before: bytes, texts: Iterable[bytes], after: bytes = b"") -> list[bool]:
        """For each of some texts, whether `are_in` finds nothing; where that takes too long, False.

        Args:
            before: What stands before them.
            texts: The texts, each for itself.
            after: What stands after them.
        """

        def is_allowed(text: bytes) -> bool:
            try:
                return not self._are_in(near, state, text, after)
            except SlowPatternError:
                return False

        try:
            near, state = self.begin(before)
        except SlowPatternError:
            return [False for _ in texts]
        return [is_allowed(text) for text in texts]

    def _begin(self, near: bytes) -> tuple[str, State] | SlowPatternError:
        begun: Begun = ()
        nearest = near[-(self._longest - 1) :] if self._longest > 1 else b""
        for offset, byte in enumerate(nearest, -len(nearest)):
            begun, _ = self._step(begun, offset, byte)
        text = near.decode(errors="replace") if self._patterns else ""
        try:
            places = (_search(one, text, 0, len(text))[0] for one in self._patterns)
            return text, State(begun, tuple(places))
        except SlowPatternError as error:
            return error

    def _are_in(self, near: str, state: State, text: bytes, after: bytes) -> bool:
        whole, begun = text + after[:BEFORE_BYTES], state.begun
        for offset, byte in enumerate(whole):
            begun, starts = self._step(begun, offset, byte)
            if any(start < len(text) for start in starts):
                return True
        shown, cursor = near + _valid(whole), len(near)
        end = cursor + len(_valid(text))
        found = (
            _search(one, shown, since, cursor)
            for one, since in zip(self._patterns, state.searched, strict=True)
        )
        return any(start < end and stop is not None for start, stop in found)

    def _step(self, begun: Begun, offset: int, byte: int) -> tuple[Begun, list[int]]:
        """One byte further: where strings may have begun, and where those began that are whole."""
        whole: list[int] = []
        left: list[tuple[int, int, int]] = []
        going: list[tuple[int, int, int]] = []
        for start, low, high in begun:
            depth = offset - start
            key = itemgetter(depth)
            since = bisect_left(self._strings, byte, low, high, key=key)
            until = bisect_right(self._strings, byte, since, high, key=key)
            going.append((start, since, until))
        if offset_range := self._ranges.get(byte):
            going.append((offset, *offset_range))
        for start, since, until in going:
            # What the person has typed may be whole, and go on to be another one.
            is_whole = since < until and len(self._strings[since]) == offset - start + 1
            if is_whole:
                whole.append(start)
            if since + is_whole < until:
                left.append((start, since + is_whole, until))
        return tuple(left), whole


@lru_cache(maxsize=16)
def compiled(strings: tuple[str, ...], patterns: tuple[str, ...]) -> Bans:
    """A compiled list; the last ones are kept. Raises ValueError as `check_pattern`."""
    return Bans(strings, patterns)


def check_pattern(pattern: str) -> None:
    """Raises ValueError, with a reason for a person, for a pattern that can't be used."""
    _compile(pattern)


def _compile(pattern: str) -> "regex.Pattern[str]":
    import regex

    if len(pattern) > PATTERN_LENGTH:
        raise ValueError(f"it is longer than {PATTERN_LENGTH} characters")
    counts = [int(high or low or 1) for low, high in _REPEATS.findall(pattern)]
    if prod(max(1, count) for count in counts) > PATTERN_REPEATS:
        raise ValueError(f"it repeats something more than {PATTERN_REPEATS} times")
    # Without an end they take 50 ms each, and Python's own patterns do not know them.
    if _CALLS.search(pattern):
        raise ValueError("it calls itself or a part of it")
    if _depth(pattern) > PATTERN_DEPTH:
        raise ValueError("it is nested too deeply")
    try:
        found = regex.compile(pattern, regex.MULTILINE)
        if found.search("", timeout=SEARCH_S):
            raise ValueError("it matches empty text")
    except regex.error as error:
        raise ValueError(f"it is no pattern: {error}") from error
    except TimeoutError as error:
        raise ValueError("it takes too long") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return found


def _depth(pattern: str) -> int:
    """The most brackets that are open at once; of sets of characters, those of unusual ones."""
    deepest = depth = 0
    for character in _ESCAPES_AND_SETS.sub("", pattern):
        depth = max(0, depth + (character in "([") - (character in ")]"))
        deepest = max(deepest, depth)
    return deepest


def _search(
    pattern: "regex.Pattern[str]", text: str, since: int, cursor: int
) -> tuple[int, int | None]:
    """Where a match begins that ends after the cursor, and its end.

    Without one: where the first begins that more text could make one, else the text's end, and
    None. That may be one that is whole already: it may get longer.
    """
    first: int | None = None
    while since < len(text):
        found = _searched(pattern.search, text, since)
        if found is None:
            break
        start, end = found.span()
        if found.partial:
            return (start if first is None else first), None
        if end > cursor and end > start:
            return start, end
        if start >= cursor:
            since = start + 1
            continue
        # What ends before the cursor hides what begins beside it: look at each place by itself.
        started = thread_time()
        for place in range(since, cursor):
            if thread_time() - started > PLACES_S:
                raise SlowPatternError(f"the pattern {pattern.pattern!r} {TOO_SLOW}")
            found = _searched(pattern.match, text, place, partial=False)
            if found is not None and found.end() > cursor:
                return place, found.end()
            if first is None and _searched(pattern.fullmatch, text, place) is not None:
                first = place
        since = cursor
    return (len(text) if first is None else first), None


def _searched(
    look: "Callable[..., regex.Match[str] | None]", text: str, since: int, *, partial: bool = True
) -> "regex.Match[str] | None":
    try:
        return look(text, since, partial=partial, timeout=SEARCH_S)
    except TimeoutError as error:
        pattern: str = look.__self__.pattern  # type: ignore[attr-defined]
        raise SlowPatternError(f"the pattern {pattern!r} {TOO_SLOW}") from error


def _bytes(string: str) -> bytes:
    """A string as models see it; what is no text is never found."""
    return string.replace("\r\n", "\n").encode(errors="surrogatepass")


def _valid(text: bytes) -> str:
    """The longest first part of a text that is whole characters."""
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        return text[: error.start].decode()


def _byte_at(text: str, character: int) -> int:
    """The byte offset of a character; negative ones stay (they tell no more than that)."""
    return len(text[:character].encode()) if character > 0 else character
