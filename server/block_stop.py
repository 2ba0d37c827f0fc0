r"""Whether a suggestion is complete, asked after each token: only new lines are read.

`blocks.should_stop_block` says the same and reads the whole text, which takes the longer the more
is written. What was found out of whole lines stays true while the text grows. It may also become
shorter, or another one: guesses are asked about, too, and bans take back. So what is known is kept
for each line, and lines that are as they were are not read again.

Example::

    >>> stop = BlockStop(Place(b"def f():", b"", language="python"), b"", "auto")
    >>> stop(b"\n    return 1"), stop(b"\n    return 1\n\nx = 2")
    (False, True)

Not here: where a block ends (`block_ends`).
"""

from dataclasses import dataclass

from server.block_ends import Walk
from server.block_lines import Reader
from server.blocks import allows_block
from server.grammar.kept import common_prefix
from server.rules import Place, has_controls, should_stop
from server.snapshot import with_lf


@dataclass(frozen=True)
class _Mark:
    """What is known at the start of a line; is copied before it is used."""

    start: int
    """Where the line starts in the generated text."""
    reader: Reader
    walk: Walk


class BlockStop:
    """Whether texts are all that is wanted at a place. Not safe for use by two threads at once."""

    def __init__(self, place: Place, inside: bytes, multiline: str) -> None:
        """Take the arguments of `blocks.should_stop_block`, but for the text."""
        self._place = place
        self._is_block = allows_block(place, inside, multiline)
        self._text = b""
        """What was asked about last, with LF line ends."""
        reader = Reader(place.language, place.comment, inside)
        self._marks = [_Mark(0, reader, Walk(place, inside))]
        """Of the lines of that text, as far as they were read: where each one starts."""

    def __call__(self, generated: bytes) -> bool:
        """Whether the suggestion is complete, whatever the model would write next."""
        if not self._is_block:
            return should_stop(self._place, generated)
        return has_controls(self._place, generated) or self._ends(with_lf(generated))

    def _ends(self, text: bytes) -> bool:
        common = common_prefix(self._text, text)
        while self._marks[-1].start > common:
            self._marks.pop()
        self._text = text
        mark = self._marks[-1]
        start, reader, walk = mark.start, mark.reader.twin(), mark.walk.twin()
        while True:
            end = text.find(b"\n", start)
            is_whole = end >= 0
            piece = text[start : end if is_whole else len(text)]
            line = reader.read(b"" if start else self._place.typed, piece, start, is_whole)
            if walk.take(line) is not None:
                return True
            if not is_whole:
                return False
            start = end + 1
            self._marks.append(_Mark(start, reader.twin(), walk.twin()))
