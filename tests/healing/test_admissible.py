"""What is remembered of admissible paths changes no tree."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from healing import covers
from healing.covers import covering_tree
from tests.healing import toy

typed_texts = st.text("ab1 (\n'", max_size=12).map(str.encode)


@given(st.sampled_from([*toy.SPLITS]), typed_texts)
@settings(max_examples=40)
def test_key_by_key(name, typed):
    """A tokenizer that has seen all keys before makes the tree of one that has seen none."""
    _, used = toy.toy(name)

    for size in range(len(typed) + 1):
        found = covering_tree(typed[:size], used)
        fresh = covering_tree(typed[:size], replace(used))
        assert (found.trunk, found.nodes, found.boundaries) == (
            fresh.trunk,
            fresh.nodes,
            fresh.boundaries,
        )


@pytest.mark.parametrize("limit", [1, 2, 7])
@given(typed_texts)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
def test_little_is_remembered(monkeypatch, limit, typed):
    """The memory is bounded, and forgetting costs nothing but time."""
    monkeypatch.setattr(covers, "REMEMBERED", limit)
    _, used = toy.toy(next(iter(toy.SPLITS)))
    used = replace(used)

    tree = covering_tree(typed, used)

    assert tree.boundaries == covering_tree(typed, replace(used)).boundaries
    assert len(used.known_admissible) <= limit
