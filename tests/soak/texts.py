"""Real text to type, and places in it as an editor counts them.

Texts are Python strings without surrogates, places indices of them; no place lies between a CR and
its LF.
"""

import random
import re
from functools import cache
from pathlib import Path
from typing import Any

from tests.server.command import REPOSITORY
from tests.server.lsp.editors import Editor

LANGUAGES = {
    ".py": "python",
    ".ts": "typescript",
    ".mjs": "javascript",
    ".json": "json",
    ".lua": "lua",
    ".md": "markdown",
    ".toml": "toml",
    ".css": "css",
    ".el": "emacs-lisp",
    ".yaml": "yaml",
}
LARGEST = 200_000
"""Characters of a document; larger ones have tests of their own."""

_LINE_END = re.compile("\r\n|\n|\r")
_UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
_LEFT_OUT = {".venv", ".venv-vulkan", "node_modules", "out", "build", "dist", "results"}


@cache
def files() -> tuple[Path, ...]:
    """The texts of this repository, by language and name."""
    found = [
        path
        for folder in ("server", "healing", "editors", "docs", "tests")
        for path in sorted((REPOSITORY / folder).rglob("*"))
        if path.suffix in LANGUAGES and _LEFT_OUT.isdisjoint(path.parts) and path.is_file()
    ]
    return tuple(path for path in found if 0 < path.stat().st_size <= LARGEST)


def suffixes() -> list[str]:
    """One for each language, in order."""
    return sorted({path.suffix for path in files()})


def some_text(draw: random.Random, suffix: str | None = None) -> tuple[str, str, str]:
    """A part of a real file: its name, its language and the text, sometimes with other line ends.

    Every language is as probable as any other, if none is named by its suffix.
    """
    suffix = suffix or draw.choice(suffixes())
    path = draw.choice([path for path in files() if path.suffix == suffix])
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    size = draw.choice([1, 20, 60, 200, 5000])
    start = draw.randrange(max(1, len(lines) - size))
    text = "".join(lines[start : start + size])
    if draw.random() < 0.15:
        text = text.replace("\n", "\r\n")
    if draw.random() < 0.15:
        text = text.replace("a", "ä").replace("print", "日本😀")
    return path.name, LANGUAGES[suffix], text


def position(text: str, index: int, editor: Editor) -> tuple[int, int]:
    """Line and character of a place."""
    start = line = 0
    for end in _LINE_END.finditer(text, 0, index):
        start, line = end.end(), line + 1
    codec, size = _UNITS[editor.chosen]
    return line, len(text[start:index].encode(codec)) // size


def index_of(text: str, where: dict[str, Any], editor: Editor) -> int | None:
    """The place of a position that the server gave; None if the text has none exactly there."""
    start = 0
    for _ in range(where["line"]):
        found = _LINE_END.search(text, start)
        if found is None:
            return None
        start = found.end()
    found = _LINE_END.search(text, start)
    codec, size = _UNITS[editor.chosen]
    encoded = text[start : found.start() if found else len(text)].encode(codec)
    wanted = size * where["character"]
    try:
        before = encoded[:wanted].decode(codec)
    except UnicodeDecodeError:  # in the middle of a character
        return None
    return start + len(before) if 0 <= wanted <= len(encoded) else None


def whole(text: str, index: int) -> int:
    """The place, or the one before it if a line's end would be cut in two."""
    index = max(0, min(index, len(text)))
    return index - (text[index - 1 : index + 1] == "\r\n")
