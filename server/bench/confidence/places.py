"""Where somebody who types a function is: all before the cursor is there, its rest is not.

Functions are those that `midtoken bench typing` types. A cursor is before a character of theirs, of
chance, that is no indentation: all that a person types is as likely, and indentation is typed by
editors. What is not here: what is suggested there (`suggestions`).
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from server.bench.corpus import Source
from server.snapshot import Snapshot


@dataclass(frozen=True)
class Place:
    """A cursor in a function that is being written."""

    file: str
    language: str
    before: bytes
    gold: bytes
    """The rest of the function, which is not in the document."""
    after: bytes
    """What stands below the function."""

    @property
    def snapshot(self) -> Snapshot:
        """The document at the cursor."""
        text = self.before + self.after
        return Snapshot(self.file, 0, text, len(self.before), self.language)


def places(sources: Iterator[Source], seed: int) -> Iterator[Place]:
    """A place in each source; the same ones for a seed."""
    chance = random.Random(seed)  # noqa: S311 (no secrets here)
    for source in sources:
        yield _place_in(source, chance)


def _place_in(source: Source, chance: random.Random) -> Place:
    chosen = chance.randrange(len(source.targets))
    texts = [target.text for target in source.targets]
    text = texts[chosen]
    cuts = [at for at in range(1, len(text)) if not _is_indented(text, at)]
    cut = chance.choice(cuts)
    before = _filled(source.pieces[: chosen + 1], texts[:chosen]) + text[:cut]
    after = _filled(source.pieces[chosen + 1 :], texts[chosen + 1 :])
    return Place(source.name, source.language, before.encode(), text[cut:].encode(), after.encode())


def _filled(pieces: Sequence[str], texts: Sequence[str]) -> str:
    """A part of a source with the functions that it lacks, which stand between its pieces."""
    return "".join(chain.from_iterable(zip_longest(pieces, texts, fillvalue="")))


def _is_indented(text: str, at: int) -> bool:
    """Whether a place is in a line's indentation, where the editor types."""
    return not text[text.rfind("\n", 0, at) + 1 : at].strip() and text[at] in " \t"
