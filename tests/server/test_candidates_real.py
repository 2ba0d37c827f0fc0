"""Several continuations by the default model: the first is the usual one, all are different."""

import pytest

from server.completion_options import CompletionOptions
from server.snapshot import Snapshot

PLACES = {
    "inside a word": "def fibonacci(n):\n    if n < 2:\n        return n\n    retu",
    "an argument": "import json\n\n\ndef load(path):\n    with open(",
    "all of it is sure": "def area(width, height):\n    return ",
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_places(completer, place):
    """Each begins in another way, or goes on in another one from some token on."""
    text = place.encode()
    snapshot = Snapshot("a.py", 0, text, len(text), "python")

    [usual] = completer.complete(snapshot, CompletionOptions(max_tokens=12)).items
    items = completer.complete(snapshot, CompletionOptions(max_tokens=12, candidates=3)).items

    assert items[0].text == usual.text
    assert len({item.text for item in items}) == len(items)
    assert (len(items) > 1) == (items[0].probability < 0.9)
    assert all(0 < item.probability < 1 for item in items)
