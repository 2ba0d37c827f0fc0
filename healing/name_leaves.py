"""The last tokens of a name in a search of names, in the order in which they are looked at."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LIKELY = 256
"""Leaves of a node that are tested for admissibility at most: the rest counts as admissible."""


@dataclass
class Leaves:
    """Last tokens of one name after one node, most probable first."""

    node: int
    tokens: list[int]
    """-1 stands for the end of the text."""
    masses: list[float]
    tails: list[float]
    """The mass of the tokens from each place on; one longer than `tokens`."""
    checked: int = 0

    @property
    def open(self) -> float:
        """The mass that is not checked."""
        return self.tails[self.checked]


def sorted_leaves(
    node: int, tokens: NDArray[np.int64], masses: NDArray[np.float64]
) -> Leaves | None:
    """Leaves in order; of very many the likely ones, and the mass of the others."""
    if not len(tokens):
        return None
    others = 0.0
    if len(tokens) > LIKELY:
        likely = np.argpartition(-masses, LIKELY)[:LIKELY]
        others = float(np.delete(masses, likely).sum())
        tokens, masses = tokens[likely], masses[likely]
    order = np.argsort(-masses, kind="stable")
    masses = masses[order]
    tails = np.cumsum(np.append(masses, others)[::-1])[::-1]
    return Leaves(node, tokens[order].tolist(), masses.tolist(), tails.tolist())
