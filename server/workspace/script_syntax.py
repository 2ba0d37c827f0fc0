"""What a JavaScript or TypeScript file declares and imports."""

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
    shortened,
)

MOST = 2000
"""Statements of a file, or members of a class, that are looked at."""

_FUNCTIONS = frozenset(
    {
        "function_declaration",
        "generator_function_declaration",
        "function_signature",
    }
)
_CLASSES = frozenset(
    {
        "class_declaration",
        "abstract_class_declaration",
        "class",
    }
)
_TYPES = frozenset(
    {
        "interface_declaration",
        "type_alias_declaration",
        "enum_declaration",
    }
)
_VARIABLES = frozenset(
    {
        "lexical_declaration",
        "variable_declaration",
    }
)
_METHODS = frozenset(
    {
        "method_definition",
        "method_signature",
        "abstract_method_signature",
    }
)
_FIELDS = frozenset(
    {
        "public_field_definition",
        "field_definition",
    }
)
_BODIES = frozenset(
    {
        "arrow_function",
        "function_expression",
        "function",
        "generator_function",
    }
)


def read(root: Node, text: bytes) -> Source:
    """What a module declares and imports."""
    declared: list[Declaration] = []
    imports: list[Import] = []
    for statement in islice(_statements(root), MOST):
        declared += _declarations(statement, text)
        imports += _imports(statement, text)
    return Source(tuple(declared), tuple(imports))


def _statements(root: Node) -> Iterator[Node]:
    for child in root.named_children:
        if child.type == "ERROR":
            yield from child.named_children
        else:
            yield child


def _declarations(statement: Node, text: bytes) -> Iterator[Declaration]:
    node: Node | None = statement
    is_default = False
    if statement.type == "export_statement":
        is_default = any(child.type == "default" for child in statement.children)
        node = statement.child_by_field_name("declaration") or statement.child_by_field_name(
            "value"
        )
    if node is not None and node.type == "ambient_declaration":
        node = node.named_children[0] if node.named_child_count else None
    if node is None:
        return
    if node.type in _FUNCTIONS or node.type in _CLASSES or node.type in _BODIES:
        found = _bodied(statement, node, node, text, "default" if is_default else "")
        if found is not None:
            yield found
    elif node.type in _TYPES:
        name = node.child_by_field_name("name")
        whole = shortened(text[statement.start_byte : statement.end_byte])
        yield _whole(statement, _text(name, text), whole)
    elif node.type in _VARIABLES:
        for one in node.named_children:
            if one.type == "variable_declarator" and _required(one, text) is None:
                found = _variable(statement, one, text)
                if found is not None:
                    yield found


def _bodied(
    outer: Node, node: Node, inner: Node, text: bytes, name: str = ""
) -> Declaration | None:
    """A function or a class.

    Args:
        outer: The statement.
        node: What has the name.
        inner: What has the body.
        text: The file.
        name: Overrides the name.
    """
    body = inner.child_by_field_name("body")
    header = _written(outer, node, node.end_byte if body is None else body.start_byte, text)
    if len(header) > HEADER_BYTES:
        return None
    label = name or _text(node.child_by_field_name("name"), text)
    members: list[Declaration] = []
    if body is not None and body.type == "class_body":
        for one in islice(body.named_children, MOST):
            found = _member(one, text)
            if found is not None:
                members.append(found)
    header = header.removesuffix(b"=>").rstrip().removesuffix(b";")
    style = Style.BRACES if members else Style.WHOLE
    return Declaration(label, header, outer.start_byte, outer.end_byte, style, b"", tuple(members))


def _written(outer: Node, node: Node, end: int, text: bytes) -> bytes:
    """A part of a statement up to some place, as if it were the only one: `const b = 2`."""
    first = node
    while node.type == "variable_declarator" and first.prev_named_sibling is not None:
        first = first.prev_named_sibling
    shown = text[outer.start_byte : first.start_byte] + text[node.start_byte : end]
    return dedented(shown.rstrip(), outer.start_point.column)


