r"""Grammars in GBNF, llama.cpp's format, as Lark for the engine.

    >>> print(gbnf_to_lark("sum", 'root ::= [0-9]+ ("+" [0-9]+)*'))
    start: r0
    r0: C0+ (C1 C0+)*
    C0: /[\u{30}-\u{39}]/
    C1: /[\u{2b}]/

GBNF knows no words: a rule may break text anywhere. The engine's terminals are greedy, so every
terminal written here is one character, and the grammar means the same in both.

What is not here: tokens of a model (`<think>`, `<[1000]>`); there are none where bytes are read.
"""

from dataclasses import dataclass, field

from server.errors import GrammarError
from server.possessive import re

MOST_REPEATS = 2000
"""More repetitions than these are refused, as in llama.cpp."""

MOST_NESTED = 24
"""Brackets in brackets, and repetitions in a row, which are written with brackets. The engine takes
27, and does not name the line."""

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r]+|\#[^\n]*)|(?P<line>\n)|(?P<name>[A-Za-z0-9_-]+)|(?P<is>::=)
    |(?P<text>"(?:[^"\\\n]|\\[^\n])*")|(?P<class>\[(?:[^\]\\\n]|\\[^\n])*\])
    |(?P<repeat>[*+?]|\{[ \t]*\d*[ \t]*(?:,[ \t]*\d*[ \t]*)?\})|(?P<mark>[|().])""",
    re.VERBOSE,
)
_CHARACTER = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))|[^\\]", re.DOTALL
)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"} | dict(zip('\\"[]-', '\\"[]-', strict=True))


def gbnf_to_lark(name: str, text: str) -> str:
    """Write a GBNF grammar as Lark.

    Raises:
        GrammarError: It is wrong; says in which line and why.
    """
    parser = _Parser(name, text)
    parser.grammar()
    return parser.lark()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int


@dataclass
class _Parser:
    """Reads a grammar from its start and writes rules as it goes."""

    name: str
    text: str
    _tokens: list[_Token] = field(default_factory=list)
    _at: int = 0
    _depth: int = 0
    """Brackets that are open."""
    _rules: dict[str, str] = field(default_factory=dict)
    """The right sides, by the rule's own name."""
    _numbers: dict[str, int] = field(default_factory=dict)
    _used: dict[str, int] = field(default_factory=dict)
    """For rules that are used, the first line in which they are."""
    _classes: dict[str, str] = field(default_factory=dict)

    def grammar(self) -> None:
        """Read everything."""
        self._tokens = self._split()
        self._lines()
        while self._next().kind != "end":
            self._rule()
        for rule, line in self._used.items():
            if rule not in self._rules:
                raise self._error(line, f"the rule {rule} is not defined")
        if "root" not in self._rules:
            raise self._error(1, "it has no rule root")

    def lark(self) -> str:
        """What was read, as Lark."""
        rules = [f"{self._symbol(rule)}: {right}" for rule, right in self._rules.items()]
        classes = [f"{symbol}: /{body}/" for body, symbol in self._classes.items()]
        return "\n".join([f"start: {self._symbol('root')}", *rules, *classes])

    def _split(self) -> list[_Token]:
        tokens, at, line = list[_Token](), 0, 1
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                shown = self.text[at : at + 20].split("\n")[0]
                raise self._error(line, f"{shown!r} is not GBNF")
            at = match.end()
            if match.lastgroup != "blank":
                tokens.append(_Token(str(match.lastgroup), match[0], line))
            line += match[0].count("\n")
        return [*tokens, _Token("end", "the end", line)]

    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, kind: str, what: str) -> _Token:
        token = self._next()
        if token.kind != kind:
            shown = "the end of the line" if token.kind == "line" else token.text
            raise self._error(token.line, f"{what} should stand before {shown}")
        self._at += 1
        return token

    def _lines(self) -> None:
        while self._next().kind == "line":
            self._at += 1

    def _rule(self) -> None:
        name = self._take("name", "a rule's name")
        if name.text in self._rules:
            raise self._error(name.line, f"the rule {name.text} is defined twice")
        self._take("is", "::=")
        self._lines()
        self._rules[name.text] = self._alternatives()
        if self._next().kind != "end":
            self._take("line", "the end of the line")
        self._lines()

    def _alternatives(self) -> str:
        """Sequences with `|` between them; in brackets they may go over several lines."""
        found = [self._sequence()]
        while self._next().text == "|":
            self._at += 1
            self._lines()
            found.append(self._sequence())
        return " | ".join(found)

    def _sequence(self) -> str:
        parts = list[str]()
        while True:
            token = self._next()
            if token.kind in {"name", "text", "class"} or token.text in {"(", "."}:
                self._at += 1
                parts.append(self._repeated(self._element(token)))
            elif token.kind == "line" and self._depth:
                self._at += 1
            elif token.kind == "repeat":
                raise self._error(token.line, f"nothing stands before {token.text}")
            else:
                return " ".join(part for part in parts if part) or '""'

    def _element(self, token: _Token) -> str:
        if token.kind == "name":
            self._used.setdefault(token.text, token.line)
            return self._symbol(token.text)
        if token.kind == "text":
            codes = self._codes(token, token.text[1:-1])
            symbols = [self._class(f"[{_hex(code)}]") for code in codes]
            return f"({' '.join(symbols)})" if len(symbols) > 1 else "".join(symbols)
        if token.kind == "class":
            return self._class(self._ranges(token))
        if token.text == ".":
            return self._class("(?s:.)")
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise self._error(token.line, f"brackets are nested deeper than {MOST_NESTED}")
        inner = self._alternatives()
        if self._next().text != ")":
            raise self._error(token.line, "this ( has no )")
        self._at += 1
        self._depth -= 1
        return f"({inner})"

    def _repeated(self, element: str) -> str:
        """An element with the repetitions after it."""
        start = self._at
        while self._next().kind == "repeat":
            token = self._next()
            self._at += 1
            if self._at - start > MOST_NESTED:
                raise self._error(token.line, f"more than {MOST_NESTED} repetitions in a row")
            if element:
                element = self._with_count(element, token)
        return element

    def _with_count(self, element: str, token: _Token) -> str:
        # `x*+` is not the engine's: each repetition has brackets of its own.
        element = f"({element})" if element[-1] in "*+?}" else element
        if token.text in "*+?":
            return element + token.text
        low, comma, high = re.sub(r"[{ \t}]", "", token.text).partition(",")
        counts = [int(number) for number in (low, high) if number]
        if any(number > MOST_REPEATS for number in counts):
            raise self._error(token.line, f"{token.text} is more than {MOST_REPEATS}")
        if not counts or counts != sorted(counts):
            raise self._error(token.line, f"{token.text} is no number of repetitions")
        # Nor is `x{0}`.
        none = counts[-1] == 0 and (high or not comma)
        return "" if none else f"{element}{{{low or 0}{comma}{high}}}"

    def _class(self, body: str) -> str:
        """The terminal for a class of characters."""
        return self._classes.setdefault(body, f"C{len(self._classes)}")

    def _ranges(self, token: _Token) -> str:
        inner = token.text[1:-1]
        negated = inner.startswith("^")
        marks = [match[0] for match in _CHARACTER.finditer(inner.removeprefix("^"))]
        codes = self._codes(token, inner.removeprefix("^"))
        parts, at = list[str](), 0
        while at < len(codes):
            high = at
            if marks[at + 1 : at + 2] == ["-"] and at + 2 < len(codes):
                high = at + 2
            if codes[high] < codes[at]:
                raise self._error(token.line, f"the range {''.join(marks[at : high + 1])} is empty")
            parts.append(_hex(codes[at]) + (f"-{_hex(codes[high])}" if high > at else ""))
            at = high + 1
        if not parts and not negated:
            raise self._error(token.line, "the class [] holds no character")
        if not parts:
            return "(?s:.)"
        return f"[{'^' if negated else ''}{''.join(parts)}]"

    def _codes(self, token: _Token, text: str) -> list[int]:
        """The code points of a literal's or class's inner text."""
        codes = list[int]()
        for match in _CHARACTER.finditer(text):
            digits = match[1] or match[2] or match[3]
            if digits:
                code = int(digits, 16)
            elif match[4]:
                if match[4] not in _ESCAPED:
                    raise self._error(token.line, f"{match[0]} is no escape")
                code = ord(_ESCAPED[match[4]])
            else:
                code = ord(match[0])
            if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
                raise self._error(token.line, f"{match[0]} is no character")
            codes.append(code)
        return codes

    def _symbol(self, rule: str) -> str:
        return f"r{self._numbers.setdefault(rule, len(self._numbers))}"

    def _error(self, line: int, reason: str) -> GrammarError:
        return GrammarError(f"the grammar {self.name} is wrong in line {line}: {reason}")


def _hex(code: int) -> str:
    return f"\\u{{{code:x}}}"
