"""Remembered logits, so that a typed or deleted byte costs one forward pass at most.

The tree of `p + c` is the tree of `p` without the leaves that do not go on with `c`, plus nodes for
leaves that end exactly after `c`. So its inner paths are old ones and at most a few new ones, and
the rows of old paths are still right: a row depends on its path (and the prompt) alone. Keeping
them by path makes typing and deleting alike a matter of looking up: the tree is simply built
again, in milliseconds, and only unknown rows are evaluated.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from healing.exact import Path
from healing.sampling import log_normaliser


class RowCache(Mapping[Path, NDArray[np.floating]]):
    """The most recently used rows of one prompt, by token path after its root.

    A row of a 152,000-token vocabulary takes 600 kB; `capacity` counts rows.
    """

    def __init__(self, capacity: int = 32) -> None:
        if capacity < 1:
            raise ValueError(f"a row cache holds at least one row, not {capacity}")
        self._capacity = capacity
        self._rows: OrderedDict[Path, NDArray[np.floating]] = OrderedDict()
        self._normalisers: dict[Path, tuple[float, float]] = {}
        """For some rows: a temperature, and the normaliser at it."""

    def __getitem__(self, path: Path) -> NDArray[np.floating]:
        row = self._rows[path]
        self._rows.move_to_end(path)
        return row

    def __contains__(self, path: object) -> bool:
        return path in self._rows

    def __iter__(self) -> Iterator[Path]:
        return iter(tuple(self._rows))

    def __len__(self) -> int:
        return len(self._rows)

    def normaliser(self, path: Path, temperature: float) -> float:
        """The `log_normaliser` of a row, which takes longer than all else that is done with it."""
        known = self._normalisers.get(path)
        if known is None or known[0] != temperature:
            known = temperature, log_normaliser(self._rows[path], temperature)
            self._normalisers[path] = known
        return known[1]

    def add(self, path: Path, row: NDArray[np.floating]) -> None:
        """Remember a copy of a row; the least recently used ones make room."""
        self._rows[path] = row.copy()
        self._rows.move_to_end(path)
        self._normalisers.pop(path, None)
        while len(self._rows) > self._capacity:
            old, _ = self._rows.popitem(last=False)
            self._normalisers.pop(old, None)
