"""What a text may be that is given to the llama.cpp engine: llama.cpp itself would end the process.

What is not here: whether the cells of a text are free (`llama`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from server.errors import EngineError


@dataclass(frozen=True)
class Limits:
    """The bounds of one loaded model."""

    text_tokens: int
    """The longest text: what the context holds, and no more than the model was trained for."""
    vocabulary_tokens: int

    def check_length(self, length: int) -> None:
        """Raises EngineError if a text of so many tokens is too long."""
        if length > self.text_tokens:
            raise EngineError(
                f"{length:,} tokens do not fit the context of {self.text_tokens:,}; choose a "
                "larger context size or a shorter prompt"
            )

    def check_tokens(self, tokens: Sequence[int]) -> None:
        """Raises EngineError if an id is none of the vocabulary's."""
        if tokens and not (min(tokens) >= 0 and max(tokens) < self.vocabulary_tokens):
            raise EngineError(
                f"a token id is outside the vocabulary of {self.vocabulary_tokens:,} tokens"
            )