def _member(node: Node, text: bytes) -> Declaration | None:
    found = None
    if node.type in _METHODS:
        found = _bodied(node, node, node, text)
    elif node.type in _FIELDS:
        found = _single(node, node, text)
    if found is None:
        return None
    marks = [child for child in node.children if child.type == "accessibility_modifier"]
    hidden = any(text[mark.start_byte : mark.end_byte] != b"public" for mark in marks)
    private = hidden or found.name.startswith(("#", "_"))
    return Declaration(
        found.name, found.header, found.start, found.end, found.style, private=private
    )


def _variable(statement: Node, node: Node, text: bytes) -> Declaration | None:
    value = node.child_by_field_name("value")
    if value is not None and value.type in _BODIES:
        return _bodied(statement, node, value, text)
    return _single(statement, node, text)


def _single(statement: Node, node: Node, text: bytes) -> Declaration | None:
    """A name with its value, if that is short, else with its type."""
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    if name is None or name.type.endswith("_pattern"):
        return None
    whole = _written(statement, node, node.end_byte, text)
    if b"\n" in whole or len(whole) > NOTE_BYTES:
        kind = node.child_by_field_name("type")
        whole = _written(statement, node, (kind or name).end_byte, text)
    if b"\n" in whole or len(whole) > HEADER_BYTES:
        return None
    return _whole(statement, _text(name, text), whole)


def _whole(node: Node, name: str, shown: bytes) -> Declaration:
    header = dedented(shown, node.start_point.column)
    return Declaration(name, header, node.start_byte, node.end_byte, Style.WHOLE)


def _imports(node: Node, text: bytes) -> Iterator[Import]:
    """`import`, `export ... from` and `const ... = require(...)`."""
    place = (node.start_byte, node.end_byte)
    source = node.child_by_field_name("source")
    if node.type in {"import_statement", "export_statement"} and source is not None:
        yield from _clauses(node, text, _string(source, text), place)
    elif node.type in _VARIABLES:
        for one in node.named_children:
            module, name = _required(one, text), one.child_by_field_name("name")
            if module is None or name is None:
                continue
            if name.type == "identifier":
                yield Import(module, (), _text(name, text), *place)
            else:
                taken = tuple(_first(part, "key", text) for part in name.named_children)
                yield Import(module, taken, "", *place)


def _required(node: Node, text: bytes) -> str | None:
    """The module of `name = require("module")`."""
    value = node.child_by_field_name("value")
    if value is None or value.type != "call_expression":
        return None
    passed = value.child_by_field_name("arguments")
    is_require = _text(value.child_by_field_name("function"), text) == "require"
    if not is_require or passed is None or not passed.named_child_count:
        return None
    return _string(passed.named_children[0], text)


def _clauses(node: Node, text: bytes, module: str, place: tuple[int, int]) -> Iterator[Import]:
    names: list[str] = []
    for clause in node.named_children:
        parts = clause.named_children if clause.type == "import_clause" else [clause]
        for part in parts:
            if part.type == "identifier":
                names.append("default")
            elif part.type in {"named_imports", "export_clause"}:
                names += [_first(one, "name", text) for one in part.named_children]
            elif part.type == "namespace_import" and part.named_child_count:
                yield Import(module, (), _text(part.named_children[0], text), *place)
    if node.type == "export_statement" and any(child.type == "*" for child in node.children):
        names.append("*")
    if names:
        yield Import(module, tuple(names), "", *place)


def _first(node: Node, field: str, text: bytes) -> str:
    return _text(node.child_by_field_name(field) or node, text)


def _string(node: Node, text: bytes) -> str:
    return _text(node, text).strip("'\"`")


def _text(node: Node | None, text: bytes) -> str:
    return text[node.start_byte : node.end_byte].decode(errors="replace") if node else ""
