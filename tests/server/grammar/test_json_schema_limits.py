"""JSON Schemas that are large, broken or wrong: what is understood counts, what is not is named."""

import json
from random import Random

import pytest

from server.errors import GrammarError
from server.grammar.json_schema import MOST_NAMES, MOST_WORDS, compile_schema
from server.grammar.schema_nodes import DEPTH, MOST_BYTES
from tests.server.grammar.json_documents import fits, template


class TestSize:
    def test_many_names(self):
        """The first 64 names are unique, of these the required ones first; all are known."""
        names = [f"n{n}" for n in range(70)]
        schema = {
            "properties": {name: {"type": "integer"} for name in names},
            "required": ["n69"],
            "additionalProperties": False,
        }
        document = dict.fromkeys(Random(1).sample(names, 70), 1)

        assert fits(template(schema), json.dumps(document).encode())
        assert not fits(template(schema), b'{"n1": 1}')
        assert not fits(template(schema), b'{"n69": 1, "n69": 1}')
        assert fits(template(schema), b'{"n69": 1, "n68": 1, "n68": 1}')
        assert not fits(template(schema), b'{"n69": 1, "n68": "x"}')
        assert not fits(template(schema), b'{"n69": 1, "n70": 1}')

    def test_hundreds_of_names(self):
        """Names that are too many for ways of their own are known, their values may be anything."""
        names = [f"n{n}" for n in range(2 * MOST_NAMES)]
        schema = {"properties": {name: {"const": name} for name in names}}
        compiled = template(schema)

        assert fits(compiled, json.dumps({name: name for name in names[::9]}).encode())
        assert not fits(compiled, b'{"n1": "n2"}')
        assert fits(compiled, b'{"n500": "n2"}')

    def test_more_words_than_are_compared(self):
        schema = {"enum": [f"w{n}" for n in range(MOST_WORDS + 1)]}

        assert fits(template(schema), b'"x"')
        assert not fits(template(schema), b"1")

    def test_more_choices_than_are_looked_at(self):
        schema = {"allOf": [{"anyOf": [{"const": n} for n in range(20)]} for _ in range(20)]}

        assert fits(template(schema), b"7")
        assert not fits(template(schema), b"77")

    def test_long_arrays(self):
        assert fits(template({"minItems": 1000}), b"[" + b"1," * 1100 + b"1]")
        assert not fits(template({"minItems": 1000}), b"[1]")
        assert fits(template({"items": [{}] * 100}), b"[" + b"1," * 110 + b"1]")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{\n "type": }', "the schema s.json is wrong in line 2: expecting value"),
        (b'{"a"\n:\n"\xff"}', "the schema s.json is wrong in line 3: not UTF-8"),
        (b"[1]", "the schema s.json is wrong: it must be an object, true or false"),
        (b"false", "the schema s.json is wrong: no document is valid"),
        (b'{"allOf": [{"type": "null"}, {"type": "array"}]}', "no document is valid"),
        (b"[" * 100_000, "the schema s.json is nested deeper than 200"),
        (b'{"enum": ' + b"[" * DEPTH + b"1" + b"]" * DEPTH + b"}", "nested deeper than 200"),
        (b'{"a": ' * (DEPTH + 2) + b"1" + b"}" * (DEPTH + 2), "nested deeper than 200"),
        (b"9" * 5000, "the schema s.json can't be read"),
        (b" " * (MOST_BYTES + 1), "the schema s.json is larger than 2 MiB"),
    ],
)
def test_wrong_schemas_are_named(text, reason):
    with pytest.raises(GrammarError) as caught:
        compile_schema("s.json", text)

    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strng"},
        {"type": 1, "required": "a", "properties": [], "items": 1, "enum": "x", "pattern": "("},
        {
            "minLength": -1,
            "maxLength": "1",
            "minItems": True,
            "minimum": "0",
            "anyOf": {},
            "allOf": 1,
        },
        {
            "minLength": 3,
            "maxLength": 1,
            "format": 1,
            "required": [1],
            "patternProperties": {"(": 1},
        },
        {"additionalProperties": None, "properties": {"a": 1}, "prefixItems": {}, "$ref": None},
    ],
)
def test_wrong_keywords_say_nothing(schema):
    compiled = template(schema)

    assert all(fits(compiled, text) for text in (b"1", b'{"a": 1, "b": [2]}', b"[null]", b'"xyz"'))
