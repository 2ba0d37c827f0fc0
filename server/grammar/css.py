"""CSS, SCSS and Less: brackets, strings with interpolations, comments, unquoted addresses."""

from functools import partial
from importlib.resources import files

from server.grammar.brackets_window import LONGEST, bracket_window
from server.grammar.rungs import Ladder, Rung, Source
from server.possessive import re

_BRACKETS = rb"(?P<open>[uU][rR][lL]\(|[(\[{])|(?P<close>[)\]}])"
_ADDRESS = (
    rb"(?P<skip>\"(?:[^\"\\\n]++|\\(?:.|\n))*+[\"\\]?"
    rb"|'(?:[^'\\\n]++|\\(?:.|\n))*+['\\]?|\\(?:.|\n))"
)
_ADDRESSES = (b"url(", b"URL(", b"Url(")

CSS_LEXEMES = re.compile(
    rb"(?P<skip>/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)|\\(?:.|\n)"
    rb"|\"(?:[^\"\\\n]++|\\(?:.|\n))*+[\"\\]?|'(?:[^'\\\n]++|\\(?:.|\n))*+['\\]?)|" + _BRACKETS
)
CSS_TEXT = dict.fromkeys(_ADDRESSES, re.compile(_ADDRESS + rb"|(?P<close>\))"))
"""In an unquoted address there are no comments."""

SCSS_LEXEMES = re.compile(
    rb"(?P<skip>//[^\n]*|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)|\\(?:.|\n))|(?P<open>[\"']|#\{|"
    + _BRACKETS.removeprefix(rb"(?P<open>")
)
SCSS_TEXT = {
    b'"': re.compile(rb"(?P<skip>[^\"\\#\n]+|\\(?:.|\n)|#(?!\{))|(?P<open>#\{)|(?P<close>[\"\n])"),
    b"'": re.compile(rb"(?P<skip>[^'\\#\n]+|\\(?:.|\n)|#(?!\{))|(?P<open>#\{)|(?P<close>['\n])"),
} | dict.fromkeys(_ADDRESSES, re.compile(_ADDRESS + rb"|(?P<open>#\{|\()|(?P<close>\))"))
"""Strings hold code in `#{}`, which holds strings. One that is not closed ends with its line."""


def _lark(name: str) -> str:
    return (files("server.grammar") / "lark" / name).read_text("utf-8")


def _ladder(name: str, lexemes: re.Pattern[bytes], texts: dict[bytes, re.Pattern[bytes]]) -> Ladder:
    """A ladder of one rung."""
    window = partial(bracket_window, lexemes=lexemes, texts=texts)
    rung = Rung("structural", Source(name, partial(_lark, f"{name}.lark")), window)
    return lambda before: (rung,) if len(before) <= LONGEST else ()


_SCSS = _ladder("scss", SCSS_LEXEMES, SCSS_TEXT)

LADDERS: dict[str, Ladder] = {
    "css": _ladder("css", CSS_LEXEMES, CSS_TEXT),
    "scss": _SCSS,
    "less": _SCSS,
}
