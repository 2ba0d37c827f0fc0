"""Which part of a document a prompt holds: whole lines around the hole, within a budget of tokens.

A model remembers the beginning of a prompt that it has read. So the first line of the prompt has to
stay while somebody types below it: if it were always the first one that fits the budget, each new
line would push one out at the top, and all would have to be read again. It moves in steps of about
a third of the budget instead::

    budget    ├──────────────────────┤           ├──────────────────────┤
    start     ▼                                           ▼
    document  ──┬───────┬───────┬───────┬───      ──┬───────┬───────┬───────┬───
    grid        0       1       2       3           0       1       2       3
                           the hole ▲                              the hole ▲

The grid begins at a line that is chosen by its content: in a stretch of text well before the hole,
the one with the smallest checksum (of three lines: blanks and braces are no good marks of a place).
So an edit above that line moves nothing. The same text gives the same start, whatever was asked
before.

The text after the hole needs nothing of the kind: it is the same while somebody types.

Not here: where the hole is, and what else a prompt holds (`prompt`).
"""

from itertools import accumulate
from zlib import crc32

from healing.encoding import Encode

TOKEN_BYTES = 16
"""No ordinary text has more bytes a token on average; bounds what is looked at for counting."""

USUAL_BYTES = 4
"""Bytes of a token of code, as a rule. Where a mark is looked for must not depend on the text."""

LARGEST_STEP = 3 / 8
"""The most that the start moves by, as a part of what fits the budget. The usual step has as many
bytes as the budget has tokens, which is less with nearly all text, and then it is halved."""

HOLE_STEP = 2
"""The start of a hole moves by so many bytes for each token that it may take in: half of what most
tokens have or a little more, so that some lines are left before the cursor's."""

LARGEST_HOLE_STEP = 3 / 4
"""The most that it moves by, as a part of what is taken in: tokens may be short."""

MARK_LINES = 3
"""So many lines together mark a place."""

REACH = TOKEN_BYTES // USUAL_BYTES
"""A mark is looked for in so many windows of text before the hole, the nearest one left out. So
what is looked at for counting, at least, has to be given."""

RARE_BYTES = 16
"""In a stretch of two windows there is one line, on average, whose checksum is below the largest
divided by the window, times this: lines have some 32 bytes."""

LONGEST_CHARACTER = 4
"""Bytes of a character in UTF-8."""


def tokens_before(
    text: bytes, budget: int, encode: Encode, lead: bytes = b"", usual: int | None = None
) -> list[int]:
    """The ids of the last whole lines of a text, or of the end of its last line: at most `budget`.

    Args:
        text: Everything before the hole; of long texts, the last `TOKEN_BYTES` for each token of
            the budget at least, and some more.
        budget: The most tokens.
        encode: The tokenizer.
        lead: What comes before whole lines; its token counts as well.
        usual: The budget as it is at most holes. What a hole's text after it leaves unused makes
            its budget larger, and should not move the start. None for the budget itself.
    """
    if budget <= 0 or not text:
        return []
    near = last_bytes(text, budget * TOKEN_BYTES)
    lines = near.splitlines(keepends=True)
    taken, count = len(lines), len(lead)
    while taken:
        count += len(encode(lines[taken - 1]))
        if count > budget:
            break
        taken -= 1
    if taken == len(lines):
        return encode(lines[-1])[-budget:]
    earliest = len(text) - sum(map(len, lines[taken:]))
    origin = _mark(text, USUAL_BYTES * (usual or budget))
    start = _steady(text, origin, earliest, usual or budget) if earliest else 0
    return encode(lead + text[start:])[-budget:]


def hole_start(text: bytes, most: int, encode: Encode, usual: int) -> int:
    """Where a hole starts that takes in the last lines before the cursor's: a line start.

    It stays while lines are typed, until more than `most` tokens would come after it. Then it moves
    on, on the same grid. It is never the start of the text: a hole has something before it.

    Args:
        text: Everything before the cursor's line, as in `tokens_before`.
        most: The most tokens from there to the end of the text; 0 for none.
        encode: The tokenizer.
        usual: Tokens of text before the hole, as at most holes.

    Returns:
        An offset; the text's length if no line start will do.
    """
    lines = last_bytes(text, most * TOKEN_BYTES).splitlines(keepends=True)
    taken, count = len(lines), 0
    while taken:
        count += len(encode(lines[taken - 1]))
        if count > most:
            break
        taken -= 1
    earliest = len(text) - sum(map(len, lines[taken:]))
    origin = _mark(text, USUAL_BYTES * usual)
    step = max(1, HOLE_STEP * most)
    while step > LARGEST_HOLE_STEP * (len(text) - earliest) and step > 1:
        step //= 2
    place = origin + max(-(-(earliest - origin) // step) * step, step if not origin else 0)
    start = text.find(b"\n", place - 1) + 1
    return start if start else len(text)


def tokens_after(text: bytes, budget: int, encode: Encode) -> list[int]:
    """The ids of the first whole lines that fit a budget, or of the start of the first line.

    A line end at the start belongs to the text: the hole ends before it.
    """
    if budget <= 0 or not text:
        return []
    first, *others = text[: budget * TOKEN_BYTES].split(b"\n")
    pieces = [first, *(b"\n" + line for line in others)]
    taken, count = 0, 0
    while taken < len(pieces):
        count += len(encode(pieces[taken]))
        if count > budget:
            break
        taken += 1
    return encode(b"".join(pieces[:taken]) or text[: budget * TOKEN_BYTES])[:budget]


def last_bytes(text: bytes, limit: int) -> bytes:
    """At most so many bytes of a text's end, from the start of a character."""
    return text if len(text) <= limit else text[character_start(text, len(text) - limit) :]


def character_start(text: bytes, offset: int) -> int:
    """The first offset from `offset` on that does not point inside a UTF-8 character."""
    for ahead in range(offset, min(offset + LONGEST_CHARACTER, len(text))):
        if text[ahead] & 0xC0 != 0x80:
            return ahead
    return min(offset, len(text))


def _steady(text: bytes, origin: int, earliest: int, step: int) -> int:
    """A line start at `earliest` or a little later, that stays while the text grows.

    Args:
        text: All text before the hole.
        origin: Where the grid begins.
        earliest: The first place that may be chosen.
        step: Bytes that it moves by, as a rule.
    """
    fits = len(text) - earliest
    while step > LARGEST_STEP * fits and step > 1:
        step //= 2
    place = origin + -(-(earliest - origin) // step) * step
    start = text.find(b"\n", max(place - 1, 0)) + 1
    # Very long lines: none starts near the place, and most of the budget would be lost.
    return start if 0 < start < len(text) and start - earliest <= fits // 2 else earliest


def _mark(text: bytes, window: int) -> int:
    """The line start that the grid begins at: of those well before the hole, by its content.

    Args:
        text: All text before the hole.
        window: Bytes that fill the budget, as a rule. Nearer lines are no marks: they are edited.
    """
    low, high = max(0, len(text) - REACH * window), len(text) - window
    if low:
        low = text.find(b"\n", low) + 1
    lines = text[low : max(low, high)].splitlines(keepends=True)
    sums = [
        crc32(b"".join(lines[at : at + MARK_LINES])) for at in range(len(lines) - MARK_LINES + 1)
    ]
    starts = accumulate(map(len, lines), initial=low)
    smallest, start = min(zip(sums, starts, strict=False), default=(1 << 32, low))
    # In a short document the smallest one changes with every few lines that it grows by.
    is_rare = smallest < (1 << 32) * RARE_BYTES // max(1, window)
    return start if low or is_rare else 0
