"""Brute force: the truth about covers, from the tokenizer's public `encode` alone.

Nothing here calls into `healing`. Every continuation up to a length is encoded; whatever path the
tokenizer takes across the cursor is a cover, and there are no others.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache

import numpy as np
from tokenizers import Tokenizer

STOP = -1


Cover = tuple[tuple[int, ...], int]
"""A path and a leaf; the leaf is `STOP` where the text ends at the cursor."""


def covers(tokenizer: Tokenizer, typed: str, continuations: list[str]) -> set[Cover]:
    """All covers of a text, by the splits of all its continuations."""
    # In a byte-level alphabet every character of a piece stands for one byte.
    sizes = {token: len(piece) for piece, token in tokenizer.get_vocab().items()}
    encodings = tokenizer.encode_batch_fast([typed + text for text in continuations])
    return crossing((encoding.ids for encoding in encodings), sizes, len(typed.encode()))


def crossing(splits: Iterable[list[int]], sizes: Mapping[int, int], cursor: int) -> set[Cover]:
    """How some splits cross a cursor. `sizes` and `cursor` are in bytes."""
    found = set()
    for ids in splits:
        end, count = 0, 0
        while count < len(ids) and end + sizes[ids[count]] <= cursor:
            end += sizes[ids[count]]
            count += 1
        leaf = ids[count] if count < len(ids) else STOP
        if leaf != STOP or end == cursor:
            found.add((tuple(ids[:count]), leaf))
    return found


def distribution(
    found: set[Cover],
    model: Callable[[tuple[int, ...]], np.ndarray],
    bytes_of: Callable[[int], bytes],
    size: int,
    stop_token: int,
) -> tuple[dict[bytes, float], np.ndarray]:
    """First visible texts with their probability, and the next byte's, shape (257,)."""

    @cache
    def probabilities(path: tuple[int, ...]) -> np.ndarray:
        logits = model(path)
        exponentials = np.exp(logits - logits.max())
        return exponentials / exponentials.sum()

    weights: dict[bytes, float] = {}
    for path, leaf in found:
        weight = 1.0
        for index, token in enumerate([*path, stop_token if leaf == STOP else leaf]):
            weight *= probabilities(path[:index])[token]
        shown = b"" if leaf == STOP else b"".join(map(bytes_of, [*path, leaf]))[size:]
        weights[shown] = weights.get(shown, 0.0) + weight
    total = sum(weights.values())
    visible = {text: weight / total for text, weight in weights.items()}
    next_byte = np.zeros(257)
    for text, probability in visible.items():
        next_byte[text[0] if text else 256] += probability
    return visible, next_byte
