"""Forced literals in xgrammar, which vLLM and SGLang take by default; where it is installed."""

import pytest
from hypothesis import example, given, settings

from server.remote.literal import gbnf, pattern
from tests.server.remote.test_remote_literal import HARD, literals

xgrammar = pytest.importorskip("xgrammar", exc_type=ImportError)


@pytest.mark.parametrize("language", ["regex", "ebnf"])
@given(text=literals, more=literals)
@example(text=HARD, more="\n")
@example(text="a\x01b\x7f0", more="b")
@settings(max_examples=200)
def test_the_literal_and_then_anything(language, text, more):
    """Both languages take the literal with anything after it, and no other beginning."""
    from xgrammar.testing import _is_grammar_accept_string as accepts

    if language == "regex":
        grammar = xgrammar.Grammar.from_regex(pattern(text.encode()))
    else:
        grammar = xgrammar.Grammar.from_ebnf(gbnf(text.encode()))

    assert accepts(grammar, text + more)
    assert accepts(grammar, more) == more.startswith(text)
