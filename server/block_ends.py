"""Where a block of generated lines ends: one pass over the lines, with what it has seen so far.

`blocks` says in words what the rules are. Each decision is taken as soon as nothing that the model
can write next would change it: an indentation needs a word after it, and brackets in the middle of
a line need the line's end.
"""

import re
from copy import copy
from dataclasses import dataclass

from server.block_lines import Line, column_of, read_lines
from server.brackets import PAIRS
from server.rules import FOLLOWING_BYTES, Place

MAX_LINES = 32
"""Longer suggestions are not read, and rarely right to the end."""

OPENERS = {closer: opener for opener, closer in PAIRS.items()}
_GOES_ON = frozenset(b"else elif elsif elseif except finally catch rescue ensure when then".split())
"""Words that go on with the statement before them, at its own indentation."""
_ENDS = {
    "lua": (b"end", b"until"),
    "ruby": (b"end",),
    "elixir": (b"end",),
    "julia": (b"end",),
    "vim": (b"endfunction", b"endif", b"endfor", b"endwhile", b"endtry"),
    "shellscript": (b"fi", b"done", b"esac"),
    "makefile": (b"endif", b"endef"),
}
"""Words that close a block as a bracket does."""
_LEADS = (b"@", b"#[", b"[[")
"""Lines that start so belong to the next one: decorators, annotations and attributes."""
# A word that may grow, or the beginning of what may become a comment.
_UNDECIDED = re.compile(rb"(?:[0-9A-Za-z_\x80-\xff]*|[/\-#*@%;]+|\[)\Z")
_TRIVIAL = re.compile(rb"[^0-9A-Za-z_\x80-\xff]*\Z")
_LONGEST_LOOP = 8
"""Repeats of so many lines are seen."""


@dataclass(frozen=True)
class End:
    """Where a block ends."""

    offset: int
    """So many bytes of the generated text belong to it."""
    rule: str
    """The reason, for reports."""
    closes: bool = False
    """Whether it ends at the bracket that is closed right after the cursor."""


@dataclass(frozen=True)
class Walked:
    """A text, read as far as its structure goes."""

    end: End | None
    """None if the block may go on after the text."""
    whole: int
    """The end of the last complete line that belongs to the block."""
    kept: int
    """The end of the last line that does."""


def walk(place: Place, generated: bytes, inside: bytes, finished: bool) -> Walked:
    r"""Read a text with `\n` line ends; `finished` says that its last line is complete."""
    lines = read_lines(
        place.typed,
        generated,
        language=place.language,
        comment=place.comment,
        inside=inside,
        finished=finished,
    )
    state = Walk(place, inside)
    for line in lines:
        end = state.take(line)
        if end is not None:
            return Walked(end, state.whole, state.kept)
    return Walked(None, state.whole, state.kept)


