"""How fast somebody types, and how long to wait for the next key before the model is asked.

A request that the next key makes worthless costs the model's time, so a new job waits a little. The
pause follows the typing rhythm: one median gap would wait for nearly every next key and always
feel late, so it is a fraction of it, within bounds. Answers from memory and running jobs that still
fit never wait.
"""

from collections import deque
from statistics import median
from time import monotonic

GAPS = 20
"""Keys that are remembered."""

LONGEST_GAP_S = 1.0
"""A longer gap is a pause for thought and no rhythm."""

SHARE = 0.4
"""The part of a median gap that is waited for."""

SHORTEST_S, LONGEST_S = 0.02, 0.15


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

    def pause(self) -> float:
        """Seconds to wait for the next key."""
        if not self._gaps:
            return SHORTEST_S
        return min(LONGEST_S, max(SHORTEST_S, SHARE * median(self._gaps)))
