r"""A grammar of Python 3.8 to 3.14, made from templates for indentation by spaces or by tabs.

llguidance reads context-free grammars, and Python's indentation is not context-free. Bounded
indentation is: there is one copy of the block rules for every column. In the copy for column 4 a
line end is the lexeme `NL4`: a newline, blank lines and comments, then exactly four columns. Where
a block may begin, the line ends of all columns to the right are allowed, and where a statement
ended, those of all open blocks. Lexemes are greedy, and more blanks could still become a blank
line, so `NL4` is never taken for a line that is indented deeper.

The structural grammar knows strings with their fields, comments and brackets alone.

What llguidance does with lexemes (greedy, never a shorter match instead) shapes the rest:

- Nothing is ignored between lexemes, as an ignored lexeme hides every other of the same span.
  Each symbol takes in the blanks after itself. Inside brackets these are newlines and comments
  too, so that rules of expressions stand twice, as `sum` and as `sum_in`.
- Words that only begin with a keyword need a lexeme of their own (`GLUED`), the empty f-string
  and doubled braces too (see `lark/python_terminals.lark`).

It is a superset: contexts (`return` outside of functions), names that are bound twice, the width
of escapes and the like are not looked at. A tab among spaces reaches to the next multiple of 8.

Not accepted though it is Python: indentation that does not fit one of the two variants, and blocks
at a column of `SPACES` or more.
"""

from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files

from server.grammar.rungs import Source
from server.possessive import re

SPACES = 64
"""Columns in the variant for spaces: 0 to 63. With 24, texts are read a tenth faster and 30 ms of
compiling are saved: not worth a file that is not checked."""

TABS = 20
"""Columns in the variant for tabs, where one tab is a column."""

_SYMBOL = re.compile(r'"[^"]+"|[A-Za-z_]\w*@?|[()|*+?]')
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_BARE = frozenset({"NL@", "GLUED", "NEVER"})
"""Terminals without blanks after them, besides those of f-strings."""
_LINE_END = r"(#[^\n]*)?\n([ \t\f]*(#[^\n]*)?\n)*(\\\n)*([ \t]*\f)*"
"""A line end, blank lines, and backslashes at column 0: the line that they continue is indented."""
_JOINED = r"(\\\n[ \t\f]*)*"
"""Backslashes at another column: the indentation is that of the first of these lines."""


def spaces_grammar() -> str:
    """The grammar of text that is indented by spaces."""
    return _grammar(SPACES, _spaces)


def tabs_grammar() -> str:
    """The grammar of text that is indented by tabs."""
    return _grammar(TABS, _tabs)


def structural_grammar() -> str:
    """The grammar of strings, comments and brackets, whatever is between them."""
    rules = dict(_template("python_expressions.lark"))
    rules = {name: rules[name] for name in rules if name == "fstring" or name.startswith("f_")}
    terminals = {
        name: body
        for name, body in _template("python_terminals.lark")
        if name.startswith(("F_", "QUOTE")) or name in {"STRING", "EMPTY", "CONVERSION", "BLANKS"}
    }
    both = rules | terminals | dict(_template("python_structural.lark"))
    return "".join(f"{name}: {body}\n" for name, body in both.items())


SPACES_SOURCE = Source("python (spaces)", spaces_grammar)
TABS_SOURCE = Source("python (tabs)", tabs_grammar)
STRUCTURAL_SOURCE = Source("python (structural)", structural_grammar)


def _spaces(column: int) -> str:
    """What indents a line to a column; a tab reaches to the next multiple of 8."""
    stops, rest = divmod(column, 8)
    return (f"( {{0,7}}\\t| {{8}}){{{stops}}}" if stops else "") + " " * rest


def _tabs(column: int) -> str:
    return f"\\t{{{column}}}" if column else ""


@cache
def _template(name: str) -> tuple[tuple[str, str], ...]:
    """Names and bodies of the rules of a template, in order."""
    text = files("server.grammar").joinpath("lark", name).read_text("utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("//")]
    joined = re.sub(r"\n\s+\|", " |", "\n".join(lines))
    rules = (line.partition(":") for line in joined.splitlines())
    return tuple((name, body.strip()) for name, _, body in rules)


def _grammar(columns: int, indent: Callable[[int], str]) -> str:
    """The whole grammar, for so many columns and with this expression for what indents to one."""
    lines = ["start: FIRST? block0? LAST?"]
    expressions = _Expressions()
    for column in range(columns):
        for name, body in _template("python_blocks.lark"):
            here = expressions.expand(body, inside=False)
            lines.append(f"{name}: {here}".replace("@", str(column)))
        for name in ("block", "cases"):
            deeper = [f"NL{right} {name}{right}" for right in range(column + 1, columns)]
            lines.append(f"{name}_deeper{column}: {' | '.join(deeper) or 'NEVER'}")
        joined = _JOINED if column else ""
        lines.append(f"NL{column}: /{_LINE_END}{indent(column)}{joined}/")
    lines += expressions.rules()
    lines += [f"{name}: {body}" for name, body in _template("python_terminals.lark")]
    lines += expressions.terminals()
    return "\n".join(lines) + "\n"


class _Expressions:
    """The rules of expressions that a grammar uses, each on a line or inside brackets."""

    def __init__(self) -> None:
        self._bodies = dict(_template("python_expressions.lark"))
        self._used: dict[tuple[str, bool], None] = {}
        """Rules by name, and whether inside brackets: an ordered set."""
        self._terminals: dict[str, str] = {}

    def expand(self, body: str, inside: bool) -> str:
        """A body with the names of its symbols where it stands, which are noted as used."""
        depth, found = 0, list[str]()
        for symbol in _SYMBOL.findall(body):
            depth -= symbol[1:-1] in _CLOSING
            found.append(self._named(symbol, inside or depth > 0 or symbol[1:-1] in _OPENING))
            depth += symbol[1:-1] in _OPENING
        return " ".join(found)

    def rules(self) -> Iterator[str]:
        """The used rules, also those that others of them use."""
        done = 0
        while done < len(self._used):
            for name, inside in list(self._used)[done:]:
                done += 1
                yield f"{self._named(name, inside)}: {self.expand(self._bodies[name], inside)}"

    def terminals(self) -> Iterator[str]:
        """The terminals that take in the blanks after them."""
        return (f"{name}: {body}" for name, body in self._terminals.items())

    def _named(self, symbol: str, inside: bool) -> str:
        if symbol in self._bodies:
            inside = inside or symbol.startswith("f_")
            self._used.setdefault((symbol, inside))
            return symbol + "_in" * (inside and not symbol.startswith("f_"))
        if symbol.startswith('"'):
            text = symbol[1:-1]
            name = text.upper() if text.isalpha() else "".join(f"{ord(sign):X}" for sign in text)
            name = f"LITERAL_{name}"
        elif symbol.isupper() and not symbol.startswith("F_") and symbol not in _BARE:
            name = symbol
        else:
            return symbol
        name += "_IN" if inside else "_LINE"
        self._terminals[name] = f"{symbol} {'GAP' if inside else 'BLANKS'}"
        return name
