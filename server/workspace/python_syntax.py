"""What a Python file declares and imports."""

from collections.abc import Iterator
from itertools import islice

from tree_sitter import Node

from server.workspace.source_parts import (
    HEADER_BYTES,
    NOTE_BYTES,
    Declaration,
    Import,
    Source,
    Style,
    dedented,
)

MOST = 2000
"""Statements of a file, or of a class, that are looked at."""

DEEPEST = 3
"""Blocks around a declaration: `if TYPE_CHECKING:`, `try:`, a class."""

DECORATOR_BYTES = 40
"""Longer ones say nothing of how a function is called."""

_BLOCKS = frozenset(
    {
        "if_statement",
        "else_clause",
        "elif_clause",
        "try_statement",
        "except_clause",
        "finally_clause",
        "block",
        "with_statement",
        "ERROR",
        "module",
    }
)
_DEFINITIONS = frozenset({"function_definition", "class_definition"})
_IMPORTS = frozenset({"import_statement", "import_from_statement"})


def read(root: Node, text: bytes) -> Source:
    """What a module declares and imports."""
    statements = list(islice(_statements(root, 0), MOST))
    declared = [
        found for one in statements if (found := _declaration(one, text, depth=0)) is not None
    ]
    needing = (inner for one in statements for inner in (one, *_inside(one, 0)))
    imports = [found for one in needing for found in _imports(one, text)]
    return Source(tuple(declared), tuple(imports))


def _statements(node: Node, depth: int) -> Iterator[Node]:
    """The statements of a block, and of those blocks in it that are run with it."""
    for child in node.named_children:
        if child.type in _BLOCKS:
            if depth < 2 * DEEPEST:  # a statement and its block
                yield from _statements(child, depth + 1)
        else:
            yield child


def _inside(node: Node, depth: int) -> Iterator[Node]:
    """What is imported in functions and methods: the statements that do so."""
    defined = node.child_by_field_name("definition") or node
    body = defined.child_by_field_name("body") if defined.type in _DEFINITIONS else None
    for child in body.named_children if body is not None and depth < DEEPEST else ():
        if child.type in _IMPORTS:
            yield child
        else:
            yield from _inside(child, depth + 1)


def _declaration(node: Node, text: bytes, depth: int) -> Declaration | None:
    defined = (
        node.child_by_field_name("definition") if node.type == "decorated_definition" else node
    )
    if defined is None:
        return None
    if defined.type in _DEFINITIONS:
        return _definition(node, defined, text, depth)
    if defined.type == "expression_statement" and defined.named_child_count:
        return _assignment(defined, defined.named_children[0], text)
    return None


def _definition(node: Node, defined: Node, text: bytes, depth: int) -> Declaration | None:
    name, body = (defined.child_by_field_name(field) for field in ("name", "body"))
    if name is None or body is None or body.start_byte - defined.start_byte > HEADER_BYTES:
        return None
    column = node.start_point.column
    marks = [
        text[mark.start_byte : mark.end_byte] + b"\n"
        for mark in node.named_children
        if mark.type == "decorator" and mark.end_byte - mark.start_byte <= DECORATOR_BYTES
    ]
    colons = [child.end_byte for child in defined.children if child.type == ":"]
    head = text[defined.start_byte : colons[-1] if colons else body.start_byte].rstrip()
    members: list[Declaration] = []
    if defined.type == "class_definition" and depth < DEEPEST:
        inner = islice(_statements(body, 0), MOST)
        members = [m for one in inner if (m := _declaration(one, text, depth + 1)) is not None]
    label = _text(name, text)
    return Declaration(
        label,
        b"".join(marks) + dedented(head, column),
        node.start_byte,
        node.end_byte,
        Style.PYTHON,
        _note(body, text),
        tuple(members),
        private=label.startswith("_") and label != "__init__",
    )


def _note(body: Node, text: bytes) -> bytes:
    """The first line of a docstring."""
    first = body.named_children[0] if body.named_child_count else None
    if first is None or first.type != "expression_statement" or not first.named_child_count:
        return b""
    string = first.named_children[0]
    if string.type != "string":
        return b""
    content = b"".join(
        text[part.start_byte : part.end_byte]
        for part in string.named_children
        if part.type == "string_content"
    )
    return content.strip().split(b"\n")[0].rstrip(b"\\")[:NOTE_BYTES].strip()


def _assignment(statement: Node, node: Node, text: bytes) -> Declaration | None:
    """A name that is given a value or a type; a long value is left out."""
    name = node.child_by_field_name("left") if node.type == "assignment" else None
    if name is None or name.type != "identifier":
        return None
    whole = text[node.start_byte : node.end_byte]
    if b"\n" in whole or len(whole) > NOTE_BYTES:
        kind = node.child_by_field_name("type")
        whole = text[node.start_byte : (kind or name).end_byte] + b" = ..."
    label = _text(name, text)
    if b"\n" in whole or (label.startswith("__") and label.endswith("__")):
        return None
    return Declaration(
        label,
        whole,
        statement.start_byte,
        statement.end_byte,
        Style.WHOLE,
        private=label.startswith("_"),
    )


def _imports(node: Node, text: bytes) -> Iterator[Import]:
    taken = [_imported(one, text) for one in node.children_by_field_name("name")]
    place = (node.start_byte, node.end_byte)
    if node.type == "import_statement":
        for name, alias in taken:
            yield Import(name, (), alias, *place)
    elif node.type == "import_from_statement":
        module = node.child_by_field_name("module_name")
        if module is None:
            return
        is_all = any(child.type == "wildcard_import" for child in node.named_children)
        names = ("*",) if is_all else tuple(name for name, _ in taken)
        if names:
            yield Import(_text(module, text).replace(" ", ""), names, "", *place)


def _imported(node: Node, text: bytes) -> tuple[str, str]:
    """What is imported, and what it is called here."""
    name, alias = (node.child_by_field_name(field) for field in ("name", "alias"))
    shown = _text(name or node, text)
    return shown, _text(alias, text) if alias is not None else shown


def _text(node: Node, text: bytes) -> str:
    return text[node.start_byte : node.end_byte].decode(errors="replace")
