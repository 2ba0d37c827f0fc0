"""The typing of real functions, replayed through a real server process, and what came of it.

Two files are open, each with up to two functions missing. A `Typist` types them in turns: some
dozens of keys here, then a jump to the other function of the file or a switch to the other file.
After every key the server hears of the change and is asked for ghost text, as editors do it.

Waiting may be shortened (`fast`), but only while the server owes nothing: what it is asked keeps
its time. Times on the screen are those of the person. What is not here: what is typed (`typist`,
`corpus`), and figures (`figures`).
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from server.bench.corpus import Source
from server.bench.doubling import is_doubled
from server.bench.typist import (
    Edit,
    Hole,
    Suggestion,
    Typist,
    accepted,
    first_line,
    first_word,
    open_hole,
)
from server.client import Call, ServerClient
from server.errors import Cancelled, MidtokenError
from server.own_methods import COUNTERS
from server.positions import Position, Range, count_characters

OPEN_FILES = 2

READING_S = 0.3
"""So long a suggestion is on the screen before it is accepted."""

CLOCK_STEP_S = 1e-3
"""Clocks and sleeping are no more exact."""

LAST_ANSWER_S = 30.0
"""What is not answered after so long counts as unanswered."""

MEMORY_SAMPLES = 10
WARM_UP_KEYS = 20
"""Memory at the start is that after so many keys, when every part has been used once."""


@dataclass
class Judged:
    """A suggestion that was shown."""

    line_right: bool
    """Its first line is what was typed there in the end."""
    word_right: bool
    doubled: bool
    slip: bool
    """It was shown while a slip of the typist's stood before the cursor."""


@dataclass
class Record:
    """What happened."""

    keys: dict[str, int] = field(default_factory=dict)
    """Keys pressed, by kind of event."""
    needed: int = 0
    """Keys that the same text takes without suggestions and slips."""
    slips: int = 0
    """Keys of slips and of their deletion, which are no matter of suggestions."""
    shown: list[Judged] = field(default_factory=list)
    accepted_lines: int = 0
    accepted_words: int = 0
    accepted_wrong: int = 0
    requests: int = 0
    answers: dict[str, int] = field(default_factory=dict)
    """`items`, `empty`, `null`, `cancelled`, `error`: answers by kind."""
    latencies_ms: dict[str, list[float]] = field(default_factory=dict)
    """From a key to its suggestion, by kind of event."""
    unanswered: int = 0
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0
    """Of the person's time."""
    real_seconds: float = 0.0
    counters: dict[str, Any] = field(default_factory=dict)
    """The server's, at the end."""
    before: dict[str, Any] = field(default_factory=dict)
    """The server's, before the first key."""
    memory: list[dict[str, int | None]] = field(default_factory=list)
    """The server's, from after `WARM_UP_KEYS` to the end."""

    @property
    def pressed(self) -> int:
        """All keys."""
        return sum(self.keys.values())


class Page:
    """An open file with its holes."""

    def __init__(self, uri: str, source: Source) -> None:
        self.uri, self.source = uri, source
        self.holes = [open_hole(target) for target in source.targets]

    @property
    def text(self) -> str:
        """The file as it is now."""
        parts = [self.source.pieces[0]]
        for hole, piece in zip(self.holes, self.source.pieces[1:], strict=True):
            parts += [hole.typed, hole.after, piece]
        return "".join(parts)

    def cursor(self, index: int) -> int:
        """Where the cursor of a hole is, in characters from the start."""
        holes, pieces = self.holes, self.source.pieces
        before = sum(len(hole.typed) + len(hole.after) for hole in holes[:index])
        return sum(map(len, pieces[: index + 1])) + before + len(holes[index].typed)


