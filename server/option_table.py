"""The table of options: which values each one may have, read off the dataclasses in `options`.

Example::

    >>> TABLE["engine.gpuLayers"].allowed
    'an integer of at least 0, or "auto"'
    >>> TABLE["engine.gpuLayers"].checked(33.0)
    33

What is not here: the options themselves (`options`), and reading settings (`option_layers`).
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

from server.bans import check_pattern
from server.option_sections import MAX_INTEGER, About, Pattern
from server.options import Options, camel_case

USER_ONLY = frozenset({"model", "engine", "remote", "logging", "grammar.files", "grammar.schemas"})
"""Sections and keys that say what runs on this machine, where it comes from, which files are read
or written, and where text is sent: a folder that was only opened can't set them."""

OVERRIDABLE = frozenset({"completion", "context", "trigger", "filters", "grammar.mode"})
"""Sections and keys that may differ between languages."""

OVERRIDES = "languages.overrides"
"""The one key that holds no value but options again, for each language."""

Kind = Literal["boolean", "integer", "number", "string", "numbers", "strings", "patterns", "paths"]
_KINDS: dict[object, Kind] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    tuple[float, ...]: "numbers",
    tuple[str, ...]: "strings",
    tuple[Pattern, ...]: "patterns",
    Mapping[str, str]: "paths",
}


@dataclass(frozen=True)
class Option:
    """One row of the table."""

    key: str
    """Section and name in camel case, as `completion.maxTokens`."""
    section: str
    name: str
    """The field's name in its section."""
    kind: Kind | None
    """None if only `words` are allowed."""
    words: tuple[str, ...]
    """Strings that are allowed in any case."""
    default: object
    about: About

    @property
    def user_only(self) -> bool:
        """Whether a workspace may not set it."""
        return not USER_ONLY.isdisjoint({self.section, self.key})

    @property
    def overridable(self) -> bool:
        """Whether languages may have values of their own."""
        return not OVERRIDABLE.isdisjoint({self.section, self.key})

    @property
    def allowed(self) -> str:
        """What may be set, in words."""
        quoted = [json.dumps(word) for word in self.words]
        if self.kind is None:
            return f"one of {', '.join(quoted)}"
        if self.kind == "paths":
            return "an object of paths"
        about, item = self.about, self.kind.removesuffix("s")
        article = "an" if item == "integer" else "a"
        text = {"boolean": "true or false"}.get(self.kind, f"{article} {item}")
        if self.kind in {"numbers", "strings", "patterns"}:
            text = f"a list of {self.kind}"
        if item in {"string", "pattern"}:
            filled = {"string": " that is not empty", "strings": " that are not empty"}
            return text + (filled.get(self.kind, "") if about.low else "")
        limits = [
            f"{word} {limit}"
            for word, limit in (("above", about.above), ("of at least", about.low))
            if limit is not None
        ]
        if about.high is not None and about.high != MAX_INTEGER:
            limits.append(f"at most {about.high}")
        return ", or ".join([" ".join([text, " and ".join(limits)]).strip(), *quoted])

    def checked(self, value: object) -> object:
        """The value in its own type (lists as tuples). Raises ValueError if it is not allowed."""
        if isinstance(value, str) and value in self.words:
            return value
        if self.kind == "paths":
            return self._checked_paths(value)
        if self.kind in {"numbers", "strings", "patterns"} and isinstance(value, list | tuple):
            return tuple(self._checked_one(item, self.kind.removesuffix("s")) for item in value)
        return self._checked_one(value, self.kind)

    def _checked_paths(self, value: object) -> dict[object, object]:
        # Lua writes an empty table as an empty list.
        if value == []:
            return {}
        if not isinstance(value, Mapping):
            raise ValueError(f"allowed is {self.allowed}")
        return {
            self._checked_one(name, "string"): self._checked_one(path, "string")
            for name, path in value.items()
        }

    def _checked_one(self, value: object, kind: str | None) -> object:
        if kind == "boolean" and isinstance(value, bool):
            return value
        if kind == "string" and isinstance(value, str) and len(value) >= (self.about.low or 0):
            return value
        if kind == "pattern" and isinstance(value, str):
            check_pattern(value)
            return value
        # In Python, True is a number; in a settings file it is not.
        if kind in {"integer", "number"} and type(value) in {int, float}:
            number: int | float = value  # type: ignore[assignment]
            # Some clients send every number as a float: 64.0 is an integer.
            if self._within(number) and (kind == "number" or number == int(number)):
                return float(number) if kind == "number" else int(number)
        raise ValueError(f"allowed is {self.allowed}")

    def _within(self, number: float) -> bool:
        about = self.about
        finite = isinstance(number, int) or math.isfinite(number)
        return (
            finite
            and abs(number) <= MAX_INTEGER
            and (about.low is None or number >= about.low)
            and (about.above is None or number > about.above)
            and (about.high is None or number <= about.high)
        )


def _table() -> dict[str, Option]:
    defaults, table = Options(), {}
    for section in fields(Options):
        values = getattr(defaults, section.name)
        hints = get_type_hints(type(values), include_extras=True)
        for one in fields(values):
            if get_origin(hints[one.name]) is not Annotated:
                continue
            hint, about = get_args(hints[one.name])
            key = f"{section.name}.{camel_case(one.name)}"
            kind, words = _kind(hint)
            default = getattr(values, one.name)
            table[key] = Option(key, section.name, one.name, kind, words, default, about)
    return table


def _kind(hint: object) -> tuple[Kind | None, tuple[str, ...]]:
    """The kind of value that a type allows, and the words."""
    if get_origin(hint) is Literal:
        return None, get_args(hint)
    if get_origin(hint) in {Union, UnionType}:
        [plain] = [member for member in get_args(hint) if get_origin(member) is not Literal]
        [words] = [get_args(member) for member in get_args(hint) if member is not plain]
        return _KINDS[plain], words
    return _KINDS[hint], ()


TABLE = _table()
"""All options but `languages.overrides`, by their key, in the order of the sections."""
