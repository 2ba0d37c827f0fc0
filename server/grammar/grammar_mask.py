r"""A grammar's mask over the text that a model writes at the cursor.

It holds a syntax state behind the text before the cursor and what was written since, and the texts
that may follow the hole. There may be several: of closers after the cursor, the model may write
all, some or none, and rules put the missing ones back::

    mask = GrammarMask(standing, [b"\nprint(x)\n", b")\nprint(x)\n"], inside=False)   # foo(║)
    mask.allows(b"a +"), mask.allows(b"a ]")      # True, False
    mask.push(b"a +")
    mask.may_end()                                # False: neither of the two may come next

It notes the lengths at which what follows would fit, for `fit`: those of whole lines, and where
something follows on the line those of whole words and signs. The end of the text is never refused
for ever: what follows may be broken, and tokens written against the model's will are no good. Nor
does a slow grammar ever stop a text: past a limit the mask lets everything pass.

Whether what follows fits is asked of its first 256 bytes: where the model wants to end at once, of
all other lengths when the text is written (`fits`), and until then of 32 bytes. An open bracket may
swallow these, so the longest fitting lengths are compared over more of it at the end. What follows
may be broken somewhere in the person's own text, or lack what is still to be typed, and nobody
knows whether the document was whole before. So a length is good if no other one comes further over
what follows.

What is not here: the choice of tokens, and what is cut (`fit`).
"""

import re
from bisect import insort
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from time import thread_time

from server.grammar.fit import Fits, bare_lengths
from server.grammar.ladder import Standing
from server.grammar.report import GrammarReport
from server.grammar.state import SyntaxState, TooSlow

FOLLOWING = 256
"""Bytes of what follows that must fit where a text may end: 1 ms where they do, far less where they
don't."""

NEAR = 32
"""Bytes of it that are looked at while the text is written: 0.1 ms, and nothing else is due if the
request is given up, or the text is cut before this place."""

FURTHER = 2048
"""Bytes over which the best lengths are compared at the end: some 2 ms for each where brackets are
watched. Grammars that know more take longer, and see what is swallowed sooner: half of it."""

COMPARED = 4
"""The longest lengths that are compared."""

ENDS_REFUSED = 3
"""The end is refused at so many places: enough for brackets still to be closed."""

PATIENCE_S = 1.0
"""A mask that took longer for a text lets everything pass; some hundred times what is usual."""

LINE_FEED = 0x0A
_LINES = re.compile(rb"[^\n]+|\n[^\n]*")
_PIECES = re.compile(rb"[\w\x80-\xff]+|[^\w\x80-\xff]")
_WORD = frozenset(byte for byte in range(256) if byte >= 0x80 or re.match(rb"\w", bytes([byte])))


