"""JSON Schemas: what they allow is accepted, in any order; what is understood is enforced."""

import json
from itertools import permutations
from pathlib import Path

import pytest

from server.grammar.json_schema import compile_schema
from server.grammar.state import compile_grammar
from tests.server.grammar.corpora import fetch_debian, fetch_npm
from tests.server.grammar.json_documents import accepted_part, fits, template

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"

PACKAGE = {
    "$schema": DRAFT_7,
    "type": "object",
    "required": ["name", "version"],
    "properties": {
        "name": {"type": "string", "pattern": r"^(?:@[a-z0-9-*~][a-z0-9-*._~]*/)?[a-z0-9-._~]+$"},
        "version": {"type": "string"},
        "private": {"anyOf": [{"type": "boolean"}, {"enum": ["false", "true"]}]},
        "type": {"enum": ["commonjs", "module"]},
        "license": {"anyOf": [{"type": "string"}, {"enum": ["MIT", "Apache-2.0"]}]},
        "files": {"type": "array", "items": {"type": "string"}},
        "bin": {"type": ["string", "object"], "additionalProperties": {"type": "string"}},
        "scripts": {"allOf": [{"$ref": "#/definitions/strings"}]},
        "dependencies": {"$ref": "#/definitions/strings"},
        "author": {"$ref": "#/definitions/person"},
        "contributors": {"type": "array", "items": {"$ref": "#/definitions/person"}},
        "exports": {"$ref": "#/definitions/entry"},
    },
    "definitions": {
        "strings": {"type": "object", "additionalProperties": {"type": "string"}},
        "person": {
            "type": ["object", "string"],
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "email": {"format": "email"}},
        },
        "entry": {
            "oneOf": [
                {"type": ["string", "null"]},
                {
                    "type": "object",
                    "properties": {"import": {"$ref": "#/definitions/entry"}},
                    "patternProperties": {"^\\..*$": {"$ref": "#/definitions/entry"}},
                    "additionalProperties": False,
                },
                {"type": "array", "items": {"$ref": "#/definitions/entry"}},
            ]
        },
    },
}


