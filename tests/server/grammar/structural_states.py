"""States of the structural grammars, by language: at a text's start, and behind a window of it."""

from functools import cache

from server.grammar import templates
from server.grammar.state import SyntaxState, Template, compile_grammar
from server.grammar.structural import LADDERS


@cache
def template(language: str) -> Template:
    """The grammar of a language's first rung."""
    source = LADDERS[language](b"")[0].source
    return compile_grammar(source.name, source.lark())


def behind(language: str, before: bytes) -> SyntaxState | None:
    """The state of the first rung whose window fits; None if there is none."""
    for rung in LADDERS[language](before):
        window = rung.window(before)
        state = templates.get(rung.source, 60).state()
        if state.feed(window, 20) == len(window):
            return state
    return None
