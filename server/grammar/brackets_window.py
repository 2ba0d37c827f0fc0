r"""A window for languages of brackets: the openers that wait for a partner, and the cursor's line.

What a structural grammar allows next depends on which brackets are open and on what the current
line (or the current string, comment, template) looks like, so that is all it has to be fed::

    >>> lexemes = re.compile(rb"(?P<skip>//[^\n]*)|(?P<open>[({\[])|(?P<close>[)}\]])")
    >>> bracket_window(b"f(a) {  // {\n  x = g(1,\n    [2], h(", lexemes)
    b'{\n(\n    [2], h('

Text is scanned once with a regular expression per language, some 10 MB a second. The scan is
remembered at line starts: a keystroke at the end of a megabyte scans some lines and compares the
rest.

A person's text may be broken: a closer without an opener is dropped, one that fits an outer bracket
closes the inner ones too. The window then starts behind that place.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

from server.errors import GrammarError

LONGEST = 4 << 20
"""Bytes that are worth a scan: longer texts should get no ladder."""

LOOK_AHEAD = 64
"""How far a pattern may look beyond the end of its match. A change that far behind a place leaves
the place as it was."""

STRETCH = 1 << 14
"""Bytes that are searched for a lexeme in one call, which keeps Python's lock: 1 to 5 ms."""

OVERLAP = 2048
"""Bytes at the end of a stretch that are searched again, for lexemes that go on behind it."""

LONG_LINE = 4096
"""In lines longer than this a window may start at a bracket, too."""

DEEPEST = 2000
"""Brackets that may be open, as a window holds them all; behind more nothing is scanned."""

MOST_STEPS = 125_000
"""Work that a scan may take at once, in lexemes, places, 16 bytes of text, 8 brackets that a closer
is compared with: some 0.2 s, for 0.7 MB of a usual program. The next request goes on from there."""

DOCUMENTS = 4
"""How many scans are remembered."""

_PARTNERS = {
    b"(": b")",
    b"[": b"]",
    b"{": b"}",
    b"function": b"end",
    b"if": b"end",
    b"do": b"end",
    b"repeat": b"until",
    b"{$": b"}",
}
"""What closes an opener, or an opener's last byte. The words are Lua's, `{$` is PHP's."""

_Stack = tuple["_Stack", bytes, int, int] | None
"""Open brackets: what is open around the innermost, its opener's text and position, how many."""


@dataclass(frozen=True)
class _Place:
    """Where a window may start: outside of all lexemes, nearly always at a line's start."""

    position: int
    stack: _Stack
    """What is open there."""
    broken: bool = False
    """Whether the text up to here has a closer that does not fit."""


@dataclass(frozen=True)
class _Scan:
    """What is known of a text."""

    lexemes: re.Pattern[bytes]
    text: bytes
    places: list[_Place]
    """By position, the first at 0. Not changed any more: a later scan has its own list."""
    end: _Place
    """Behind the last lexeme."""
    unfinished: bool
    """Whether that is a string or a comment which may go on behind the text."""
    complete: bool
    """Whether the text was scanned up to its end."""


_scans: list[_Scan] = []
"""The last ones used, the newest last."""
_lock = Lock()


def bracket_window(
    before: bytes,
    lexemes: re.Pattern[bytes],
    texts: Mapping[bytes, re.Pattern[bytes]] | None = None,
    dependent: re.Pattern[bytes] | None = None,
    closer: Callable[[bytes], bytes | None] | None = None,
) -> bytes:
    r"""The openers without a partner, each on a line of its own, and the text of the current line.

    Args:
        before: The text before the cursor, with `\n` line ends.
        lexemes: Finds the lexemes that matter, by groups `skip` (whole strings and comments; also
            unfinished ones, up to the text's end), `open` and `close`. An opener may start with
            what belongs to it (`if (`): its last byte decides what closes it. No match is empty or
            looks further than `LOOK_AHEAD` bytes beyond its end.
        texts: For openers that start text instead of code (a template, a long comment), or for
            their first byte that is no blank: what matters within, by the same groups. There each
            `close` closes the opener.
        dependent: Matches at the start of lines of code that do not stand alone, because their
            meaning depends on what is before them: then the window starts at an earlier line.
        closer: From an opener to what closes it, in lower case; None where that is text.

    Returns:
        A text with the same verdict and the same continuations for a grammar that knows lexemes and
        brackets only. In an unfinished string or comment it starts at the line where that starts.

    Raises:
        GrammarError: More brackets are open than anybody writes, or the text takes more work than
            is done at once.
    """
    texts = texts or {}
    scan = _scanned(before, lexemes, texts, closer or _closer)
    start = _start(scan, texts, dependent)
    openers: list[bytes] = []
    stack = start.stack
    while stack is not None:
        stack, opener, *_ = stack
        openers.append(opener + b"\n")
    return b"".join(reversed(openers)) + before[start.position :]


