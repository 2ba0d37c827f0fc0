"""The names that may stand at a place: those of its document and of others that are open.

What was found in a document is kept (`per_document`): going through a megabyte takes a while.

What is not here: how names are found (`names`), and which of them is meant (`ranking`).
"""

from collections.abc import Iterable
from functools import partial
from itertools import chain

from server.names import LARGEST, Name, merged, names_in
from server.per_document import PerDocument
from server.snapshot import Snapshot


class NameIndex:
    """The names of documents. Belongs to one thread at a time."""

    def __init__(self) -> None:
        self._names = PerDocument(lambda document: names_in(document.text, document.language))

    def at(
        self, snapshot: Snapshot, others: Iterable[Snapshot] = (), most: int = LARGEST
    ) -> list[bytes]:
        """The names that may stand at a snapshot's cursor, those first that were used last before.

        Args:
            snapshot: The document. The word at its cursor is left out.
            others: Other documents; only those of the same language are looked at.
            most: Bytes of the document around the cursor that are read, each time anew.
        """
        own = names_in(snapshot.text, snapshot.language, snapshot.cursor, most)
        same = [other for other in others if other.language == snapshot.language]
        found = merged(own, chain.from_iterable(self._names.of(same)))
        found.sort(key=partial(distance, snapshot.cursor))
        return [name.text for name in found]


def distance(cursor: int, name: Name) -> tuple[int, int]:
    """What orders names by: the nearest one before the cursor first, other documents' last."""
    if name.nearest < 0:
        return 2, -name.count
    return (1, name.nearest) if name.nearest >= cursor else (0, -name.nearest)
