"""Where a name is to be chosen: identifiers in real files that are in the file elsewhere, too."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from server.errors import DocumentError
from server.names import Name, names_in, occurrences
from server.snapshot import Snapshot, language_of, read_document

SHORTEST = 4
"""Bytes of a name that is asked for: three of them may be typed."""

TRIES = 200
"""Places that are looked at in a row without one that fits."""


@dataclass(frozen=True)
class Place:
    """A cursor before a name, without the rest of its line."""

    file: str
    before: bytes
    after: bytes
    """From the end of the cursor's line on."""
    gold: bytes
    """The name that stands there."""
    names: tuple[Name, ...]
    """All names in the rest of the file; the one that stands there is one of them."""
    language: str

    def snapshot(self, typed: bytes) -> Snapshot:
        """The document with the cursor after what is typed."""
        before = self.before + typed
        return Snapshot(self.file, 0, before + self.after, len(before), self.language)


def places(paths: Sequence[Path], seed: int) -> Iterator[Place]:
    """Places in files, without end; the same ones for a seed. Raises DocumentError if none fits."""
    chance = random.Random(seed)  # noqa: S311 (no secrets here)
    failures = 0
    while True:
        path = chance.choice(paths)
        found = _place_in(path, read_document(str(path)), chance)
        failures = 0 if found else failures + 1
        if found:
            yield found
        elif failures > TRIES:
            raise DocumentError(f"{path}: no name in it comes twice: give more or larger files")


def _place_in(path: Path, text: bytes, chance: random.Random) -> Place | None:
    language = language_of(str(path))
    found = [place for place in occurrences(text, language) if len(place[0]) >= SHORTEST]
    if not found:
        return None
    gold, start = chance.choice(found)
    end = text.find(b"\n", start)
    before, after = text[:start], b"" if end < 0 else text[end:]
    names = tuple(names_in(before + after, language, start))
    if all(name.text != gold for name in names):
        return None
    return Place(path.name, before, after, gold, names, language)
