"""Known names with the default model. Needs `make model`."""

import pytest

from healing import ranking
from server.ranking import RankOptions, rank
from server.snapshot import Snapshot

pytestmark = pytest.mark.model

BEFORE = b"""class Basket:
    def __init__(self):
        self.items = []

    def add_item(self, item, count=1):
        self.items.append((item, count))

    def total_price(self):
        return sum(item.price * count for item, count in self.items)


def receipt(basket):
    return f"total {basket."""
NAMES = ["items", "add_item", "total_price", "total"]
NOISE = 0.3
"""Of natural logs: what the shape of a batch does to this model's logits."""


def place(typed: bytes) -> Snapshot:
    """The document with the cursor after what is typed."""
    return Snapshot("shop.py", 0, BEFORE + typed + b"\n", len(BEFORE + typed), "python")


def test_all_at_once_as_each_alone(completer, monkeypatch):
    """Each name's probability is the same, whatever else is in the tree, and however much of the
    leaves is checked."""
    together = rank(completer, place(b""), NAMES)

    monkeypatch.setattr(ranking, "DOUBT", 1.0)
    for name in together.names[:2]:
        [alone] = rank(completer, place(b""), [name.label]).names
        assert alone.logprob == pytest.approx(name.logprob, abs=NOISE)


@pytest.mark.parametrize("typed", [b"to", b"toalt_p", b"TOTAL_P"])
def test_the_name_that_is_meant(completer, typed):
    """It comes first: begun, mistyped, or in another case."""
    found = rank(completer, place(typed), NAMES, RankOptions(best=1))

    assert found.names[0].label == "total_price"
