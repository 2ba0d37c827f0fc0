"""Text that is there twice after a suggestion is accepted: the fault that healing is to prevent.

It is found without knowing how the suggestion came about, and on the safe side: text that the
person goes on to type is never counted.

    >>> is_doubled("    retu", "return x", "", "rn x")
    True
    >>> is_doubled("    retu", "rn x", "", "rn x")
    False

What is not here: suggestions that are wrong in any other way.
"""

import re

_WORD_BEFORE = re.compile(r"\w+\Z")
_SHORTEST_WORD = 2
_SHORTEST_LINE = 3


def is_doubled(before: str, text: str, after: str, rest: str) -> bool:
    """Whether accepting a suggestion writes something a second time.

    Args:
        before: The document before the cursor.
        text: The suggestion.
        after: The document after what the suggestion replaces.
        rest: What the person is going to type.
    """
    if rest.startswith(text):
        return False
    return _repeats_before(before, text, rest) or _repeats_after(text, after)


def _repeats_before(before: str, text: str, rest: str) -> bool:
    """Whether the word or the indentation before the cursor is written again."""
    line = before[before.rfind("\n") + 1 :]
    word = _WORD_BEFORE.search(line)
    if word and len(word[0]) >= _SHORTEST_WORD:
        return text.startswith(word[0]) and not rest.startswith(word[0])
    blanks = text[: len(text) - len(text.lstrip(" \t"))]
    return bool(line and not line.strip() and blanks == line and rest[:1].strip())


def _repeats_after(text: str, after: str) -> bool:
    """Whether the end of the suggestion stands after it, on the line or as the next line."""
    same_line, _, below = after.partition("\n")
    last = text.rpartition("\n")[2].strip()
    if same_line.strip():
        return text.endswith(same_line)
    following = next((line.strip() for line in below.split("\n") if line.strip()), "")
    return len(last) >= _SHORTEST_LINE and last == following and "\n" in text
