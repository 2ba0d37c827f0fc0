"""Of names that are known at a place, those that may be suggested: they fit, and are not banned.

    >>> from server.bans import compiled
    >>> place = Snapshot("a.py", 0, b"x = gV", 6, "python")
    >>> fitting_names([b"getVariable", b"other", b"gVNote"], place, compiled(("gVN",), ()))
    [b'getVariable']

What is not here: where names come from (`name_index`), and which of them is meant (`ranking`).
"""

from collections.abc import Iterable, Sequence
from itertools import islice

from server.answers import text_before
from server.bans import BEFORE_BYTES, Bans
from server.name_matching import match
from server.names import word_start
from server.snapshot import Snapshot, with_lf


def fitting_names(
    names: Iterable[bytes],
    snapshot: Snapshot,
    bans: Bans | None,
    *,
    forgiving: bool = True,
    most: int | None = None,
) -> list[bytes]:
    """The first of some names that fit the word before a cursor, in their order.

    Args:
        names: UTF-8.
        snapshot: The document.
        bans: What is never suggested; None for nothing. A name that replaces the word counts from
            the word's start on, another one from the cursor.
        forgiving: Whether names that the word is not a beginning of may be meant by it.
        most: So many at most; None for all.
    """
    text, cursor = snapshot.text, snapshot.cursor
    word = text[word_start(text, cursor, snapshot.language) : cursor]
    fitting = (
        name
        for name in names
        if name.startswith(word) or (forgiving and match(word, name) is not None)
    )
    found = list(islice(fitting, most))
    if bans is None or not found:
        return found
    before = text_before(snapshot)
    after = with_lf(text[cursor : cursor + BEFORE_BYTES])
    whole = [name for name in found if not name.startswith(word)]
    rests = [name[len(word) :] for name in found if name.startswith(word) and name != word]
    allowed = {
        *_allowed(bans, before.removesuffix(word), whole, after),
        *(word + rest for rest in _allowed(bans, before, rests, after)),
        word,  # a word that stands there is the person's own
    }
    return [name for name in found if name in allowed]


def _allowed(bans: Bans, before: bytes, texts: Sequence[bytes], after: bytes) -> list[bytes]:
    are_allowed = bans.allowed(before, texts, after)
    return [text for text, is_allowed in zip(texts, are_allowed, strict=True) if is_allowed]
