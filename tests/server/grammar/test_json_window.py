"""Windows of JSON: small, and what may follow them is what may follow the text."""

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.errors import GrammarError
from server.grammar.json_grammar import JSON, JSONC
from server.grammar.json_lark import HOLE
from server.grammar.json_schema import compile_schema
from server.grammar.json_window import is_at_top, schema_window, strict_window, window
from server.grammar.state import compile_grammar
from tests.server.grammar.corpora import fetch_debian
from tests.server.grammar.corpus import cuts, sample
from tests.server.grammar.json_documents import allowed, json_text, schemas, values, written

STRICT, LENIENT = (compile_grammar(source.name, source.lark()) for source in (JSON, JSONC))

seeds = st.integers(0, 2**32).map(Random)
offsets = st.integers(0, 1000)


def test_closed_members_are_left_out():
    assert window(b'{"a": {"b": [1, 2]}, "c": [3, {"d": "e') == b'{"":0, "c": [0, {"d": "e'
    assert window(b"[[1], [2]") == b"[0, []"
    assert window(b'{"a": 1} \n') == b"[] \n"
    assert window(b' "text') == b' "text'


def test_marks_in_strings_and_comments_do_not_count():
    assert window(b'{"a,]": "}\\",{", "b": "x,') == b'{"":0, "b": "x,'
    assert window(b"[1, 2 // ], [\n, 3 /* , */ ") == b"[0, 3 /* , */ "
    assert window(b"[1, // a, b") == b"[0, // a, b"
    assert window(b'["open,\n, "b') == b'[0, "b'


def test_a_closing_bracket_closes_what_was_left_open_in_it():
    assert window(b'{"a": [1, {"b": 2], "c": ') == b'{"":0, "c": '
    assert window(b"[1]], [") == b"[]], ["


def test_comments_and_trailing_commas_show_in_the_strict_window():
    assert strict_window(b'{"a": "// [,]", "b').startswith(b"{")
    assert strict_window(b"[[1, ], ").startswith(b"//")
    assert strict_window(b"[1 /* */, ").startswith(b"//")


def test_a_large_document_has_a_small_window():
    members = {f"key{n}": {"list": list(range(10)), "text": "x" * 50} for n in range(9000)}
    text = json.dumps(members, indent=1).encode()[:-5]

    assert len(text) > 1_000_000
    assert len(window(text)) < 200
    assert len(schema_window(text, frozenset({"key7"}))) < 300


@pytest.mark.parametrize("text", [b"[" * 50_000, b'{"a":' * 50_000], ids=["arrays", "objects"])
def test_too_many_open_brackets_have_no_window(text):
    """They would all be in it."""
    for one in (window, strict_window, lambda text: schema_window(text, frozenset())):
        with pytest.raises(GrammarError, match="more than 2,000 brackets are open"):
            one(text)
    assert window(text[:1500]) == text[:1500]


def test_known_keys_stay_with_short_values():
    text = b'{"a": {"b": 1}, "c": 2, "d": 3, "e": [4, 5, '
    names = frozenset({"a", "c"})
    hole = HOLE.encode()

    assert schema_window(text, names) == b'{"a":%b,"c":2, "e": [%b,%b, ' % (hole, hole, hole)
    assert schema_window(text, names, values=False).startswith(b'{"a":%b,"c":%b,' % (hole, hole))
    assert schema_window(b'{"d": 1, "a', frozenset()) == b'{%b, "a' % hole
    assert schema_window(rb'{"\u0061": 1, "d', names) == rb'{"\u0061":1, "d'
    assert schema_window(b'{"a": 1, "a": 2, "d', names) == b'{"a":1, "d'


def test_the_top_is_where_members_of_the_document_are():
    assert is_at_top(b'{"a": {}, ')
    assert not is_at_top(b'{"a": {')
    assert not is_at_top(b"[")
    assert not is_at_top(b"")


@settings(max_examples=200, deadline=None)
@given(values, seeds, offsets, st.booleans())
def test_the_same_may_follow_the_window_and_the_text(value, random, offset, comments):
    text = written(value, random, comments)
    text = text[: offset % (len(text) + 1)]
    template, reduced = (LENIENT, window) if comments else (STRICT, strict_window)

    assert allowed(template, reduced(text)) == allowed(template, text)


@settings(max_examples=60, deadline=None)
@given(schemas(), seeds, offsets)
def test_a_schema_asks_the_same_of_the_window_and_the_text(pair, random, offset):
    """As long as values are short and their members' names are known; at least as much is allowed
    where they are not."""
    schema, value = pair
    text = written(value, random)
    text = text[: offset % (len(text) + 1)]
    compiled = compile_schema("x", json.dumps(schema).encode())
    template = compile_grammar("x", compiled.lark)

    whole = allowed(template, text)
    for keep in (True, False):
        reduced = allowed(template, schema_window(text, compiled.names, keep))
        assert whole[0] <= reduced[0]
        assert whole[1] <= reduced[1]


@pytest.mark.corpus
def test_windows_and_texts_of_real_files_agree():
    """At 2,000 cuts the window is read as far as the text, may end as it does, and goes on with
    what follows, and with nothing else that was tried."""
    random = Random(3)
    found = sample(sorted(fetch_debian("mediawiki").rglob("*.json")), 100, random, json_text)
    probes = [b"}", b"]", b",", b'"', b"1", b" ", b":", b"null", b"-", b"x"]
    differing = []
    for path, text in found.items():
        for cut in cuts(text, 20, random):
            states = [STRICT.state(), STRICT.state()]
            reduced = strict_window(text[:cut])
            assert states[0].feed(text[:cut]) == cut
            assert states[1].feed(reduced) == len(reduced)
            asked = [*probes, text[cut : cut + 32]]
            told = [([one.check(probe) for probe in asked], one.accepting) for one in states]
            if told[0] != told[1] or not told[1][0][-1]:
                differing.append((path, cut))

    assert differing == []
