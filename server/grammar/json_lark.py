r"""Grammars of JSON (RFC 8259), of JSON with comments and trailing commas (JSONC), and looser ones.

    >>> json_lark(comments=False).splitlines()[2]
    'start: BOM? value END?'

Two things here are no part of JSON, and both are the character U+10FFFF, which no text has. `HOLE`
stands for a value that a window leaves out. `END` might follow the document, so the engine goes on
to skip blanks and comments there: after the last thing of a grammar it would not.
"""

HOLE = "\U0010ffff"
"""In windows: a value that was left out."""

DIRECTIVE = '%llguidance {"no_forcing": true, "allow_initial_skip": true}\n'

_ESCAPE = r'\\(?:["\\\/bfnrt]|u[0-9a-fA-F]{4})'
_PLAIN = r'[^"\\\x00-\x1f]'

TERMINALS = rf"""
STRING: /"(?:{_PLAIN}|{_ESCAPE})*"/
ESCAPED: /"{_PLAIN}*{_ESCAPE}(?:{_PLAIN}|{_ESCAPE})*"/
PLAIN: /{_PLAIN}*/
NUMBER: /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/
BOM: /\u{{feff}}/
END: /\u{{10ffff}}/
HOLE: END
"""
"""Strings that hold an escape are `ESCAPED`; the inner text of those that hold none is `PLAIN`."""

_BLANKS = r"""
%ignore /[ \t\r\n]+/
"""
_COMMENTS = r"""
%ignore /\/\/[^\n]*/
%ignore /\/\*(?:[^*]|\*+[^*\/])*\*+\//
"""


def any_value(comments: bool) -> str:
    """The rule `any`, and those below it: a value of any kind."""
    comma = ' ","?' if comments else ""
    return f"""
any: object | array | STRING | NUMBER | "true" | "false" | "null" | HOLE
object: "{{" "}}" | "{{" members{comma} "}}"
members: member | members "," member
member: STRING ":" any | HOLE
array: "[" "]" | "[" elements{comma} "]"
elements: any | elements "," any
"""


def ignored(comments: bool) -> str:
    """What may stand between two tokens."""
    return _BLANKS + (_COMMENTS if comments else "")


def json_lark(comments: bool) -> str:
    """The grammar of a document."""
    parts = (any_value(comments), TERMINALS, ignored(comments))
    return f"{DIRECTIVE}\nstart: BOM? any END?" + "".join(parts)


def lines_lark() -> str:
    """The grammar of JSON Lines: values, one after the other."""
    return f"{DIRECTIVE}\nstart: any* END?" + any_value(False) + TERMINALS + ignored(False)


def structural_lark() -> str:
    """Any order of words, strings, marks and comments, as long as brackets are in pairs (JSON5)."""
    return rf"""{DIRECTIVE}
start: BOM? text END?
text: (STRING | WORD | MARK | "{{" text "}}" | "[" text "]" | "(" text ")")*
STRING: /"(?:[^"\\\n]|\\(?:.|\n))*"|'(?:[^'\\\n]|\\(?:.|\n))*'/
WORD: /[^\x00-\x20"'{{}}()\[\],:\/\u{{feff}}\u{{10ffff}}]+/
MARK: /[,:\/]/
BOM: /\u{{feff}}/
END: /\u{{10ffff}}/
""" + ignored(True)
