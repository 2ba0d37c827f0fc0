"""The options of a request: how a text is completed."""

from dataclasses import dataclass, field
from typing import get_args

from healing.sampling import GREEDY, Sampling
from server.bans import Bans, compiled
from server.decoding import METHODS
from server.grammar.ladder import Mode
from server.speed import READING_SECONDS
from server.workspace.context import Material

MOST_CANDIDATES = 10
"""Continuations of one request."""


@dataclass(frozen=True)
class CompletionOptions:
    """The options of a request. Raises ValueError for values that have no meaning."""

    healing: str = "exact"
    """One of `decoding.METHODS`."""
    prompt: str = "fim"
    """`fim` (text on both sides) or `left` (text before the cursor only)."""
    max_tokens: int = 64
    """The most tokens to write after the cursor."""
    context_tokens: int | None = None
    """The most tokens of text around the hole; None for what `first_seconds` allow."""
    sampling: Sampling = GREEDY
    multiline: str = "never"
    """Where several lines may be written: `auto`, `always` or `never` (see `blocks`)."""
    rules_off: frozenset[str] = frozenset()
    """Names of rules that are switched off."""
    grammar: Mode = "auto"
    """How much of a language's grammar is kept: `auto`, `structural` or `off`."""
    grammar_files: tuple[tuple[str, str], ...] = ()
    """Users' grammars: language identifiers or globs, each with a path."""
    grammar_schemas: tuple[tuple[str, str], ...] = ()
    """JSON Schemas: globs, each with a path."""
    material: Material | None = field(default=None, compare=False)
    """What other places say. An answer that was given without it is as good while one types."""
    first_seconds: float = READING_SECONDS
    """How long the prompt may take to read where nothing of it has been read before."""
    bans: tuple[str, ...] = ()
    """Texts that are never suggested."""
    ban_patterns: tuple[str, ...] = ()
    """The same as patterns (`server.bans`)."""
    candidates: int = field(default=1, compare=False)
    """The most different continuations. The first is the same whatever this is."""

    def __post_init__(self) -> None:
        if self.healing not in METHODS:
            raise ValueError(f"healing is one of {', '.join(METHODS)}, not {self.healing!r}")
        if self.prompt not in {"fim", "left"}:
            raise ValueError(f"prompt is fim or left, not {self.prompt!r}")
        if self.grammar not in get_args(Mode):
            raise ValueError(f"grammar is auto, structural or off, not {self.grammar!r}")
        if self.max_tokens < 1:
            raise ValueError(f"max-tokens must be 1 or more, not {self.max_tokens}")
        if self.context_tokens is not None and self.context_tokens < 0:
            raise ValueError(f"context-tokens must be 0 or more, not {self.context_tokens}")
        if not self.first_seconds > 0:
            raise ValueError(f"first-seconds must be above 0, not {self.first_seconds}")
        if not 1 <= self.candidates <= MOST_CANDIDATES:
            raise ValueError(
                f"candidates must be from 1 to {MOST_CANDIDATES}, not {self.candidates}"
            )
        self.compiled_bans()

    def compiled_bans(self) -> Bans | None:
        """The list of what is never suggested; None if nothing is on it."""
        if not self.bans and not self.ban_patterns:
            return None
        return compiled(self.bans, self.ban_patterns)
