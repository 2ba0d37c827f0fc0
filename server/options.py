"""Every option, once, and how options are merged and named.

The dataclasses of `option_sections` are the source of everything else that knows options:
validation (`option_table`, `option_layers`), the settings of editors and the documentation page
(`option_pages`). An option that is added there is checked, offered and documented. In settings,
names are in camel case after the section's name: `completion.maxTokens`.

Example::

    >>> options = with_values(Options(), {"completion.maxTokens": 32})
    >>> options.completion.max_tokens
    32

What is not here: which values are allowed in settings (`option_table`), and what options do.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from server.option_sections import (
    CompletionSection,
    ContextSection,
    EngineSection,
    FiltersSection,
    GrammarSection,
    LanguagesSection,
    LoggingSection,
    ModelOptions,
    RemoteSection,
    TriggerSection,
)

ADDED = ("filters.bans", "filters.banPatterns")
"""Lists that only ever grow: no setting takes away what another one bans."""


@dataclass(frozen=True)
class Options:
    """All options, with their defaults."""

    model: ModelOptions = field(default_factory=ModelOptions)
    engine: EngineSection = field(default_factory=EngineSection)
    remote: RemoteSection = field(default_factory=RemoteSection)
    completion: CompletionSection = field(default_factory=CompletionSection)
    trigger: TriggerSection = field(default_factory=TriggerSection)
    filters: FiltersSection = field(default_factory=FiltersSection)
    grammar: GrammarSection = field(default_factory=GrammarSection)
    context: ContextSection = field(default_factory=ContextSection)
    logging: LoggingSection = field(default_factory=LoggingSection)
    languages: LanguagesSection = field(default_factory=LanguagesSection)

    def enabled_for(self, language: str) -> bool:
        """Whether anything is suggested in a language."""
        return language not in self.languages.disabled

    def for_language(self, language: str) -> "Options":
        """The options with the language's overrides applied; to lists in `ADDED` they are added."""
        values = self.languages.overrides.get(language, {})
        general: dict[str, Any] = {key: value_of(self, key) for key in ADDED if key in values}
        added = {key: joined(general[key], values[key]) for key in general}
        return with_values(self, {**values, **added})


def with_values(options: Options, values: Mapping[str, Any]) -> Options:
    """The options with some changed: values of the right type by their key (`trigger.debounce`)."""
    changed: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        section, _, name = key.partition(".")
        changed.setdefault(section, {})[snake_case(name)] = value
    sections = {
        section: replace(getattr(options, section), **new) for section, new in changed.items()
    }
    return replace(options, **sections)


def joined(*lists: Iterable[str]) -> tuple[str, ...]:
    """Lists one after the other, each entry once."""
    return tuple(dict.fromkeys(entry for one in lists for entry in one))


def value_of(options: Options, key: str) -> object:
    """The value of an option by its key."""
    section, _, name = key.partition(".")
    value: object = getattr(getattr(options, section), snake_case(name))
    return value


def camel_case(name: str) -> str:
    """`max_tokens` to `maxTokens`."""
    return re.sub("_(.)", lambda match: match[1].upper(), name)


def snake_case(name: str) -> str:
    """`maxTokens` to `max_tokens`."""
    return re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", name)
