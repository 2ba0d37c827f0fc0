r"""JSON Schemas as grammars: documents and values that a schema allows, in any order of members.

    >>> schema = compile_schema("x", b'{"properties": {"a": {"enum": [1, 2]}}, "required": ["a"]}')
    >>> state = compile_grammar("x", schema.lark).state()
    >>> state.feed(b'{"b": [], "a": 2}'), state.accepting, state.check(b"3")
    (17, True, False)

Which members an object has is a rule's parameter, one bit for each name: so a name comes once, and
an object closes when it has all that it needs. There are 64 bits; what an object requires has them
first, and names without one may come again or be missing.

A grammar may allow more than the schema, never less, but for numbers that nobody writes: an integer
in the form `150e-1` or `1.5e1`, and `1e1` where `10` is asked for. What is understood is listed in
`UNDERSTOOD`, and in `schema_nodes` for references and choices. The rest is let through.

What is not here: what keywords say (`schema_keywords`), and which document has a schema
(`schemas`).
"""

import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from server.errors import GrammarError
from server.grammar.json_lark import DIRECTIVE, TERMINALS, any_value, ignored
from server.grammar.schema_keywords import (
    Keys,
    Members,
    array_of,
    is_positive,
    listed,
    members_of,
    number_regex,
    string_regexes,
    types,
)
from server.grammar.schema_nodes import Nodes, NodeSet, read_schema
from server.grammar.schema_strings import PLAIN_UNIT, spelled

MOST_WORDS = 1000
"""Strings of an `enum`; with more of them, any string is let through. Licences are some 700."""

MOST_NAMES = 256
"""Names of an object that have a way of their own: the parser looks at all ways at once. Others
have one together."""

MOST_RULES = 3000
"""Kinds of values; what comes after them may be anything. Large schemas have some hundred."""

UNDERSTOOD = frozenset(
    {
        *("type", "enum", "const"),
        *("properties", "patternProperties", "additionalProperties", "required"),
        *("items", "prefixItems", "additionalItems", "minItems", "maxItems"),
        *("pattern", "format", "minLength", "maxLength"),  # of formats, those that all check alike
        *("minimum", "exclusiveMinimum"),  # as far as they forbid numbers below 0
    }
)

_OWN_TERMINALS = rf"""
SPELLED: /"{PLAIN_UNIT}*"/
INTEGER: /-?(?:0|[1-9][0-9]*)(?:\.0+)?(?:[eE]\+?[0-9]+)?/
POSITIVE: /(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|-0(?:\.0+)?(?:[eE][-+]?[0-9]+)?/
POSITIVE_INTEGER: INTEGER & POSITIVE
"""
"""Numbers, and strings that hold no escape without need."""


@dataclass(frozen=True)
class Schema:
    """A schema as a grammar."""

    lark: str
    names: frozenset[str]
    """The keys that it knows anywhere; a window keeps these."""


def compile_schema(name: str, text: bytes, comments: bool = False, escapes: bool = True) -> Schema:
    r"""A grammar for the documents that a schema allows.

    Args:
        name: The schema's name, for messages.
        text: The schema's file.
        comments: Whether documents may have comments and trailing commas.
        escapes: Whether names and values that the schema lists, and strings that it has rules for,
            may have escapes without need. A model drifts into them: `"\u006` may become anything.

    Raises:
        GrammarError: The schema is wrong, too large, or allows nothing.
    """
    nodes = read_schema(name, text)
    writer = _Writer(nodes, comments, escapes)
    root = writer.value((nodes.root,), root=True)
    if root is None:
        raise GrammarError(f"the schema {name} is wrong: no document is valid")
    writer.write()
    rules = "\n".join(writer.rules)
    terminals = "\n".join(f"{name}: {body}" for body, name in writer.terminals.items())
    lark = (
        f"{DIRECTIVE}\nstart: BOM? {root} END?\n{rules}\n{any_value(comments)}"
        f"{TERMINALS}{_OWN_TERMINALS}{terminals}\n{ignored(comments)}"
    )
    return Schema(lark, frozenset(writer.names))


