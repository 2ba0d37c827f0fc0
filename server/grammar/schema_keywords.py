"""What the keywords of several nodes say together: types, values, members, items, strings.

A node is an object of a JSON Schema without references and choices. Where keywords are wrong, they
say nothing: a schema that is taken as looser than it is only allows more.

What is not here: writing rules (`json_schema`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Any

from server.grammar.json_window import MOST_ITEMS
from server.grammar.schema_nodes import Nodes, NodeSet
from server.grammar.schema_patterns import FORMATS, strings_matching, texts_matching
from server.grammar.schema_strings import MOST_LENGTH, length_regex

Node = dict[str, Any]

_TYPES = frozenset({"null", "boolean", "integer", "number", "string", "object", "array"})


def types(nodes: Sequence[Node]) -> frozenset[str]:
    """The types that all nodes allow; every `number` comes with `integer`."""
    found = _TYPES
    for node in nodes:
        own = node.get("type")
        names = (
            {own} if isinstance(own, str) else set(map(str, own if isinstance(own, list) else ()))
        )
        if names and names <= _TYPES:
            found &= names | ({"integer"} if "number" in names else set())
    return found


def listed(nodes: Sequence[Node]) -> list[Any] | None:
    """The values of the nodes' `enum` and `const`, if any, that the types allow."""
    lists = [node["enum"] for node in nodes if isinstance(node.get("enum"), list)]
    lists += [[node["const"]] for node in nodes if "const" in node]
    if not lists:
        return None
    allowed = types(nodes)
    kept = {_identity(value): value for value in lists[0] if _type(value) in allowed}
    for others in lists[1:]:
        known = set(map(_identity, others))
        kept = {identity: value for identity, value in kept.items() if identity in known}
    return list(kept.values())


def _type(value: object) -> str:
    """A value's type: the narrowest."""
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    names = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _identity(value: object) -> object:
    """Equal for values that are equal in JSON: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, list):
        return ("array", tuple(map(_identity, value)))
    if isinstance(value, dict):
        return ("object", frozenset((key, _identity(one)) for key, one in value.items()))
    return (_type(value), value)


def number_regex(value: float) -> str:
    """A regular expression for a number, with more zeros behind the point or fewer.

    Very large and very small ones may have one digit before the point and an exponent, too.
    """
    if not isfinite(value):
        return r"-?[0-9.]+(?:[eE][-+]?[0-9]+)?"
    exact = Decimal(repr(value))
    whole, _, fraction = f"{abs(exact):f}".partition(".")
    fraction = fraction.rstrip("0")
    sign = "-" if exact < 0 else "" if exact else "-?"
    plain = whole + (rf"\.{fraction}0*" if fraction else r"(?:\.0+)?")
    exponent = exact.adjusted()
    if not exact or -5 < exponent < 6:
        return sign + plain
    digits = "".join(map(str, exact.as_tuple().digits)).rstrip("0")
    short = digits[0] + (rf"\.{digits[1:]}0*" if digits[1:] else r"(?:\.0+)?")
    raised = ("[eE]-0*" if exponent < 0 else r"[eE]\+?0*") + str(abs(exponent))
    return f"{sign}(?:{plain}|{short}{raised})"


def is_positive(node: Node) -> bool:
    """Whether numbers have to be 0 or more."""
    lows = (node.get("minimum"), node.get("exclusiveMinimum"))
    return any(
        isinstance(low, int | float) and not isinstance(low, bool) and low >= 0 for low in lows
    )


def string_regexes(nodes: Sequence[Node]) -> list[str]:
    """Expressions for the engine that a string, with its quotes, has to match all."""
    parts = list[str]()
    for node in nodes:
        pattern, name = node.get("pattern"), node.get("format")
        known = FORMATS.get(name) if isinstance(name, str) else None
        told = (strings_matching(one) for one in (pattern, known) if isinstance(one, str))
        parts += [f"/{one}/" for one in told if one]
        low, high = count(node, "minLength") or 0, count(node, "maxLength")
        low = low if low <= MOST_LENGTH else 0
        high = max(low, high) if high is not None and high <= MOST_LENGTH else None
        if low or high is not None:
            parts.append(f"/{length_regex(low, high)}/")
    return list(dict.fromkeys(parts))


def count(node: Node, key: str) -> int | None:
    """A keyword's value, if it is a number that counts something."""
    value = node.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1 << 31:
        return None
    return int(value)


