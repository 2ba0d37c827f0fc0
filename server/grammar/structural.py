r"""Languages of which strings, comments and brackets are checked; YAML with columns, and TOML.

Each has a grammar in `lark` and a window: the open brackets above the cursor and its line. What
cannot be told for certain is accepted, so these grammars never refuse a real program's text:

- C and its relatives: behind a conditional directive, whose branches may open different brackets.
- Strings that end with a name of their own (`R"x(`, here-documents, `$tag$`): behind the opener,
  if it is not above the cursor's line.
- SQL: behind a place that dialects read in different ways.
- Shell: round brackets in `case` blocks.

Not here, as nothing that a grammar of lexemes could tell is sound: Markdown, where every text is a
document; Ruby, Perl and Swift, where `/` starts a regular expression or divides by what names are.
"""

import re
from functools import cache, partial
from importlib.resources import files

from server.grammar import structural_lexemes as lexemes
from server.grammar import yaml_grammar
from server.grammar.brackets_window import LONGEST, bracket_window, item_start
from server.grammar.rungs import Ladder, Rung, Source, whole
from server.grammar.structural_lexemes import Lexemes
from server.grammar.yaml_window import yaml_window

WHOLE = 64 << 10
"""Bytes of a TOML or YAML text that are worth being read as a whole."""


@cache
def _text(name: str) -> str:
    return files("server.grammar").joinpath("lark", f"{name}.lark").read_text("utf-8")


def _source(name: str) -> Source:
    return Source(f"{name} (structural)", partial(_text, name))


def _structural(name: str, known: Lexemes) -> Ladder:
    """A ladder of one rung."""
    window = partial(bracket_window, lexemes=known.code, texts=known.texts)
    rung = Rung("structural", _source(name), window)
    return lambda before: (rung,) if len(before) <= LONGEST else ()


_SHELL = _structural("shell", lexemes.SHELL)


def shell(before: bytes) -> tuple[Rung, ...]:
    """The rungs of a shell script, if it is no script of zsh or fish, which quote differently."""
    return () if _OTHER_SHELL.match(before) else _SHELL(before)


_OTHER_SHELL = re.compile(rb"#(?:![^\n]*\b(?:zsh|fish|t?csh|rc)\b|compdef|autoload)")


PHP = _source("php")


def php(before: bytes) -> tuple[Rung, ...]:
    """The rung of PHP."""
    return (Rung("structural", PHP, _php_window),) if len(before) <= LONGEST else ()


def _php_window(before: bytes) -> bytes:
    """A window of brackets, in code but for one that starts where the text starts."""
    window = bracket_window(before, lexemes.PHP.code, lexemes.PHP.texts)
    return window if window == before else b"<?php\n" + window


TOML = Source("toml", partial(_text, "toml"))
TOML_STRUCTURE = Source("toml (structural)", partial(_text, "toml_structural"))

_TOML_BRACKETS = Rung(
    "structural", TOML_STRUCTURE, partial(bracket_window, lexemes=lexemes.TOML.code)
)
_LINE = re.compile(rb"[ \t]*[^\s#]")


def toml(before: bytes) -> tuple[Rung, ...]:
    """The last table's name or value, the whole file, brackets and strings."""
    if len(before) > LONGEST:
        return ()
    full = (Rung("full", TOML, whole),) if len(before) <= WHOLE else ()
    return (Rung("window", TOML, _item), *full, _TOML_BRACKETS)


def _item(before: bytes) -> bytes:
    """The text from the last line on that starts outside of strings and brackets."""
    return before[item_start(before, lexemes.TOML.code, _LINE) or 0 :]


YAML = Source("yaml", yaml_grammar.lark)


def yaml(before: bytes) -> tuple[Rung, ...]:
    """The lines that the cursor's line hangs on, and the whole text."""
    if len(before) > LONGEST:
        return ()
    everything = (Rung("structural", YAML, whole),) if len(before) <= WHOLE else ()
    return (Rung("structural", YAML, yaml_window), *everything)


_C = _structural("c", lexemes.C)

LADDERS: dict[str, Ladder] = {
    **dict.fromkeys(("c", "cpp", "cuda-cpp", "objective-c", "objective-cpp"), _C),
    "dockercompose": yaml,
    "csharp": _structural("csharp", lexemes.CSHARP),
    "java": _structural("java", lexemes.JAVA),
    "kotlin": _structural("kotlin", lexemes.KOTLIN),
    "lua": _structural("lua", lexemes.LUA),
    "php": php,
    "rust": _structural("rust", lexemes.RUST),
    "shellscript": shell,
    "sql": _structural("sql", lexemes.SQL),
    "toml": toml,
    "yaml": yaml,
}
"""By language identifier."""
