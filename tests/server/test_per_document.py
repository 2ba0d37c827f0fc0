"""What was found in documents is kept until they change."""

from dataclasses import replace

from server.per_document import REMEMBERED, REMEMBERED_BYTES, PerDocument
from server.snapshot import Snapshot

ONE = Snapshot("file:///a.py", 1, b"one", 0, "python")
MANY = [replace(ONE, uri=f"file:///{number}.py") for number in range(2 * REMEMBERED)]


class Sizes:
    """Finds how long documents are, and knows how often it was asked."""

    def __init__(self):
        self.found = PerDocument(self.size)
        self.asked = 0

    def size(self, document):
        self.asked += 1
        return len(document.text)


def test_once():
    """Whatever is found, and whatever a document's version says."""
    sizes = Sizes()
    empty = replace(ONE, text=b"")

    assert [sizes.found.of([one]) for one in (ONE, replace(ONE, version=2))] == [[3], [3]]
    assert sizes.asked == 1
    assert [sizes.found.of([one]) for one in (empty, empty)] == [[0], [0]]
    assert sizes.asked == 2


def test_few_are_kept():
    """Those that were asked for last."""
    sizes = Sizes()
    for one in MANY:
        sizes.found.of([one])
    assert len(sizes.found) == REMEMBERED

    for one in MANY[-REMEMBERED:]:
        sizes.found.of([one])
    assert sizes.asked == len(MANY)


def test_all_of_a_call_are_kept():
    """However many are asked for at once, nothing is found twice."""
    sizes = Sizes()
    for _ in range(2):
        assert sizes.found.of(MANY) == [3] * len(MANY)

    assert sizes.asked == len(MANY)


def test_large_documents():
    """Of closed ones little text is kept; those of one call are kept whatever they take."""
    sizes = Sizes()
    large = [replace(one, text=bytes(REMEMBERED_BYTES // 2)) for one in MANY[:6]]

    for _ in range(2):
        sizes.found.of(large[:3])
    assert sizes.asked == len(sizes.found) == 3
    sizes.found.of(large[3:4])
    assert len(sizes.found) == 2
