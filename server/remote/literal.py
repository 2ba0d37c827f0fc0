r"""An answer that has to begin with given bytes, said in the engines' own languages.

A grammar or a pattern that is the literal, and then anything, is the constrained way of healing
with the engine's own tokens: whatever tokens spell the literal and go on are allowed, and the
engine chooses among them step by step::

    >>> gbnf(b'pri"')
    'root ::= "pri\\"" [^\\x00]*'
    >>> pattern(b"a.b(")
    'a\\.b\\((.|\\n)*'

Both are texts of characters, so a literal is whole characters. What can't be said in every engine
is left out of literals by whoever chooses them (`can_be_forced`).
"""

ANYTHING_GBNF = r"[^\x00]*"
ANYTHING_PATTERN = r"(.|\n)*"
"""Understood alike where a dot stands for a line end (xgrammar) and where not (llguidance,
outlines)."""

_META = frozenset("\\.+*?()|[]{}^$")
"""What means something in patterns outside of brackets. Nothing else is escaped: some engines know
no other escapes."""

_CONTROL_NAMES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def gbnf(literal: bytes) -> str:
    """A grammar in llama.cpp's notation: the literal, then anything.

    Raises ValueError for what `can_be_forced` refuses.
    """
    return f'root ::= "{"".join(map(_in_gbnf, _characters(literal)))}" {ANYTHING_GBNF}'


def pattern(literal: bytes) -> str:
    """A regular expression: the literal, then anything. Raises ValueError as `gbnf` does."""
    return "".join(map(_in_pattern, _characters(literal))) + ANYTHING_PATTERN


def can_be_forced(literal: bytes) -> bool:
    """Whether a literal can be said everywhere: whole characters, and no NUL among them."""
    try:
        return "\0" not in literal.decode()
    except UnicodeDecodeError:
        return False


def _characters(literal: bytes) -> str:
    if not can_be_forced(literal):
        raise ValueError(f"{literal!r} is not whole characters without NUL")
    return literal.decode()


def _in_gbnf(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return _plain(character)


def _in_pattern(character: str) -> str:
    return "\\" + character if character in _META else _plain(character)


def _plain(character: str) -> str:
    """A character as it is; control characters by their name or number."""
    if character in _CONTROL_NAMES:
        return _CONTROL_NAMES[character]
    code = ord(character)
    # Not as `\x01`: xgrammar takes all hexadecimal digits that follow for a part of the number.
    return f"\\u{code:04x}" if code < 0x20 or code == 0x7F else character
