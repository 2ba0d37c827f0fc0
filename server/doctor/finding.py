"""What a check found: for people a state, a sentence and advice; for programs plain facts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["ok", "note", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    state: State
    """`problem` makes completions impossible, `warning` makes them worse, `note` is neither."""
    name: str
    found: str
    """A sentence, without what to do."""
    remedy: str = ""
    """What to do about it; empty where nothing is to be done, or `found` says it."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The same in JSON-ready values (docs/doctor.md). What could not be found out is missing."""

    def as_json(self) -> dict[str, Any]:
        """One JSON-ready object."""
        return {
            "name": self.name,
            "state": self.state,
            "found": self.found,
            "remedy": self.remedy or None,
            "facts": dict(self.facts),
        }
