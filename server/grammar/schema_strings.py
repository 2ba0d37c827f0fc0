r"""Regular expressions for strings of JSON, in all their spellings.

In JSON every character may be escaped: `"name"` is `"n\u0061me"`, too. Words are matched in all
their spellings, and lengths count an escape as one character. Expressions are the engine's, as they
stand between slashes.

    >>> spelled("n/")
    '"(?:n|\\\\u006[eE])(?:\\/|\\\\\\/|\\\\u002[fF])"'

What is not here: patterns (`schema_patterns`).
"""

import re
from functools import cache

MOST_LENGTH = 1000
"""A longer `minLength` or `maxLength` is not looked at."""

_SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}

ESCAPE = (
    r'(?:\\(?:["\\\/bfnrt]|u[0-9a-fA-F]{4})'
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
"""Any character as an escape; those beyond 16 bits as two, and each of the two may count, too."""

UNIT = rf'(?:[^"\\\x00-\x1f]|{ESCAPE})'
"""Any character of a string."""


def spelled(word: str) -> str:
    """A regular expression for a string in all its spellings, without slashes around it."""
    return '"' + "".join(map(spelled_character, word)) + '"'


@cache
def spelled_character(character: str) -> str:
    """The same for a character."""
    ways = []
    if character >= " " and character not in '"\\' and not "\ud800" <= character <= "\udfff":
        ways.append(literal(character))
    if character in _SHORT:
        ways.append(r"\\" + literal(_SHORT[character]))
    utf16 = character.encode("utf-16-be", "surrogatepass").hex()
    units = [utf16[at : at + 4] for at in range(0, len(utf16), 4)]
    ways.append("".join(r"\\u" + re.sub("[a-f]", _either_case, unit) for unit in units))
    return f"(?:{'|'.join(ways)})"


def _either_case(digit: re.Match[str]) -> str:
    return f"[{digit[0]}{digit[0].upper()}]"


def literal(character: str) -> str:
    r"""A character in a regular expression between slashes."""
    if character.isalnum() or character in " \"_-,:;<>=@!%&~`#'":
        return character
    return f"\\{character}" if character.isascii() else f"\\u{{{ord(character):x}}}"


def length_regex(low: int, high: int | None) -> str:
    """A regular expression for strings of so many characters."""
    return f'"{UNIT}{{{low},{"" if high is None else high}}}"'
