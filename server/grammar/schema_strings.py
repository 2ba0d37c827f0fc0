r"""Terminals for strings of a JSON Schema: words, patterns, formats, lengths.

In JSON every character may be escaped: `"name"` is `"n\u0061me"`, too. Words are matched in all
their spellings; lengths count an escape as one character. Patterns and formats are matched on
strings without escapes, and a string with one is let through.

    >>> spelled("n/")
    '"(?:n|\\\\u006[eE])(?:\\/|\\\\\\/|\\\\u002[fF])"'

What is not here: which strings a schema allows (`json_schema`).
"""

import re
from functools import cache

from llguidance import LLMatcher

MOST_LENGTH = 1000
"""A longer `minLength` or `maxLength` is not looked at."""

_SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}

_UNIT = (
    r'(?:[^"\\\x00-\x1f]|\\(?:["\\\/bfnrt]|u[0-9a-fA-F]{4})'
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)

_DATE = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?"
_ZONE = r"(?:[zZ]|[-+](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_BYTE = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
FORMATS = {
    "date": _DATE,
    "time": _TIME + _ZONE,
    "date-time": rf"{_DATE}[tT ]{_TIME}{_ZONE}",
    "uuid": r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}",
    "ipv4": rf"{_BYTE}(?:\.{_BYTE}){{3}}",
}
"""The formats that all validators check alike; others are any string."""


def spelled(word: str) -> str:
    """A regular expression for a string in all its spellings, without slashes around it."""
    return '"' + "".join(map(_spelled_character, word)) + '"'


@cache
def _spelled_character(character: str) -> str:
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
    return f'"{_UNIT}{{{low},{"" if high is None else high}}}"'


@cache
def pattern_regex(pattern: str) -> str | None:
    r"""A JSON Schema's pattern for the engine, to match the whole text; None if it can't be told.

    The dialects differ: ECMA's `\d` and `\w` are ASCII, a pattern may match anywhere, and what
    looks around is beyond the engine.
    """
    if len(pattern) > 2000:
        return None
    try:
        translated = "|".join(map(_anchored, _alternatives(pattern)))
    except ValueError:
        return None
    whole = f"(?:{translated})"
    error, _ = LLMatcher.validate_grammar_with_warnings(f"start: T\nT: /{whole}/")
    return None if error else whole


_ATOM = re.compile(
    r"""\\(?:[dDwWsSnrtfv]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[^\w])     # an escape
    |\[\^?\]?(?:[^\]\\\[]|\\(?:[dwsnrtfv]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[^\w])|\[)*\]  # a class
    |\((?:\?:|\?<[A-Za-z]\w*>)?(?!\?)|\)|\||[*+?]\??|\{\d+(?:,\d*)?\}\??|.""",
    re.VERBOSE | re.DOTALL,
)
_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\x0b\x0c\r \u{a0}\u{feff}\u{2028}\u{2029}"}
_CONTROLS = {"n": r"\n", "r": r"\r", "t": r"\t", "f": r"\x0c", "v": r"\x0b"}


def _alternatives(pattern: str) -> list[list[str]]:
    """The top alternatives of a pattern, as lists of its parts. Raises ValueError."""
    found: list[list[str]] = [[]]
    depth = at = 0
    while at < len(pattern):
        match = _ATOM.match(pattern, at)
        if match is None:
            raise ValueError(pattern)
        at = match.end()
        depth += {"(": 1, ")": -1}.get(match[0][0], 0)
        if match[0] == "|" and not depth:
            found.append([])
        else:
            found[-1].append(match[0])
    return found


def _anchored(parts: list[str]) -> str:
    """One alternative, to match a whole text. Raises ValueError."""
    any_text = "(?s:.*)"
    before = after = any_text
    if parts and parts[0] == "^":
        before, parts = "", parts[1:]
    if parts and parts[-1] == "$":
        after, parts = "", parts[:-1]
    return f"{before}(?:{''.join(map(_translated, parts))}){after}"


def _translated(part: str) -> str:
    """A part of a pattern in the engine's dialect. Raises ValueError."""
    if part in {"^", "$", "[", "\\"}:
        raise ValueError(part)
    if part[0] == "(":
        return "(?:"
    if part == ".":
        return r"[^\n\r\u{2028}\u{2029}]"
    if part[0] == "[":
        return _class(part)
    if part[0] == "\\":
        return _escape(part, inside=False)
    if part[0] in "*+?{":
        if any(int(number) > MOST_LENGTH for number in re.findall(r"\d+", part)):
            raise ValueError(part)
        return part[:-1] if len(part) > 1 and part.endswith("?") else part
    return part if part in {")", "|"} else literal(part)


def _class(part: str) -> str:
    """A class of characters. Raises ValueError: an empty one."""
    inner = part[2:-1] if part.startswith("[^") else part[1:-1]
    if not inner or inner.startswith("]"):
        raise ValueError(part)
    parts = re.findall(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)|[^\\]", inner, re.DOTALL)
    texts, at = list[str](), 0
    while at < len(parts):
        # A minus is a range only between two characters that are in no range yet.
        taken = 3 if parts[at + 1 : at + 2] == ["-"] and at + 2 < len(parts) else 1
        ends = [_class_part(one) for one in parts[at : at + taken : 2]]
        if taken == 3 and any(one in {r"\d", r"\w", r"\s"} for one in parts[at : at + 3]):
            raise ValueError(part)
        texts.append("-".join(ends))
        at += taken
    return ("[^" if part.startswith("[^") else "[") + "".join(texts) + "]"


def _class_part(one: str) -> str:
    """A character or escape of a class; the engine has signs of its own for some."""
    if one[0] == "\\":
        return _escape(one, inside=True)
    return f"\\{one}" if one in "-[]&~^" else literal(one)


def _escape(part: str, inside: bool) -> str:
    """An escape, in a class or not. Raises ValueError."""
    kind = part[1]
    if kind in "dws":
        return _CLASSES[kind] if inside else f"[{_CLASSES[kind]}]"
    if kind in "DWS":
        return f"[^{_CLASSES[kind.lower()]}]"
    if kind in _CONTROLS:
        return _CONTROLS[kind]
    if kind in "ux":
        code = int(part[2:], 16)
        if 0xD800 <= code <= 0xDFFF:
            raise ValueError(part)
        return f"\\u{{{code:x}}}"
    return f"\\{kind}" if kind in "-[]&~^" else literal(kind)
