"""Other ways for a text to go on than the one that is written, at a place inside it.

Where the first text after the cursor is all but sure, as the rest of a half-typed word is, the
continuations that a person would choose from differ further on. So a text that is being written is
looked at after each token: where another token is likely as well, another text may begin.

Not here: how these texts are written (`candidates`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from healing.alternatives import agree
from healing.reachable import reachable
from healing.sampling import log_normaliser
from server.choosing import Chooser
from server.generation import Generation

LEAST = 0.1
"""A token with a smaller share of the chosen one's probability begins no other text. The first that
are found are taken, and what is less likely would take the place of a better one further on."""

LOOKED_AT = 16
"""So many of the most probable tokens are looked at, at most."""


@dataclass(frozen=True)
class Begun:
    """What a text shares with the one that it leaves."""

    text: bytes = b""
    logprobs: tuple[float, ...] = ()
    ends: tuple[int, ...] = ()

    def whole(self, generation: Generation) -> Generation:
        """A text that was written after it, with it."""
        size = len(self.text)
        return replace(
            generation,
            text=self.text + generation.text,
            logprobs=(*self.logprobs, *generation.logprobs),
            ends=(*self.ends, *(size + end for end in generation.ends)),
        )


def other_tokens(
    chooser: Chooser,
    row: NDArray[np.float32],
    chosen: int,
    is_useful: Callable[[bytes], bool],
) -> list[tuple[int, float]]:
    """Tokens that could have come instead of one, each with the natural log of its probability.

    Likeliest first; of two that show texts of which one begins with the other it is the first.

    Args:
        chooser: How the one was chosen.
        row: The logits, shape (vocabulary,).
        chosen: The token that was.
        is_useful: Whether a text can come next, and be worth writing.
    """
    temperature = chooser.sampling.temperature or 1.0
    bound = float(row[chosen]) + temperature * math.log(LEAST)
    likely = np.flatnonzero(row >= bound)
    likely = likely[np.argsort(-row[likely], kind="stable")][:LOOKED_AT]
    vocabulary = chooser.tokenization.vocabulary
    texts = [vocabulary[chosen]]
    found: list[int] = []
    for token in likely.tolist():
        text = vocabulary[token]
        if token in chooser.stops or token in chooser.not_text or not text:
            continue
        if any(agree(text, other) for other in texts):
            continue
        if reachable(chooser.tokenization, token) and is_useful(text):
            texts.append(text)
            found.append(token)
    if not found:
        return []
    normaliser = log_normaliser(row, temperature, chooser.not_text)
    return [(token, float(row[token]) / temperature - normaliser) for token in found]
