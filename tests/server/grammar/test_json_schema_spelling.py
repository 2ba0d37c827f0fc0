"""Strings that a schema lists: in all their spellings, or in the plain one."""

import pytest

from tests.server.grammar.json_documents import accepted_part, fits, template


def test_keys_are_known_in_all_their_spellings():
    schema = {"properties": {"a/ä": {"const": 1}}, "required": ["a/ä"]}

    for key in (r"a\/ä", r"\u0061/ä", r"a\u002F\u00e4", r"a\u002f\u00E4"):
        assert fits(template(schema), f'{{"{key}": 1}}'.encode())
        assert not fits(template(schema), f'{{"{key}": 2}}'.encode())
    assert accepted_part(schema, r'{"a/ä": 1, "a\u002f\u00e4"').endswith(r"\u00e4")


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"enum": ["alpha", "n/ä😀"]}, ['"alpha"', '"n/ä😀"'], [r'"\u', r'"a\u', r'"n\/']),
        ({"const": 'a"\\\n\x01'}, [r'"a\"\\\n\u0001"'], [r'"a\u', r'"a\"\u']),
        (
            {"properties": {"a": {"const": 1}}},
            ['{"a": 1, "b": 2}'],
            ['{"a": 2', r'{"\u0061', r'{"\/'],
        ),
        (
            {"properties": {"a\n": {"const": 1}}},
            [r'{"\n": 2}', r'{"a\n": 1}'],
            [r'{"a\n": 2', r'{"a\u000a'],
        ),
        ({"pattern": "^a"}, ['"ab"', r'"a\n\u001F"'], [r'"\u0061', r'"a\u006', r'"a\/']),
        (
            {"patternProperties": {"^a": {"const": 1}}},
            ['{"a": 1}', r'{"\"": 2}'],
            ['{"a": 2', r'{"\u0061', r'{"b\/'],
        ),
        ({"type": "string"}, [r'"\u0061"'], []),
    ],
)
def test_needless_escapes_may_be_refused(schema, good, bad):
    """In names and listed values; those of free text are the writer's own."""
    compiled = template(schema, escapes=False)

    assert [text for text in good if not fits(compiled, text.encode())] == []
    assert [text for text in bad if compiled.state().check(text.encode())] == []
