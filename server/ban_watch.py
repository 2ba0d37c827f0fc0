"""The bans of one request: what may come next, and where to go back to.

A decoder chooses one token after the other; each choice is a *place*. What is known at a place is a
plain value, so that a text can be taken back::

    place 0   `pr`        what may have begun: `print(` at byte 0
    place 1   `int`       the same
    place 2   `(`         completes it: back to place 0, where `pr` is not chosen again

Only that choice is forbidden there, and only as long as what comes before stays: `pr` may be
written anywhere else, and `print` may, too, if another token spells it. A token that completes by
itself what it begins, or what stands before the cursor, is never taken in the first place.

What may be shown while it is written ends before the token in which something has begun, and before
the last word: nothing that was shown is taken back.
"""

import re
from dataclasses import dataclass, field

from server.bans import BanReport, Bans, Looked, Match, SlowPatternError, State

MOST_RETURNS = 16
"""So often a request goes back; then its text ends where the next banned one begins."""

_WORD_BYTES = bytes(byte for byte in range(256) if byte >= 0x80 or re.match(rb"\w", bytes([byte])))


@dataclass
class _Place:
    """Where a token is chosen."""

    start: int
    """How many bytes are written after the cursor before it."""
    state: State
    """Of what may have begun."""
    open_since: int
    """Where the first of it begins, 0 if before the cursor; `start` if nothing has begun."""
    refused: dict[bytes, Match] = field(default_factory=dict)
    """What must not come next here, and why."""


class BanWatch:
    """The text of a request after the cursor, watched. One request only."""

    def __init__(self, bans: Bans, before: bytes) -> None:
        """Start at the cursor.

        Args:
            bans: The list.
            before: The text before the cursor, with LF line ends.
        """
        self._bans = bans
        self._text = bytearray()
        self._went_back = self._refused = 0
        self._note: str | None = None
        self._slow: str | None = None
        state = State((), ())
        self._near = ""
        try:
            self._near, state = bans.begin(before)
        except SlowPatternError as error:
            self._slow = str(error)
        self._places = [_Place(0, state, 0)]
        self._looked: tuple[bytes, Looked] | None = None
        """The last look from the last place."""

    @property
    def is_stuck(self) -> bool:
        """Whether a pattern took too long: nobody knows what is banned, and the text has to end."""
        return self._slow is not None

    @property
    def report(self) -> BanReport:
        """What was done so far."""
        return BanReport(self._went_back, self._refused, self._note)

    @property
    def has_refused_here(self) -> bool:
        """Whether something was refused at the last place."""
        return bool(self._places[-1].refused)

    @property
    def settled(self) -> int:
        """So many bytes of the text stay, whatever comes: the start of a token, whole words."""
        here = self._places[-1]
        while here.open_since < here.start:
            # Back there, something else may have begun that was out of question since.
            here = self._places[self._place_at(here.open_since)]
        return _without_word(bytes(self._text[: here.start]))

    def refusal(self, shown: bytes) -> Match | None:
        """Why a text must not come next; None if it may.

        A banned text that began at an earlier place is no reason: the decoder goes back there.
        """
        here = len(self._text)
        place = self._places[-1]
        if shown in place.refused:
            return place.refused[shown]
        match = self._look(shown).match
        if match is None or max(0, match.start) < here:
            return None
        self._refused += 1
        place.refused[shown] = match
        return match

    def place_of(self, shown: bytes) -> int | None:
        """The place where a banned text began that is whole with this; None if there is none."""
        match = self._look(shown).match
        return None if match is None else self._place_at(match.start)

    def push(self, shown: bytes) -> None:
        """Note that this was written; nothing banned was whole with it."""
        looked = self._look(shown)
        self._text += shown
        open_since = max(0, looked.open_since)
        self._places.append(_Place(len(self._text), looked.state, open_since))
        self._looked = None

    def may_go_back(self) -> bool:
        """Whether it is not yet too often."""
        return self._went_back < MOST_RETURNS

    def go_back(self, place: int) -> int:
        """Take back what was written from a place on, and forbid what was chosen there.

        Returns:
            How many bytes are left.
        """
        start, end = self._places[place].start, self._places[place + 1].start
        led_there = bytes(self._text[start:end])
        self._places[place].refused[led_there] = Match(start, end, False)
        del self._places[place + 1 :], self._text[start:]
        self._looked = None
        self._went_back += 1
        return start

    def end_before(self, shown: bytes, note: str) -> tuple[int, int]:
        """End the text before the banned one that would be whole with this, or here if none would.

        Returns:
            How many bytes are left, in whole words, and how many choices wrote them.
        """
        match = self._look(shown).match
        end = self.settled if self.is_stuck else len(self._text)
        end = end if match is None else max(0, min(match.start, end))
        following = (self._text + shown)[end : end + 1]
        if match is None or (following and following in _WORD_BYTES):
            end = _without_word(bytes(self._text[:end]))
        self._note = self._slow or note
        return end, sum(place.start < end for place in self._places)

    def _place_at(self, start: int) -> int:
        """The place whose token holds a byte; the first one for what stands before the cursor."""
        byte = max(0, start)
        return max(number for number, place in enumerate(self._places) if place.start <= byte)

    def _look(self, shown: bytes) -> Looked:
        if self._looked is None or self._looked[0] != shown:
            state, text = self._places[-1].state, bytes(self._text)
            looked = Looked(None, state, self._places[-1].open_since)
            if not self.is_stuck:
                try:
                    looked = self._bans.look(self._near, state, text, shown)
                except SlowPatternError as error:
                    self._slow = str(error)
            self._looked = shown, looked
        return self._looked[1]


def _without_word(text: bytes) -> int:
    """The length of a text without the word that it ends with."""
    return len(text.rstrip(_WORD_BYTES))
