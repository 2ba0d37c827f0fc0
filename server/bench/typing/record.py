"""What happened while somebody typed. Runs can be put together; figures are made of it elsewhere.

The text is typed in stretches, some dozens of keys at one place. They are what figures differ by
from run to run, so everything that is averaged is kept by stretch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from server.bench.typing.suggesters import Usage


@dataclass
class Judged:
    """A suggestion that was shown."""

    line_right: bool
    """Its first line is what was typed there in the end."""
    word_right: bool
    doubled: bool
    slip: bool
    """It was shown while a slip of the typist's stood before the cursor."""


@dataclass
class Stretch:
    """What was typed at one place before the typist went elsewhere."""

    language: str
    keys: int = 0
    """Keys pressed, but for those of slips and their deletion."""
    needed: int = 0
    """Keys that the same text takes without suggestions and slips."""
    shown: list[Judged] = field(default_factory=list)
    new_ms: list[float] = field(default_factory=list)
    """From a key to a suggestion that was not on the screen before."""
    screen_ms: list[float] = field(default_factory=list)
    """From a key to its suggestion, for each that had one when the next key came; 0 where the
    suggestion before it goes on."""
    part: str = ""
    """The part of the text that it belongs to: with one seed, its n-th stretch is the same text
    whoever suggests."""


@dataclass
class Record:
    """One run, or several of the same suggester's."""

    stretches: list[Stretch] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)
    """Keys pressed, by kind of event."""
    slips: int = 0
    """Keys of slips and of their deletion, which are no matter of suggestions."""
    accepted_lines: int = 0
    accepted_words: int = 0
    accepted_wrong: int = 0
    requests: int = 0
    answers: dict[str, int] = field(default_factory=dict)
    """Answers by kind."""
    latencies_ms: dict[str, list[float]] = field(default_factory=dict)
    """From a key to an answer with a suggestion, by kind of event."""
    unanswered: int = 0
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0
    """Of the person's time."""
    real_seconds: float = 0.0
    tokens: int = 0
    cpu_s: float | None = 0.0
    """Processor time of the server, None where the system does not tell."""
    details: dict[str, Any] = field(default_factory=dict)
    """Counts of the suggester's own; those called `worst_` are the largest yet."""
    memory: list[Mapping[str, int | None]] = field(default_factory=list)
    """The server's, from after the warm-up to the end."""

    @property
    def pressed(self) -> int:
        """All keys."""
        return sum(self.keys.values())

    @property
    def needed(self) -> int:
        """Keys that the text takes without suggestions and slips."""
        return sum(stretch.needed for stretch in self.stretches)

    @property
    def shown(self) -> list[Judged]:
        """All suggestions that were shown."""
        return [judged for stretch in self.stretches for judged in stretch.shown]

    def take_usage(self, before: Usage, after: Usage) -> None:
        """Count what the suggester has done between two moments."""
        self.tokens = after.tokens - before.tokens
        known = after.cpu_s is not None and before.cpu_s is not None
        self.cpu_s = (after.cpu_s or 0.0) - (before.cpu_s or 0.0) if known else None
        for name, count in after.details.items():
            worst = name.startswith("worst_")
            self.details[name] = count if worst else count - before.details.get(name, 0)


def together(records: Sequence[Record]) -> Record:
    """Several runs of one suggester as one."""
    whole = Record()
    for record in records:
        for name in ("stretches", "errors", "memory"):
            getattr(whole, name).extend(getattr(record, name))
        for name in (
            *("slips", "accepted_lines", "accepted_words", "accepted_wrong", "requests"),
            *("unanswered", "seconds", "real_seconds", "tokens"),
        ):
            setattr(whole, name, getattr(whole, name) + getattr(record, name))
        _add(whole.keys, record.keys)
        _add(whole.answers, record.answers)
        for kind, times in record.latencies_ms.items():
            whole.latencies_ms.setdefault(kind, []).extend(times)
        known = whole.cpu_s is not None and record.cpu_s is not None
        whole.cpu_s = (whole.cpu_s or 0.0) + (record.cpu_s or 0.0) if known else None
        for name, count in record.details.items():
            here = whole.details.get(name, 0)
            whole.details[name] = max(here, count) if name.startswith("worst_") else here + count
    return whole


def _add(counts: dict[str, int], others: Mapping[str, int]) -> None:
    for name, count in others.items():
        counts[name] = counts.get(name, 0) + count
