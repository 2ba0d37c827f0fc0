"""What the model wrote after the cursor, and the same while it grows.

`GrowingText` keeps together what has to go back together where a banned text is taken back: the
text, the grammar's state, the watch over bans, and what is known of each token.

Not here: which tokens are chosen and when the text ends (`decoding`), and the engine's memory
(`chain`).
"""

from dataclasses import dataclass, field, replace

from healing.stitch import Stitch
from server.ban_watch import BanWatch
from server.bans import BanReport
from server.chain import Chain
from server.report import HealingReport
from server.retyping import Healed


@dataclass(frozen=True)
class Generation:
    """The text that the model wrote after the cursor."""

    text: bytes
    """Whole, valid characters, line ends as LF."""
    logprobs: tuple[float, ...]
    """For every token after the cursor (the first may share its token with typed text): natural
    log of the model's own probability of it, whatever a grammar refused."""
    ended: str
    """`stop token`, `stop rule`, `token limit`, `other wishes` (see `decoding`), `ban`
    if what comes next is banned (`BanReport.note`), or `no fitting token` if the grammar allows
    none; `unfinished` if more is to come."""
    healing: HealingReport
    reused: int
    """Prompt tokens that were in memory."""
    prompt: int
    """Prompt tokens: the head and what was typed, as it was re-typed."""
    masked: bool = False
    """Whether all of it was written under a grammar's mask."""
    drafted: int = 0
    """Tokens of drafts that were evaluated."""
    accepted: int = 0
    """Of them, those that were chosen."""
    bans: BanReport = field(default_factory=BanReport)
    """What bans did."""
    ends: tuple[int, ...] = ()
    """For every token of `logprobs` that was written: where it ends, in bytes from the start of
    the text, of which the last ones may have been cut off; 0 or less for what has been typed."""

    def later(self, typed: int) -> "Generation":
        """What is left when so many bytes of the text have been typed."""
        ends = tuple(end - typed for end in self.ends)
        return replace(self, text=self.text[typed:], ends=ends)


class GrowingText:
    """A text that is being written after the cursor, token by token."""

    def __init__(self, chain: Chain, stitch: Stitch, first: Healed, bans: BanWatch | None) -> None:
        """Begin with nothing.

        Args:
            chain: The text in the model's memory, which holds the prompt alone.
            stitch: The text after the cursor, which nothing is in.
            first: What healing chose to come first; its mask is told of every token.
            bans: Are told as well; None if everything may be written.
        """
        self.mask = first.mask
        """A grammar's view of it; may be given up as long as nothing is written."""
        self.logprobs = [first.logprob]
        """Of every token, also of the one that is pushed next."""
        self._ends: list[int] = []
        self._chain, self._stitch, self._first, self._bans = chain, stitch, first, bans
        self._prompt_tokens = len(chain)

    @property
    def is_empty(self) -> bool:
        """Whether no byte is there."""
        return not self._stitch.text

    @property
    def whole(self) -> bytes:
        """All of it that is whole characters."""
        return bytes(self._stitch.text[: self._stitch.given])

    @property
    def settled(self) -> bytes:
        """What of it stays, whatever is taken back."""
        return self.whole if self._bans is None else self.whole[: self._bans.settled]

    @property
    def raw(self) -> bytes:
        """All of it; a character may lack its end."""
        return bytes(self._stitch.text)

    def push(self, piece: bytes) -> bool:
        """Write the bytes of a token; whether there are more whole characters now."""
        for watching in (self.mask, self._bans):
            if watching is not None:
                watching.push(piece)
        grown = self._stitch.push(piece)
        self._ends.append(len(self._stitch.text))
        return bool(grown)

    def go_back(self, place: int) -> int:
        """Take back what was written from a place of the bans on, and the token that is next.

        Returns:
            How many tokens that was, without the next one.
        """
        assert self._bans is not None
        count = len(self.logprobs) - 1 - place
        self._stitch.back(self._bans.go_back(place))
        if self.mask is not None:
            self.mask.back(len(self._stitch.text))
        self._forget(place)
        return count

    def before_ban(self, piece: bytes, why: str) -> Generation:
        """The end of it, before the banned text that would be whole with a piece."""
        assert self._bans is not None
        left, choices = self._bans.end_before(piece, why)
        self._stitch.back(left)
        self._forget(choices)
        return self.ended("ban")

    def ended(self, why: str, without: bytes = b"") -> Generation:
        """All of it, but for what it ends with."""
        return self.so_far(self._stitch.finish().removesuffix(without), why)

    def so_far(self, text: bytes, ended: str) -> Generation:
        """What is to be told of it.

        Args:
            text: So much of it.
            ended: See `Generation.ended`.
        """
        return Generation(
            text,
            tuple(self.logprobs),
            ended,
            self._first.report,
            self._first.reused,
            self._prompt_tokens,
            self.mask is not None,
            self._chain.drafted,
            self._chain.accepted,
            BanReport() if self._bans is None else self._bans.report,
            tuple(self._ends),
        )

    def _forget(self, tokens: int) -> None:
        """Forget what is known of all tokens but the first ones."""
        del self.logprobs[tokens:], self._ends[tokens:]
