"""What an editor does with positions, written the slow and obvious way, without the server's code.

Texts are Python strings without surrogates; positions are pairs of line and character.
"""

import re

from tests.server.lsp.editors import Editor

_UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
_LINE_END = re.compile("\r\n|\n|\r")


def units(text: str, editor: Editor) -> int:
    """The length of a text in the characters that an editor counts."""
    codec, size = _UNITS[editor.chosen]
    return len(text.encode(codec)) // size


def lines(text: str) -> list[str]:
    """The lines of a text without their ends; at least one."""
    return _LINE_END.split(text)


def position(text: str, index: int, editor: Editor) -> tuple[int, int]:
    """The position of an index, which does not lie between a CR and its LF."""
    before = lines(text[:index])
    return len(before) - 1, units(before[-1], editor)


def index(text: str, where: dict[str, int], editor: Editor) -> int:
    """The index of a position that the server gave; it must exist exactly."""
    for found in range(len(text) + 1):
        between = text[found - 1 : found] == "\r" and text[found : found + 1] == "\n"
        if not between and position(text, found, editor) == (where["line"], where["character"]):
            return found
    raise AssertionError(f"{where} is no position in {text!r}")


def applied(text: str, edit: dict, new: str, editor: Editor) -> str:
    """The text after a range of it was replaced."""
    start, end = (index(text, edit[side], editor) for side in ("start", "end"))
    assert start <= end
    return text[:start] + new + text[end:]