class _Writer:
    """Writes the rules, those of outer values first."""

    def __init__(self, nodes: Nodes, comments: bool, escapes: bool) -> None:
        self.nodes = nodes
        self.rules: list[str] = []
        self.terminals: dict[str, str] = {}
        """Names of terminals by their body."""
        self.names: set[str] = set()
        self._comments = comments
        self._escapes = escapes
        self._string = "STRING" if escapes else "SPELLED"
        self._values: dict[tuple[NodeSet, bool], str | None] = {}
        self._objects: dict[tuple[NodeSet, bool], str | None] = {}
        self._arrays: dict[NodeSet, str | None] = {}
        self._open: deque[tuple[str, list[NodeSet], bool]] = deque()

    def write(self) -> None:
        """Write the rules of all values that were asked for, and of those in them."""
        while self._open:
            name, branches, root = self._open.popleft()
            ways = [way for branch in branches for way in self._ways(branch, root)]
            self.rules.append(f"{name}: " + " | ".join(dict.fromkeys([*ways, "HOLE"])))

    def value(self, together: NodeSet, root: bool = False) -> str | None:
        """The rule for a value that a set of nodes allows; None if they allow nothing."""
        key = (together, root)
        if not together:
            return "any"
        if key not in self._values:
            found = self.nodes.branches(together)
            branches = [branch for branch in found if not self._is_empty(branch)]
            if any(self._is_free(branch) for branch in branches) or (
                branches and len(self._values) >= MOST_RULES
            ):
                return "any"
            name = f"v{len(self._values)}" if branches else None
            self._values[key] = name
            if name:
                self._open.append((name, branches, root))
        return self._values[key]

    def _spelled(self, word: str) -> str:
        return spelled(word, self._escapes)

    def terminal(self, body: str) -> str:
        """The name of a terminal."""
        return self.terminals.setdefault(body, f"T{len(self.terminals)}")

    def _all(self, branch: NodeSet) -> list[dict[str, Any]]:
        found = (self.nodes.of(number) for number in branch)
        return [node for node in found if isinstance(node, dict)]

    def _is_free(self, branch: NodeSet) -> bool:
        return all(UNDERSTOOD.isdisjoint(node) for node in self._all(branch))

    def _is_empty(self, branch: NodeSet) -> bool:
        """Whether nothing is valid, as far as types and listed values tell."""
        nodes = self._all(branch)
        return not types(nodes) or listed(nodes) == []

    def _ways(self, branch: NodeSet, root: bool) -> Iterable[str]:
        """The ways to write a value of a branch, as symbols of the grammar."""
        nodes = self._all(branch)
        values, kinds = listed(nodes), types(nodes)
        if values is not None:
            yield from self._literals(values)
            return
        if "null" in kinds:
            yield '"null"'
        if "boolean" in kinds:
            yield '"true" | "false"'
        if "integer" in kinds:
            positive = any(map(is_positive, nodes))
            if "number" in kinds:
                yield "POSITIVE" if positive else "NUMBER"
            else:
                yield "POSITIVE_INTEGER" if positive else "INTEGER"
        if "string" in kinds:
            parts = string_regexes(nodes)
            yield self.terminal(" & ".join([self._string, *parts])) if parts else "STRING"
        if "object" in kinds and (name := self._object(branch, root)):
            yield name
        if "array" in kinds and (name := self._array(branch)):
            yield name

    def _literals(self, values: list[Any]) -> Iterable[str]:
        """The values of an `enum`."""
        strings = [value for value in values if isinstance(value, str)]
        if len(strings) > MOST_WORDS:
            yield self._string
        elif strings:
            yield self.terminal(f"/{'|'.join(map(self._spelled, strings))}/")
        for value in values:
            if isinstance(value, bool) or value is None:
                yield json.dumps(json.dumps(value))
            elif isinstance(value, int | float):
                yield self.terminal(f"/{number_regex(value)}/")
            elif isinstance(value, list):
                items = [{"const": item} for item in value]
                size = {"minItems": len(items), "maxItems": len(items)}
                array = {"type": "array", "prefixItems": items, **size}
                yield self.value(self.nodes.set_of(array)) or "any"
            elif isinstance(value, dict):
                members = {name: {"const": one} for name, one in value.items()}
                object_ = {
                    "type": "object",
                    "properties": members,
                    "required": list(value),
                    "additionalProperties": False,
                }
                yield self.value(self.nodes.set_of(object_)) or "any"

    def _object(self, branch: NodeSet, root: bool) -> str | None:
        """The rule for an object; None if there can't be one."""
        key = (branch, root)
        if key not in self._objects:
            members = members_of(self.nodes, self._all(branch), root)
            self._objects[key] = self._object_rules(members)
        return self._objects[key]

    def _object_rules(self, members: Members) -> str | None:
        own = {name: self.value(together) for name, together in members.named.items()}
        if any(own[name] is None for name in members.required):
            return None
        self.names |= own.keys()
        index = len(self._objects)
        tracked = [*members.required, *(name for name in own if name not in members.required)][:64]
        needed = min(len(members.required), len(tracked))
        keys = {name: self.terminal(f"/{self._spelled(name)}/") for name in own}
        ways = []
        for bit, name in enumerate(tracked):
            if own[name]:
                way = f'{keys[name]} ":" {own[name]} q{index}::set_bit({bit}) %if bit_clear({bit})'
                ways.append(way)
        for value, group in self._groups(own, tracked).items():
            ways.append(f'{self._any_of(keys[name] for name in group)} ":" {value} q{index}::_')
        excluded = " | ".join(keys.values())
        for others, together in members.others:
            if other := self.value(together):
                ways.append(f'{self._key(others, excluded)} ":" {other} q{index}::_')
        done = f" %if is_ones([0:{needed}])" if needed else ""
        # After a comma there has to be something that can still come.
        can_come = sum(value is not None for value in own.values())
        all_tracked = not members.others and len(tracked) == len(own) == can_come
        more = f" %if bit_count_lt([0:{len(own)}], {len(own)})" if all_tracked and own else ""
        trailing = f' | "," "}}"{done}' if self._comments else ""
        self.rules += [
            f'o{index}: "{{" f{index}::0x0',
            f'f{index}::_: "}}"{done} | g{index}::_',
            f"g{index}::_: " + "\n  | ".join([*ways, f"HOLE q{index}::_"]),
            f'q{index}::_: "}}"{done} | "," g{index}::_{more}{trailing}',
        ]
        return f"o{index}"

    def _groups(self, own: dict[str, str | None], tracked: list[str]) -> dict[str, list[str]]:
        """The names that may come again, by the rule of their values."""
        groups: dict[str, list[str]] = {}
        for name, value in own.items():
            if value is not None and name not in tracked:
                full = value not in groups and len(tracked) + len(groups) >= MOST_NAMES
                groups.setdefault("any" if full else value, []).append(name)
        return groups

    def _any_of(self, terminals: Iterable[str]) -> str:
        """A terminal for several."""
        first, *others = terminals
        return self.terminal(" | ".join([first, *others])) if others else first

    def _key(self, keys: Keys, excluded: str) -> str:
        """A terminal for keys that have no rule of their own; `excluded` are those that have."""
        body = f"{self._string} & /{keys.matched}/" if keys.matched else self._string
        if keys.unmatched:
            # What a key with escapes is in plain text is not known here: it is let through.
            inner = "".join(f" & ~/{one}/" for one in keys.unmatched)
            body = rf'("\"" (PLAIN{inner}) "\"" | (ESCAPED & {self._string}))'
        return self.terminal(f"{body} & ~({excluded})" if excluded else body)

    def _array(self, branch: NodeSet) -> str | None:
        """The rule for an array; None if there can't be one."""
        if branch not in self._arrays:
            self._arrays[branch] = self._array_rules(self._all(branch))
        return self._arrays[branch]

    def _array_rules(self, nodes: list[dict[str, Any]]) -> str | None:
        own = array_of(nodes, self.nodes.has_prefix_items)
        rest = self.value(self.nodes.set_of(*own.rest))
        # One rule for each number of items, as far as they are counted.
        sets = [self.nodes.set_of(*one) for one in own.first]
        counted = [self.value(one) for one in sets] + [rest] * (own.counted - len(sets))
        items = counted[: counted.index(None)] if None in counted else counted
        if len(items) < own.low:
            return None
        name = f"a{len(self._arrays)}"
        self.rules.append(f'{name}: "[" {name}_0')
        for at, item in enumerate(items):
            comma = '"," ' if at else ""
            ways = [*self._closings(at, own.low), f"{comma}{item} {name}_{at + 1}"]
            self.rules.append(f"{name}_{at}: " + " | ".join(ways))
        last = len(items)
        ways = self._closings(last, own.low)
        if rest and own.high is None and items == counted:
            comma = '"," ' if items else ""
            ways += [f"{comma}{name}_rest {closing}" for closing in self._closings(1, 0)]
            self.rules.append(f'{name}_rest: {rest} | {name}_rest "," {rest}')
        self.rules.append(f"{name}_{last}: " + " | ".join(ways))
        return name

    def _closings(self, count: int, low: int) -> list[str]:
        """How an array may end after so many items."""
        if count < low:
            return []
        return ['"]"', '"," "]"'] if self._comments and count else ['"]"']
