"""Patterns of schemas: what the engine's expressions match is what the patterns match."""

import json
import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.grammar.schema_patterns import FORMATS, strings_matching, texts_matching
from server.grammar.state import compile_grammar
from tests.server.grammar.json_documents import fits, written

CHARACTERS = "abz09_-./ é~&[]^$"

_atoms = st.sampled_from(
    [
        *("a", "b", "é", "-", "/", "~", "&", " ", ".", r"\.", r"\/", r"\-", r"\$", r"\[", r"\]"),
        *(r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\x61", r"\u00e9"),
        *("[ab]", "[^a]", "[a-z]", "[0-9-]", "[-.]", "[^/ -]", r"[\w.]", r"[^\s]", r"[\]\\[]"),
        *("[&&~~]", "[a^]", "[a-z0-9-*~]", r"[\d-]", "[é-ü]"),
    ]
)
_patterns = st.recursive(
    _atoms,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,}", "*?"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)
_anchored = st.tuples(st.sampled_from(["", "^"]), _patterns, st.sampled_from(["", "$"])).map(
    "".join
)
patterns = st.lists(_anchored, min_size=1, max_size=2).map("|".join)


def template(expression):
    return compile_grammar("x", f"start: T\nT: /{expression}/")


@pytest.mark.filterwarnings("ignore:Possible")
@settings(max_examples=150, deadline=None)
@given(patterns, st.lists(st.text(CHARACTERS, max_size=5), min_size=5, max_size=20), st.data())
def test_they_match_the_same(pattern, texts, data):
    r"""Python's patterns are ECMA's here: ASCII classes, and `$` at the very end."""
    own = re.sub(r"(\\.)|\$", lambda found: found[1] or r"\Z", pattern)
    known = re.compile(own, re.ASCII)
    plain, strings = template(texts_matching(pattern)), template(strings_matching(pattern))
    random = data.draw(st.integers(0, 2**32).map(Random))

    for text in texts:
        matches = known.search(text) is not None
        assert fits(plain, text.encode()) == matches
        assert fits(strings, json.dumps(text, ensure_ascii=False).encode()) == matches
        if matches:
            assert fits(strings, written(text, random).strip())


@pytest.mark.parametrize(
    "pattern",
    [
        *("(?=a)b", "^(?!x)", "(?<=a)b", r"\bfoo", r"(a)\1", r"\p{L}", r"\ud83d", r"\c"),
        *("a{2", "(a", "a)", "[b", "[]", "[", "[z-a]", r"[\d-z]", "*a"),
        *("^(a|b$)", "a^b", "a{5000}", "x" * 3000),
    ],
)
def test_what_can_not_be_told_is_no_expression(pattern):
    assert strings_matching(pattern) is None
    assert texts_matching(pattern) is None


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", ["2026-02-28"], ["2026-2-28", "2026-00-01"]),
        ("time", ["23:59:60Z", "00:00:00.123+01:00"], ["24:00:00Z", "12:00Z"]),
        ("date-time", ["2026-11-29T20:00:00Z", "2026-11-29t20:00:00.5-05:30"], ["2026-11-29"]),
        ("uuid", ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567"]),
        ("ipv4", ["127.0.0.1", "255.255.255.255"], ["256.1.1.1", "1.2.3", "01.2.3.4"]),
    ],
)
def test_formats(name, good, bad):
    compiled = template(strings_matching(FORMATS[name]))

    assert all(fits(compiled, f'"{text}"'.encode()) for text in good)
    assert not any(fits(compiled, f'"{text}"'.encode()) for text in bad)