class GrammarMask:
    """The `Mask` of a request. Not safe for use by two threads at once."""

    def __init__(self, standing: Standing, follows: Iterable[bytes], *, inside: bool) -> None:
        r"""Start at the cursor.

        Args:
            standing: Where a climb of the ladder ended, with a state.
            follows: The texts that may follow the hole, with `\n` line ends; the first 2 kB of each
                are looked at.
            inside: Whether more than blanks follows on the cursor's line, so that the text may have
                to end anywhere.
        """
        assert standing.state is not None
        self.decides = standing.decides
        self._state = standing.state
        self._report = standing.report
        self._further = FURTHER if standing.report.level == "structural" else FURTHER // 2
        self._follows = tuple(follow[: self._further] for follow in follows)
        self._inside = inside
        self._text = bytearray()
        self._ends: dict[int, bool] = {}
        self._near_ends: list[int] = []
        """Lengths, ascending, of which no more is known than that what is near fits."""
        self._refused_ends: list[int] = []
        self._reason: str | None = None
        self._sure = b""
        """What may come next, as far as that was asked last."""
        self._checks = self._refused = 0
        self._seconds = 0.0
        self._pushed: list[tuple[int, float, float]] = []
        """Of each push the length of the text after it, the seconds until then, and the
        milliseconds since the push before."""

    def allows(self, text: bytes) -> bool:
        """Whether the text written so far could go on with this (any bytes)."""
        return self.fitting(text) == len(text)

    def fitting(self, text: bytes) -> int:
        """How many bytes of this could come next."""
        if self._reason:
            return len(text)
        started = thread_time()
        try:
            fits = self._state.fitting(text)
        except TooSlow as error:
            self._let_pass(str(error))
            return len(text)
        self._checks += 1
        self._refused += fits < len(text)
        self._sure = text[:fits]
        self._count(started)
        return fits

    def could_end(self) -> bool:
        """Whether the text could end here: what follows the hole would fit, or never will.

        Where nothing follows it could end anywhere: more is still to be typed.
        """
        if self._reason or not all(follow.strip() for follow in self._follows):
            return True
        return self._fits_here() or len(self._refused_ends) > ENDS_REFUSED

    def may_end(self) -> bool:
        """The same, asked because the model wants to end here; notes where it is refused."""
        if self.could_end():
            return True
        if len(self._text) not in self._refused_ends:
            self._refused_ends.append(len(self._text))
        return self.could_end()

    def push(self, text: bytes) -> None:
        """Note that this was written. What was not allowed switches the mask off."""
        sure, self._sure = self._sure.startswith(text), b""
        for piece in _PIECES.findall(text) if self._inside else _LINES.findall(text):
            joins = self._text and self._text[-1] in _WORD and piece[0] in _WORD
            if not self._reason and (piece[0] == LINE_FEED or (self._inside and not joins)):
                self._note_end()
            if not self._reason:
                self._feed(piece, sure)
            self._text += piece
        since = self._pushed[-1][1] if self._pushed else 0.0
        self._pushed.append((len(self._text), self._seconds, 1e3 * (self._seconds - since)))

    def back(self, length: int) -> None:
        """Take back all but the first bytes of what was written."""
        if not self._reason:
            self._state.rollback(len(self._text) - length)
        self._sure = b""
        del self._text[length:]
        self._ends = {end: fits for end, fits in self._ends.items() if end <= length}
        self._near_ends = [end for end in self._near_ends if end < length]
        self._refused_ends = [end for end in self._refused_ends if end <= length]
        self._pushed = [pushed for pushed in self._pushed if pushed[0] <= length]

    def twin(self) -> "GrammarMask":
        """Another one at the same place, whose questions are neither counted nor noted here."""
        twin = copy(self)
        twin._state = self._state.fork()
        twin._text, twin._ends = self._text.copy(), self._ends.copy()
        twin._near_ends, twin._refused_ends = self._near_ends.copy(), self._refused_ends.copy()
        twin._pushed = self._pushed.copy()
        return twin

    def fits(self, length: int) -> Fits:
        """Where the text could end, up to a length in bytes; to be asked when it is written.

        Blanks behind that length don't count. If the mask lets everything pass, the text may end
        where it does.
        """
        if not self._reason:
            self._fits_here()
        if self._reason:
            return Fits((length,))
        blanks = len(self._text) - len(self._text[length:].lstrip(b" \t"))
        for bare in bare_lengths(self._text, length):
            if bare not in self._near_ends:
                insort(self._near_ends, bare)
        self._look_further(blanks)
        if self._reason:
            return Fits((length,))
        ends = [end for end, fits in sorted(self._ends.items()) if fits and end <= blanks]
        if len(ends) > 1 and any(len(follow) > FOLLOWING for follow in self._follows):
            ends = self._best(ends)
        wanted = self.wanted
        return Fits(tuple(ends), wanted if wanted is not None and wanted < length else None)

    def joins(self, shown: bytes, follow: bytes) -> bool:
        r"""Whether a text fits between what stands before the cursor and what follows.

        Args:
            shown: The text in the place of what was written, with what rules changed in it.
            follow: The text after the range that it replaces, with `\n` line ends.
        """
        if self._reason:
            return True
        started = thread_time()
        probe = self._state.fork()
        probe.rollback(len(self._text))
        try:
            if follow.strip():
                return probe.check(shown + follow[:FOLLOWING])
            return probe.feed(shown) == len(shown) and _ends_after(probe)
        except TooSlow as error:
            self._let_pass(str(error))
            return True
        finally:
            self._count(started)

    @property
    def wanted(self) -> int | None:
        """The length at which the model wanted to end first and was not let; None if at none.

        Whether nothing may be written is asked of every healing, whatever the model wants.
        """
        return next((end for end in self._refused_ends if end), None)

    def report(self) -> GrammarReport:
        """What was done so far."""
        reasons = [self._report.reason, self._reason]
        if len(self._refused_ends) > ENDS_REFUSED:
            reasons.append("what follows the cursor fits after nothing that was written")
        return replace(
            self._report,
            reason="; ".join(filter(None, reasons)) or None,
            checks=self._checks,
            refused=self._refused,
            check_ms=1e3 * self._seconds,
            steps_ms=tuple([taken for *_, taken in self._pushed]),
        )

    def _feed(self, piece: bytes, sure: bool) -> None:
        started = thread_time()
        try:
            if self._state.feed(piece, sure=sure) < len(piece):
                self._let_pass("the text left the grammar")
        except TooSlow as error:
            self._let_pass(str(error))
        self._count(started)

    def _fits_here(self) -> bool:
        here = len(self._text)
        if here not in self._ends:
            started = thread_time()
            try:
                self._ends[here] = self._fits_at(self._state, here, FOLLOWING)
            except TooSlow as error:
                self._let_pass(str(error))
                return True
            self._count(started)
        return self._ends[here]

    def _note_end(self) -> None:
        """Note that the text could end here, as far as that can be told for little."""
        started = thread_time()
        try:
            if self._fits_at(self._state, len(self._text), NEAR):
                self._near_ends.append(len(self._text))
        except TooSlow as error:
            self._let_pass(str(error))
        self._count(started)

    def _look_further(self, length: int) -> None:
        """Find out whether what follows fits at the noted lengths up to one."""
        ends = [end for end in self._near_ends if end <= length and end not in self._ends]
        if not ends:
            return
        started = thread_time()
        probe, place = self._state.fork(), len(self._text)
        try:
            for end in reversed(ends):
                probe.rollback(place - end)
                place = end
                self._ends[end] = self._fits_at(probe, end, FOLLOWING)
        except TooSlow as error:
            self._let_pass(str(error))
        self._count(started)

    def _fits_at(self, state: SyntaxState, end: int, size: int) -> bool:
        """Whether so many bytes of what follows fit after a length of the text.

        Args:
            state: Behind that length.
            end: The length.
            size: Bytes of what follows that count.
        """
        joins = end > 0 and self._text[end - 1] in _WORD
        for follow in self._follows:
            if not follow.strip():
                fits = _ends_after(state)
            else:
                # Two words that meet are one word that nobody wrote.
                fits = not (joins and follow[0] in _WORD) and state.check(follow[:size])
            if fits:
                return True
        return False

    def _best(self, ends: list[int]) -> list[int]:
        """Without those of the longest ends from which less of what follows can be read."""
        started = thread_time()
        unread: dict[int, int] = {}
        probe, place = self._state.fork(), len(self._text)
        try:
            for end in ends[: -COMPARED - 1 : -1]:
                probe.rollback(place - end)
                place = end
                unread[end] = min(self._unread(probe, follow) for follow in self._follows)
                if not unread[end]:
                    break
        except TooSlow as error:
            self._let_pass(str(error))
            return ends
        self._count(started)
        least = min(unread.values(), default=0)
        return [end for end in ends if unread.get(end, least) == least]

    def _unread(self, state: SyntaxState, follow: bytes) -> int:
        """How many bytes of what follows don't fit; its end counts as one."""
        whole = len(follow) < self._further
        return len(follow) + whole - state.fitting(follow, end=whole)

    def _let_pass(self, reason: str) -> None:
        self._reason = f"checked no further after {len(self._text)} bytes: {reason}"

    def _count(self, started: float) -> None:
        self._seconds += thread_time() - started
        if self._seconds > PATIENCE_S and not self._reason:
            self._let_pass("the grammar is too slow for this text")


def _ends_after(state: SyntaxState) -> bool:
    """Whether a document may end here, or after a line end, which some grammars ask for."""
    return state.accepting or state.fitting(b"\n", end=True) == 2