class TestPackage:
    """A schema like the one of `package.json`."""

    def test_a_real_package_is_accepted(self):
        package = Path(__file__).parents[3] / "editors" / "vscode" / "package.json"
        text = package.read_bytes()

        assert fits(template(PACKAGE), text)

    @pytest.mark.parametrize(
        ("text", "accepted"),
        [
            ('{"type": "es"}', '{"type": "'),
            ('{"name": "A"}', '{"name": "'),
            ('{"private": 1}', '{"private": '),
            ('{"name": "a", "name": "b"}', '{"name": "a", "name'),
            ('{"name": "a"}', '{"name": "a"'),
            ('{"scripts": {"a": 1}}', '{"scripts": {"a": '),
            ('{"author": {"email": "x"}}', '{"author": {"email": "x"'),
            ('{"exports": {"./a": {"import": 1}}}', '{"exports": {"./a": {"import": '),
            ('{"exports": {"import": [{"x": null}]}}', '{"exports": {"import": [{"'),
            ('{"files": [1]}', '{"files": ['),
        ],
    )
    def test_what_it_forbids_is_not(self, text, accepted):
        assert accepted_part(PACKAGE, text) == accepted

    def test_it_may_have_comments(self):
        text = b'// x\n{"version": "1", /* y */ "name": "b",}\n'

        assert fits(template(PACKAGE, comments=True), text)
        assert not fits(template(PACKAGE), text)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, ["1", "-10", "1.0", "1e3"], ["1.5", '"1"', "null"]),
        ({"type": "number"}, ["1", "1.5", "-1e-3"], ["true"]),
        ({"type": ["null", "boolean"]}, ["null", "true", "false"], ["0", "[]"]),
        ({"minimum": 0}, ["0", "1.5", '"x"', "-0"], ["-1"]),
        ({"type": "integer", "exclusiveMinimum": 1}, ["2"], ["-2", "1.5"]),
        ({"enum": ["a", 1, None, [2]]}, ['"a"', "1", "1.00", "null", "[ 2]"], ['"b"', "2", "[1]"]),
        ({"const": {"a": 1, "b": "x"}}, ['{"b":"x","a":1}'], ['{"a":1}', '{"a":2}', "{}"]),
        ({"enum": [True, 0]}, ["true", "0", "-0.0"], ["1", "false"]),
        ({"enum": [1e21, 2.5e-9]}, ["1e+21", "1E21", "2.5e-09"], ["1e22", "2.5e9"]),
        ({"enum": ["a", 1], "type": "string"}, ['"a"'], ["1"]),
        ({"enum": ["a", "b"], "const": "b"}, ['"b"'], ['"a"']),
        ({"minLength": 2, "maxLength": 3}, ['"ab"', '"äöü"', r'"\n\ud83d\ude00"', "1"], ['"a"']),
        ({"maxLength": 1}, ['"😀"', r'"\ud83d\ude00"', r'"\u0041"'], ['"ab"', r'"\n\n"']),
        ({"pattern": "^a|b$"}, ['"ax"', '"xb"', r'"\u0061"'], ['"xx"']),
        ({"pattern": r"^\d+-\w$"}, ['"12-a"'], ['"12"', '"1-ä"']),
        ({"pattern": "(?=x)y"}, ['"z"'], []),
        ({"format": "date", "type": "string"}, ['"2026-11-29"'], ['"2026-13-29"', '"today"']),
        ({"format": "uri"}, ['"x"', "1"], []),
        ({"items": {"type": "null"}}, ["[]", "[null, null]", "{}"], ["[1]"]),
        ({"items": [{"const": 1}], "additionalItems": False}, ["[]", "[1]"], ["[2]", "[1,1]"]),
        ({"prefixItems": [{"const": 1}], "items": {"const": 2}}, ["[1,2,2]"], ["[1,1]"]),
        ({"minItems": 1, "maxItems": 2}, ["[1]", "[1,2]"], ["[]", "[1,2,3]"]),
        ({"minItems": 2}, ["[1,2,3,4]"], ["[1]"]),
        ({"required": ["a"]}, ['{"b":1,"a":2}', "[]"], ["{}", '{"b":1}']),
        ({"properties": {"a": False}}, ['{"b":1}'], ['{"a":1}']),
        ({"additionalProperties": {"type": "null"}}, ['{"a":null}'], ['{"a":1}']),
        (
            {"patternProperties": {"^a": {"const": 1}, "b$": True}, "additionalProperties": False},
            ['{"ax":1}', '{"xb":2}', r'{"\u0061":1}'],
            ['{"x":1}', '{"ax":2}'],
        ),
        (
            {"allOf": [{"required": ["a"]}, {"properties": {"a": {"const": 1}}}]},
            ['{"a":1}'],
            ["{}", '{"a":2}'],
        ),
        ({"allOf": [{"type": ["null", "string"]}, {"type": ["null", "array"]}]}, ["null"], ['"a"']),
        ({"oneOf": [{"const": 1}, {"const": "a"}]}, ["1", '"a"'], ["2"]),
        ({"required": ["a"], "anyOf": [{"required": ["b"]}, {"required": ["c"]}]},
         ['{"a":1,"b":1}', '{"c":1,"a":1}'], ['{"a":1}', '{"b":1}']),
        ({"if": {"const": 1}, "then": {"const": 1}, "else": {"const": 2}}, ["1", "2"], ["3"]),
        ({"not": {"type": "null"}, "uniqueItems": True}, ["1", "null"], []),
    ],
)  # fmt: skip
def test_keywords(schema, good, bad):
    compiled = template(schema)

    assert [text for text in good if not fits(compiled, text.encode())] == []
    assert [text for text in bad if fits(compiled, text.encode())] == []


def test_masks_are_exact():
    """Without `no_forcing`, the engine allows one spelling only of what a schema forces."""
    assert '"no_forcing": true' in compile_schema("x", b'{"required": ["a"]}').lark


def test_objects_side_by_side_keep_their_own_count():
    """The engine once forgot parameters where rules ended together; here two run side by side."""
    schema = {
        "anyOf": [
            {"required": ["a", "b"], "properties": {"a": {"const": 1}, "b": {}}},
            {"required": ["c"], "properties": {"a": {}, "b": {}, "c": {}}},
        ],
        "type": "object",
    }
    compiled = template({"items": schema})
    for size in range(4):
        for names in permutations("abc", size):
            for value in (1, 2):
                known = set(names)
                valid = ({"a", "b"} <= known and value == 1) or "c" in known
                text = json.dumps([dict.fromkeys(names, value)]).encode()
                assert fits(compiled, text) == valid, text


def test_a_comma_needs_something_that_can_follow():
    closed = {"properties": {"a": True, "b": True}, "additionalProperties": False}

    assert accepted_part({"items": closed}, '[{"b": 1, "a": 2, ') == '[{"b": 1, "a": 2'


