r"""YAML's window: the lines that the cursor's line hangs on, without their earlier siblings.

    >>> yaml_window(b"a: 1\nb:\n  c: 2\n  d:\n    - e: 3\n    - f: 4\n      g: ")
    b'b:\n  d:\n    - f: 4\n      g: '

Lines of scalars and brackets over several lines are taken for what their indentation says, which is
right as they stand deeper than what they belong to. Where they do not, the window mostly does not
fit the grammar, and the next rung reads the whole text.
"""

import re

_LINE = re.compile(rb"( *)([^ \t\n#])?")
_ITEM = re.compile(rb"-(?:[ \t]|$)")
_DOCUMENT = re.compile(rb"(?:---|\.\.\.)(?:\s|$)")


def yaml_window(before: bytes) -> bytes:
    r"""The lines above the cursor that each stand less deep than the next one below, and its own.

    On an empty line every column of the last line is open, so that one comes with its own lines.

    Args:
        before: The text before the cursor, with `\n` line ends.
    """
    start = before.rfind(b"\n") + 1
    kept = [before[start:]]
    depth, is_item = _depth(kept[0])
    while start > 0 and (depth != 0 or is_item):
        end = start - 1
        start = before.rfind(b"\n", 0, end) + 1
        line = before[start:end]
        if _DOCUMENT.match(line):
            kept.append(line)
            break
        found, item = _depth(line)
        if found is None:
            continue
        # Items may stand in the column of the key that they belong to.
        if depth is None or found < depth or (is_item and found == depth and not item):
            kept.append(line)
            depth, is_item = found, item
    return b"\n".join(reversed(kept))


def _depth(line: bytes) -> tuple[int | None, bool]:
    """A line's column, None for an empty line or a comment; and whether it is an item (`- `).

    A closing bracket belongs to a line that may stand in the same column.
    """
    match = _LINE.match(line)
    assert match is not None
    if match[2] is None:
        return None, False
    column = len(match[1])
    if match[2] in b"]}":
        return column + 1, False
    return column, _ITEM.match(line, column) is not None
