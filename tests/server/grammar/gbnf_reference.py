"""GBNF by its definition, for small grammars and texts: the slow twin of `gbnf_to_lark`.

A grammar is a mapping from rules to expressions; an expression is a nested tuple:
`("text", "ab")`, `("class", negated, "ab")`, `("any",)`, `("rule", "a")`, `("all", [..])` for a
sequence, `("one", [..])` for alternatives, `("repeat", expression, low, high)`.
"""

from functools import cache

from hypothesis import strategies as st

ALPHABET = "abé\n"
RULES = ("root", "r-1", "r2")

_symbols = st.one_of(
    st.text(ALPHABET, max_size=2).map(lambda text: ("text", text)),
    st.tuples(st.just("class"), st.booleans(), st.text(ALPHABET, min_size=1, max_size=2)),
    st.just(("any",)),
    st.sampled_from(RULES).map(lambda name: ("rule", name)),
)
_counts = st.sampled_from([(0, None), (1, None), (0, 1), (2, 2), (1, 2), (0, 2), (2, None), (0, 0)])
expressions = st.recursive(
    _symbols,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda parts: ("all", parts))
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: ("one", parts))
        | st.tuples(inner, _counts).map(lambda pair: ("repeat", pair[0], *pair[1]))
    ),
    max_leaves=6,
)
grammars = st.fixed_dictionaries(dict.fromkeys(RULES, expressions))


def gbnf(grammar):
    """A grammar's text."""
    return "\n".join(f"{name} ::= {_written(one)} # {name}" for name, one in grammar.items())


def _escaped(text):
    return "".join({"\n": r"\n", "é": r"\u00e9", "b": r"\x62"}.get(one, one) for one in text)


def _written(one):
    match one:
        case ("text", text):
            return f'"{_escaped(text)}"'
        case ("class", negated, members):
            return f"[{'^' * negated}{_escaped(members)}]"
        case ("any",):
            return "."
        case ("rule", name):
            return name
        case ("all", parts):
            return f"({' '.join(map(_written, parts))})"
        case ("one", parts):
            return f"({' | '.join(map(_written, parts))})"
        case ("repeat", part, low, high):
            signs = {(0, None): "*", (1, None): "+", (0, 1): "?"}
            count = "" if high is None else high
            return f"({_written(part)})" + signs.get(
                (low, high), f"{{{low}}}" if low == high else f"{{{low},{count}}}"
            )


def matches(grammar, text):
    """Whether a grammar matches a text: the least fixed point over all spans of the text."""
    size = len(text)
    found = {name: set() for name in grammar}

    def ends(one, start):
        """The offsets at which an expression that starts somewhere may end."""
        match one:
            case ("text", wanted):
                return {start + len(wanted)} if text.startswith(wanted, start) else set()
            case ("class", negated, members):
                fits = start < size and (text[start] in members) != negated
                return {start + 1} if fits else set()
            case ("any",):
                return {start + 1} if start < size else set()
            case ("rule", name):
                return {end for begin, end in found[name] if begin == start}
            case ("all", parts):
                here = {start}
                for part in parts:
                    here = {end for at in here for end in ends(part, at)}
                return here
            case ("one", parts):
                return {end for part in parts for end in ends(part, start)}
            case ("repeat", part, low, high):
                here, reached = {start}, {start} if low == 0 else set()
                most = low + size + 1 if high is None else high
                for count in range(1, most + 1):
                    here = {end for at in here for end in ends(part, at)}
                    reached |= here if count >= low else set()
                return reached

    while True:
        spans = {
            name: {(start, end) for start in range(size + 1) for end in ends(one, start)}
            for name, one in grammar.items()
        }
        if spans == found:
            return (0, size) in spans["root"]
        found.update(spans)


@cache
def texts(length):
    """All texts of up to so many characters."""
    if length == 0:
        return ("",)
    shorter = texts(length - 1)
    longest = [text for text in shorter if len(text) == length - 1]
    return (*shorter, *(text + one for text in longest for one in ALPHABET))
