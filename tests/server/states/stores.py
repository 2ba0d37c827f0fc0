"""What tests of states on disk have in common."""

import numpy as np

from server.state_store import (
    files_in,
)

KEY, OTHER_KEY = "ab" * 32, "cd" * 32
FILE_BYTES = 128
"""A file without ids and state."""
TOKENS = [5, 80, 12, 7, 301, 44]


def state_of(seed, size=1000):
    return np.random.default_rng(seed).integers(0, 256, size).astype(np.uint8)


def found(store, tokens, *, longest=1 << 20, whole=False):
    """How much a store has of a text, and the state."""
    best = store.find(tokens, longest=longest, whole=whole)
    if best is None:
        return None
    return best[1], store.read(best[0])


def only_file(folder):
    [(path, _)] = files_in(folder)
    return path
