"""How a name fits what is typed: it goes on from it, or it is meant by it.

People ask for names by their beginnings, by the first letters of their parts (`gVN` or `gvn` for
`getVariableName` and `get_variable_name`), in another case, or with a letter mistyped.

    >>> [match(b"gVN", name) for name in (b"gVNote", b"getVariableName", b"gVM", b"other")]
    ['start', 'initials', 'one mistyped', None]

How likely a person is to type so who wants such a name is in `LIKELIHOODS`; together with the
model's opinion of the names it decides what comes first (`ranking`).
"""

import re
from collections.abc import Sequence

LIKELIHOODS = {
    "start": 1.0,
    "other case": 0.2,
    "initials": 0.05,
    "one mistyped": 0.01,
    "two mistyped": 0.0001,
}
"""What is typed, given that a name is meant: guesses of the size, a letter in a hundred mistyped.

A name that goes on from what is typed comes first unless the model thinks much less of it.
"""

ONE_MISTYPED_FROM, TWO_MISTYPED_FROM = 3, 6
"""Letters from which on that many may be mistyped: fewer would fit nearly every name."""

LONGEST_WORD = 64
"""What is typed of more bytes is compared with beginnings only."""

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9_\W]+")


def match(typed: bytes, name: bytes) -> str | None:
    """The kind of match, a key of `LIKELIHOODS`, or None: the likeliest one that there is.

    Args:
        typed: The word before the cursor. If it is empty, every name goes on from it.
        name: UTF-8.
    """
    if name.startswith(typed):
        return "start"
    word, text = typed.decode(errors="replace"), name.decode()
    if text.lower().startswith(word.lower()):
        return "other case"
    if len(typed) > LONGEST_WORD:
        return None
    if _are_initials(word.lower(), tuple(part.lower() for part in _PARTS.findall(text))):
        return "initials"
    allowed = (len(word) >= ONE_MISTYPED_FROM) + (len(word) >= TWO_MISTYPED_FROM)
    mistyped = _mistyped(word, text, allowed)
    return {1: "one mistyped", 2: "two mistyped"}.get(mistyped) if mistyped else None


def _are_initials(word: str, parts: Sequence[str]) -> bool:
    """Whether a word is made of the beginnings of parts, one after the other from the first one.

    At least two parts: a beginning of the first alone is no abbreviation.
    """
    places = {0}  # ends of what is spelled so far
    for number, part in enumerate(parts):
        following = set()
        for place in places:
            for size in range(1, len(part) + 1):
                if not word.startswith(part[:size], place):
                    break
                following.add(place + size)
        if number and len(word) in following:
            return True
        places = following
    return False


def _mistyped(word: str, name: str, allowed: int) -> int | None:
    """The fewest mistyped letters with which a word is a beginning of a name; None if too many.

    A letter is another one, missing, one too many, or in its neighbour's place (Damerau and
    Levenshtein's distance with each letter moved once).
    """
    if not allowed:
        return None
    columns = range(min(len(name), len(word) + allowed) + 1)
    before, row = [0] * len(columns), list(columns)
    for number, letter in enumerate(word, start=1):
        earlier, before, row = before, row, [number]
        for column in columns[1:]:
            best = min(
                before[column] + 1,
                row[column - 1] + 1,
                before[column - 1] + (letter != name[column - 1]),
            )
            if (
                number > 1
                and column > 1
                and letter == name[column - 2]
                and word[number - 2] == name[column - 1]
            ):
                best = min(best, earlier[column - 2] + 1)
            row.append(best)
        if min(row) > allowed and min(before) > allowed:
            return None
    found = min(row)
    return found if 0 < found <= allowed else None
