"""Syntax states that are kept while a person types: a keystroke is fed, not the whole text again.

A state is moved to another text by going back to where the two texts part, and over the rest. So
it is always the state that a new one would be after the same text::

    kept.move(("file:///a.py", "window"), template, b"foo(a", 0.1)     # 5 bytes are fed
    kept.move(("file:///a.py", "window"), template, b"foo(b", 0.1)     # 1 byte back, 1 fed

Not safe for use by two threads at once. What is not here: which text a grammar is given (`rungs`).
"""

from collections import OrderedDict
from dataclasses import dataclass
from time import thread_time

import numpy as np

from server.grammar.state import SyntaxState, Template, TooSlow

MOST = 24
"""States that are kept: a handful of documents, and seldom more than two grammars for one. A state
takes some 4 MB behind 40 kB of text, and next to nothing behind a window."""

PIECE = 128
"""Bytes between two looks at the clock."""

SLOWEST_S = 1e-3
"""Seconds a byte of a grammar that is given up for a text; sane ones take a hundredth of it."""


@dataclass(frozen=True)
class Moved:
    """A state at its new place."""

    state: SyntaxState
    """Belongs to the keeper: fork it, and leave it where it is."""
    fits: int
    """Bytes of the text that it could go over; all, if the text fits the grammar."""


@dataclass
class _Kept:
    """A state, and the text that it stands behind: as much as fitted, of a text that did not."""

    template: Template
    state: SyntaxState
    text: bytes = b""
    stuck: bytes | None = None
    """A text that was too much for the grammar, so that it is not tried again."""


class KeptStates:
    """States by document and kind; the least recently used ones are freed."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def move(self, key: tuple[str, str], template: Template, text: bytes, seconds: float) -> Moved:
        """Bring a state behind a text.

        Args:
            key: The document's name, and which of its states is meant.
            template: The grammar; another one than before starts a new state.
            text: Everything that the state is to stand behind.
            seconds: How long it may take. The next call goes on from where this one came to.

        Raises:
            TooSlow: It took longer, or one byte of the text needed more work than allowed.
        """
        kept = self._kept.get(key)
        if kept is None or kept.template is not template:
            kept = self._kept[key] = _Kept(template, template.state())
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        if kept.stuck is not None and text.startswith(kept.stuck):
            raise TooSlow("the grammar is too ambiguous for this text")
        common = common_prefix(kept.text, text)
        kept.state.rollback(len(kept.text) - common)
        kept.text = text[:common]
        return Moved(kept.state, _feed(kept, text, seconds))

    def forget(self, document: str) -> None:
        """Free a document's states."""
        for key in [key for key in self._kept if key[0] == document]:
            del self._kept[key]


def _feed(kept: _Kept, text: bytes, seconds: float) -> int:
    """Move a state on over the rest of a text, as far as it fits; how far it is then.

    The clock is that of the thread's own work: a busy machine is not the grammar's fault.
    """
    start = done = len(kept.text)
    started = thread_time()
    late = False
    while done < len(text) and not late:
        piece = text[done : done + PIECE]
        try:
            taken = kept.state.feed(piece)
        except TooSlow:
            # The state is of no use any more.
            kept.state, kept.text, kept.stuck = kept.template.state(), b"", text[: done + PIECE]
            raise
        done += taken
        if taken < len(piece):
            break
        late = done < len(text) and thread_time() - started > seconds
    kept.text = text[:done]
    if late:
        if thread_time() - started > SLOWEST_S * (done - start):
            kept.stuck = kept.text
        raise TooSlow(f"the text takes longer than {1e3 * seconds:.0f} ms to read")
    return done


def common_prefix(one: bytes, other: bytes) -> int:
    """How many bytes two texts have in common at their start; some 0.1 ms for 1 MB.

    >>> common_prefix(b"foo(a", b"foo(b, c)")
    4
    """
    length = min(len(one), len(other))
    if one[:length] == other[:length]:
        return length
    differs = np.frombuffer(one, np.uint8, length) != np.frombuffer(other, np.uint8, length)
    return int(differs.argmax())
