"""Branches of a tree, without a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.engine import ROOT
from server.engine.llama_tree import Tree


@st.composite
def trees(draw: st.DrawFn, most: int = 24) -> Tree:
    size = draw(st.integers(0, most))
    return Tree.of([(draw(st.integers(ROOT, index - 1)), index) for index in range(size)])


def test_example():
    """The tree of the module's docstring."""
    tree = Tree.of([(ROOT, 5), (0, 6), (0, 7), (ROOT, 8)])

    assert tree.rounds(8) == [[(0, (0, 1)), (1, (0,)), (2, (1,)), (3, (2,))]]
    assert tree.depths == (0, 1, 1, 0)
    assert tree.path(2) == [0, 2]


@pytest.mark.parametrize("parents", [[0], [ROOT, 1], [ROOT, -2]])
def test_parent_must_come_before(parents: list[int]):
    """A node can't hang on itself, on a later node or on nothing."""
    with pytest.raises(ValueError, match="does not come before"):
        Tree.of([(parent, 1) for parent in parents])


def test_chain_is_one_branch():
    """A chain needs no sequence but the slot's own, whatever the limit."""
    tree = Tree.of([(ROOT, 1), (0, 2), (1, 3)])

    assert tree.is_chain
    assert tree.rounds(1) == [[(0, (0,)), (1, (0,)), (2, (0,))]]


@given(trees(), st.integers(1, 5))
def test_every_node_is_evaluated_after_its_parent(tree: Tree, limit: int):
    """Each round holds whole paths in topological order, and all rounds hold all nodes."""
    seen = set()
    for steps in tree.rounds(limit):
        in_round = set()
        for node, _ in steps:
            assert tree.parents[node] == ROOT or tree.parents[node] in in_round
            in_round.add(node)
        seen |= in_round
    assert seen == set(range(len(tree)))


@given(trees(), st.integers(1, 5))
def test_a_branch_is_exactly_one_path(tree: Tree, limit: int):
    """What llama.cpp lets a token see by any of its sequences are its ancestors, no other node."""
    for steps in tree.rounds(limit):
        assert all(branch < limit for _, branches in steps for branch in branches)
        for node, branches in steps:
            for branch in branches:
                above = [n for n, b in steps if branch in b and tree.depths[n] <= tree.depths[node]]
                assert above == tree.path(node)
