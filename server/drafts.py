r"""Guesses at what a model writes next, from texts where the same was written before.

Code repeats itself, and so do requests while somebody types. Where the last bytes of a text stand
elsewhere as well, what follows them there is a guess. It costs some searches in 64 kB, far less
than a token does, and needs no index that would have to follow every key.

    >>> longest_match(b"a.top = top\na.left = left\n\na.top = to", ()).following
    b'p\na.left = left\n\na.top = to'

The longest match wins; of equally long ones the first place that was asked, and in it the match
that is nearest to the cursor. That is prompt lookup decoding (Saxena 2023; llama.cpp's `lookup`) on
bytes instead of tokens: what stands outside the prompt has no tokens yet, and a few bytes say more
of how likely a guess is than one token does.

Guesses may be as wrong as they like: `chain` takes only what the model chooses by itself. Not here:
how many tokens are worth a try (`draft_gains`).
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from server.snapshot import with_lf

SIZES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192)
"""Bytes that are looked for, one size after the other, until one is not found."""

FOLLOWING = 96
"""Bytes of a guess at most: some more than the longest draft has, as tokens of code go."""

BEFORE_BYTES = 48 << 10
AFTER_BYTES = 16 << 10
"""What is searched of a document, before and after the cursor."""

CONTEXT = SIZES[-1]
"""So much of what came before is kept with a text, so that its beginning can be found as well."""

END = b"\0"
"""Between two texts in one place. No text that is read from a file has it."""


@dataclass(frozen=True)
class Place:
    """A text that is searched; line ends as LF."""

    text: bytes
    nearest_first: bool = False
    """Whether the cursor is before the text, and not after it."""


@dataclass(frozen=True)
class Match:
    """A place where the same was written before."""

    following: bytes
    """What follows there; not empty."""
    size: int
    """How many bytes are the same before it: one of `SIZES`."""


def longest_match(text: bytes, others: Sequence[Place], least: int = 0) -> Match | None:
    """Where the end of a text stands before, in itself or in other places.

    Args:
        text: What is written until now.
        others: Places to search after the text itself.
        least: Shorter matches are not wanted: it is quick to see that there is no long one.
    """
    best: Match | None = None
    sizes = SIZES[bisect_left(SIZES, least) :]
    for place in (Place(text), *others):
        found = _search(text, place, sizes)
        if found is not None:
            best, sizes = found, SIZES[SIZES.index(found.size) + 1 :]
    return best


def _search(text: bytes, place: Place, sizes: Sequence[int]) -> Match | None:
    """The longest match in one place, of some sizes."""
    best = None
    first, last = 0, len(place.text) - 1  # something has to follow
    for size in sizes:
        if size > len(text):
            break
        wanted = text[-size:]
        if place.nearest_first:
            # A longer match ends where a shorter one ends, so never before the nearest of those.
            start = place.text.find(wanted, max(0, first - size), last)
            first = start + size
        else:
            start = place.text.rfind(wanted, 0, last)
            last = start + size
        if start < 0:
            break
        end = start + size
        following = place.text[end : end + FOLLOWING].partition(END)[0]
        if following:
            best = Match(following, size)
    return best


def before_cursor(text: bytes, cursor: int) -> bytes:
    """What stands before the cursor, as far as it is searched."""
    return with_lf(text[max(0, cursor - BEFORE_BYTES) : cursor])


def after_cursor(text: bytes, cursor: int) -> Place:
    """What stands after the cursor, as far as it is searched."""
    return Place(with_lf(text[cursor : cursor + AFTER_BYTES]), nearest_first=True)
