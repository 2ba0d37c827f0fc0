"""Settings from several places, checked and merged into one set of options.

Later layers win. The order to give them in, lowest first:

1. the file of the workspace (`midtoken.toml`, else `[tool.midtoken]` of `pyproject.toml`);
2. `initializationOptions`, which an editor sends once;
3. `workspace/configuration` or `didChangeConfiguration`: the same settings as they are now.

So a person's own settings win over a project's, and a setting that was just changed over the one
that was sent at the start. Nothing that is wrong stops anything: it becomes a `Problem`, and the
value of the layers below stays::

    >>> options, problems = merge([("initializationOptions", {"completion": {"healin": "off"}})])
    >>> str(problems[0])
    'initializationOptions: there is no option midtoken.completion.healin; is \
midtoken.completion.healing meant?'

Names may be nested or dotted, with or without `midtoken` in front; null means "not set".

What is not here: what is allowed (`option_table`), and asking an editor for its settings.
"""

import codecs
import difflib
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from server.option_sections import MAX_INTEGER
from server.option_table import OVERRIDABLE, OVERRIDES, TABLE, Option
from server.options import ADDED, Options, joined, value_of, with_values
from server.plain_files import MISSING, fault_of

HOST = "--settings"
"""The layer of whoever started the server."""

GUEST = "this editor's settings"
"""The layer of an editor that runs on another machine than the server."""

EDITOR_LAYERS = frozenset(
    {
        HOST,
        "command line",
        "initializationOptions",
        "workspace/configuration",
        "workspace/didChangeConfiguration",
    }
)
"""Layers that the user's own editor or shell gives. All others count as the workspace's: a folder
that was only opened can't set what runs, where it comes from, or which files are used."""

WORKSPACE_FILES = ("midtoken.toml", "pyproject.toml")
"""The files of a workspace that are read; the first one that exists."""

MAX_FILE_BYTES = 1 << 20
"""Larger files are not settings that a person wrote."""

MOST_CLOSE = 100
"""After so many problems, unknown names are told without the option that may be meant."""

_PREFIX = "midtoken"
_KEYS = (*TABLE, OVERRIDES)


@dataclass(frozen=True)
class Problem:
    """A setting that was not taken, in one line for the person who wrote it."""

    layer: str
    """Where it was written: a name of a layer, or a file's path."""
    key: str
    """The full key, as `midtoken.completion.healing`; empty if it is the layer as a whole."""
    message: str
    value: str = ""
    """What is wrong, as the message shows it; empty if the key itself is."""

    def __str__(self) -> str:
        return f"{self.layer}: {self.message}"

    @property
    def subject(self) -> str:
        """The same for the same wrong value of a key, in whichever layer, whatever is kept."""
        return f"{self.key} = {self.value}" if self.value else self.message


def merge(layers: Sequence[tuple[str, object]]) -> tuple[Options, list[Problem]]:
    """The options of all layers together, and what was wrong in them.

    Args:
        layers: Name and content (nested mappings of JSON or TOML values, or None for nothing),
            lowest precedence first. Names in `EDITOR_LAYERS` may set everything.
    """
    reader = _Reader()
    for name, content in layers:
        reader.read(name, content)
    return reader.options, reader.problems


def sections_set(layers: Sequence[tuple[str, object]]) -> frozenset[str]:
    """The sections of which at least one option is set by the layers, to whatever value.

    An option that is set to its default is a wish, too: what is not set may be as others want it.
    """
    reader = _Reader()
    for name, content in layers:
        reader.read(name, content)
    return frozenset(reader.sections)


