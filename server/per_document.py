"""What was found in documents, kept until they change.

Those that were asked for last are kept, and all of one call however many they are: else each call
would find everything again as soon as there is one document too many.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from server.snapshot import Snapshot

REMEMBERED, REMEMBERED_BYTES = 32, 1 << 24
"""Documents of which something is kept, and their text, if no call is for more: it may be that of
documents that are closed by now."""

Found = TypeVar("Found")


class PerDocument(Generic[Found]):
    """Something of each document. Belongs to one thread at a time."""

    def __init__(self, find: Callable[[Snapshot], Found]) -> None:
        """Find with this what is not known; it may look at the text and the language."""
        self._find = find
        self._known: OrderedDict[str, tuple[bytes, Found]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def of(self, documents: Sequence[Snapshot]) -> list[Found]:
        """What is in each of some documents."""
        found = [self._of(document) for document in documents]
        while len(self._known) > len(documents) and self._are_too_many():
            self._known.popitem(last=False)
        return found

    def _are_too_many(self) -> bool:
        size = sum(len(text) for text, _ in self._known.values())
        return len(self._known) > REMEMBERED or size > REMEMBERED_BYTES

    def _of(self, document: Snapshot) -> Found:
        known = self._known.get(document.uri)
        if known is None or known[0] != document.text:
            known = self._known[document.uri] = (document.text, self._find(document))
        self._known.move_to_end(document.uri)
        return known[1]
