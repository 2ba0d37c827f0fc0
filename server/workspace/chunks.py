r"""Places that a person has just been at: a ring of parts of documents.

Whoever changes a function has often looked at its callers a minute ago. So the lines around every
place that is visited (a document that is opened, left or saved, a jump within one) are kept for a
while: 16 parts of 64 lines, as in llama.vim. A part that nearly is another one takes its place, and
one that says what is around the cursor anyway is left out of a prompt.

The oldest comes first, so that a prompt's beginning stays as it is when a part is added::

    >>> ring = Ring().added(visit("a.py", b"def area(a, b):\n    return a * b\n\nprint(1)\n", 0))
    >>> [chunk.name for chunk in ring.beside(b"", b"")]
    ['a.py']

Everything here is a value and nothing changes.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

PARTS = 16
"""Parts that are kept."""

LINES = 64
"""Lines of a part."""

FEWEST_LINES = 3
"""Lines with text; less says nothing."""

SAME = 0.9
"""More alike, and the newer part takes the older one's place."""

KNOWN = 0.5
"""More alike, and a part says what the text around the cursor says."""

JUMP = 32
"""Lines between two places of one document that make it a jump."""

_WORD = re.compile(rb"[\w\x80-\xff]+")
_BLANK_LINES = re.compile(rb"\A(?:[ \t]*\n)+")


@dataclass(frozen=True)
class Chunk:
    """A part of a file, for a prompt."""

    name: str
    """The file's path below the workspace's folder, with `/` between names."""
    text: bytes
    """Whole lines with `\\n`; the last one ends, too."""

    @cached_property
    def words(self) -> Counter[bytes]:
        """How often each word is in it."""
        return words_of(self.text)


@dataclass(frozen=True)
class Ring:
    """The parts, oldest first."""

    parts: tuple[Chunk, ...] = ()

    def added(self, part: Chunk | None) -> "Ring":
        """The ring with one more part, without those that it is nearly equal to."""
        if part is None or part in self.parts:
            return self
        others = [one for one in self.parts if similarity(one.words, part.words) <= SAME]
        return Ring((*others, part)[-PARTS:])

    def beside(self, near: bytes, shown: bytes) -> tuple[Chunk, ...]:
        """The parts that say something which a prompt does not say anyway.

        Args:
            near: As many lines around the cursor as a part has.
            shown: Everything that the prompt shows of the document.
        """
        words, lines = words_of(near), {line.strip() for line in shown.split(b"\n")}
        return tuple(
            one
            for one in self.parts
            if similarity(one.words, words) <= KNOWN and _share(one.text, lines) <= KNOWN
        )


def visit(name: str, text: bytes, line: int) -> Chunk | None:
    r"""The part of a text around a line (from 0), or None if there is not much.

    Args:
        name: The file's path below the workspace's folder.
        text: The whole text, line ends as `\n`.
        line: Where the cursor was; past the end counts as the last line.
    """
    lines = text.split(b"\n")
    first = max(0, min(line - LINES // 2, len(lines) - LINES))
    chosen = lines[first : first + LINES]
    if sum(1 for one in chosen if one.strip()) < FEWEST_LINES:
        return None
    return Chunk(name, _BLANK_LINES.sub(b"", b"\n".join(chosen).rstrip() + b"\n"))


def _share(text: bytes, lines: set[bytes]) -> float:
    """How many of a text's lines are among others, from 0 to 1."""
    own = [line.strip() for line in text.split(b"\n") if line.strip()]
    return sum(line in lines for line in own) / max(1, len(own))


def words_of(text: bytes) -> Counter[bytes]:
    """How often each word is in a text."""
    return Counter(_WORD.findall(text))


def similarity(one: Counter[bytes], other: Counter[bytes]) -> float:
    """How much two texts have in common, from 0 to 1: words in both, of the words in either.

    Two texts without words are alike.
    """
    every = one.total() + other.total()
    return 2 * (one & other).total() / every if every else 1.0
