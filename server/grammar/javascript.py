"""JavaScript and TypeScript, with and without elements (JSX): brackets, strings, templates, tags.

Two grammars: one for plain TypeScript, where `<` is never a tag, and one for everything else, as
JavaScript files hold elements as well.
"""

from functools import partial
from importlib.resources import files

from server.grammar.brackets_window import LONGEST, bracket_window
from server.grammar.rungs import Ladder, Rung, Source
from server.possessive import re

_CLASS = rb"\[(?:[^\]\\\n]|\\.){0,500}+\]"
_BODY = rb"(?:[^/\\\[\n*]|\\.|" + _CLASS + rb")(?:[^/\\\[\n]++|\\.|" + _CLASS + rb")*+/"
"""A regular expression behind its first slash. The limit keeps a text of slashes and brackets from
being scanned again from each of them to its end."""

_SKIPPED = (
    rb"//[^\n]*|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)"
    rb"|\"(?:[^\"\\\n]++|\\(?:.|\n))*+[\"\\]?|'(?:[^'\\\n]++|\\(?:.|\n))*+['\\]?"
    # A regular expression behind a word that is no operand, one behind a condition that is used
    # at once, a division, and a regular expression elsewhere.
    rb"|(?<![.\w$])(?:return|typeof|case|do|else|in|of|void|yield|await)\s*/(?=[^/*])"
    + _BODY
    + rb"|(?<=\))\s*/(?=[^/*])"
    + _BODY
    + rb"[a-z]*\.(?:test|exec)\b"
    rb"|(?<=[\w$)\]])\s*/(?![/*])|(?<=[\w$)\]]!)\s*/(?![/*])"
    rb"|(?<!\\)/(?=[^/*])" + _BODY
)
_OPENERS = rb"`|(?:(?<![.\w$])(?:if|while|for|with)\s*(?:await\s*)?)?\(|[{\[]"
_TAG = (
    # Where an operand may begin: behind an operator or a word like `return`; behind a comment or at
    # a line's start that is assumed. But not `<T,`, `<T extends` nor `<T>(a: T)`.
    rb"(?:(?:(?<=[(,=?:&|{}\[;])|(?<==>)|(?<=\breturn)|(?<=\bdefault)|(?<=\belse)|(?<=\bcase))\s*"
    rb"|(?:(?<=\n)|(?<=\*/))[ \t]*)"
    rb"<(?=[\w$>])(?!(?:const\s+)?\w+(?:\s*,|\s+extends\b|>\((?![^\n]{0,40}</)))[-\w$.:]*"
)


def _lexemes(openers: bytes) -> re.Pattern[bytes]:
    return re.compile(
        rb"(?P<skip>" + _SKIPPED + rb")|(?P<open>" + openers + rb")|(?P<close>[)\]}])"
    )


TYPESCRIPT_LEXEMES = _lexemes(_OPENERS)
JSX_LEXEMES = _lexemes(_OPENERS + rb"|" + _TAG)

TEMPLATE_TEXT = {
    b"`": re.compile(rb"(?P<skip>[^`\\$\n]+|\n|\\(?:.|\n)|\$(?!\{))|(?P<open>\$\{)|(?P<close>`)")
}
"""A template is text up to `${`."""

JSX_TEXT = TEMPLATE_TEXT | {
    b"<": re.compile(
        rb"(?P<skip>\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|//[^\n]*|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)|=>"
        rb"|<[^<>{}\n]*>)|(?P<open>[{>])|(?P<close>/\s*+[-\w$.:]*+\s*+>)"
    ),
    b">": re.compile(rb"(?P<open>\{|<(?!/))|(?P<close><(?=/))"),
}
"""A tag is text up to its `>`, which opens the children; these are text up to `</`; so the end of
a tag without children, `/>`, and that of a closing tag, `/name>`, close the same opener `<`."""

_DEPENDENT = re.compile(rb"[ \t]*(?:[/<]|(?=\n|\Z))|(?<=<\n)")
"""What `/` and `<` at a line's start mean is decided by what is before them, and so is what follows
a `<` at a line's end."""


def _lark(angles: str) -> str:
    folder = files("server.grammar").joinpath("lark")
    parts = [folder.joinpath(name).read_text("utf-8") for name in ("javascript.lark", angles)]
    return '%llguidance {"no_forcing": true, "allow_initial_skip": true}\n' + "\n".join(parts)


TYPESCRIPT = Source("typescript", partial(_lark, "typescript.lark"))
JSX = Source("javascript", partial(_lark, "jsx.lark"))


def typescript(before: bytes) -> tuple[Rung, ...]:
    """TypeScript without elements."""
    window = partial(
        bracket_window,
        lexemes=TYPESCRIPT_LEXEMES,
        texts=TEMPLATE_TEXT,
        dependent=_DEPENDENT,
    )
    return (Rung("structural", TYPESCRIPT, window),) if len(before) <= LONGEST else ()


def jsx(before: bytes) -> tuple[Rung, ...]:
    """JavaScript, and TypeScript with elements."""
    window = partial(bracket_window, lexemes=JSX_LEXEMES, texts=JSX_TEXT, dependent=_DEPENDENT)
    return (Rung("structural", JSX, window),) if len(before) <= LONGEST else ()


LADDERS: dict[str, Ladder] = {
    "javascript": jsx,
    "javascriptreact": jsx,
    "typescript": typescript,
    "typescriptreact": jsx,
}
