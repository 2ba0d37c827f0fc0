"""Writes the server's options into the extension: package.json's settings, and README.md's table.

    python editors/vscode/settings.py           # writes both files
    python editors/vscode/settings.py --check   # exit code 1 if one of them is out of date

The server's table is the source (`server/option_pages.py`). The few settings that only the
extension knows are below.
"""

import json
import sys
from pathlib import Path
from typing import Any

from server.option_pages import json_schema

FOLDER = Path(__file__).parent
BEGIN, END = "<!-- settings, written by settings.py -->\n", "<!-- end of settings -->\n"

OWN: dict[str, dict[str, Any]] = {
    "midtoken.path": {
        "type": "string",
        "default": "",
        "markdownDescription": (
            "The `midtoken` program. Empty: the selected Python environment's, else the one on "
            "`PATH`."
        ),
        "scope": "machine",
    },
    "midtoken.address": {
        "type": "string",
        "default": "",
        "markdownDescription": (
            "`HOST:PORT` of a server that runs already (`midtoken serve --tcp 127.0.0.1:7777`), to "
            "share one model between windows and editors. Empty: a server is started."
        ),
        "scope": "machine",
    },
    "midtoken.shared": {
        "type": "boolean",
        "default": False,
        "markdownDescription": (
            "Share one server and its model with other windows and editors: the first one starts "
            "it, the others find it (`midtoken serve --shared`)."
        ),
        "scope": "machine",
    },
    "midtoken.enable": {
        "type": "boolean",
        "default": True,
        "markdownDescription": (
            "Whether anything is suggested. The menu of the status bar item switches it, for a "
            "workspace or everywhere."
        ),
        "scope": "resource",
    },
    "midtoken.completionList": {
        "type": "boolean",
        "default": False,
        "markdownDescription": "Show suggestions in the completion list, too.",
        "scope": "resource",
    },
}


def settings() -> dict[str, Any]:
    """`contributes.configuration`: our own settings, then the server's."""
    schema = json_schema()
    servers = schema["properties"]
    for one in servers.values():
        # One server for a window: a folder of a workspace of several can't have values of its own.
        one["scope"] = "window" if one["scope"] == "resource" else one["scope"]
        # npm writes 1.0 as 1 whenever it changes package.json.
        one |= {name: int(v) for name, v in one.items() if isinstance(v, float) and v == int(v)}
    return {"title": schema["title"], "properties": {**OWN, **servers}}


def manifest(text: str) -> str:
    """package.json with today's settings; none that runs something is read from a folder."""
    package = json.loads(text)
    package["contributes"]["configuration"] = settings()
    package["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"] = [
        name for name, one in settings()["properties"].items() if one["scope"] == "machine"
    ]
    return json.dumps(package, indent=2, ensure_ascii=False) + "\n"


def page(text: str) -> str:
    """README.md with today's table of settings."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"README.md has no line {BEGIN.strip()} before {END.strip()}: add both")
    rows = ["| setting | default | meaning |", "| --- | --- | --- |"]
    rows += [
        f"| `{name}` | `{json.dumps(one['default'])}` | {one['markdownDescription']} |"
        for name, one in settings()["properties"].items()
    ]
    return before + BEGIN + "\n".join(rows) + "\n" + end + after


def main(arguments: list[str]) -> int:
    """Write the files, or tell which one is out of date."""
    code = 0
    for name, written in (("package.json", manifest), ("README.md", page)):
        path = FOLDER / name
        text = path.read_text(encoding="utf-8")
        if arguments != ["--check"]:
            path.write_text(written(text), encoding="utf-8", newline="\n")
        elif text != written(text):
            print(f"{name} is out of date: run `python editors/vscode/settings.py`")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
