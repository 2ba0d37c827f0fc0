"""The table of options as pages for others: a JSON Schema, and documentation in Markdown.

`python -m server.option_pages` prints the documentation page, with `--schema` the schema.
"""

import json
import sys
from dataclasses import fields
from typing import Any

from server.option_layers import WORKSPACE_FILES
from server.option_table import OVERRIDABLE, OVERRIDES, TABLE, Option
from server.options import Options

_OVERRIDES_TEXT = (
    "Other values for some languages, by the language's identifier: any option of "
    f"{', '.join(f'`{name}`' for name in sorted(OVERRIDABLE))}."
)

_INTRODUCTION = """\
# Options

<!-- Written by `python -m server.option_pages`; change server/options.py instead. -->

Settings come from four places. Later ones win, and what none of them sets has its default:

1. `{own}` in the workspace, or the table `[tool.midtoken]` of its `{project}`; a workspace of
   several folders has those of the first one that it was opened with;
2. `initializationOptions`, which the editor sends when it starts the server;
3. `workspace/configuration`, section `midtoken`, which the server asks for;
4. `workspace/didChangeConfiguration`, which the editor sends when they change.

Your own settings therefore win over a project's. Names are written nested or dotted, with or
without `midtoken` in front; `null` means that an option is not set. A wrong value is reported with
its name and what is allowed, and the value below it stays; so is an unknown name, with the closest
one that is known. The command line reads none of these: `midtoken complete` has flags of its own.

```toml
# {own}
[completion]
maxTokensBlock = 128

[languages]
disabled = ["plaintext"]

[languages.overrides.yaml.completion]
multiline = "never"
```

Options marked **user** say what runs on your machine, where it comes from, or which of its files
are used. A workspace's file can't set them.
"""


def json_schema() -> dict[str, Any]:
    """The options as VS Code wants them in `contributes.configuration`: flat, full names.

    It is a JSON Schema of a settings file as well (`scope` and `markdownDescription` are VS Code's
    own). The caller may change it.
    """
    properties: dict[str, Any] = {f"midtoken.{key}": _property(row) for key, row in TABLE.items()}
    properties[f"midtoken.{OVERRIDES}"] = {
        "type": "object",
        "default": {},
        "markdownDescription": _OVERRIDES_TEXT,
        "scope": "resource",
        "additionalProperties": {
            "type": "object",
            "properties": {section: _section(section) for section in _overridable_sections()},
            "additionalProperties": False,
        },
    }
    return {"type": "object", "title": "midtoken", "properties": properties}


def _property(row: Option) -> dict[str, Any]:
    default = list(row.default) if isinstance(row.default, tuple) else row.default
    # What a machine runs is not synchronised between machines and not taken from a folder.
    scope = "machine" if row.user_only else "resource"
    about = {"default": default, "markdownDescription": row.about.text, "scope": scope}
    return {**_values(row), **about}


def _overridable_sections() -> list[str]:
    """Sections of which an override may hold at least one option."""
    return sorted({row.section for row in TABLE.values() if row.overridable})


def _section(section: str) -> dict[str, Any]:
    """A section of an override: its options without defaults, which are the user's others."""
    rows = [row for row in TABLE.values() if row.section == section and row.overridable]
    return {
        "type": "object",
        "properties": {
            row.key.partition(".")[2]: {**_values(row), "markdownDescription": row.about.text}
            for row in rows
        },
        "additionalProperties": False,
    }


def _values(row: Option) -> dict[str, Any]:
    """Which values are valid, as a schema."""
    if row.kind is None:
        return {"type": "string", "enum": list(row.words)}
    plain: dict[str, Any] = {"type": row.kind}
    limits = {
        "minimum": row.about.low,
        "exclusiveMinimum": row.about.above,
        "maximum": row.about.high,
    }
    numeric = {name: limit for name, limit in limits.items() if limit is not None}
    if row.kind in {"integer", "number"}:
        plain |= numeric
    elif row.kind == "numbers":
        plain = {"type": "array", "items": {"type": "number", **numeric}}
    elif row.kind in {"string", "strings", "patterns"}:
        text = {"type": "string"} | ({"minLength": row.about.low} if row.about.low else {})
        plain = text if row.kind == "string" else {"type": "array", "items": text}
    elif row.kind == "paths":
        plain = {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}}
    return {"anyOf": [{"enum": list(row.words)}, plain]} if row.words else plain


def as_markdown() -> str:
    """The documentation page `docs/options.md`."""
    parts = [_INTRODUCTION.format(own=WORKSPACE_FILES[0], project=WORKSPACE_FILES[1])]
    for section in fields(Options):
        values = getattr(Options(), section.name)
        parts.append(f"## {section.name}\n")
        parts.append(f"{(type(values).__doc__ or '').strip()}\n")
        rows = ["| option | values | default | meaning |", "| --- | --- | --- | --- |"]
        rows += [_row(row) for row in TABLE.values() if row.section == section.name]
        if OVERRIDES.startswith(f"{section.name}."):
            rows.append(f"| `midtoken.{OVERRIDES}` | an object | `{{}}` | {_OVERRIDES_TEXT} |")
        parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


def _row(row: Option) -> str:
    default = list(row.default) if isinstance(row.default, tuple) else row.default
    note = " **user**" if row.user_only else ""
    return (
        f"| `midtoken.{row.key}`{note} | {row.allowed} | `{json.dumps(default)}` "
        f"| {row.about.text} |"
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--schema"]:
        sys.stdout.write(json.dumps(json_schema(), indent=2) + "\n")
    else:
        sys.stdout.write(as_markdown())
