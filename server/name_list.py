r"""Known names for a completion list, beside texts that the model has written: all by one measure.

What can be compared is the first word: a name that is probable as a whole, and a text whose first
word is. So the first words of the texts are ranked as if they were names, in the same search::

    print(re|        written  `ader.numbers)`   first word  reader   62 %
                     names                                  read     21 %
                                                            REASON    3 %   (other case)

The work is bounded: few names, few tokens, and nothing of the prompt is read again for it beyond a
limit. A name that is not exact then has at most what is said of it.

What is not here: an editor's items (`name_items`), and when there is time (`name_requests`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from server.completer import Completer
from server.completion_options import CompletionOptions
from server.errors import EngineError
from server.fitting_names import fitting_names
from server.name_index import NameIndex
from server.name_kinds import Kind, NameKinds
from server.names import word_bytes, word_start
from server.ranking import Ranking, RankOptions, rank, why_not
from server.snapshot import Snapshot

MOST = 10
"""Names in a list: a menu shows no more at once."""

MOST_FITTING = 256
"""Names that are ranked, the nearest ones: where nothing is typed, all of a document fit."""

TOKENS = 64
"""Tokens that are evaluated for names, about: the ten best of 100 names take 52 (`ranking.md`)."""

DOCUMENT_BYTES = 1 << 17
"""So much of the document around the cursor is looked through for names at each request."""

UNLIKELY = 0.01
"""What is less probable than this is no guess worth showing: such names are left out where nothing
is typed, or it would be mistyped."""

SURE = frozenset({"start", "other case", "initials"})
"""Ways to fit a word that are hardly by chance."""

_OPENING = re.compile(rb"[ \t]*(?:[\w\x80-\xff]+|[^\s\w])")
"""The first word or mark of a text, with the blanks before it."""


@dataclass(frozen=True)
class KnownName:
    """A name for a list."""

    text: str
    kind: Kind
    match: str
    """How it fits the typed word: a key of `name_matching.LIKELIHOODS`."""
    probability: float
    """That it is what is meant, given the typed word."""
    exact: bool
    """False if the probability is the most that it can be."""

    @property
    def goes_on(self) -> bool:
        """Whether it begins with the typed word; else it replaces it."""
        return self.match == "start"


@dataclass(frozen=True)
class NameList:
    """Known names at a place."""

    names: tuple[KnownName, ...]
    """Those that are exact first, best first."""
    written: tuple[float, ...]
    """For each text that was written, the probability of its first word; 1 where it has none."""
    evaluated: int
    """Tokens put through the model for it."""


@dataclass(frozen=True)
class Limits:
    """How much may be done."""

    tokens: int
    """Tokens to evaluate for names, about."""
    reading: int
    """Tokens of the prompt to read before that, if they are not in memory."""


class NameSources:
    """Where names come from. Belongs to one thread at a time."""

    def __init__(self) -> None:
        self.index = NameIndex()
        self.kinds = NameKinds()


def list_names(
    completer: Completer,
    sources: NameSources,
    snapshot: Snapshot,
    others: Sequence[Snapshot],
    written: Sequence[bytes],
    options: CompletionOptions,
    limits: Limits,
) -> NameList | None:
    """The names that are worth a place in a list.

    Args:
        completer: The model.
        sources: Where names come from.
        snapshot: The document.
        others: Other open documents.
        written: Texts that come after the cursor in other entries.
        options: As the texts were asked for with: the prompt is the same, and bans hold.
        limits: How much may be done.

    Returns:
        None if there are no names, if it would take more than the limits, or if the model can't
        rank them.

    Raises:
        Cancelled: `cancel` was called.
    """
    if why_not(completer):
        return None
    text, cursor, language = snapshot.text, snapshot.cursor, snapshot.language
    word = text[word_start(text, cursor, language) : cursor]
    known = sources.index.at(snapshot, others, DOCUMENT_BYTES)
    names = fitting_names(known, snapshot, options.compiled_bans(), most=MOST_FITTING)
    names = [name for name in names if name != word]
    if not names:
        return None
    openings = [opening(word, one, language) for one in written]
    labels = [*dict.fromkeys([*names, *filter(None, openings)])]
    best = MOST + len({*openings})
    request = RankOptions(best, limits.tokens, completion=options, reading=limits.reading)
    found = _ranked(completer, snapshot, labels, request)
    if found is None:
        return None
    meant = {
        labels[one.index]: share for one, share in zip(found.names, found.meant(), strict=True)
    }
    own = {*names}
    ranked = [(labels[one.index], one) for one in found.names]
    worth = [
        (name, one)
        for name, one in ranked
        if name in own and (meant[name] >= UNLIKELY or (word and one.match in SURE))
    ]
    worth.sort(key=lambda pair: not pair[1].exact)
    kinds = sources.kinds.at(snapshot, others) if worth else {}
    listed = (
        KnownName(one.label, kinds.get(name, "variable"), one.match, meant[name], one.exact)
        for name, one in worth[:MOST]
    )
    shares = tuple(1.0 if one is None else meant.get(one, 1.0) for one in openings)
    return NameList(tuple(listed), shares, found.evaluated)


def _ranked(
    completer: Completer, snapshot: Snapshot, labels: Sequence[bytes], request: RankOptions
) -> Ranking | None:
    """The ranking; of names that go on from the word alone, if more is not in memory."""
    for forgiving in (True, False):
        try:
            return rank(completer, snapshot, labels, replace(request, forgiving=forgiving))
        except EngineError:
            continue
    return None


def opening(word: bytes, text: bytes, language: str) -> bytes | None:
    """What a text makes of the typed word: what it is ranked by beside names.

    Args:
        word: The word before the cursor.
        text: What comes after the cursor.
        language: Its identifier.

    Returns:
        The whole word; where none is typed, the text's first word or mark; None if it begins with
        a line end.
    """
    own = word_bytes(language)
    size = next((place for place, byte in enumerate(text) if byte not in own), len(text))
    if word or size:
        return word + text[:size]
    found = _OPENING.match(text)
    return found[0] if found else None