@dataclass(frozen=True)
class Keys:
    """Keys of members that no node has a name for."""

    matched: str | None
    """A regular expression for them, with their quotes; None for any."""
    unmatched: tuple[str, ...]
    """Regular expressions for the text in the quotes that they do not match."""


@dataclass(frozen=True)
class Members:
    """The members that an object may have."""

    named: dict[str, NodeSet]
    required: tuple[str, ...]
    """Names, all of them in `named`."""
    others: tuple[tuple[Keys, NodeSet], ...]
    """Other members; without any there are none."""


def members_of(nodes: Nodes, together: Sequence[Node], is_document: bool) -> Members:
    """The members of an object that nodes allow together."""
    required = dict.fromkeys(
        name for node in together for name in _list(node.get("required")) if isinstance(name, str)
    )
    names = [name for node in together for name in _dict(node.get("properties"))]
    named = {
        name: nodes.set_of(*(part for node in together for part in _lookup(node, name)))
        for name in dict.fromkeys([*names, *required])
    }
    if is_document:
        # Every document may name its schema.
        own = [part for node in together for part in _lookup(node, "$schema")]
        if False in own and "$schema" not in names:
            named["$schema"] = nodes.set_of({"type": "string"})
    closed = [node for node in together if node.get("additionalProperties") is False]
    patterns = [
        (pattern, part)
        for node in closed[:1] or together
        for pattern, part in _dict(node.get("patternProperties")).items()
    ]
    others = [
        (Keys(strings_matching(pattern), ()), nodes.set_of(part)) for pattern, part in patterns
    ]
    if not closed:
        additional = [node.get("additionalProperties", True) for node in together]
        told = (texts_matching(pattern) for pattern, _ in patterns)
        rest = Keys(None, tuple(one for one in told if one))
        others.append((rest, nodes.set_of(*additional)))
    return Members(named, tuple(required), tuple(others))


def _lookup(node: Node, name: str) -> list[object]:
    """The nodes that a node has for a member."""
    properties, patterns = _dict(node.get("properties")), _dict(node.get("patternProperties"))
    found = [properties[name]] if name in properties else []
    for pattern, part in patterns.items():
        try:
            if re.search(pattern, name, re.ASCII):
                found.append(part)
        except re.error:
            # It might match: then what is additional does not count.
            found.append(True)
    return found or [node.get("additionalProperties", True)]


@dataclass(frozen=True)
class Items:
    """The items that an array may have."""

    first: tuple[tuple[object, ...], ...]
    """The nodes of each of the first ones."""
    rest: tuple[object, ...]
    """The nodes of all others."""
    low: int
    """The least number of items, as far as they are counted."""
    high: int | None
    """The greatest number; None if there is none, or if it is too large to count."""

    @property
    def counted(self) -> int:
        """How many items are counted: after them, there may be any number or none."""
        return max(len(self.first), self.low) if self.high is None else self.high


def array_of(nodes: Sequence[Node], has_prefix_items: bool) -> Items:
    """The items of an array that nodes allow together.

    Args:
        nodes: Nodes that hold together.
        has_prefix_items: Whether the schema's version has `prefixItems`.
    """
    firsts, rests = list[list[object]](), list[object]()
    for node in nodes:
        items = node.get("items", True)
        if isinstance(items, list):  # as in drafts until 2019-09
            first, rest = items, node.get("additionalItems", True)
        else:
            first, rest = _list(node.get("prefixItems")) if has_prefix_items else [], items
        firsts.append(first)
        rests.append(rest)
    longest = max(map(len, firsts), default=0)
    rest_nodes = tuple(rests) if longest <= MOST_ITEMS else ()
    together = tuple(
        tuple(
            first[at] if at < len(first) else rest
            for first, rest in zip(firsts, rests, strict=True)
        )
        for at in range(min(longest, MOST_ITEMS))
    )
    lows = [min(count(node, "minItems") or 0, MOST_ITEMS) for node in nodes]
    highs = [high for node in nodes if (high := count(node, "maxItems")) is not None]
    high = min(highs, default=MOST_ITEMS + 1)
    kept = together[:high]
    return Items(kept, rest_nodes, max(lows, default=0), high if high <= MOST_ITEMS else None)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
