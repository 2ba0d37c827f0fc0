"""HTML and Vue: tags, comments, scripts and styles; elements that have to be closed nest.

A file of Vue is a page of such elements. One of Svelte is not: its tags hold code with any quotes.
Pages that are made by templates (`{% if %}`, `<?php`) may open an element in one branch and again
in the other, so nothing is checked in them.
"""

from collections import deque
from contextlib import suppress
from functools import partial
from importlib.resources import files

from server.grammar.brackets_window import LONGEST, bracket_window
from server.grammar.kept import common_prefix
from server.grammar.rungs import Ladder, Rung, Source
from server.possessive import re

_CLOSED = """
address article aside blockquote button dialog div dl details fieldset figcaption figure footer
h1 h2 h3 h4 h5 h6 header label main nav ol pre section select span summary table ul
"""
CLOSED = tuple(_CLOSED.split())
"""Elements that have to be closed, and whose tags nest in practice. Not here: those whose end may
be left out (`p`, `li`), that have none (`br`), and those that people close crosswise or not at all
(`a`, `b`, `form`)."""

RAW = ("script", "style", "textarea", "title", "iframe", "xmp")
"""Elements that hold text up to their closing tag, whatever is in it."""

_ATTRIBUTES = (
    rb"(?:=\s*+(?:[^\s\"'>][^\s>]*+)?|\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^\"'>=/]++|/(?!>))*+"
)
"""All of a tag behind its name. Possessive: there is one way to read it, and no other is tried."""

_ELEMENTS = "|".join(CLOSED).encode()

LEXEMES = re.compile(
    rb"(?i)(?P<open><(?:" + _ELEMENTS + rb")(?=[\s/>])" + _ATTRIBUTES + rb">)"
    rb"|(?P<close></(?:" + _ELEMENTS + rb")(?=[\s/>]))"
    rb"|(?P<skip><!--(?:[^-]++|-(?!->))*+(?:-->|\Z)"
    rb"|<(" + "|".join(RAW).encode() + rb")(?=[\s/>])" + _ATTRIBUTES + rb">(?:[^<]++|<(?!/\4))*+"
    rb"|</?[a-z]" + _ATTRIBUTES + rb"(?:/?>|\Z))"
)

TEMPLATES = (b"{%", b"{{#", b"{{/", b"<%", b"<?php", b"<?=", b'lang="pug"')
"""What is found in pages that are made by templates, or written in another language."""


KNOWN = 4
"""Texts without such marks that are remembered."""

_clean: deque[bytes] = deque(maxlen=KNOWN)


def html(before: bytes) -> tuple[Rung, ...]:
    """The elements that are open, and the line."""
    if len(before) > LONGEST or _is_template(before):
        return ()
    return (_RUNG,)


def _is_template(before: bytes) -> bool:
    """Whether a text has a mark of templates; looked for behind what a known text has, too."""
    known, common = None, 0
    for text in tuple(_clean):
        shared = common_prefix(text, before)
        if shared > common:
            known, common = text, shared
    start = max(0, common - max(map(len, TEMPLATES)))
    if any(before.find(mark, start) >= 0 for mark in TEMPLATES):
        return True
    if known is not None and 2 * common > len(known):
        with suppress(ValueError):  # another thread may have been quicker
            _clean.remove(known)
    _clean.append(before)
    return False


def _closing(tag: bytes) -> bytes:
    """What closes an element, from its opening tag."""
    return b"</" + re.split(rb"[\s/>]", tag, maxsplit=1)[0][1:].lower()


def _lark() -> str:
    """The grammar's text: what is common, a rule for every element, the lexemes of all others."""
    common = files("server.grammar").joinpath("lark/html.lark").read_text("utf-8")
    closed, all_of_them = "|".join(map(_any_case, CLOSED)), "|".join(map(_any_case, CLOSED + RAW))
    return f"""%llguidance {{"no_forcing": true, "allow_initial_skip": true}}
{common}
element: {" | ".join(f"element_{name}" for name in CLOSED)}
raw: {" | ".join(f"element_{name}" for name in RAW)}
stray: ({" | ".join(f"CLOSE_{name.upper()}" for name in CLOSED)}) attribute* ">"
{"".join(map(_element, CLOSED))}{"".join(map(_raw_element, RAW))}
OPEN: /<[A-Za-z][^ \\t\\r\\n\\f\\/>]*/ & ~/<({all_of_them})/
CLOSE: /<\\/[A-Za-z][^ \\t\\r\\n\\f\\/>]*/ & ~/<\\/({closed})/
"""


def _element(name: str) -> str:
    """The rule of an element, and the beginnings of its tags."""
    upper, text = name.upper(), _any_case(name)
    return f"""
element_{name}: OPEN_{upper} attribute* (">" node* CLOSE_{upper} attribute* ">" | "/>")
OPEN_{upper}: /<{text}/
CLOSE_{upper}: /<\\/{text}/
"""


def _raw_element(name: str) -> str:
    """The rule of an element with raw text, which ends where its closing tag begins."""
    upper, text = name.upper(), _any_case(name)
    return f"""
element_{name}: OPEN_{upper} attribute* (">" REST_{upper} attribute* ">" | "/>")
OPEN_{upper}: /<{text}/
REST_{upper}: /(.|\\n)*<\\/{text}/ & ~/(.|\\n)*<\\/{text}(.|\\n)+/
"""


def _any_case(name: str) -> str:
    """A regular expression for a name in small and capital letters."""
    return "".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in name)


_RUNG = Rung(
    "structural",
    Source("html", _lark),
    partial(bracket_window, lexemes=LEXEMES, closer=_closing),
)

LADDERS: dict[str, Ladder] = {"html": html, "vue": html}
