"""What a Go file declares and imports."""

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
    shortened,
)

MOST = 2000
"""Declarations of a file that are looked at."""


def read(root: Node, text: bytes) -> Source:
    """What a file declares and imports, and its package."""
    declared: list[Declaration] = []
    imports: list[Import] = []
    package = ""
    for node in islice(_statements(root), MOST):
        if node.type == "package_clause" and node.named_child_count:
            package = _text(node.named_children[0], text)
        elif node.type == "import_declaration":
            imports += _imports(node, text)
        else:
            declared += _declarations(node, text)
    return Source(tuple(declared), tuple(imports), package)


def _statements(root: Node) -> Iterator[Node]:
    for child in root.named_children:
        if child.type == "ERROR":
            yield from child.named_children
        else:
            yield child


def _declarations(node: Node, text: bytes) -> Iterator[Declaration]:
    if node.type in {"function_declaration", "method_declaration"}:
        body, name = (node.child_by_field_name(field) for field in ("body", "name"))
        end = node.end_byte if body is None else body.start_byte
        if name is not None and end - node.start_byte <= HEADER_BYTES:
            header = text[node.start_byte : end].rstrip()
            yield _declared(node, _text(name, text), header, _owner(node, text))
    elif node.type == "type_declaration":
        for one in _specs(node, {"type_spec", "type_alias"}):
            yield _declared(node, _name(one, text), shortened(b"type " + _slice(one, text)))
    elif node.type in {"const_declaration", "var_declaration"}:
        word = node.type.partition("_")[0].encode()
        for one in _specs(node, {"const_spec", "var_spec"}):
            whole = word + b" " + _slice(one, text)
            if b"\n" not in whole and len(whole) <= NOTE_BYTES:
                yield _declared(node, _name(one, text), whole)


def _specs(node: Node, kinds: set[str]) -> Iterator[Node]:
    """The single declarations of one with or without parentheses."""
    for child in islice(node.named_children, MOST):
        if child.type in kinds:
            yield child
        elif child.type.endswith("_list"):
            yield from (one for one in child.named_children if one.type in kinds)


def _declared(node: Node, name: str, header: bytes, owner: str = "") -> Declaration:
    private = not name[:1].isupper()
    place = (node.start_byte, node.end_byte)
    return Declaration(name, header, *place, Style.WHOLE, private=private, owner=owner)


def _owner(node: Node, text: bytes) -> str:
    """The type that a method belongs to, without its parameters."""
    receiver = node.child_by_field_name("receiver")
    shown = _text(receiver, text).strip("()") if receiver is not None else ""
    return shown.partition("[")[0].split(" ")[-1].lstrip("*")


def _imports(node: Node, text: bytes) -> Iterator[Import]:
    for one in _specs(node, {"import_spec"}):
        path, name = (one.child_by_field_name(field) for field in ("path", "name"))
        if path is not None:
            module = _text(path, text).strip('"`')
            alias = _text(name, text) if name is not None else module.rpartition("/")[2]
            yield Import(module, (), alias, node.start_byte, node.end_byte)


def _name(node: Node, text: bytes) -> str:
    name = node.child_by_field_name("name")
    return _text(name, text) if name is not None else ""


def _slice(node: Node, text: bytes) -> bytes:
    return text[node.start_byte : node.end_byte]


def _text(node: Node, text: bytes) -> str:
    return _slice(node, text).decode(errors="replace")
