"""The nodes of a JSON Schema, and which of them hold for a value together.

A node is an object of the schema, or `true` or `false`. For a value several may hold at once: the
target of a `$ref`, all parts of an `allOf`. Such a *set* is a tuple of nodes' numbers, in order. It
comes apart into *branches*, one for each choice of an `anyOf`, `oneOf` or `if`: tuples of nodes in
which no reference and no choice is left::

    >>> nodes = read_schema("x", b'{"allOf": [{"type": "string"}], "anyOf": [{"minLength": 1}]}')
    >>> [[nodes.of(number) for number in branch] for branch in nodes.branches((nodes.root,))]
    [[..., {'type': 'string'}, {'minLength': 1}]]

Where something is not understood (a remote or dangling reference, `not`, too many choices), it is
left out: a set with fewer nodes allows more, so nothing valid is lost.

What is not here: what nodes say of values (`json_schema`).
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote, urljoin

from server.errors import GrammarError

MOST_BYTES = 2 << 20
"""Larger files are not schemas that are worth the time; Kubernetes' is 1 MB."""

MOST_BRANCHES = 64
"""More choices than these for one value are not looked at."""

DEPTH = 200
"""How deep a schema may be nested."""

NodeSet = tuple[int, ...]
"""Numbers of nodes that hold together, ascending; empty for no constraint."""

_DATA = frozenset({"const", "enum", "default", "examples"})
"""Keywords that hold values and no nodes."""

_SIBLINGS = re.compile(r"2019-09|20[2-9]\d-\d\d")
"""Versions in which what is beside a `$ref` counts; in older ones it does not."""

_NO_PREFIX_ITEMS = re.compile(r"draft-0\d|2019-09")

_OLD_NAMES = re.compile(r"draft-0[0-4]")
"""Versions that say `id` for `$id`."""


def read_schema(name: str, text: bytes) -> "Nodes":
    """Read a schema from a file's bytes.

    Raises:
        GrammarError: It is no schema, or too large; says in which line and why.
    """
    if len(text) > MOST_BYTES:
        raise GrammarError(f"the schema {name} is larger than {MOST_BYTES >> 20} MiB")
    try:
        root = json.loads(text)
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise GrammarError(f"the schema {name} is wrong in line {line}: not UTF-8") from error
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:]
        raise GrammarError(
            f"the schema {name} is wrong in line {error.lineno}: {reason}"
        ) from error
    except RecursionError as error:
        raise _too_deep(name) from error
    except ValueError as error:  # a number of 5,000 digits
        raise GrammarError(f"the schema {name} can't be read: {error}") from error
    if not isinstance(root, dict | bool):
        raise GrammarError(f"the schema {name} is wrong: it must be an object, true or false")
    level = [root]
    for _ in range(DEPTH + 1):
        level = [part for one in level for part in _parts(one)]
    if level:
        raise _too_deep(name)
    return Nodes(root)


def _too_deep(name: str) -> GrammarError:
    return GrammarError(f"the schema {name} is nested deeper than {DEPTH}")


def _parts(value: object) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else _list(value)