def item_start(
    before: bytes, lexemes: re.Pattern[bytes], item: re.Pattern[bytes], anywhere: bool = False
) -> int | None:
    r"""Where the last line starts that an item of the file starts on.

    Args:
        before: The text before the cursor, with `\n` line ends.
        lexemes: As for `bracket_window`.
        item: Matches at the start of such a line.
        anywhere: Whether that may be within brackets: one that was never closed, say. Else it is
            outside of all brackets and lexemes.
    """
    scan = _scanned(before, lexemes, {}, _closer)
    position, end = len(before) + 1, scan.end.position
    outside = not scan.unfinished and (anywhere or scan.end.stack is None)
    while outside and position > end:  # lines without lexemes
        position = before.rfind(b"\n", max(end - 1, 0), position - 1) + 1
        if position >= end and item.match(before, position):
            return position
    last = len(scan.places)
    if not anywhere and scan.end.stack is not None:
        last = bisect_right(scan.places, _outermost(scan.end.stack), key=lambda p: p.position)
    for place in reversed(scan.places[:last]):
        if (anywhere or place.stack is None) and item.match(before, place.position):
            return place.position
    return None


def innermost(before: bytes, lexemes: re.Pattern[bytes], opener: bytes) -> int | None:
    """Where the last bracket of a kind is that is still open; None if none is."""
    stack = _scanned(before, lexemes, {}, _closer).end.stack
    while stack is not None and stack[1] != opener:
        stack = stack[0]
    return stack[2] if stack else None


def _outermost(stack: _Stack) -> int:
    """The position of the first bracket that is open."""
    position = 0
    while stack is not None:
        stack, _, position, _ = stack
    return position


def _start(
    scan: _Scan,
    texts: Mapping[bytes, re.Pattern[bytes]],
    dependent: re.Pattern[bytes] | None,
) -> _Place:
    """Where the window starts: the last line that is outside of all lexemes and stands alone."""

    def alone(place: _Place) -> bool:
        if place.broken or place.position == 0 or dependent is None:
            return True
        return bool(_text(place.stack, texts)) or not dependent.match(scan.text, place.position)

    position, end = len(scan.text) + 1, scan.end.position
    while position > end and not scan.unfinished:  # lines without lexemes
        position = scan.text.rfind(b"\n", max(end - 1, 0), position - 1) + 1
        place = _Place(position, scan.end.stack)
        if position >= end and alone(place):
            return place
    return next(place for place in reversed(scan.places) if alone(place))


def _scanned(
    text: bytes,
    lexemes: re.Pattern[bytes],
    texts: Mapping[bytes, re.Pattern[bytes]],
    closer: Callable[[bytes], bytes | None],
) -> _Scan:
    """The scan of a text; one of nearly the same text is gone on with.

    Raises:
        GrammarError: More brackets are open than anybody writes, or the text takes more work than
            is done at once.
    """
    scans = [scan for scan in list(_scans) if scan.lexemes is lexemes]
    same = next((scan for scan in scans if scan.text is text), None)
    scan = same if same and same.complete else _read(text, lexemes, texts, closer, scans)
    if _depth(scan.end.stack) > DEEPEST:
        raise GrammarError(f"more than {DEEPEST:,} brackets are open")
    if not scan.complete:
        raise GrammarError("the text takes long to look through (the next request goes on)")
    return scan


def _read(
    text: bytes,
    lexemes: re.Pattern[bytes],
    texts: Mapping[bytes, re.Pattern[bytes]],
    closer: Callable[[bytes], bytes | None],
    scans: list[_Scan],
) -> _Scan:
    """The scan of a new text, remembered. It goes on with one of `scans`."""
    known = [(_shared(scan, text), scan) for scan in scans]
    count, base = max(known, key=lambda pair: pair[0], default=(0, None))
    places = base.places[:count] if base and count else [_Place(0, None)]
    goes_on = base is not None and count == len(base.places) and _goes_on(base, text)
    since = base.end if base and goes_on else places[-1]
    end, unfinished, complete = _go_on(text, lexemes, texts, closer, places, since)
    scan = _Scan(lexemes, text, places, end, unfinished, complete)
    with _lock:
        newest = scan
        if base in _scans and base is not None:
            if base.complete and base.text.startswith(text):
                newest = base  # the cursor went up: what is below stays known
            if newest is base or 2 * count > len(base.places):
                _scans.remove(base)
        _scans.append(newest)
        del _scans[:-DOCUMENTS]
    return scan


