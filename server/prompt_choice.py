"""Which prompt a place gets: how much of the document is worth its time.

A prompt that is in memory costs nothing to read, one that is not costs tokens. So the first prompt
in a file holds what is read while a person waits (`firstSuggestionSeconds`), and larger ones are
read when nothing else is to be done (`idle`). A request takes the largest that is read far enough.
Nothing is remembered of that here: the engine's memory is asked, each time.

The text after the cursor is read again whenever the hole's start moves, whatever is in memory,
since it comes after the text before the hole. So larger prompts have no more of it than the first
one, but for the last: it has what is read while a person waits, and only a pause makes it pay.

What other places say (`workspace`) is in large prompts only, so it costs a first suggestion nothing
where reading is slow.

What is not here: building a prompt (`prompt`), and reading ahead (`idle`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from healing.tokenization import Tokenization
from server.beside import Beside
from server.engine import FimTokens, ModelInfo, TokenEngine
from server.prompt import SUFFIX_SHARE, TYPED_TOKENS, Prompt, build_prompt
from server.rules import Place
from server.snapshot import Snapshot
from server.speed import Reading, round_budget
from server.workspace.chunks import Chunk
from server.workspace.context import Material, choose

MARKS = 32
"""Room for the marks of a prompt and a file's name."""

GROWTH = 4
"""Each larger prompt has so many times the tokens of the one before: whoever pauses for seconds has
one that is a step larger, and all steps together cost little more than the last."""

GROWTH_SECONDS = 30.0
"""No prompt is so large that it takes longer than this to read."""

LARGEST_SHARE = 0.6
"""The part of the engine's memory that one prompt may take: others are in it, too."""

NEXT_SHARE = 1 / 8
"""The next window is read when so much of the budget is left."""

BESIDE_FROM = 768
"""Prompts with less text before the hole hold the document's own only: nearer text says more."""

BESIDE_SHARE = 3
"""What other places say takes one part in so many of the text before the hole, at most."""

LINE_TOKENS, LINE_SHARE = 100, 2
"""The hole takes in the last lines before the cursor's, as typed text: so many tokens at most, and
no more than this part of the text before it. A new line then costs its own tokens and nothing else,
until the hole's start moves: only then the text after the cursor is read again."""

REMEMBERED = 8
"""Choices of other places that are remembered: choosing counts the tokens of all of them."""

WAITING_SHARE = 0.25
"""What is read in this part of the time for a first suggestion is not worth saving."""

SLACK = 1.25
"""Nor is what costs so many times as much as the cheapest, if that is larger."""


@dataclass(frozen=True)
class Size:
    """How much text a prompt may hold, in tokens."""

    before: int
    after: int


@dataclass(frozen=True)
class Site:
    """A place that needs a prompt."""

    snapshot: Snapshot
    place: Place
    fim: FimTokens | None
    """The model's marks; None to complete from the left."""
    anchored: bool
    tokens: int | None
    """The most tokens of text around the hole; None to choose by time."""
    seconds: float
    """How long a first prompt may take to read."""
    answer_tokens: int
    """The most tokens to write."""
    material: Material | None = None
    """What other places say."""


