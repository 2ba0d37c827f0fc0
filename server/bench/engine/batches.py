"""Several tokens in one batch against one after the other: what drafts and healing live on.

Each number of tokens is evaluated as a chain (as a draft is), as a tree of that many branches (as
candidates are), and as so many single steps. Covering trees of real places are evaluated whole, and
path by path, as they would be without trees.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from healing.covers import ROOT as TRUNK
from healing.covers import CoveringTree, covering_tree
from server.bench.engine.timing import milliseconds, spread
from server.bench.holes import holes, standard_library
from server.completer import Completer
from server.engine import ROOT, Slot, TokenEngine

SIZES = (1, 2, 4, 8, 16)
"""Tokens of a batch."""
CONTEXT_TOKENS = 128
"""Tokens before them."""

Nodes = list[tuple[int, int]]


def measure(completer: Completer, repetitions: int, trees: int, seed: int) -> dict[str, Any]:
    """Times in milliseconds.

    Args:
        completer: A loaded model that can evaluate trees.
        repetitions: How often each batch is evaluated; once more to warm up.
        trees: How many covering trees are evaluated.
        seed: Of the places and tokens.
    """
    return {
        "sizes": {str(size): _batch(completer.engine, size, repetitions, seed) for size in SIZES},
        "covers": _covers(completer, trees, seed),
    }


def _batch(engine: TokenEngine, size: int, repetitions: int, seed: int) -> dict[str, Any]:
    chance = random.Random(seed)  # noqa: S311 (no secrets here)
    most = len(engine.vocabulary)
    slot = engine.open([chance.randrange(most) for _ in range(CONTEXT_TOKENS)])
    engine.evaluate(slot, [], [ROOT])
    tokens = [chance.randrange(most) for _ in range(size)]
    chain = [(node - 1, token) for node, token in enumerate(tokens)]
    star = [(ROOT, token) for token in tokens]
    ways: dict[str, Callable[[], object]] = {
        "chain": lambda: engine.evaluate(slot, chain, range(size)),
        "tree": lambda: engine.evaluate(slot, star, range(size)),
        "steps": lambda: _one_by_one(engine, slot, tokens),
    }
    times = _in_turns(ways, repetitions, lambda: engine.cut(slot, CONTEXT_TOKENS))
    engine.drop(slot)
    return _compared(times, "steps")


def _one_by_one(engine: TokenEngine, slot: Slot, tokens: Sequence[int]) -> None:
    for token in tokens:
        engine.evaluate(slot, [(ROOT, token)], [0])
        engine.keep(slot, 0)


def _covers(completer: Completer, count: int, seed: int) -> dict[str, Any]:
    """Covering trees that have something to evaluate, by the number of their nodes."""
    times: dict[str, list[float]] = {"tree": [], "paths": []}
    sizes, paths_of_all = [], 0
    for before, tree in _trees(completer, seed):
        engine, nodes, paths = completer.engine, nodes_of(tree), paths_of(tree)
        slot = engine.open(before)
        engine.evaluate(slot, [], [ROOT])
        sizes.append(len(nodes))
        paths_of_all += len(paths)
        ways: dict[str, Callable[[], object]] = {
            "tree": lambda: engine.evaluate(slot, nodes, range(len(nodes))),  # noqa: B023
            "paths": lambda: [
                engine.evaluate(slot, path, range(len(path)))  # noqa: B023
                for path in paths  # noqa: B023
            ],
        }
        found = _in_turns(ways, 1, lambda: None)
        for name, values in found.items():
            times[name] += values
        engine.drop(slot)
        if len(sizes) == count:
            break
    return {
        "nodes": spread(sizes),
        "paths_a_tree": round(paths_of_all / len(sizes), 2),
        **_compared(times, "paths"),
    }


def _trees(completer: Completer, seed: int) -> Iterator[tuple[list[int], CoveringTree]]:
    """The tokens before a covering tree's nodes, and the tree, at places inside lines of code."""
    for hole in holes(standard_library(), seed):
        start = hole.before.rfind(b"\n") + 1
        tree = covering_tree(hole.before[start:], completer.tokenization)
        if len(paths_of(tree)) > 1:
            head = completer.engine.encode(hole.before[max(0, start - 2000) : start])
            yield [*head[-CONTEXT_TOKENS:], *tree.trunk], tree


def nodes_of(tree: CoveringTree) -> Nodes:
    """The nodes as the engine takes them."""
    return [(ROOT if node.parent == TRUNK else node.parent, node.token) for node in tree.nodes]


def paths_of(tree: CoveringTree) -> list[Nodes]:
    """Each way from the trunk to a node after which nothing comes, as a chain."""
    parents = {node.parent for node in tree.nodes}
    ends = [node for node in range(len(tree.nodes)) if node not in parents]
    tokens = [tree.path(end)[len(tree.trunk) :] for end in ends]
    return [[(at - 1, token) for at, token in enumerate(path)] for path in tokens]


def _in_turns(
    ways: dict[str, Callable[[], object]], repetitions: int, after: Callable[[], object]
) -> dict[str, list[float]]:
    """The times of each way; each one is first in its turn, and does it once to warm up."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(repetitions + 1):
        for name in sorted(ways, reverse=bool(number % 2)):
            took = milliseconds(ways[name])
            after()
            if number:
                times[name].append(took)
    return times


def _compared(times: dict[str, list[float]], base: str) -> dict[str, Any]:
    """The times summed up, and how many times as fast as `base` the others are in the median."""
    summed = {f"{name}_ms": spread(values) for name, values in times.items()}
    gains = {
        f"{name}_gain": round(summed[f"{base}_ms"]["median"] / summed[f"{name}_ms"]["median"], 3)
        for name in times
        if name != base
    }
    return {**summed, **gains}
