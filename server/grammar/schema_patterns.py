r"""Patterns and formats of a JSON Schema, as the engine's regular expressions.

ECMA's patterns differ from the engine's: `\d` and `\w` are ASCII, a pattern may match anywhere in a
string, and some look around, which the engine can't. A pattern is wanted in two forms:

- `strings_matching`: all strings of JSON that match, with their quotes, in all spellings. A
  character that is escaped counts as any that a class allows, so there are some too many.
- `texts_matching`: the texts that match, without quotes and escapes; exactly these.

    >>> texts_matching(r"^\d+$")
    '(?:(?:[0-9]+))'
    >>> texts_matching("(?=x)y") is None
    True

A pattern that can't be told is None in both.
"""

from collections.abc import Callable
from functools import cache

from llguidance import LLMatcher

from server.grammar.schema_strings import ESCAPE, MOST_LENGTH, UNIT, literal, spelled_character
from server.possessive import re

MOST_PATTERN = 2000
"""Characters of a pattern; longer ones are not looked at."""

_DATE = "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?"
_ZONE = "(?:[zZ]|[-+](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
FORMATS = {
    "date": f"^{_DATE}$",
    "time": f"^{_TIME}{_ZONE}$",
    "date-time": f"^{_DATE}[tT ]{_TIME}{_ZONE}$",
    "uuid": "^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$",
    "ipv4": rf"^{_BYTE}(?:\.{_BYTE}){{3}}$",
}
"""Patterns of the formats that all validators check alike; others are any string."""


def strings_matching(pattern: str) -> str | None:
    """An expression for strings of JSON that match; some match it that do not match the pattern."""
    found = _translated_whole(pattern, in_json=True)
    return f'"{found}"' if found else None


def texts_matching(pattern: str) -> str | None:
    """An expression for the texts that match, as they stand in strings without escapes."""
    return _translated_whole(pattern, in_json=False)


@cache
def _translated_whole(pattern: str, in_json: bool) -> str | None:
    if len(pattern) > MOST_PATTERN:
        return None
    one = _in_json if in_json else str
    any_text = f"{UNIT}*" if in_json else "(?s:.*)"
    try:
        parts = [_anchored(parts, one, any_text) for parts in _alternatives(pattern)]
    except ValueError:
        return None
    whole = f"(?:{'|'.join(parts)})"
    error, _ = LLMatcher.validate_grammar_with_warnings(f"start: T\nT: /{whole}/")
    return None if error else whole


def _in_json(character: str) -> str:
    """An expression for one character, as it stands in a string."""
    if character[0] != "[":
        escaped = character[0] == "\\" and len(character) == 2 and not character[1].isalnum()
        plain = character[1] if escaped else character
        return spelled_character(plain) if len(plain) == 1 else f"(?:{character}|{ESCAPE})"
    if character.startswith("[^"):
        character = rf'[^"\\\x00-\x1f{character[2:]}'
    return f"(?:{character}|{ESCAPE})"


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


def _anchored(parts: list[str], one: Callable[[str], str], any_text: str) -> str:
    """One alternative, to match a whole text; `one` writes a character. Raises ValueError."""
    before = after = any_text
    if parts and parts[0] == "^":
        before, parts = "", parts[1:]
    if parts and parts[-1] == "$":
        after, parts = "", parts[:-1]
    return f"{before}(?:{''.join(_translated(part, one) for part in parts)}){after}"


def _translated(part: str, one: Callable[[str], str]) -> str:
    """A part of a pattern in the engine's dialect. Raises ValueError."""
    if part in {"^", "$", "[", "\\"}:
        raise ValueError(part)
    if part[0] == "(":
        return "(?:"
    if part == ".":
        return one(r"[^\n\r\u{2028}\u{2029}]")
    if part[0] == "[":
        return one(_class(part))
    if part[0] == "\\":
        return one(_escape(part, inside=False))
    if part[0] in "*+?{":
        if any(int(number) > MOST_LENGTH for number in re.findall(r"\d+", part)):
            raise ValueError(part)
        return part[:-1] if len(part) > 1 and part.endswith("?") else part
    return part if part in {")", "|"} else one(literal(part))


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
