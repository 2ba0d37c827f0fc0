"""How engines are asked for text: what all of them are told, and what they say, whatever the words.

`llama_server` and `openai` are the two languages. A *form* is one way of saying what the answer has
to begin with; an engine may know several, or none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from healing.sampling import GREEDY, Sampling


@dataclass(frozen=True)
class Ask:
    """A wish for text."""

    tokens: tuple[int, ...]
    """The prompt."""
    forced: bytes = b""
    """The answer begins with it: whole characters (`literal.can_be_forced`)."""
    max_tokens: int = 64
    """Tokens of the answer, the forced ones included."""
    sampling: Sampling = GREEDY
    stops: tuple[int, ...] = ()
    """Tokens that end the answer."""


RIVALS = 5
"""The likeliest tokens in a token's place that are asked for: some engines refuse to name more."""


@dataclass(frozen=True)
class Piece:
    """A part of an answer."""

    text: bytes
    """Whole characters, often none."""
    logprobs: tuple[float, ...] = ()
    """For its tokens, as far as the engine tells: natural log of the model's own probability."""
    ended: str | None = None
    """`stop token` or `token limit` if nothing comes after it."""
    reused: int | None = None
    """Prompt tokens that were in the engine's memory, if it tells."""
    rivals: tuple[tuple[bytes, float], ...] = ()
    """The likeliest tokens in the place of its only one, which may be among them: text, and natural
    log of the probability. Empty if it has several tokens, or the engine does not tell."""


class Api(Protocol):
    """The language of one engine."""

    @property
    def path(self) -> str:
        """Where text is asked for."""

    @property
    def forms(self) -> tuple[str, ...]:
        """The ways to force an answer's beginning, best first."""

    def body(self, ask: Ask, form: str | None) -> dict[str, Any]:
        """The request. `form` says how `ask.forced` is put; None leaves it out."""

    def piece(self, found: Mapping[str, Any]) -> Piece:
        """What one event of the answer says."""