class Nodes:
    """All nodes of a schema, by number."""

    def __init__(self, root: dict[str, Any] | bool) -> None:
        self._nodes: list[dict[str, Any] | bool] = []
        self._numbers: dict[int, int] = {}  # by id(): nodes stay alive in _nodes
        self._resources: dict[str, object] = {}
        """Roots of (sub)schemas, by their `$id`; of anchors, by `$id` and fragment."""
        self._homes: dict[int, str] = {}
        """For nodes' ids, the `$id` of the resource that they are in."""
        meta = str(root.get("$schema", "")) if isinstance(root, dict) else ""
        self._siblings = bool(_SIBLINGS.search(meta))
        self.has_prefix_items = not _NO_PREFIX_ITEMS.search(meta)
        """Whether the schema's version has `prefixItems`; older ones let it be."""
        self._id = "id" if _OLD_NAMES.search(meta) else "$id"
        self._resources[""] = root
        self._index(root)
        self.root = self.number(root)

    def of(self, number: int) -> dict[str, Any] | bool:
        """The node with a number."""
        return self._nodes[number]

    def number(self, node: object) -> int:
        """The number of a node; what is no node counts as `true`."""
        if not isinstance(node, dict | bool):
            node = True
        if id(node) not in self._numbers:
            self._numbers[id(node)] = len(self._nodes)
            self._nodes.append(node)
        return self._numbers[id(node)]

    def set_of(self, *nodes: object) -> NodeSet:
        """The set of some nodes; `true` and `{}` are left out."""
        return tuple(
            sorted({self.number(node) for node in nodes if node is not True and node != {}})
        )

    def branches(self, together: NodeSet) -> list[NodeSet]:
        """All choices for a set; none if there is a `false` in each."""
        done: list[NodeSet] = []
        open_: list[tuple[NodeSet, frozenset[int], list[list[int]]]]
        open_ = [(together, frozenset(), [])]
        while open_:
            pending, seen, choices = open_.pop()
            found = self._closed(pending, seen)
            if found is None:
                continue
            seen, new = found
            choices = [*choices, *new]
            while choices and len(open_) + len(done) + len(choices[0]) > MOST_BRANCHES:
                choices = choices[1:]
            if choices:
                first, *rest = choices
                open_ += [((number,), seen, rest) for number in reversed(first)]
            else:
                done.append(tuple(sorted(n for n in seen if not self._only_refers(n))))
        return list(dict.fromkeys(done))

    def _closed(
        self, pending: NodeSet, seen: frozenset[int]
    ) -> tuple[frozenset[int], list[list[int]]] | None:
        """A set with what its references and `allOf` name, and the new choices; None if false."""
        stack, all_, choices = list(pending), set(seen), []
        while stack:
            number = stack.pop()
            node = self._nodes[number]
            if node is False:
                return None
            if node is True or number in all_:
                continue
            all_.add(number)
            if "$ref" in node:
                target = self._resolve(node["$ref"], node)
                stack += [] if target is None else [self.number(target)]
            if self._only_refers(number):
                continue
            stack += [self.number(part) for part in _list(node.get("allOf"))]
            choices += [
                [self.number(part) for part in _list(node.get(key))]
                for key in ("anyOf", "oneOf")
                if _list(node.get(key))
            ]
            if "if" in node and "then" in node and "else" in node:
                choices.append([self.number(node["then"]), self.number(node["else"])])
        return frozenset(all_), choices

    def _only_refers(self, number: int) -> bool:
        """Whether a node says nothing but its `$ref`."""
        node = self._nodes[number]
        return isinstance(node, dict) and "$ref" in node and not self._siblings

    def _index(self, root: object) -> None:
        """Note where every node is, and what has a name of its own."""
        stack: list[tuple[object, str]] = [(root, "")]
        while stack:
            node, home = stack.pop()
            if isinstance(node, dict):
                home = self._named(node, home)
                self._homes[id(node)] = home
                parts: Iterator[object] = (v for key, v in node.items() if key not in _DATA)
            else:
                parts = iter(node if isinstance(node, list) else ())
            stack += [(part, home) for part in parts]

    def _named(self, node: dict[str, Any], home: str) -> str:
        """The resource that a node is in; a new one if it has an `$id`."""
        name = node.get(self._id)
        if isinstance(name, str) and name.startswith("#"):
            self._resources[home + name] = node
        elif isinstance(name, str):
            home = _joined(home, name).rstrip("#")
            self._resources[home] = node
        for key in ("$anchor", "$dynamicAnchor"):
            if isinstance(node.get(key), str):
                self._resources[f"{home}#{node[key]}"] = node
        return home

    def _resolve(self, reference: object, node: dict[str, Any]) -> object:
        """The target of a reference; None if it is not in this schema."""
        if not isinstance(reference, str):
            return None
        home = self._homes.get(id(node), "")
        whole, pointer = home, reference[1:]
        if not reference.startswith("#"):
            whole, _, pointer = _joined(home, reference).partition("#")
        if pointer and not pointer.startswith("/"):
            return self._resources.get(f"{whole}#{pointer}")
        target = self._resources.get(whole)
        for step in pointer.split("/")[1:]:
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(target, dict):
                target = target.get(key)
            elif isinstance(target, list):
                target = target[int(key)] if key.isdecimal() and int(key) < len(target) else None
            else:
                return None
        return target if isinstance(target, dict | bool) else None


def _joined(home: str, name: str) -> str:
    try:
        return urljoin(home, name)
    except ValueError:  # no address at all
        return name


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
