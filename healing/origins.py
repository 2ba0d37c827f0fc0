"""Typed texts that names go on from, and where their covering trees meet.

Names that replace what is typed go on from an earlier place than those that continue it: two texts
of one prompt, with two covering trees. Their probabilities are compared, so they are all counted
from one token path, the common start of the trees' trunks, and as shares of the shortest text's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

import numpy as np

from healing.covers import CoveringTree
from healing.exact import Path, Rows, Scored
from healing.sampling import log_normaliser

CHECKS = 256
"""Leaves of a typed text that are tested for admissibility, the likeliest ones."""


@dataclass(frozen=True)
class Origin:
    """Typed text, and the names that may follow it."""

    tree: CoveringTree
    """Of the typed text."""
    rests: Sequence[bytes]
    """What each name adds to the typed text; may be nothing."""
    weight: float = 1.0
    """How probable it is that a person who wants one of these names types what was typed."""


def needed(trees: Sequence[CoveringTree]) -> list[Path]:
    """The paths whose rows a search of origins with these trees begins with, parents first."""
    base = common_start([tree.trunk for tree in trees])
    paths = {path for tree in trees for path in inner_paths(tree)}
    starts = {path[:count] for path in paths for count in range(len(base), len(path) + 1)}
    return sorted(starts, key=lambda path: (len(path), path))


def inner_paths(tree: CoveringTree) -> set[Path]:
    """The trunk and the paths of the nodes of a tree."""
    return {tree.trunk, *map(tree.path, range(len(tree.nodes)))}


def common_start(paths: Sequence[Path]) -> Path:
    """The tokens that all paths (at least one) start with."""
    low, high = min(paths), max(paths)
    pairs = zip(low, high, strict=False)
    return tuple(left for left, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def reaches(tree: CoveringTree, base: Path, rows: Rows) -> dict[Path, float]:
    """Natural logs of the probabilities of a tree's inner paths after `base`."""
    found: dict[Path, float] = {base: 0.0}

    def reach(path: Path) -> float:
        if path not in found:
            row = rows[path[:-1]]
            found[path] = reach(path[:-1]) + float(row[path[-1]]) - log_normaliser(row)
        return found[path]

    for path in inner_paths(tree):
        reach(path)
    return found


def whole(scored: Scored) -> float:
    """Natural log of the probability of all admissible leaves of a scored tree, after its trunk.

    Where there are many, those that are not tested are taken to be admissible to the same share as
    those that are. An error of this is the same for all names.
    """
    admitted, looked_at = 0.0, 0.0
    for index in islice(scored.by_probability(), CHECKS):
        share = float(np.exp(scored.logprobs[index] - scored.logprob))
        looked_at += share
        admitted += share if scored.admits(index) else 0.0
    return scored.logprob + float(np.log(max(admitted, 1e-300) / looked_at))
