"""The part of a `TokenEngine` that engines elsewhere don't have: everything about logits and slots.

It refuses in one sentence, so that whatever asks for it has something to show.
"""

# ruff: noqa: ARG002 - the arguments are those of `TokenEngine`

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from server.engine import ModelInfo, Slot
from server.errors import EngineError


class NoLogits:
    """What refuses; each of these methods raises EngineError, where nothing else is said."""

    info: ModelInfo

    def open(self, tokens: Sequence[int]) -> Slot:
        """Not here."""
        self._refuse()

    def open_beside(self, tokens: Sequence[int]) -> Slot:
        """Not here."""
        self._refuse()

    def evaluate(
        self, slot: Slot, nodes: Sequence[tuple[int, int]], want: Sequence[int]
    ) -> list[NDArray[np.float32]]:
        """Not here."""
        self._refuse()

    def evaluate_each(
        self, slots: Sequence[Slot], tokens: Sequence[int]
    ) -> list[NDArray[np.float32]]:
        """Not here."""
        self._refuse()

    def keep(self, slot: Slot, node: int) -> None:
        """Not here."""
        self._refuse()

    def cut(self, slot: Slot, length: int) -> None:
        """Not here."""
        self._refuse()

    def drop(self, slot: Slot) -> None:
        """There are no slots, so all of them are free."""

    @property
    def state_key(self) -> str:
        """Not here."""
        self._refuse()

    def save(self, tokens: Sequence[int]) -> NDArray[np.uint8] | None:
        """Nothing of its memory can be had."""
        return None

    def restore(self, tokens: Sequence[int], state: NDArray[np.uint8]) -> bool:
        """Nothing can be put into its memory."""
        return False

    def held(self, tokens: Sequence[int]) -> int:
        """None that are known of: what it keeps of prompts is the engine's own business."""
        return 0

    def _refuse(self) -> NoReturn:
        raise EngineError(
            f"{self.info.name} runs at {self.info.path} and gives text alone: for this, run a "
            "model on this machine (leave midtoken.remote.url, --remote, away)"
        )