class PromptChoice:
    """The prompts of one loaded model. Belongs to the engine's thread."""

    def __init__(self, engine: TokenEngine, tokenization: Tokenization, reading: Reading) -> None:
        """Choose by what is in the engine's memory, and by how fast it reads."""
        self.reading = reading
        self._engine, self._tokenization = engine, tokenization
        self._chosen: dict[tuple[Material, int], tuple[Chunk, ...]] = {}

    def choose(self, site: Site, recall: Callable[[Prompt], object] = lambda _: None) -> Prompt:
        """The prompt for a request.

        Args:
            site: The place.
            recall: Is given prompts before the memory is asked for them; may put back what is
                known of them from elsewhere.
        """
        smallest, *larger = self._sizes(site)
        first = self._build(site, smallest)
        recall(first)
        free = WAITING_SHARE * self.reading.tokens_in(site.seconds)
        costs = [(self.missing(first), first)]
        for size in reversed(larger):
            prompt = self._build(site, size)
            recall(prompt)
            if self._bytes(prompt) <= self._bytes(first):
                # There is no more text. Where its hole begins must not hang on what is in memory,
                # and the longer hole makes new lines cheaper.
                costs[0] = self.missing(prompt), prompt
                break
            costs.append((self.missing(prompt), prompt))
            if costs[-1][0] <= free:
                return prompt
        allowed = max(free, SLACK * min(cost for cost, _ in costs))
        [(_, first), *others] = costs
        return next((prompt for cost, prompt in others if cost <= allowed), first)

    def ahead(
        self, site: Site, recall: Callable[[Prompt], object] = lambda _: None
    ) -> list[Prompt]:
        """What is worth reading at a place when there is time: the chosen prompt, larger ones.

        Last comes the prompt that will be the largest one when some more lines are written. Its
        beginning is there when the start of the window moves to it.

        Args:
            site: The place.
            recall: As in `choose`.
        """
        chosen = self.choose(site, recall)
        smallest, *larger = self._sizes(site)
        prompts = [self._build(site, size) for size in larger]
        held = self._bytes(chosen)
        found = [chosen, *(prompt for prompt in prompts if self._bytes(prompt) > held)]
        largest = (smallest, *larger)[-1].before
        spare = int(NEXT_SHARE * largest)
        room = LARGEST_SHARE * self._engine.info.context_tokens
        if self._keeps_beginnings and 2 * largest - spare <= room:
            later = self._build(site, Size(largest, smallest.after), spare=spare)
            half = len(later.head) // 2
            if later.head[:half] != found[-1].head[:half]:
                found.append(later)
        return found

    def text(self, prompt: Prompt) -> tuple[int, ...]:
        """The tokens that stay while the cursor's line is typed: the head, and lines before it.

        The head alone where memory can't be cut: requests keep it by itself, and nothing longer.
        """
        if not self._keeps_beginnings:
            return prompt.head
        lines = prompt.typed[: prompt.typed.rfind(b"\n") + 1]
        # The last line end may become a part of a longer token.
        return (*prompt.head, *self._tokenization.encode(lines)[:-1])

    def missing(self, prompt: Prompt) -> int:
        """How many tokens before the cursor's line are not in memory."""
        text = self.text(prompt)
        return len(text) - self._engine.held(text)

    def _bytes(self, prompt: Prompt) -> int:
        """How much text a prompt has, wherever its hole begins; its marks count as well."""
        ids, offsets = np.array(prompt.head), self._tokenization.vocabulary.offsets
        return int((offsets[ids + 1] - offsets[ids]).sum()) + len(prompt.typed)

    def _sizes(self, site: Site) -> list[Size]:
        """The sizes that come into question, smallest first; at least one."""
        info = self._engine.info
        # An answer that may be longer than the context must not leave the prompt without any text.
        answer = min(site.answer_tokens, info.context_tokens // 2)
        room = max(0, info.context_tokens - answer - TYPED_TOKENS - MARKS)
        wanted = round_budget(self.reading.tokens_in(site.seconds))
        first = min(wanted if site.tokens is None else site.tokens, room)
        after = first // SUFFIX_SHARE
        budgets = [first]
        if site.tokens is None and self._keeps_beginnings:
            most = min(
                room,
                LARGEST_SHARE * info.context_tokens,
                self.reading.tokens_in(GROWTH_SECONDS),
            )
            largest = round_budget(most)
            while budgets[-1] < largest <= most:
                budgets.append(min(GROWTH * budgets[-1], largest))
        sizes = [Size(budget - after, after) for budget in budgets]
        if sizes[1:] and budgets[-1] - after + first <= room:
            sizes.append(Size(budgets[-1] - after, first))
        return sizes

    @property
    def _keeps_beginnings(self) -> bool:
        return keeps_beginnings(self._engine.info)

    def _beside(self, site: Site, before: int) -> Beside | None:
        """What other places say, where a prompt is large enough before the hole."""
        material = site.material
        if material is None or before < BESIDE_FROM:
            return None
        chosen = self._chosen.get((material, before))
        if chosen is None:
            encode = self._tokenization.encode
            chosen = choose(material, before // BESIDE_SHARE, lambda text: len(encode(text)))
            while len(self._chosen) >= REMEMBERED:
                del self._chosen[next(iter(self._chosen))]
            self._chosen[material, before] = chosen
        return Beside(material.repository, material.name, chosen) if chosen else None

    def _build(self, site: Site, size: Size, spare: int = 0) -> Prompt:
        engine, info = self._engine, self._engine.info
        return build_prompt(
            site.snapshot,
            site.place,
            self._tokenization,
            fim=site.fim,
            start=(engine.bos,) if info.add_bos and engine.bos is not None else (),
            root=engine.bos if engine.bos is not None else min(engine.stops, default=None),
            budget=size.before + size.after,
            anchored=site.anchored,
            lead=b" " if info.add_blank else b"",
            after_budget=size.after,
            spare=spare,
            beside=self._beside(site, size.before),
            line_tokens=line_tokens(info, size.before),
        )


def keeps_beginnings(info: ModelInfo) -> bool:
    """Whether other text after the beginning of a prompt leaves that beginning in memory.

    It does not where memory can't be cut, or forgets. Engines elsewhere keep what prompts share.
    """
    return info.remote or (info.trees and info.memory == "attention")


def line_tokens(info: ModelInfo, before: int) -> int:
    """How much of the text before the cursor's line a hole takes in, in tokens (`build_prompt`).

    Args:
        info: The model.
        before: The tokens of all text before the cursor's line.
    """
    return min(LINE_TOKENS, before // LINE_SHARE) if keeps_beginnings(info) else 0
