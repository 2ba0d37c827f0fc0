"""What a completion is, and how it came about: plain data for people, editors and tests."""

from dataclasses import asdict, dataclass, field
from typing import Any

from server.bans import BanReport
from server.engine import ModelInfo
from server.grammar.report import GrammarReport


@dataclass(frozen=True)
class HealingReport:
    """How the end of the typed text was written again."""

    mode: str
    """`exact`, `align`, `one` or `off`: what was done, which may be less than was asked for."""
    backed_up_tokens: int = 0
    """Tokens of the typed text, as it stands, that the model typed again."""
    backed_up_text: str = ""
    """The text of the bytes that the model typed again."""
    covers: int = 0
    """Admissible covers that were looked at (1 for methods that follow a single path)."""
    tree_tokens: int = 0
    """Tokens evaluated beyond the trunk of the tree."""
    forward_passes: int = 0
    """Calls of the model until the first text after the cursor was known."""
    candidates: tuple[tuple[str, float], ...] = ()
    """The most probable first texts after the cursor, with their probability."""
    note: str | None = None
    """Why less was done than asked for."""


@dataclass(frozen=True)
class TokenCounts:
    """Tokens of one request."""

    prompt: int = 0
    """Before the first generated token."""
    reused: int = 0
    """Of the prompt, found in memory."""
    evaluated: int = 0
    """Put through the model: prompt, tree and text."""
    generated: int = 0
    """Written after the cursor, the healed one included."""
    drafted: int = 0
    """Guessed, and put through the model together with a token that was chosen (`chain`)."""
    accepted: int = 0
    """Of the drafted ones, those that the model chose itself."""


@dataclass(frozen=True)
class Item:
    """One suggestion: `text` replaces the characters of `range`."""

    text: str
    start: tuple[int, int]
    """Zero-based line and character (code points)."""
    end: tuple[int, int]
    """On the same line."""
    score: float
    """Mean natural-log probability of the tokens written after the cursor."""
    replaced_bytes: int = 0
    """The length of the range in bytes."""
    confidence: float = 1.0
    """How probable it is that its first line is right, as far as it goes (`server.confidence`)."""
    word_confidence: float = 1.0
    """The same of its first word."""
    probability: float = 1.0
    """What the model gives to all of it: to its first text, times to each token after that."""

    def as_json(self) -> dict[str, Any]:
        """The item in the shape of the command line's JSON."""
        (line, character), (end_line, end_character) = self.start, self.end
        return {
            "text": self.text,
            "range": {
                "start": {"line": line, "character": character},
                "end": {"line": end_line, "character": end_character},
            },
            "score": round(self.score, 6),
            "probability": round(self.probability, 6),
            "confidence": self.confidence,
            "word_confidence": self.word_confidence,
        }


def percent(share: float) -> str:
    """A share for people.

    >>> percent(0.624), percent(0.004), percent(0.0002)
    ('62 %', '0.4 %', 'under 0.1 %')
    """
    hundredths = 100 * share
    if hundredths < 0.1:
        return "under 0.1 %"
    return f"{hundredths:.0f} %" if hundredths >= 1 else f"{hundredths:.1f} %"


@dataclass(frozen=True)
class Completion:
    """The answer to one request."""

    items: tuple[Item, ...]
    """Empty if there is nothing worth showing."""
    empty_reason: str | None
    """Why `items` is empty."""
    ended: str
    """What ended the text: `stop token`, `stop rule`, `token limit`; by the grammar, `other wishes`
    (the model wanted nothing that may come) and `no fitting token` (nothing may come); `ban`;
    `unsure` if the rest was too unsure."""
    rules: tuple[str, ...]
    """Rules that changed the model's text, in order."""
    healing: HealingReport
    tokens: TokenCounts
    timing_ms: dict[str, float]
    prompt: str
    """`fim` or `left`."""
    model: ModelInfo
    grammar: GrammarReport
    notes: tuple[str, ...] = field(default=())
    """What a person should know, each a sentence."""
    bans: BanReport = field(default_factory=BanReport)
    """What the list of banned texts did."""
    withheld: float | None = None
    """The confidence of a suggestion that is not shown because of it."""

    def as_json(self) -> dict[str, Any]:
        """One JSON-ready object."""
        return {
            "items": [item.as_json() for item in self.items],
            "empty_reason": self.empty_reason,
            "withheld": self.withheld,
            "ended": self.ended,
            "rules": list(self.rules),
            "prompt": self.prompt,
            "healing": asdict(self.healing),
            "grammar": self.grammar.as_json(),
            "bans": asdict(self.bans),
            "tokens": asdict(self.tokens),
            "timing_ms": {name: round(value, 1) for name, value in self.timing_ms.items()},
            "model": asdict(self.model),
            "notes": list(self.notes),
        }