def test_a_document_may_always_name_its_schema():
    closed = {"additionalProperties": False, "properties": {"a": {"$ref": "#"}}}

    assert fits(template(closed), b'{"$schema": "./x.json", "a": {}}')
    assert not fits(template(closed), b'{"a": {"$schema": "./x.json"}}')


class TestReferences:
    def test_recursion(self):
        tree = {
            "type": "object",
            "required": ["value"],
            "properties": {"value": {"type": "integer"}, "next": {"$ref": "#"}},
            "additionalProperties": False,
        }
        deep = b'{"next": ' * 40 + b'{"value": 1}' + b', "value": 2}' * 40

        assert fits(template(tree), deep)
        assert not fits(template(tree), deep.replace(b"1}", b"null}"))
        assert accepted_part(tree, '{"next": {}}') == '{"next": {'

    @pytest.mark.parametrize(
        "schema",
        [
            {"$ref": "#"},
            {"allOf": [{"$ref": "#"}]},
            {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
            {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
            },
        ],
    )
    def test_a_reference_to_itself_says_nothing(self, schema):
        assert fits(template(schema), b"[1]")

    @pytest.mark.parametrize(
        "reference",
        [
            "https://json.schemastore.org/x.json",
            "other.json#/a",
            "#/nowhere",
            "#/type",
            "http://[",
            1,
        ],
    )
    def test_what_is_elsewhere_may_be_anything(self, reference):
        schema = {"properties": {"a": {"$ref": reference}, "b": {"const": 1}}, "type": "object"}

        assert fits(template(schema), b'{"a": [1], "b": 1}')
        assert not fits(template(schema), b'{"b": 2}')

    def test_names_and_anchors(self):
        schema = {
            "$schema": DRAFT_2020,
            "$id": "http://x/root.json",
            "items": {
                "anyOf": [
                    {"$ref": "#one"},
                    {"$ref": "inner.json"},
                    {"$ref": "root.json#/$defs/a~1%20b"},
                ]
            },
            "$defs": {
                "a": {"$anchor": "one", "const": 1},
                "b": {"$id": "inner.json", "$ref": "#/$defs/c", "$defs": {"c": {"const": 2}}},
                "a/ b": {"const": 3},
            },
        }

        assert fits(template(schema), b"[1, 2, 3]")
        assert not fits(template(schema), b"[4]")

    def test_what_stands_beside_a_reference_counts_since_2019(self):
        schema = {"$ref": "#/$defs/a", "const": 1, "$defs": {"a": {"type": "integer"}}}

        assert fits(template({"$schema": DRAFT_7, **schema}), b"2")
        assert not fits(template({"$schema": DRAFT_2020, **schema}), b"2")

    def test_prefix_items_are_none_in_old_versions(self):
        schema = {"prefixItems": [{"const": 1}]}

        assert fits(template({"$schema": DRAFT_7, **schema}), b"[2]")
        assert not fits(template({"$schema": DRAFT_2020, **schema}), b"[2]")


@pytest.mark.corpus
def test_the_suite_of_json_schema(report):
    """What the standard's own tests (draft 4) call valid is accepted."""
    folder = fetch_npm("json-schema-test-suite", "0.0.10") / "package" / "tests" / "draft4"
    refused, valid, wrong, caught = [], 0, 0, 0
    for path in sorted(folder.rglob("*.json")):
        for group in json.loads(path.read_bytes()):
            old = {"$schema": "http://json-schema.org/draft-04/schema#", **group["schema"]}
            compiled = template(old)
            for case in group["tests"]:
                accepted = fits(compiled, json.dumps(case["data"]).encode())
                valid += case["valid"]
                wrong += not case["valid"]
                caught += not case["valid"] and not accepted
                if case["valid"] and not accepted:
                    refused.append((path.name, group["description"], case["description"]))
    report(
        f"json with a schema: {valid - len(refused)} of {valid} valid documents accepted, "
        f"{caught} of {wrong} others refused"
    )

    assert refused == []
    assert valid > 100


@pytest.mark.corpus
def test_a_large_schema_and_its_example():
    folder = fetch_debian("cmake-data") / "usr" / "share"
    schema = next(folder.rglob("presets/schema.json")).read_bytes()
    example = next(folder.rglob("presets/example.json")).read_bytes()
    compiled = compile_grammar("x", compile_schema("presets", schema).lark)

    assert fits(compiled, example)
