"""What is shown of an answer with several continuations: different texts, the likeliest first.

The first one is what would be shown if no others had been asked for; where there is none, there are
no others either. It stays first even if another text is more probable as a whole: the longer a text
is, the less probable it is, and what a person sees must not depend on how many were asked for. The
others follow by their probability. Continuations of which the same text is shown are one.
"""

from dataclasses import replace

from server.answers import Answer, present_after
from server.confidence import BOLD, Caution
from server.report import Completion, Item
from server.snapshot import Snapshot


def present_all(
    snapshot: Snapshot,
    since: bytes,
    left: Answer,
    caution: Caution = BOLD,
    most: int | None = None,
) -> Completion:
    """What is shown of an answer of which a part may have been typed since it was asked for.

    Args:
        snapshot: The document now.
        since: What has been typed; line ends as LF.
        left: The rest of the answer.
        caution: How sure it has to be.
        most: How many are shown at most; None for all.
    """
    completion = present_after(snapshot, since, left, caution)
    if not completion.items or not left.others:
        return completion
    items = [*completion.items]
    for other in left.others:
        answer = replace(left, generation=other.generation, fits=other.fits)
        items += present_after(snapshot, since, answer, caution).items
    return replace(completion, items=merged(items)[:most])


def merged(items: list[Item]) -> tuple[Item, ...]:
    """Different items: the first one, and the others by their probability.

    The probabilities of equal ones that were written with other tokens are added up; all else is
    that of the first of them. Equal ones that parted behind what is shown are of the same tokens:
    their probability is the same to the last digit, and counts once.
    """
    found: dict[tuple[str, int], Item] = {}
    shares: dict[tuple[str, int], set[float]] = {}
    for item in items:
        key = item.text, item.replaced_bytes
        found.setdefault(key, item)
        shares.setdefault(key, set()).add(item.probability)
    first, *others = (
        replace(item, probability=min(1.0, sum(shares[key]))) for key, item in found.items()
    )
    return (first, *sorted(others, key=lambda item: -item.probability))
