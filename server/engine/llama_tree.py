"""Which tokens of a tree belong to which branches, and in which order they are evaluated.

Every leaf is a branch. A node belongs to the branches of all leaves below it, as `llama_batch`
needs it::

    nodes = [(ROOT, 5), (0, 6), (0, 7), (ROOT, 8)]      5─┬─6     branch 0
                                                          └─7     branch 1
                                                        8         branch 2

    >>> tree = Tree.of(nodes)
    >>> [(step.node, step.branches) for step in tree.rounds(8)[0]]
    [(0, (0, 1)), (1, (0,)), (2, (1,)), (3, (2,))]

A tree with more leaves than there are sequences is evaluated in several rounds; nodes above leaves
of several rounds are evaluated in each of them.

What is not here: tokens, positions and memory of a real engine (`llama`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from server.engine import ROOT


class Step(NamedTuple):
    """One node in one round."""

    node: int
    branches: tuple[int, ...]


@dataclass(frozen=True)
class Tree:
    """A tree of tokens in topological order."""

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    depths: tuple[int, ...]
    """Nodes above each node: 0 for those right after the root."""

    def __len__(self) -> int:
        return len(self.tokens)

    @staticmethod
    def of(nodes: Sequence[tuple[int, int]]) -> "Tree":
        """A tree from `(parent, token)` pairs; ValueError if a parent does not come before."""
        depths: list[int] = []
        for index, (parent, _) in enumerate(nodes):
            if not ROOT <= parent < index:
                raise ValueError(f"node {index} has parent {parent}, which does not come before it")
            depths.append(0 if parent == ROOT else depths[parent] + 1)
        return Tree(tuple(t for _, t in nodes), tuple(p for p, _ in nodes), tuple(depths))

    @property
    def is_chain(self) -> bool:
        """Whether the tree has no more than one leaf."""
        return self.parents == tuple(range(-1, len(self.parents) - 1))

    def path(self, node: int) -> list[int]:
        """The nodes from the root's child down to `node`; empty for `ROOT`."""
        found = []
        while node != ROOT:
            found.append(node)
            node = self.parents[node]
        return found[::-1]

    def follow(self, tokens: Sequence[int]) -> list[int]:
        """The nodes that spell the longest beginning of some tokens, from the root down."""
        found: list[int] = []
        for token in tokens:
            parent = found[-1] if found else ROOT
            nodes = range(parent + 1, len(self))
            same = (n for n in nodes if self.parents[n] == parent and self.tokens[n] == token)
            node = next(same, None)
            if node is None:
                break
            found.append(node)
        return found

    def leaves(self) -> list[int]:
        """The nodes without children, ordered so that neighbours share the longest paths."""
        children: dict[int, list[int]] = {}
        for node, parent in enumerate(self.parents):
            children.setdefault(parent, []).append(node)
        found, stack = [], children.get(ROOT, [])[::-1]
        while stack:
            node = stack.pop()
            below = children.get(node)
            if below:
                stack.extend(reversed(below))
            else:
                found.append(node)
        return found

    def rounds(self, limit: int) -> list[list[Step]]:
        """The steps of every round, with at most `limit` branches each, numbered from 0."""
        if self.is_chain:
            return [[Step(node, (0,)) for node in range(len(self))]]
        leaves = self.leaves()
        planned = []
        for start in range(0, len(leaves), limit):
            branches: dict[int, list[int]] = {}
            for number, leaf in enumerate(leaves[start : start + limit]):
                for node in self.path(leaf):
                    branches.setdefault(node, []).append(number)
            planned.append([Step(node, tuple(branches[node])) for node in sorted(branches)])
        return planned