class Walk:
    """The block as far as it was read, line by line."""

    def __init__(self, place: Place, inside: bytes) -> None:
        """Start before the cursor's line, which begins in `inside` (`Line.inside`)."""
        self.place = place
        self.pair = pair_depth(place, inside)
        """How many brackets are open outside the pair that the cursor is in."""
        self.base: int | None = None
        """The indentation of the first line that has any code."""
        self.blank_base = 0 if place.typed.strip() else column_of(place.typed)
        """The least of that where the cursor's line stays blank."""
        self.began = bool(place.typed.strip())
        """Whether the person began the line."""
        self.opened: bool | None = None
        """Whether it opens a block (if it is a decorator or comment: the first line after it)."""
        self.opener = False
        """Whether that line was read."""
        self.after_blank = False
        self.pending = False
        """Whether the last line was a comment that belongs to what comes after the block."""
        following = (one for one in place.following.split(b"\n") if one.strip())
        self.next_line = next(following, b"").rstrip()
        """The first line after the cursor's that is not blank."""
        self.whole = self.kept = 0
        self.texts: list[bytes] = []
        """The complete lines of the block, without blank ones; `ends` tells where they end."""
        self.ends: list[int] = []

    def twin(self) -> "Walk":
        """Another one at the same place."""
        twin = copy(self)
        twin.texts, twin.ends = self.texts.copy(), self.ends.copy()
        return twin

    def take(self, line: Line) -> End | None:
        """Go on by one line; the end of the block if it is known then."""
        if line.blank:
            if not line.inside and line.start:
                self.after_blank = True
            return None
        if self.base is None:
            self.base = max(line.column, self.blank_base if line.start else 0)
        if line.inside and not line.comment:
            return self._pair_end(line) or self._enclosing_end(line) or self._count(line)
        code = line.text.lstrip(b" \t")
        if not line.complete and line.start and _UNDECIDED.match(code):
            self.kept = line.end
            return None
        if line.comment:
            below = line.column < self.base or (
                self.opened is True and line.column <= self.base and not line.owed
            )
            self.pending = line.start > 0 and (self.pending if line.inside else below)
            return None if self.pending else self._count(line)
        self.pending = False
        return self._code(line, code)

    def _code(self, line: Line, code: bytes) -> End | None:
        assert self.base is not None
        first = next(iter(line.closings), None)
        outer = -1 if self.pair is None else self.pair
        # What a line starts with is known before its end, so it decides before the rest does.
        starts_by_closing = first is not None and first.leading and first.depth <= outer
        if line.start and not starts_by_closing:
            if line.column < self.base:
                return End(self.kept, "ended at the dedent")
            end = self._end_at_base(line, code)
            if end is not None:
                return end
        end = self._pair_end(line) or self._enclosing_end(line)
        if end is not None:
            return end
        if any(closing.depth < 0 for closing in line.closings):
            self.kept = line.end  # the closing line of what is around, but not all of it yet
            return None
        if not code.startswith(_LEADS):
            self.opener = True
        return self._count(line)

    def _end_at_base(self, line: Line, code: bytes) -> End | None:
        """Whether a line that is indented like the first one begins something new."""
        braced = False
        if self.opened is None and self.opener:
            # Of a line that nobody began, what comes after it is wanted as well.
            braced = self.began and code.startswith(b"{")  # the block's bracket has its own line
            deeper = line.column > (self.base or 0) or bool(line.owed)
            self.opened = braced or (self.began and deeper)
        if line.column != self.base or braced:
            return None
        word = re.match(rb"[0-9A-Za-z_\x80-\xff]*", code)
        assert word
        closer = next((c.text for c in line.closings if c.leading and c.depth == 0), b"")
        if word[0] in _ENDS.get(self.place.language, ()):
            closer = word[0]
        if closer and _line_follows(self.place, closer, line.column):
            return End(self.kept, "closed by what follows")
        if closer or line.owed or word[0] in _GOES_ON or not self.opener:
            return None
        if self.opened:
            return End(self.kept, "ended with the block")
        return End(self.kept, "ended at a blank line") if self.after_blank else None

    def _pair_end(self, line: Line) -> End | None:
        """The closing bracket of the pair that the cursor is in."""
        if self.pair is None:
            return None
        closed = next((c for c in line.closings if c.depth <= (self.pair or 0)), None)
        return End(closed.offset, "ended with the brackets", closes=True) if closed else None

    def _enclosing_end(self, line: Line) -> End | None:
        """The closing bracket of something that was open before the cursor's line."""
        closed = next((c for c in line.closings if c.depth < 0), None)
        if closed is None:
            return None
        if _bracket_follows(self.place, closed.text, line.column if closed.leading else None):
            return End(self.kept if closed.leading else closed.offset, "closed by what follows")
        if not line.complete:
            return None
        return End(line.end, "ended with the block around")

    def _count(self, line: Line) -> End | None:
        """Take the line into the block, if it is not one line too many."""
        text = line.text.rstrip()
        # Brackets alone stand everywhere, but a comment or string is closed once.
        telling = bool(line.inside) or not _TRIVIAL.match(text)
        judged = line.complete and line.start > 0 and telling
        off = self.place.off
        if judged and text == self.next_line and "ended before what follows" not in off:
            return End(self.kept, "ended before what follows")
        if len(self.texts) == MAX_LINES:
            return End(self.kept, f"ended after {MAX_LINES} lines")
        self.kept = line.end
        self.after_blank = False
        if line.complete:
            self.whole = line.end
            self.texts.append(text)
            self.ends.append(line.end)
            loop = _loop_start(self.texts)
            if loop is not None and "ended before a repeat" not in off:
                return End(self.ends[loop - 1], "ended before a repeat")
        return None


def _loop_start(lines: list[bytes]) -> int | None:
    """The index of the line where a text begins to repeat itself at its end.

    One or two lines count as a loop when they stand there for the third time, more of them for the
    second time; lines of brackets alone don't.
    """
    for period in range(1, min(_LONGEST_LOOP, len(lines) // 2) + 1):
        copies = 3 if period < 3 else 2
        start = len(lines) - copies * period
        if start < 0 or lines[-1] != lines[-1 - period]:
            continue
        last = lines[-period:]
        if lines[start:] == last * copies and not all(map(_TRIVIAL.match, last)):
            return start + period
    return None


def _bracket_follows(place: Place, bracket: bytes, column: int | None) -> bool:
    """Whether the text after the line closes a bracket that was open before the line.

    The first bracket that it closes but does not open decides. If that one starts a line that is
    indented otherwise than `column` (None where that is not known), it closes something else.
    """
    for line in read_lines(
        b"", place.following, language=place.language, comment=place.comment, finished=True
    ):
        closed = next((c for c in line.closings if c.depth < 0), None)
        if closed is not None:
            same = column is None or not closed.leading or line.column == column
            return closed.text == bracket and same
    # Where the text goes on too far to be seen, it is taken to be whole.
    return len(place.following) > FOLLOWING_BYTES // 2


def _line_follows(place: Place, closer: bytes, column: int) -> bool:
    """Whether the text after the line closes a block that the cursor's line opens.

    Its first line that is indented no deeper than the closing one decides.
    """
    for line in place.following.split(b"\n"):
        if line.strip() and column_of(line) <= column:
            return column_of(line) == column and line.lstrip(b" \t").startswith(closer)
    return False


def pair_depth(place: Place, inside: bytes) -> int | None:
    """How many brackets of the line are open outside the one that is closed after the cursor.

    None if no bracket of the line is closed right after the cursor.
    """
    if place.rest[:1] not in OPENERS:
        return None
    lines = read_lines(
        place.typed, b"\n", language=place.language, comment=place.comment, inside=inside
    )
    owed = lines[1].owed
    return len(owed) - 1 if owed and owed[-1] == place.rest[:1] else None
