r"""What other places say, put together for a prompt: chosen under a budget, in an order that stays.

What changes least comes first, so that a change leaves the model's memory of what stands before it
as it is: definitions (they change with the imports), the outline (with the start of what is shown),
the parts that were visited (with every jump), oldest first. All of it comes before the document's
own text in a prompt.

Where there is not enough room for all, the outline gets a quarter of it, definitions get half of it
and the visited parts the rest, the newest of them first; what one of them does not need, the others
get. Definitions of many files share their half evenly; where that is too little for some, the
longest are left out. Texts are cut at line ends only.

The same material gives the same choice; nothing is read here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from server.workspace.chunks import Chunk

Count = Callable[[bytes], int]
"""How many tokens a text has."""

MARKS = 1
"""Tokens of a part beside its name and its text."""

FEWEST_LINES = 3
"""A part of which fewer lines are left is not worth its name."""


@dataclass(frozen=True)
class Material:
    """What there is to choose from."""

    repository: str = ""
    """The name of the workspace."""
    name: str = ""
    """The document's path below the workspace's folder."""
    definitions: tuple[Chunk, ...] = ()
    outline: Chunk | None = None
    visited: tuple[Chunk, ...] = ()
    """Oldest first."""


def choose(material: Material, budget: int, count: Count) -> tuple[Chunk, ...]:
    """The parts for a prompt, in its order; `cost` of all of them together is within the budget.

    Args:
        material: What there is.
        budget: The most tokens.
        count: Counts the tokens of a text.
    """
    above = [material.outline] if material.outline else []
    needs = [
        _need(chunks, budget, count)
        for chunks in (above, material.definitions, material.visited[::-1])
    ]
    for_outline = min(needs[0], max(budget // 4, budget - needs[1] - needs[2]))
    outline = _shared(above, for_outline, count)
    left = budget - sum(cost(chunk, count) for chunk in outline)
    for_definitions = min(needs[1], max(budget // 2, left - needs[2]), left)
    definitions = _shared(material.definitions, for_definitions, count)
    left -= sum(cost(chunk, count) for chunk in definitions)
    return (*definitions, *outline, *_newest(material.visited, left, count))


def cost(chunk: Chunk, count: Count) -> int:
    """The tokens of a part, with its name and its mark."""
    return count(chunk.name.encode() + b"\n") + count(chunk.text) + MARKS


def _need(chunks: Sequence[Chunk], budget: int, count: Count) -> int:
    """The tokens of some parts, or more than there is room for."""
    need = 0
    for chunk in chunks:
        if need <= budget:
            need += cost(chunk, count)
    return need


def _shared(chunks: Sequence[Chunk], budget: int, count: Count) -> list[Chunk]:
    """Some parts, each with as much as it needs, but none with more than its share.

    Where that leaves too little of one, the longest is left out: more of them can be whole.
    """
    needs = {index: cost(chunk, count) for index, chunk in enumerate(chunks)}
    while needs:
        shares, left = dict[int, int](), budget
        for place, (need, index) in enumerate(sorted((need, at) for at, need in needs.items())):
            shares[index] = min(need, left // (len(needs) - place))
            left -= shares[index]
        cut = [_cut(chunks[index], shares[index], count) for index in needs]
        whole = [chunk for chunk in cut if chunk is not None]
        if len(whole) == len(cut):
            return whole
        del needs[max(needs, key=lambda index: needs[index])]
    return []


def _newest(chunks: Sequence[Chunk], budget: int, count: Count) -> list[Chunk]:
    """The last parts that fit, in their order; the first of them may be cut."""
    taken: list[Chunk] = []
    for chunk in reversed(chunks):
        cut = _cut(chunk, budget, count)
        if cut is None:
            break
        budget -= cost(cut, count)
        taken.insert(0, cut)
    return taken


def _cut(chunk: Chunk, budget: int, count: Count) -> Chunk | None:
    """A part's first lines, as many as fit a budget; None if they are too few."""
    if cost(chunk, count) <= budget:
        return chunk
    lines = chunk.text.splitlines(keepends=True)
    left = budget - count(chunk.name.encode() + b"\n") - MARKS
    taken = 0
    while taken < len(lines) and left > 0:
        left -= count(lines[taken])
        taken += left >= 0
    # A text may have a token more than its lines have.
    while taken >= FEWEST_LINES:
        shorter = Chunk(chunk.name, b"".join(lines[:taken]))
        if cost(shorter, count) <= budget:
            return shorter
        taken -= 1
    return None
