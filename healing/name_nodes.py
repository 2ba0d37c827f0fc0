"""What a search of names keeps: paths that names go along, and the last tokens of each."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from healing.exact import Path

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


@dataclass
class NameNode:
    """A token path that names go along."""

    path: Path
    """From the start of the typed text: what is evaluated."""
    window: Path
    """The end of it that admissibility is asked about."""
    owed: bytes
    """What the origin's typed text has after the path; empty for all nodes below."""
    used: int
    """Bytes of the rests that the path spells."""
    first: int
    end: int
    """Its names, in the order of the search."""
    mass: float
    """Weighted probability of the path."""
    may_stop: bool
    """Whether the text may end here."""
    is_open: bool = True
    """Whether its row may still be worth something."""
    is_checked: bool = False
    """Whether the path is known to be admissible."""


@dataclass
class SearchedName:
    """A name while it is searched for."""

    rest: bytes
    whole: bool
    """Whether the name has to end after it."""
    scale: float
    """What its probability is multiplied with to make it a share."""
    low: float = 0.0
    """Mass that is known to count."""
    admitted: float = 0.0
    """The part of it that are leaves."""
    refused: float = 0.0
    """Mass of leaves that do not count."""
    nodes: list[int] = field(default_factory=list)
    """Open ones that it goes along, or may go along."""
    going: set[int] = field(default_factory=set)
    """Those of them that it is known to go along."""
    leaves: list[Leaves] = field(default_factory=list)
    split: Path = ()
    """The encoder's tokens for the window with the whole name; empty if not asked for yet."""

    @property
    def unchecked(self) -> float:
        """Mass of leaves that were not looked at."""
        return sum(group.open for group in self.leaves)

    @property
    def admissible_share(self) -> float:
        """Of the leaves that were looked at."""
        looked_at = self.admitted + self.refused
        return self.admitted / looked_at if looked_at else 1.0


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