def _depth(stack: _Stack) -> int:
    """How many brackets are open."""
    return stack[3] if stack else 0


def _shared(scan: _Scan, text: bytes) -> int:
    """How many places of a scan are those of another text, too."""
    if text == scan.text:
        return len(scan.places)
    if text.startswith(scan.text) or scan.text.startswith(text):
        common = min(len(text), len(scan.text))
        return bisect_right(scan.places, common - LOOK_AHEAD, key=lambda place: place.position)
    low, high, equal = 0, len(scan.places), 0  # the first `low` are, those from `high` on are not
    while low < high:
        middle = (low + high) // 2
        end = scan.places[middle].position + LOOK_AHEAD
        if end <= len(text) and text[equal:end] == scan.text[equal:end]:
            low, equal = middle + 1, end
        else:
            high = middle
    return low


def _goes_on(scan: _Scan, text: bytes) -> bool:
    """Whether a scan that stopped in the midst stopped at a place of another text, too.

    All of its own places are known to be.
    """
    if scan.complete or text == scan.text:
        return not scan.complete
    start, end = scan.places[-1].position, scan.end.position + LOOK_AHEAD
    return end <= len(text) and text[start:end] == scan.text[start:end]


def _go_on(
    text: bytes,
    lexemes: re.Pattern[bytes],
    texts: Mapping[bytes, re.Pattern[bytes]],
    closer: Callable[[bytes], bytes | None],
    places: list[_Place],
    since: _Place,
) -> tuple[_Place, bool, bool]:
    """Scan a text from the last place on, or one behind it, and add the places that follow.

    Returns:
        What is behind the last lexeme, whether that is a `skip` up to the text's end, and whether
        the scan came to that end.
    """
    newest, steps, known = places[-1].position, 0, len(places)
    position, stack = since.position, since.stack
    pattern = _text(stack, texts) or lexemes
    unfinished = False
    while position < len(text):
        if steps + len(places) - known > MOST_STEPS:
            return _Place(position, stack), False, False
        match = _next(text, pattern, position)
        if match is None:
            if len(text) - position <= STRETCH:
                break
            upto = position + STRETCH - OVERLAP
            line = text.rfind(b"\n", position, upto) + 1
            steps += (line or upto) - position >> 4
            position = line or upto
            if line > newest:
                newest = line
                places.append(_Place(line, stack))
            continue
        start, end = match.span()
        line = text.rfind(b"\n", max(position - 1, 0), start) + 1
        if line > newest:
            newest = line
            places.append(_Place(line, stack))
        if start - newest > LONG_LINE and match.lastgroup != "skip":
            newest = start
            places.append(_Place(start, stack))
        steps += 1 + (end - position >> 4)
        position = end
        unfinished = match.lastgroup == "skip" and end == len(text)
        if match.lastgroup == "open":
            stack = (stack, match[0], start, _depth(stack) + 1)
            if stack[3] > DEEPEST:
                break
        elif match.lastgroup == "close":
            partner = stack if pattern is not lexemes else _partner(stack, match[0].lower(), closer)
            if partner is None or partner is not stack:
                steps += _depth(stack) >> 3
                newest = end
                places.append(_Place(end, partner[0] if partner else stack, broken=True))
            stack = partner[0] if partner else stack
        else:
            continue
        pattern = _text(stack, texts) or lexemes
    return _Place(position, stack), unfinished, True


def _next(text: bytes, pattern: re.Pattern[bytes], position: int) -> re.Match[bytes] | None:
    """The next lexeme in a stretch of the text, its overlap aside; None if there is none."""
    end = position + STRETCH
    if end >= len(text):
        return pattern.search(text, position)
    match = pattern.search(text, position, end)
    if match is None or match.start() >= end - OVERLAP:
        return None
    # What comes near the end of the stretch may be different in the whole text.
    return match if match.end() + LOOK_AHEAD <= end else pattern.search(text, position)


def _text(stack: _Stack, texts: Mapping[bytes, re.Pattern[bytes]]) -> re.Pattern[bytes] | None:
    """What matters in the text that the innermost opener started; None if that is code."""
    return (texts.get(stack[1]) or texts.get(stack[1].lstrip()[:1])) if stack else None


def _closer(opener: bytes) -> bytes | None:
    """What closes a bracket."""
    return _PARTNERS.get(opener, _PARTNERS.get(opener[-1:]))


def _partner(stack: _Stack, found: bytes, closer: Callable[[bytes], bytes | None]) -> _Stack:
    """The stack down to the innermost opener that is closed by what was found; None if none is."""
    while stack is not None:
        closed_by = closer(stack[1])
        if closed_by in (found, None):  # what is open around a template is not closed within it
            return stack if closed_by else None
        stack = stack[0]
    return None
