r"""Regular expressions for strings of JSON, in all their spellings or in the plain one.

In JSON every character may be escaped: `"name"` is `"n\u0061me"`, too. Lengths count an escape as
one character. Expressions are the engine's, as they stand between slashes.

    >>> spelled("n/")
    '"(?:n|\\\\u006[eE])(?:\\/|\\\\\\/|\\\\u002[fF])"'
    >>> spelled("n/", escapes=False)
    '"n\\/"'

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


PLAIN_UNIT = r'(?:[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u00(?:0[0-7bBeEfF]|1[0-9a-fA-F]))'
"""Any character, escaped only if JSON wants it."""


def spelled(word: str, escapes: bool = True) -> str:
    """A regular expression for a string, without slashes around it.

    Args:
        word: The string.
        escapes: Whether characters may be escaped that need not be.
    """
    one = spelled_character if escapes else _plain_character
    return '"' + "".join(map(one, word)) + '"'


@cache
def spelled_character(character: str) -> str:
    """The same for a character."""
    ways = [] if _needs_escape(character) else [literal(character)]
    if character in _SHORT:
        ways.append(r"\\" + literal(_SHORT[character]))
    ways.append(_by_number(character))
    return f"(?:{'|'.join(ways)})"


def _plain_character(character: str) -> str:
    """The same with the shortest way alone."""
    if not _needs_escape(character):
        return literal(character)
    if character in _SHORT:
        return r"\\" + literal(_SHORT[character])
    return _by_number(character)


def _needs_escape(character: str) -> bool:
    return character < " " or character in '"\\' or "\ud800" <= character <= "\udfff"


def _by_number(character: str) -> str:
    utf16 = character.encode("utf-16-be", "surrogatepass").hex()
    units = [utf16[at : at + 4] for at in range(0, len(utf16), 4)]
    return "".join(r"\\u" + re.sub("[a-f]", _either_case, unit) for unit in units)


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