class Replay:
    """One run."""

    def __init__(
        self,
        client: ServerClient,
        sources: Iterator[Source],
        typist: Typist,
        *,
        fast: float = 1.0,
        cancel: bool = True,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Prepare; `run` does it.

        Args:
            client: A connection to a server that has its model.
            sources: What is typed.
            typist: Who types.
            fast: Waiting is shortened by this factor where the server owes nothing.
            cancel: Whether a key cancels the request of the key before.
            progress: Is given the number of keys now and then.
        """
        self.record = Record()
        self._client, self._sources, self._typist = client, sources, typist
        self._fast, self._cancel, self._progress = fast, cancel, progress
        self._loop = asyncio.get_running_loop()
        self._skipped = 0.0
        self._opened = 0
        self._pages = [self._open() for _ in range(OPEN_FILES)]
        self._page, self._index = self._pages[0], 0
        self._screen: Suggestion | None = None
        self._judged: Judged | None = None
        self._waiting: Call | None = None
        self._slip = False
        self._news = asyncio.Event()
        self._samples: list[Call] = []

    async def run(self, keys: int) -> Record:
        """Type so many keys. Raises EngineError if the server ends."""
        record, client = self.record, self._client
        record.before = await client.request(COUNTERS, {}).result
        started, began = self._loop.time(), self._now()
        sample_at = {
            WARM_UP_KEYS + (keys - WARM_UP_KEYS) * part // MEMORY_SAMPLES
            for part in range(MEMORY_SAMPLES)
        }
        event, left = "switch", self._typist.stretch()
        while record.pressed < keys:
            if self._hole.is_done or left <= 0:
                event, left = self._go_elsewhere(), self._typist.stretch()
            edit = self._accept() or self._typist.key(self._hole)
            assert edit is not None
            self._press(edit, event or edit.kind)
            event, left = "", left - 1
            if record.pressed in sample_at:
                self._samples.append(client.request(COUNTERS, {}))
                self._progress(record.pressed)
            await self._wait(self._typist.gap(edit.kind))
        record.seconds = self._now() - began
        await self._finish()
        record.real_seconds = self._loop.time() - started
        return record

    @property
    def _hole(self) -> Hole:
        return self._page.holes[self._index]

    def _now(self) -> float:
        """The person's time."""
        return self._loop.time() + self._skipped

    def _open(self) -> Page:
        source = next(self._sources)
        page = Page(f"file:///typing/{self._opened}/{source.name}", source)
        self._opened += 1
        self._client.open(page.uri, source.language, page.text)
        return page

    def _go_elsewhere(self) -> str:
        """Put the cursor into another hole; the kind of the next event."""
        self._screen = None
        others = [
            index
            for index, hole in enumerate(self._page.holes)
            if index != self._index and not hole.is_done
        ]
        if others and not self._typist.goes_far():
            self._index = others[0]
            return "jump"
        place = self._pages.index(self._page)
        if all(hole.is_done for hole in self._page.holes):
            self._count_needed(self._page)
            self._client.close_document(self._page.uri)
            self._pages[place] = self._open()
        self._page = self._pages[(place + 1) % len(self._pages)]
        self._index = next(
            (index for index, hole in enumerate(self._page.holes) if not hole.is_done), 0
        )
        return "switch" if not self._hole.is_done else self._go_elsewhere()

    def _count_needed(self, page: Page) -> None:
        self.record.needed += sum(hole.costs[hole.agreed] for hole in page.holes)

    def _accept(self) -> Edit | None:
        """The acceptance of what is on the screen, if it is right and was there long enough."""
        screen, hole, record = self._screen, self._hole, self.record
        if screen is None or self._now() + CLOCK_STEP_S < screen.shown_at + READING_S:
            return None
        length = self._typist.choice(hole, screen)
        if not length:
            return None
        part = screen.text[:length]
        if not hole.rest.startswith(part):
            record.accepted_wrong += 1
        elif part == first_line(screen.text):
            record.accepted_lines += 1
        else:
            record.accepted_words += 1
        return accepted(screen, length)

    def _press(self, edit: Edit, event: str) -> None:
        """Press a key: change the file, tell the server, ask it."""
        page, hole, client, record = self._page, self._hole, self._client, self.record
        if edit.kind == "slip" or (self._slip and edit.kind == "deletion"):
            record.slips += 1
        kind = {"over": "character", "slip": "character"}.get(event, event)
        record.keys[kind] = record.keys.get(kind, 0) + 1
        text, cursor = page.text, page.cursor(self._index)
        if edit.changes_text:
            start, end = cursor - edit.removed_before, cursor + edit.removed_after
            where = Range(self._position(text, start), self._position(text, end))
            client.change(page.uri, where, edit.inserted + edit.closer)
        hole.apply(edit)
        self._slip = edit.kind == "slip" or (self._slip and not hole.is_right)
        self._follow(edit)
        if self._waiting is not None and self._cancel:
            client.cancel(self._waiting)
        position = self._position(page.text, page.cursor(self._index))
        call = self._waiting = client.inline(page.uri, position, automatic=True)
        record.requests += 1
        pressed = self._loop.time()
        call.result.add_done_callback(lambda result: self._answered(call, result, kind, pressed))

    def _follow(self, edit: Edit) -> None:
        """Keep ghost text on the screen while its own characters are typed or accepted."""
        screen = self._screen
        if screen is None:
            return
        plain = not edit.removed_before and not edit.closer
        if not plain or not screen.text.startswith(edit.inserted) or screen.text == edit.inserted:
            self._screen = None
            return
        screen.text = screen.text[len(edit.inserted) :]
        screen.replaced = screen.replaced[edit.removed_after :]
        if edit.kind == "acceptance":
            screen.shown_at = self._now()  # the rest is read after it

    def _answered(
        self, call: Call, result: "asyncio.Future[Any]", kind: str, pressed: float
    ) -> None:
        """Take an answer: it counts, and the newest one is shown."""
        answers, found = self.record.answers, None
        if result.cancelled():
            return
        error = result.exception()
        if isinstance(error, Cancelled):
            outcome = "cancelled"
        elif error is not None:
            outcome = "error"
            self.record.errors.append(str(error))
        elif result.result() is None:
            outcome = "null"
        else:
            found = next(iter(result.result()["items"]), None)
            outcome = "items" if found else "empty"
        answers[outcome] = answers.get(outcome, 0) + 1
        if call is not self._waiting:
            return
        self._waiting = None
        if found:
            latency = 1e3 * (self._loop.time() - pressed)
            self.record.latencies_ms.setdefault(kind, []).append(latency)
            self._show(found)
        else:
            self._screen = None
        self._news.set()

    def _show(self, item: dict[str, Any]) -> None:
        """Put an answer on the screen; it may be what is there already, or go on from it."""
        page, hole = self._page, self._hole
        characters = item["range"]["end"]["character"] - item["range"]["start"]["character"]
        text, cursor = page.text, page.cursor(self._index)
        encoding = self._client.encoding
        replaced = ""
        while count_characters(replaced.encode(), encoding) < characters:
            replaced += text[cursor + len(replaced)]
        new = Suggestion(item["insertText"], replaced, shown_at=self._now())
        old, self._screen = self._screen, new
        line_right = hole.is_right and hole.rest.startswith(first_line(new.text))
        word_right = hole.is_right and hole.rest.startswith(first_word(new.text))
        doubled = is_doubled(text[:cursor], new.text, text[cursor + len(replaced) :], hole.rest)
        same = old and (old.text.startswith(new.text) or new.text.startswith(old.text))
        if old and same and self._judged:
            new.shown_at, new.mistaken = old.shown_at, old.mistaken
            self._judged.line_right, self._judged.word_right = line_right, word_right
            self._judged.doubled |= doubled
            return
        new.mistaken = self._typist.is_mistaken()
        self._judged = Judged(line_right, word_right, doubled, self._slip)
        self.record.shown.append(self._judged)

    async def _wait(self, gap: float) -> None:
        """Let time pass until the next key: that of the rhythm, or an acceptance before it."""
        due = self._now() + gap
        while True:
            until, screen = due, self._screen
            if screen is not None and self._typist.choice(self._hole, screen):
                until = min(due, screen.shown_at + READING_S)
            left = until - self._now()
            if left <= 0:
                await asyncio.sleep(0)
                return
            self._news.clear()
            if self._waiting is None:
                await asyncio.sleep(left / self._fast)
                self._skipped += max(0.0, until - self._now())
                continue
            try:
                async with asyncio.timeout(left):
                    await self._news.wait()
            except TimeoutError:
                return

    async def _finish(self) -> None:
        """Wait for the last answers, and ask the server for its counters."""
        record, client = self.record, self._client
        for page in self._pages:
            self._count_needed(page)
        end = self._loop.time() + LAST_ANSWER_S
        while client.unanswered and self._loop.time() < end:
            await asyncio.sleep(0.01)
        record.unanswered = client.unanswered
        record.counters = await client.request(COUNTERS, {}).result
        for sample in self._samples:
            try:
                record.memory.append((await sample.result)["memory"])
            except MidtokenError as error:
                record.errors.append(str(error))
        record.memory.append(record.counters["memory"])
        record.errors += client.messages

    def _position(self, text: str, offset: int) -> Position:
        """A place in the text as the server counts it."""
        line = text.count("\n", 0, offset)
        before = text[text.rfind("\n", 0, offset) + 1 : offset]
        return Position(line, count_characters(before.encode(), self._client.encoding))
