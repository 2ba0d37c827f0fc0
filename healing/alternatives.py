"""What else could come first after the cursor, beside the text that was chosen.

Two first texts of which one begins with the other are one opinion to whoever reads them: `nge` and
`nge(` are likely to become the same line. So of such texts only the most probable one counts, and
none that agrees so with the chosen one.

Leaves are looked at in the order of their probability. A text has at most one leaf at each
boundary of the tree, so when leaves have become too improbable for that, nothing is left to find.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from healing.best import Choice
from healing.exact import Leaf, Scored

LEAST = 0.02
"""A first text with a smaller share of the best one's probability is left out: it is right once
where the best one is right fifty times, and takes as long to write."""

LOOKED_AT = 300
"""So many leaves are looked at, at most."""


@dataclass(frozen=True)
class Alternative:
    """Another first visible text."""

    leaf: Leaf
    """Its most probable spelling."""
    probability: float
    """Of the text, over what the choice was made from; of spellings that were looked at."""


def alternatives(
    scored: Scored,
    choice: Choice,
    taken: bytes,
    count: int,
    is_useful: Callable[[bytes], bool] = lambda _: True,
    least: float = LEAST,
) -> list[Alternative]:
    """The most probable first texts that are different from one that is taken, best first.

    Args:
        scored: All leaves.
        choice: The most probable text of them.
        taken: What the leaf that is taken shows after the cursor.
        count: How many are wanted at most.
        is_useful: Whether a text is of any use; it is asked about few.
        least: The share of the best one's probability that a text must have.
    """
    bound = least * choice.probability
    boundaries = len(scored.tree.boundaries)
    sums: dict[bytes, float] = {}
    best: dict[bytes, int] = {}
    for number, index in enumerate(scored.by_probability()):
        share = float(np.exp(scored.logprobs[index] - choice.reading.logprob))
        if number == LOOKED_AT or share * boundaries < bound or not share:
            break
        text = scored.visible(index)
        if not text or agree(text, taken):
            continue
        if scored.accepted(index) and scored.admits(index):
            sums[text] = sums.get(text, 0.0) + share
            best.setdefault(text, index)
    found: list[Alternative] = []
    for text in sorted(sums, key=lambda text: -sums[text]):
        if len(found) >= count or sums[text] < bound:
            break
        if not any(agree(text, other.leaf.visible) for other in found) and is_useful(text):
            found.append(Alternative(scored.leaf(best[text]), sums[text]))
    return found


def agree(one: bytes, other: bytes) -> bool:
    """Whether one of two texts begins with the other.

    >>> agree(b"nge", b"nge("), agree(b"nge", b"ndom")
    (True, False)
    """
    return one.startswith(other) or other.startswith(one)
