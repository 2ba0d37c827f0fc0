"""Random schemas: documents made to fit them are accepted, documents made wrong are refused."""

import json
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.server.grammar.json_documents import fits, names, schemas, template, values, written

seeds = st.integers(0, 2**32).map(Random)
NOT_LISTED = "not listed"


@settings(max_examples=100, deadline=None)
@given(schemas(), seeds)
def test_what_a_schema_allows_is_accepted(pair, random):
    """In any order of members, with any blanks, any spelling, and at every cut."""
    schema, value = pair
    compiled = template(schema)

    for _ in range(3):
        assert fits(compiled, written(value, random))


@settings(max_examples=100, deadline=None)
@given(schemas(), seeds)
def test_without_needless_escapes(pair, random):
    schema, value = pair

    assert fits(template(schema, escapes=False), written(value, random, escapes=False))


@settings(max_examples=30, deadline=None)
@given(schemas(), seeds)
def test_with_comments_too(pair, random):
    schema, value = pair

    assert fits(template(schema, comments=True), written(value, random, comments=True))


@st.composite
def closed_objects(draw):
    """A schema of an object that lists everything, and a document that it allows."""
    kinds = st.one_of(
        st.lists(values, min_size=1, max_size=3).map(lambda listed: ({"enum": listed}, listed[0])),
        st.just(({"type": "boolean"}, True)),
        schemas(depth=2),
    )
    pairs = draw(st.dictionaries(names, kinds, min_size=1, max_size=5))
    schema = {
        "properties": {name: one for name, (one, _) in pairs.items()},
        "required": sorted(pairs),
        "additionalProperties": False,
    }
    # In an array, as the document itself may always have a `$schema`.
    return {"items": schema}, {name: value for name, (_, value) in pairs.items()}


@settings(max_examples=50, deadline=None)
@given(closed_objects(), seeds)
def test_a_missing_member_shows_at_the_closing_brace(pair, random):
    schema, document = pair
    del document[random.choice(sorted(document))]
    text = written([document], random).rstrip()
    before = text[: text.rindex(b"}")]
    state = template(schema).state()

    assert state.feed(before) == len(before)
    assert not state.check(b"}")


@settings(max_examples=50, deadline=None)
@given(closed_objects(), seeds)
def test_a_member_comes_once(pair, random):
    schema, document = pair
    twice = json.dumps(random.choice(sorted(document)))
    compiled = template(schema)
    text = written([document], random).rstrip()
    before = text[: text.rindex(b"}")].rstrip()
    if before.endswith((b"{", b",")):
        return
    state = compiled.state()

    assert state.feed(before) == len(before)
    assert not state.check(f", {twice}: ".encode())


@settings(max_examples=50, deadline=None)
@given(closed_objects(), seeds)
def test_an_unknown_member_is_refused(pair, random):
    schema, document = pair
    document[NOT_LISTED] = None

    assert not fits(template(schema), written([document], random))


@settings(max_examples=50, deadline=None)
@given(st.lists(values, min_size=1, max_size=4), seeds)
def test_a_value_that_is_not_listed_is_refused(listed, random):
    compiled = template({"properties": {"a": {"enum": listed}}})
    random.shuffle(listed)

    assert fits(compiled, written({"a": listed[0], "b": 1}, random))
    for wrong in (NOT_LISTED, [NOT_LISTED], {NOT_LISTED: 1}, 123456789):
        assert not fits(compiled, written({"a": wrong}, random))
