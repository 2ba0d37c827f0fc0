"""Brute force: the truth about covers, from the tokenizer's public `encode` alone.

Nothing here calls into `healing`. Every continuation up to a length is encoded; whatever path the
tokenizer takes across the cursor is a cover, and there are no others.
"""

from collections.abc import Callable

import numpy as np
from tokenizers import Tokenizer

STOP = -1


def covers(
    tokenizer: Tokenizer, typed: str, continuations: list[str]
) -> set[tuple[tuple[int, ...], int]]:
    """All (path, leaf) pairs across the cursor; the leaf is `STOP` where the text ends there."""
    pieces = {token: len(piece) for piece, token in tokenizer.get_vocab().items()}
    size = len(typed.encode())
    found = set()
    for encoding in tokenizer.encode_batch_fast([typed + text for text in continuations]):
        ids, end, count = encoding.ids, 0, 0
        # In a byte-level alphabet every character of a piece stands for one byte.
        while count < len(ids) and end + pieces[ids[count]] <= size:
            end += pieces[ids[count]]
            count += 1
        leaf = ids[count] if count < len(ids) else STOP
        if leaf != STOP or end == size:
            found.add((tuple(ids[:count]), leaf))
    return found


def distribution(
    found: set[tuple[tuple[int, ...], int]],
    model: Callable[[tuple[int, ...]], np.ndarray],
    bytes_of: Callable[[int], bytes],
    size: int,
    stop_token: int,
) -> tuple[dict[bytes, float], np.ndarray]:
    """First visible texts with their probability, and the next byte's, shape (257,)."""
    weights: dict[bytes, float] = {}
    for path, leaf in found:
        weight = 1.0
        for index, token in enumerate([*path, stop_token if leaf == STOP else leaf]):
            logits = model(path[:index])
            exponentials = np.exp(logits - logits.max())
            weight *= exponentials[token] / exponentials.sum()
        shown = b"" if leaf == STOP else b"".join(map(bytes_of, [*path, leaf]))[size:]
        weights[shown] = weights.get(shown, 0.0) + weight
    total = sum(weights.values())
    visible = {text: weight / total for text, weight in weights.items()}
    next_byte = np.zeros(257)
    for text, probability in visible.items():
        next_byte[text[0] if text else 256] += probability
    return visible, next_byte