def read_workspace(folder: Path) -> tuple[tuple[str, Mapping[str, Any]], list[Problem]]:
    """The layer of a workspace's file, and what is wrong with the file as a whole.

    The layer is empty if there is no such file, or if it is broken; a broken `midtoken.toml` does
    not give way to `pyproject.toml`. A broken `pyproject.toml` is only a problem where midtoken is
    mentioned in it.
    """
    own, project = (folder / name for name in WORKSPACE_FILES)
    # A link that leads back to itself counts as there: it is named, not passed over.
    path = project if (fault_of(own) or "").startswith(MISSING) else own

    def broken(reason: str) -> tuple[tuple[str, Mapping[str, Any]], list[Problem]]:
        return (str(path), {}), [Problem(str(path), "", f"{reason}; its settings are ignored")]

    # A link to a pipe or to standard input would be waited for, and eat what the editor sends.
    fault = fault_of(path)
    if fault == MISSING:
        return (str(path), {}), []
    if fault is not None:
        return broken(f"the file {fault}")
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:  # gone meanwhile
        return (str(path), {}), []
    except OSError as error:
        return broken(f"the file can't be read ({error.strerror})")
    if path == project and _PREFIX.encode() not in content:
        return (str(path), {}), []
    if len(content) > MAX_FILE_BYTES:
        return broken(f"the file is larger than {MAX_FILE_BYTES >> 20} MiB")
    try:
        table: object = toml_of(content)
    except ValueError as error:
        return broken(str(error))
    for part in ("tool", _PREFIX) if path == project else ():
        table = table.get(part, {}) if isinstance(table, Mapping) else table
    if not isinstance(table, Mapping):
        return broken("tool.midtoken must be a table")
    return (str(path), table), []


def toml_of(content: bytes) -> dict[str, Any]:
    """The table in a file. Raises ValueError, in words for people, if there is none."""
    try:
        # Editors on Windows may put a mark before the text, which tomllib does not know.
        return tomllib.loads(content.removeprefix(codecs.BOM_UTF8).decode())
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line} is not UTF-8 text") from error
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"the file is not TOML: {error}") from error
    except ValueError as error:  # Python's limit for the digits of a number
        raise ValueError("a number in the file has too many digits") from error
    except RecursionError as error:
        raise ValueError("the file is nested too deeply") from error


