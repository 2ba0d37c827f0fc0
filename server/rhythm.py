"""How fast somebody types, and how long to wait for the next key before the model is asked.

A request that the next key makes worthless costs the model's time, so a new job waits a little. How
long depends on two times: the median gap between keys, and the time that the model usually takes to
its first text. A pause of a whole gap would wait for nearly every next key and always feel late. A
model that answers in a moment loses next to nothing when a key comes in between, and a pause would
be most of what the person waits for; a slow one loses a lot, and nobody notices the pause. So it is
a part of the geometric mean of both: where the model takes as long as a gap, that part of a gap; a
quarter of the model's time halves it, four times as much doubles it. Whatever the times, it stays
between `SHORTEST_S` and `LONGEST_S`.

Answers from memory and running jobs that still fit never wait.

Example::

    >>> rhythm = Rhythm()
    >>> for second in (0.0, 0.2, 0.4, 0.6):
    ...     rhythm.key(second)
    >>> [round(rhythm.pause(first_text_s), 3) for first_text_s in (0.0, 0.05, 0.2, 0.8, 5.0, None)]
    [0.02, 0.04, 0.08, 0.15, 0.15, 0.08]
"""

from collections import deque
from math import sqrt
from statistics import median
from time import monotonic

GAPS = 20
"""Keys that are remembered."""

LONGEST_GAP_S = 1.0
"""A longer gap is a pause for thought and no rhythm."""

SHARE = 0.4
"""The part of the mean that is waited for."""

SHORTEST_S, LONGEST_S = 0.02, 0.15
"""The least and the most that is waited. Keys of one keystroke (an editor that closes a bracket)
come within the least; a longer pause than the most is noticed with any model."""

TYPING_S = 0.1
"""A completion list that is asked for so soon after a key is one that the editor opens by itself:
the protocol has one word for that and for asking by hand. VS Code asks 10 ms after a key."""


class Rhythm:
    """The gaps between the last keys of one editor."""

    def __init__(self) -> None:
        self._gaps: deque[float] = deque(maxlen=GAPS)
        self._last = float("-inf")

    def key(self, now: float | None = None) -> None:
        """A key was pressed; `now` in seconds of any steady clock."""
        now = monotonic() if now is None else now
        gap = now - self._last
        if gap < LONGEST_GAP_S:
            self._gaps.append(gap)
        self._last = now

    def is_typing(self, now: float | None = None) -> bool:
        """Whether a key was pressed a moment ago."""
        return (monotonic() if now is None else now) - self._last < TYPING_S

    def pause(self, first_text_s: float | None = None) -> float:
        """Seconds to wait for the next key.

        Args:
            first_text_s: Seconds that the model usually takes to its first text; None if that is
                not known, which counts as a gap.
        """
        if not self._gaps:
            return SHORTEST_S
        gap = median(self._gaps)
        wait = SHARE * sqrt(gap * (gap if first_text_s is None else first_text_s))
        return min(LONGEST_S, max(SHORTEST_S, wait))
