"""Texts whose tokens are known: the covering tree of each beginning has the whole text's tokens."""

import json
from pathlib import Path

import pytest

from healing.covers import covering_tree
from healing.tokenization import Tokenization
from tests.healing.structure import holds

TESTS = Path(__file__).parents[1]
GOLDEN = TESTS / "golden"
SHARED = TESTS.parents[1] / "shared" / "cases"


def covers_file() -> Path:
    """The cases next to a checkout where they are kept there, else the copy in the tests."""
    shared = SHARED / "covers.jsonl"
    return shared if shared.exists() else GOLDEN / "covers.jsonl"


CASES = [json.loads(line) for line in covers_file().read_text().splitlines()]


@pytest.mark.model
@pytest.mark.parametrize("entry", CASES, ids=[entry["id"] for entry in CASES])
def test_golden_cover(tokenization: Tokenization, entry: dict):
    """The tokens of the whole text, up to the one across the cursor, are in the tree."""
    typed = entry["prefix"].encode()
    whole = tokenization.encode(typed + entry["continuation"].encode())

    assert whole[: len(entry["gold_tokens"])] == entry["gold_tokens"]
    assert [tokenization.vocabulary[token] for token in entry["gold_tokens"]] == [
        piece.encode() for piece in entry["gold_pieces"]
    ]
    assert tokenization.encode(typed) == entry["prefix_tokens"]
    assert holds(covering_tree(typed, tokenization), whole)


def test_golden_files_are_the_shared_ones():
    """Where both are there, the copy is up to date."""
    for copy in GOLDEN.glob("*.jsonl"):
        if (SHARED / copy.name).exists():
            assert copy.read_text() == (SHARED / copy.name).read_text()
