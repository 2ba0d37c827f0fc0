"""What became of suggestions, counted on this machine for the person alone: `midtoken stats`.

Editors may tell the server that a suggestion was shown, accepted or rejected. Only numbers are
kept, by day and language, in one small JSON file in the data folder; no text, no names of files,
and nothing is ever sent anywhere::

    {"2026-03-14": {"python": {"shown": 120, "accepted": 41, "rejected": 9, "characters": 1730}}}

Example::

    >>> tally = Tally()
    >>> tally.shown("a.py", "python")
    >>> tally.accepted("a.py", "python", 4)
    >>> tally.accepted("a.py", "python", 12)      # more of the same suggestion
    >>> tally.take(day="2026-03-14")["2026-03-14"]["python"]
    Counted(shown=1, accepted=1, rejected=0, characters=16)

What is not here: when an editor says so (`own_methods`).
"""

import json
import os
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path

from filelock import FileLock

from server.models import store
from server.models.files import flush_to_disk
from server.private_files import UNFINISHED

LANGUAGE_LENGTH = 40
"""Characters of a language's name that are kept: clients may send anything."""

LOCK_SECONDS = 5.0
"""How long another process that is writing is waited for."""


@dataclass(frozen=True)
class Counted:
    """Numbers of suggestions."""

    shown: int = 0
    accepted: int = 0
    """Of those shown, accepted at least in part."""
    rejected: int = 0
    """Of those shown, dismissed by the person without taking any of it."""
    characters: int = 0
    """Accepted ones (code points)."""

    def __add__(self, other: "Counted") -> "Counted":
        mine, others = asdict(self), asdict(other)
        return Counted(**{name: value + others[name] for name, value in mine.items()})

    @property
    def ends(self) -> int:
        """Suggestions of which an editor told what became of them."""
        return self.accepted + self.rejected

    @property
    def rate(self) -> float | None:
        """The share of shown suggestions that were accepted; None if none was shown."""
        return self.accepted / self.shown if self.shown else None


Days = dict[str, dict[str, Counted]]
"""By day (`2026-03-14`), then by language."""


class Tally:
    """What one editor tells, until it is written down."""

    def __init__(self) -> None:
        self._counted: dict[str, Counted] = {}
        self._undecided: set[Hashable] = set()
        """Documents whose shown suggestion was neither accepted nor rejected yet."""

    def __bool__(self) -> bool:
        return bool(self._counted)

    def shown(self, document: Hashable, language: str) -> None:
        """A suggestion appeared."""
        self._undecided.add(document)
        self._add(language, Counted(shown=1))

    def accepted(self, document: Hashable, language: str, characters: int) -> None:
        """So many characters of it were taken; words taken one by one are one acceptance."""
        first = document in self._undecided
        self._undecided.discard(document)
        self._add(language, Counted(accepted=int(first), characters=max(characters, 0)))

    def rejected(self, document: Hashable, language: str) -> None:
        """It was dismissed. One that was accepted in part before is no rejected one."""
        first = document in self._undecided
        self._undecided.discard(document)
        self._add(language, Counted(rejected=int(first)))

    def take(self, day: str | None = None) -> Days:
        """What was counted since the last call, as the numbers of a day (None is today)."""
        counted, self._counted = self._counted, {}
        return {day or date.today().isoformat(): counted} if counted else {}

    def _add(self, language: str, counted: Counted) -> None:
        name = language[:LANGUAGE_LENGTH]
        self._counted[name] = self._counted.get(name, Counted()) + counted


def default_file() -> Path:
    """`stats.json` in the data folder (`MIDTOKEN_HOME` moves it)."""
    return store.folder().parent / "stats.json"


def read(file: Path | None = None) -> Days:
    """What is written down; entries that are no counts are left out, as is a damaged file."""
    try:
        found = json.loads((file or default_file()).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    days: Days = {}
    for day, languages in _items(found):
        for language, numbers in _items(languages):
            known = {
                name: value
                for name, value in _items(numbers)
                if name in Counted.__dataclass_fields__ and type(value) is int and value >= 0
            }
            days.setdefault(day, {})[language] = replace(Counted(), **known)
    return days


def add(new: Days, file: Path | None = None) -> None:
    """Add numbers to what is written down; safe with other processes. Raises OSError."""
    if not new:
        return
    with _locked(file) as path:
        _write(path, together(read(path), new))


def together(days: Days, more: Days) -> Days:
    """The numbers of both."""
    added = {day: dict(languages) for day, languages in days.items()}
    for day, languages in more.items():
        known = added.setdefault(day, {})
        for language, counted in languages.items():
            known[language] = known.get(language, Counted()) + counted
    return added


def reset(file: Path | None = None) -> None:
    """Forget everything, and make nothing where there is nothing. Raises OSError."""
    if not os.path.lexists(file or default_file()):
        return
    with _locked(file) as path:
        path.unlink(missing_ok=True)


def by_language(days: Days) -> dict[str, Counted]:
    """All days together, the language with most suggestions first."""
    total: dict[str, Counted] = {}
    for languages in days.values():
        for language, counted in languages.items():
            total[language] = total.get(language, Counted()) + counted
    return dict(sorted(total.items(), key=lambda entry: (-entry[1].shown, entry[0])))


def by_day(days: Days) -> dict[str, Counted]:
    """All languages together, the first day first."""
    return {day: sum(days[day].values(), Counted()) for day in sorted(days)}


def as_json(days: Days) -> dict[str, dict[str, dict[str, int]]]:
    """The shape of the file."""
    return {
        day: {language: asdict(counted) for language, counted in languages.items()}
        for day, languages in sorted(days.items())
    }


def _items(value: object) -> list[tuple[str, object]]:
    return list(value.items()) if isinstance(value, Mapping) else []


@contextmanager
def _locked(file: Path | None) -> Iterator[Path]:
    path = file or default_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock", timeout=LOCK_SECONDS):  # its Timeout is an OSError
        yield path


def _write(path: Path, days: Days) -> None:
    """Put the whole file in place in one step: a reader sees the old or the new one.

    So does whoever starts the machine again after a power cut. Only one process writes at a time.
    """
    unfinished = path.with_suffix(UNFINISHED)
    try:
        unfinished.touch(0o600)
        with unfinished.open("w", encoding="utf-8") as out:
            json.dump(as_json(days), out, indent=1)
        flush_to_disk(unfinished)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
