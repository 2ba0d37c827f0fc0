"""Grammars: of any text, and any grammar or schema that somebody wrote."""

import json
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from server.errors import GrammarError
from server.grammar.gbnf import gbnf_to_lark
from server.grammar.grammar_mask import GrammarMask
from server.grammar.json_schema import compile_schema
from server.grammar.kept import KeptStates
from server.grammar.ladder import climb
from server.grammar.languages import LADDERS
from server.grammar.state import SyntaxState, compile_grammar
from tests.fuzz.havoc import damaged, that_ends
from tests.server import test_ban_masks
from tests.server.documents import texts
from tests.server.grammar import test_mask
from tests.server.grammar.test_hostile_windows import AFTER, HEADS, PIECES

OTHERS = [
    test_mask.TestWhatMayCome().test_brute_force,
    test_mask.TestEnds().test_brute_force,
    test_mask.test_a_twin_has_no_consequences,
    test_ban_masks.test_a_mask_as_if_it_had_not_been_written,
]
"""Properties that have their place elsewhere."""

languages = st.sampled_from(sorted(LADDERS))
code = st.lists(st.sampled_from([*PIECES, *HEADS[:-2], *AFTER]), max_size=10).map("".join)
sources = code.map(str.encode) | texts.map(lambda text: text.replace(b"\r", b"\n"))

GBNF = [
    b'root ::= "a" | [b-d]+ ws\nws ::= [ \\t\\n]* # blanks\n',
    b'root ::= (item "," )* item?\nitem ::= "\\x41" [^\\]"]{2,5} | "\\u00e9"\n',
]
LARK = [
    b'start: A ("," A)*\nA: /[a-z]+/\n%ignore /[ \\n]+/\n',
    b'start: (x | "\\"" B{1,3})\nx: "a" x "b" |\nB: /(?i:b|[^\\]])/\n',
]
SCHEMAS = [
    {"type": "object", "properties": {"a": {"enum": [1, "b", None]}}, "required": ["a"]},
    {"$ref": "#/$defs/x", "$defs": {"x": {"anyOf": [{"type": "string", "pattern": "^a+$"}, True]}}},
    {"items": {"type": "integer", "minimum": 3}, "minItems": 2, "additionalProperties": False},
]


def same(one: SyntaxState, other: SyntaxState, text: bytes) -> None:
    """Both could go on alike, and asking changes nothing."""
    fits = one.fitting(text)

    assert other.fitting(text) == fits
    assert one.fork().feed(text) == fits
    assert one.fitting(text[:fits]) == fits
    assert one.accepting == other.accepting


def climbed(kept: KeptStates, language: str, text: bytes) -> SyntaxState | None:
    """The state behind a text; a failure of our own would be a reason in the report."""
    standing = climb(kept, "d", language, LADDERS[language], text)
    assert " failed (" not in (standing.report.reason or "")
    return standing.state


@given(languages, sources, sources, sources)
def test_states(language, before, edited, after):
    """A state that was kept is as a new one; what is fed and taken back leaves it as it was."""
    kept = KeptStates()
    with that_ends():
        climbed(kept, language, before)
        state = climbed(kept, language, before + edited)
        fresh = climbed(KeptStates(), language, before + edited)
        if state is None or fresh is None:  # a clock may have run out for one of them
            return
        same(state, fresh, after)
        state.rollback(state.feed(after))
        same(state, fresh, after)


def mask_of(language: str, before: bytes, after: bytes, inside: bool) -> GrammarMask | None:
    """The mask of a request, if any rung of the ladder holds."""
    standing = climb(KeptStates(), "d", language, LADDERS[language], before)
    return None if standing.state is None else GrammarMask(standing, [after], inside=inside)


@given(languages, sources, sources, st.booleans(), st.lists(sources, max_size=5), st.data())
def test_masks(language, before, after, inside, written, data):
    """What is allowed can be written; taken back, it is as if it had never been."""
    with that_ends():
        mask, fresh = (mask_of(language, before, after, inside) for _ in range(2))
        if mask is None or fresh is None:
            return
        text = b""
        for piece in written:
            fits = mask.fitting(piece)
            assert mask.twin().allows(piece[:fits])
            assert mask.allows(piece) == (fits == len(piece))
            mask.may_end()
            mask.push(piece[:fits])
            text += piece[:fits]
        kept = data.draw(st.integers(0, len(text)))
        mask.fits(len(text))
        mask.back(kept)
        fresh.push(text[:kept])

        slow = [one.report().reason for one in (mask, fresh)]
        assert not any("left the grammar" in (reason or "") for reason in slow)
        if not any("checked no further" in (reason or "") for reason in slow):
            for question in (b"", after, *written):
                assert mask.fitting(question) == fresh.fitting(question)
            assert set(mask.fits(kept).lengths) <= set(range(kept + 1))


def compiled(name: str, lark: str, text: bytes) -> None:
    """A grammar is compiled or refused, and a text read or refused, always in words."""
    with suppress(GrammarError):
        state = compile_grammar(name, lark).state()
        fits = state.feed(text, 1.0)
        state.rollback(fits)
        assert state.fitting(text) == fits


@given(st.data())
def test_gbnf(data):
    """A grammar in GBNF."""
    text = data.draw(damaged(GBNF) | st.binary(max_size=30)).decode("utf-8", "replace")
    with that_ends(), suppress(GrammarError):
        compiled("fuzzed", gbnf_to_lark("fuzzed", text), b'abc"\n')


@given(st.data())
def test_lark(data):
    """A grammar in llguidance's dialect of Lark."""
    text = data.draw(damaged(LARK) | st.binary(max_size=30)).decode("utf-8", "replace")
    with that_ends():
        compiled("fuzzed", text, b'abc"\n')


keywords = st.sampled_from(
    [
        *("type", "enum", "const", "anyOf", "oneOf", "allOf", "not", "if", "then", "$ref", "$defs"),
        *("properties", "patternProperties", "additionalProperties", "required", "items", "format"),
        *("prefixItems", "minItems", "maxItems", "pattern", "minLength", "maximum", "multipleOf"),
    ]
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["string", "object", "array", "integer", "#", "#/$defs/a", "^(a|b)*$"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keywords, inner, max_size=4),
    max_leaves=15,
)  # fmt: skip


@given(st.data(), st.booleans(), st.booleans())
def test_schemas(data, comments, escapes):
    """A JSON schema."""
    wholes = [json.dumps(schema).encode() for schema in SCHEMAS]
    text = data.draw(damaged(wholes) | anything.map(lambda schema: json.dumps(schema).encode()))
    with that_ends(), suppress(GrammarError):
        lark = compile_schema("fuzzed", text, comments, escapes).lark
        compiled("fuzzed", lark, b'{"a": [1, "b"]}')
