"""The pages that are written from the table of options: documentation and JSON Schema."""

import json
from pathlib import Path

from server.decoding import METHODS
from server.option_pages import as_markdown, json_schema
from server.option_table import OVERRIDABLE, OVERRIDES, TABLE

ROOT = Path(__file__).parents[2]


class TestPages:
    def test_documentation_is_current(self):
        """`docs/options.md` is what `python -m server.option_pages` prints."""
        assert (ROOT / "docs" / "options.md").read_text() == as_markdown()

    def test_schema_is_json(self):
        """Every option is a setting with its full name, default, description and scope."""
        schema = json.loads(json.dumps(json_schema(), allow_nan=False))

        assert set(schema["properties"]) == {f"midtoken.{key}" for key in (*TABLE, OVERRIDES)}
        for name, one in schema["properties"].items():
            assert {"default", "markdownDescription", "scope"} <= set(one), name
            row = TABLE.get(name.removeprefix("midtoken."))
            assert (one["scope"] == "machine") == bool(row and row.user_only)

    def test_schema_limits(self):
        """Limits and choices are those of the table."""
        properties = json_schema()["properties"]

        assert properties["midtoken.completion.topP"]["exclusiveMinimum"] == 0
        assert properties["midtoken.completion.healing"]["enum"] == list(METHODS)
        assert properties["midtoken.engine.threads"]["anyOf"] == [
            {"enum": ["auto"]},
            {"type": "integer", "minimum": 1, "maximum": 1024},
        ]
        assert properties["midtoken.languages.disabled"]["items"]["minLength"] == 1
        overrides = properties["midtoken.languages.overrides"]["additionalProperties"]
        assert set(overrides["properties"]) == {key.partition(".")[0] for key in OVERRIDABLE}
        assert set(overrides["properties"]["grammar"]["properties"]) == {"mode"}
        paths = properties["midtoken.grammar.files"]
        assert paths["additionalProperties"] == {"type": "string", "minLength": 1}
