"""What the grammar did for a request: plain data for people and editors."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from server.grammar.rungs import Level


@dataclass(frozen=True)
class GrammarReport:
    """How a suggestion was kept grammatical, and why no further."""

    state: Literal["on", "off"]
    language: str
    """The document's language identifier."""
    level: Level | None = None
    """How much was checked; None if nothing was."""
    reason: str | None = None
    """Why nothing better was done, for every better level; None for the best."""
    window_bytes: int = 0
    """The text that the grammar was given."""
    feed_ms: float = 0.0
    """From the request to the state at the cursor, with everything that was tried."""
    checks: int = 0
    """Texts that the grammar was asked about."""
    refused: int = 0
    """Those of them that could not come next."""
    check_ms: float = 0.0
    """Work of the thread for the checks, for following the text, and for what comes after it."""
    steps_ms: tuple[float, ...] = ()
    """The part of each token in it."""
    wrong: str | None = None
    """What is wrong with a grammar that the person named in their settings, in a sentence."""
    fits: bool | None = None
    """Whether what follows the cursor fits after the suggestion; None if that was not asked."""

    def as_json(self) -> dict[str, Any]:
        """One JSON-ready object, without the times of single tokens; reasons say what is wrong."""
        figures = asdict(self)
        del figures["steps_ms"], figures["wrong"]
        for name in ("feed_ms", "check_ms"):
            figures[name] = round(figures[name], 2)
        return figures
