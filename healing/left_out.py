"""Leaves of a scored covering tree that must not be taken, whatever their probability.

They lose their probability, and the others keep theirs: what is left says how much the model likes
a text, not how much it would if it knew what is left out.
"""

from dataclasses import replace

import numpy as np

from healing.exact import Scored


def without(scored: Scored, text: bytes, *, longer: bool) -> Scored:
    """The same leaves, of which those that show a text have no probability.

    Args:
        scored: All leaves.
        text: What they show after the cursor; not empty.
        longer: Whether those that show more after it count as well.
    """
    tree = scored.tree
    trie = tree.tokenization.trie
    logprobs = scored.logprobs.copy()
    for index, boundary in enumerate(tree.boundaries):
        spelled = tree.typed[boundary.start :] + text
        ids = trie.starting_with(spelled) if longer else trie.spelling(spelled)
        first, last = np.searchsorted(scored.owners, [index, index + 1])
        own = np.isin(scored.tokens[first:last], ids)
        logprobs[first:last][own] = -np.inf
    return replace(scored, logprobs=logprobs)