@dataclass
class _Reader:
    """The options as far as the layers are read."""

    options: Options = field(default_factory=Options)
    problems: list[Problem] = field(default_factory=list)
    layer: str = ""
    sections: set[str] = field(default_factory=set)
    """Of the options that were taken."""
    added: dict[str, dict[bool, Any]] = field(default_factory=dict)
    """For lists that only grow, by their full key: the workspace's (False) and the user's."""

    def read(self, layer: str, content: object) -> None:
        """Take one layer, on top of those before it."""
        self.layer = layer
        if content is None:
            return
        if not isinstance(content, Mapping):
            self._problem("", f"settings must be an object, not {_shown(content)}")
            return
        for key, value in self._leaves("", content):
            if key == OVERRIDES or key.startswith(f"{OVERRIDES}."):
                self._overrides(key.removeprefix(OVERRIDES).removeprefix("."), value)
            else:
                kept = value_of(self.options, key)
                checked = self._checked(key, f"{_PREFIX}.{key}", value, kept)
                self.options = with_values(self.options, checked)
                self.sections.update(TABLE[taken].section for taken in checked)

    def _leaves(
        self, path: str, content: Mapping[str, Any], within: str = _PREFIX
    ) -> Iterator[tuple[str, object]]:
        """The keys that hold values; what is no option becomes a problem.

        Args:
            path: The key that holds the content; empty for `within` itself.
            content: What it holds.
            within: What keys begin with in messages.
        """
        for name, value in content.items():
            full = f"{path}.{name}" if path else str(name)
            key = full.removeprefix(f"{_PREFIX}.")
            if _is_option(key):
                if value is not None:
                    yield key, value
            elif full == _PREFIX or any(known.startswith(f"{key}.") for known in _KEYS):
                if isinstance(value, Mapping):
                    yield from self._leaves(full, value, within)
                # Lua writes an empty table as an empty list.
                elif value is not None and value != []:
                    named = within if full == _PREFIX else f"{within}.{key}"
                    self._problem(named, f"{named} must be an object, not {_shown(value)}")
            else:
                # To look for what is meant takes a while: not for thousands.
                known = _KEYS if len(self.problems) < MOST_CLOSE else ()
                self._problem(f"{within}.{key}", _unknown(key, known, within))

    def _checked(self, key: str, full: str, value: object, kept: object) -> dict[str, object]:
        """The value of a key, or nothing and a problem."""
        row = TABLE[key]
        if row.user_only and self.layer == GUEST:
            self._problem(
                "",
                "those of the model, the engine, logs and grammar files have no effect: "
                "whoever runs the server, which is on another machine, decides these",
            )
            return {}
        if row.user_only and self.layer not in EDITOR_LAYERS:
            self._problem(
                full,
                f"{full} can't be set by a workspace, because it says what runs on this machine or "
                "which of its files are used: set it in your editor's own settings",
            )
            return {}
        if row.kind == "paths" and isinstance(value, Mapping):
            value = self._right_entries(row, full, value)
        if key in ADDED and isinstance(value, list | tuple):
            value = self._right_bans(row, full, value)
        try:
            checked = row.checked(value)
            if key in ADDED:
                known = self.added.setdefault(full, {})
                known[self.layer in EDITOR_LAYERS] = checked
                checked = joined(*known.values())
            return {key: checked}
        except ValueError:
            shown, allowed = _shown(kept), row.allowed
            if isinstance(value, int) and value > MAX_INTEGER == row.about.high:
                allowed = f"at most {MAX_INTEGER}"
            self._problem(
                full,
                f"{full} is {_shown(value)}; allowed is {allowed}; it stays {shown}",
                _shown(value),
            )
            return {}

    def _right_entries(self, row: Option, full: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """The entries that may be set; each other one is a problem of its own."""
        right = dict[str, Any]()
        for name, path in value.items():
            if path is None:
                continue
            try:
                row.checked({name: path})
                right[name] = path
            except ValueError:
                self._problem(
                    full,
                    f"{full}: {_shown(name)} is {_shown(path)}; allowed is a path that is not "
                    "empty, for a name that is not; this entry is left out",
                    f"{_shown(name)}: {_shown(path)}",
                )
        return right

    def _right_bans(self, row: Option, full: str, value: Sequence[object]) -> list[object]:
        """The texts or patterns that can be used; each other one is a problem of its own."""
        right = []
        for ban in value:
            try:
                row.checked([ban])
                right.append(ban)
            except ValueError as error:
                shown = _shown(ban)
                message = f"{full}: {shown} can't be used ({error}); this entry is left out"
                self._problem(full, message, shown)
        return right

    def _overrides(self, path: str, value: object) -> None:
        """Take the options of one language (`path` starts with its identifier), or of several."""
        full = f"{_PREFIX}.{OVERRIDES}.{path}".rstrip(".")
        language, _, key = path.partition(".")
        if key:
            value = {key: value}
        if value is None or value == []:
            return
        if not isinstance(value, Mapping):
            self._problem(full, f"{full} must be an object, not {_shown(value)}")
            return
        if not language:
            for name, options in value.items():
                self._overrides(str(name), options)
            return
        known = self.options.languages.overrides
        values = dict(known.get(language, {}))
        within = f"{_PREFIX}.{OVERRIDES}.{language}"
        for leaf, one in self._leaves("", value, within):
            leaf_full = f"{within}.{leaf}"
            if leaf not in TABLE or not TABLE[leaf].overridable:
                names = ", ".join(sorted(OVERRIDABLE))
                self._problem(
                    leaf_full,
                    f"{leaf_full} has no effect: only options of {names} may differ between "
                    "languages",
                )
                continue
            kept = values.get(leaf, value_of(self.options, leaf))
            values |= self._checked(leaf, leaf_full, one, kept)
        languages = replace(self.options.languages, overrides={**known, language: values})
        self.options = replace(self.options, languages=languages)

    def _problem(self, key: str, message: str, value: str = "") -> None:
        # Keys are the writer's own: a line end in one must not break the line.
        line = message if message.isprintable() else message.encode("unicode_escape").decode()
        self.problems.append(Problem(self.layer, key, line, value))


def _is_option(key: str) -> bool:
    return key in TABLE or key == OVERRIDES or key.startswith(f"{OVERRIDES}.")


def _unknown(key: str, keys: Sequence[str], within: str) -> str:
    """A message for a key that is no option, with the closest one of those that are."""
    message = f"there is no option {within}.{key}"
    known = {option.lower(): option for option in keys}
    # Names in snake or kebab case are the ones that people try first.
    squeezed = key.replace("_", "").replace("-", "").lower()
    close = difflib.get_close_matches(squeezed, known, n=1, cutoff=0.6)
    return f"{message}; is {within}.{known[close[0]]} meant?" if close else message


def _shown(value: object) -> str:
    """A value for a message: as JSON where it is, and short."""
    try:
        text = json.dumps(value, default=str)  # of TOML: dates and times
    except RecursionError:
        return "deeply nested"
    return text if len(text) <= 60 else f"{text[:57]}..."
