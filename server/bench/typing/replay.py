"""The typing of real functions, replayed through a real server process, and what came of it.

Two files are open, each with up to two functions missing. A `Typist` types them in turns: some
dozens of keys here, then a jump to the other function of the file or a switch to the other file.
After every key the suggester hears of the change and of the cursor, as from an editor.

The same seed types the same text in the same order, whoever suggests: a run ends when so much text
is there, and not after so many keys. Waiting may be shortened (`fast`), but only while the
suggester owes nothing: what it is asked keeps its time. Times on the screen are those of the
person. What is not here: what is typed (`typist`, `corpus`), who is asked (`suggesters`), what is
written down (`record`), and figures (`figures`).
"""

import asyncio
from collections.abc import Callable, Iterator

from server.bench.corpus import Source
from server.bench.doubling import is_doubled
from server.bench.typing.record import Judged, Record, Stretch
from server.bench.typing.suggesters import Offer, Suggester, Usage
from server.bench.typing.typist import (
    Edit,
    Hole,
    Suggestion,
    Typist,
    accepted,
    first_line,
    first_word,
    open_hole,
)
from server.bench.typing.workspace import Workspace
from server.errors import MidtokenError
from server.positions import Position, Range, count_characters

OPEN_FILES = 2

READING_S = 0.3
"""So long a suggestion is on the screen before it is accepted."""

CLOCK_STEP_S = 1e-3
"""Clocks and sleeping are no more exact."""

LAST_ANSWER_S = 30.0
"""What is not answered after so long counts as unanswered."""

PATIENT_S = 600.0
"""Who waits for every answer waits so long: a large prompt takes a busy machine minutes to read."""

POLLING_S = 0.01

MEMORY_SAMPLES = 10
WARM_UP_KEYS = 20
"""Memory at the start is that after so many keys, when every part has been used once."""


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
        suggester: Suggester,
        sources: Iterator[Source],
        typist: Typist,
        *,
        name: str = "typing",
        fast: float = 1.0,
        patient: bool = False,
        workspace: Workspace | None = None,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Prepare; `run` does it.

        Args:
            suggester: Whoever suggests, with its model loaded.
            sources: What is typed.
            typist: Who types.
            name: The folder of the files; those of two runs must not be the same.
            fast: Waiting is shortened by this factor where the suggester owes nothing.
            patient: Before each key, everything that the suggester owes is waited for, and read.
                So time has no part in what is saved: it is what suggestions are worth by
                themselves.
            workspace: Where the files are; None if they are nowhere but in the editor.
            progress: Is given now and then how much is typed, in keys without suggestions.
        """
        self.record = Record()
        self._suggester, self._sources, self._typist = suggester, sources, typist
        self._name, self._fast, self._progress = name, fast, progress
        self._patient, self._workspace = patient, workspace
        self._loop = asyncio.get_running_loop()
        self._skipped = 0.0
        self._opened = 0
        self._pages = [self._open() for _ in range(OPEN_FILES)]
        self._page, self._index = self._pages[0], 0
        self._stretch, self._stretch_from = self._new_stretch(), 0
        self._screen: Suggestion | None = None
        self._judged: Judged | None = None
        self._slip = False
        self._pressed_at, self._kind = 0.0, ""
        self._seen_ms: float | None = None
        self._news = asyncio.Event()
        suggester.listen(self._shown)

    async def run(self, keys: int) -> Record:
        """Type so much that it takes so many keys without suggestions.

        Raises EngineError if the server ends.
        """
        record, typist = self.record, self._typist
        before = await self._suggester.usage()
        started, began = self._loop.time(), self._now()
        sample_at = {
            WARM_UP_KEYS + (keys - WARM_UP_KEYS) * part // MEMORY_SAMPLES
            for part in range(MEMORY_SAMPLES)
        }
        samples: list[asyncio.Task[Usage]] = []
        event, left = "switch", typist.stretch()
        while record.needed + self._typed_here < keys:
            if self._hole.is_done or self._typed_here >= left:
                event, left = self._go_elsewhere(), typist.stretch()
            edit = self._accept() or typist.key(self._hole)
            assert edit is not None
            self._press(edit, event or edit.kind)
            event = ""
            if record.pressed in sample_at:
                samples.append(self._loop.create_task(self._suggester.usage()))
                self._progress(record.needed + self._typed_here)
            await self._wait(typist.gap(edit.kind))
        record.seconds = self._now() - began
        self._end_key()
        self._end_stretch()
        await self._finish(before, samples)
        record.real_seconds = self._loop.time() - started
        return record

    @property
    def _hole(self) -> Hole:
        return self._page.holes[self._index]

    @property
    def _typed_here(self) -> int:
        """What was typed since the cursor came here, in keys without suggestions."""
        return self._hole.costs[self._hole.agreed] - self._stretch_from

    def _now(self) -> float:
        """The person's time."""
        return self._loop.time() + self._skipped

    def _open(self) -> Page:
        source = next(self._sources)
        # No file's address: nothing of it is kept on disk for a later run to find.
        page = Page(f"bench:///{self._name}/{self._opened}/{source.name}", source)
        if self._workspace is not None:  # it has a place of its own for what is kept
            page.uri = self._workspace.opened(source, page.text)
        self._opened += 1
        self._suggester.open(page.uri, source.language, page.text)
        return page

    def _go_elsewhere(self) -> str:
        """Put the cursor into another hole; the kind of the next event."""
        self._end_key()
        self._end_stretch()
        self._screen = None
        event = self._next_hole()
        self._stretch = self._new_stretch()
        self._stretch_from = self._hole.costs[self._hole.agreed]
        return event

    def _next_hole(self) -> str:
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
            if self._workspace is not None:
                self._workspace.closed(self._page.source, self._page.text)
            self._suggester.close_document(self._page.uri)
            self._pages[place] = self._open()
        self._page = self._pages[(place + 1) % len(self._pages)]
        self._index = next(
            (index for index, hole in enumerate(self._page.holes) if not hole.is_done), 0
        )
        return "switch" if not self._hole.is_done else self._next_hole()

    def _new_stretch(self) -> Stretch:
        return Stretch(self._page.source.language, part=self._name)

    def _end_stretch(self) -> None:
        self._stretch.needed = self._typed_here
        self.record.stretches.append(self._stretch)

    def _end_key(self) -> None:
        """The next key is there: what the last one has brought is known."""
        if self._screen is not None and self._seen_ms is not None:
            self._stretch.screen_ms.append(self._seen_ms)
        self._seen_ms = None

    def _accept(self) -> Edit | None:
        """The acceptance of what is on the screen, if it is right and was there long enough."""
        screen, hole, record = self._screen, self._hole, self.record
        if screen is None or self._now() + CLOCK_STEP_S < screen.shown_at + READING_S:
            return None
        length = self._typist.choice(hole, screen)
        if not length:
            return None
        part = screen.text[:length]
        if not hole.agrees(part, screen.removed_before):
            record.accepted_wrong += 1
        elif part == first_line(screen.text):
            record.accepted_lines += 1
        else:
            record.accepted_words += 1
        return accepted(screen, length)

    def _press(self, edit: Edit, event: str) -> None:
        """Press a key: change the file, tell the suggester, and where the cursor is now."""
        page, hole, suggester, record = self._page, self._hole, self._suggester, self.record
        self._end_key()
        kind = {"over": "character", "slip": "character"}.get(event, event)
        record.keys[kind] = record.keys.get(kind, 0) + 1
        if edit.kind == "slip" or (self._slip and edit.kind == "deletion"):
            record.slips += 1
        else:
            self._stretch.keys += 1
        text, cursor = page.text, page.cursor(self._index)
        if edit.changes_text:
            start, end = cursor - edit.removed_before, cursor + edit.removed_after
            where = Range(self._position(text, start), self._position(text, end))
            suggester.change(page.uri, where, edit.inserted + edit.closer)
        hole.apply(edit)
        self._slip = edit.kind == "slip" or (self._slip and not hole.is_right)
        self._follow(edit)
        self._seen_ms = None if self._screen is None else 0.0
        self._pressed_at, self._kind = self._loop.time(), kind
        record.requests += 1
        suggester.ask(page.uri, self._position(page.text, page.cursor(self._index)))

    def _follow(self, edit: Edit) -> None:
        """Keep ghost text on the screen while its own characters are typed or accepted."""
        screen = self._screen
        if screen is None:
            return
        plain = not edit.closer and edit.removed_before == (
            screen.removed_before if edit.kind == "acceptance" else 0
        )
        if not plain or not screen.text.startswith(edit.inserted) or screen.text == edit.inserted:
            self._screen = None
            return
        screen.text = screen.text[len(edit.inserted) :]
        screen.replaced = screen.replaced[edit.removed_after :]
        if edit.kind == "acceptance":
            screen.removed_before = 0
            screen.shown_at = self._now()  # the rest is read after it

    def _shown(self, offer: Offer | None) -> None:
        """Take what the suggester says is on the screen; it may be there already, or go on."""
        if offer is None:
            self._screen = None
        else:
            elapsed = 1e3 * (self._loop.time() - self._pressed_at)
            self.record.latencies_ms.setdefault(self._kind, []).append(elapsed)
            if self._seen_ms is None or self._screen is None:
                self._seen_ms = elapsed
            if self._show(offer):
                self._stretch.new_ms.append(elapsed)
        self._news.set()

    def _show(self, offer: Offer) -> bool:
        """Put ghost text on the screen; whether it is another one than was there."""
        page, hole = self._page, self._hole
        text, cursor = page.text, page.cursor(self._index)
        replaced = ""
        while count_characters(replaced.encode(), self._suggester.encoding) < offer.removed_after:
            replaced += text[cursor + len(replaced)]
        gone = offer.removed_before
        new = Suggestion(
            offer.text,
            replaced,
            shown_at=self._now(),
            removed_before=gone,
            line_replaces=offer.line_replaces,
        )
        old, self._screen = self._screen, new
        line_right = hole.agrees(first_line(new.text), gone)
        word_right = hole.agrees(first_word(new.text), gone)
        after = text[cursor + len(replaced) :]
        doubled = is_doubled(text[: cursor - gone], new.text, after, hole.rest)
        same = old and (old.text.startswith(new.text) or new.text.startswith(old.text))
        if old and same and self._judged:
            new.shown_at, new.mistaken = old.shown_at, old.mistaken
            self._judged.line_right, self._judged.word_right = line_right, word_right
            self._judged.doubled |= doubled
            return False
        new.mistaken = self._typist.is_mistaken()
        self._judged = Judged(line_right, word_right, doubled, self._slip)
        self._stretch.shown.append(self._judged)
        return True

    async def _wait(self, gap: float) -> None:
        """Let time pass until the next key: that of the rhythm, or an acceptance before it."""
        due = self._now() + gap
        if self._patient:
            end = self._loop.time() + PATIENT_S
            while self._suggester.owes and self._loop.time() < end:
                await asyncio.sleep(POLLING_S)
            if self._screen is not None:
                due = max(due, self._screen.shown_at + READING_S)
        while True:
            until, screen = due, self._screen
            if screen is not None and self._typist.choice(self._hole, screen):
                until = min(due, screen.shown_at + READING_S)
            left = until - self._now()
            if left <= 0:
                await asyncio.sleep(0)
                return
            self._news.clear()
            if not self._suggester.owes:
                await asyncio.sleep(left / self._fast)
                self._skipped += max(0.0, until - self._now())
                continue
            try:
                async with asyncio.timeout(left):
                    await self._news.wait()
            except TimeoutError:
                return

    async def _finish(self, before: Usage, samples: list["asyncio.Task[Usage]"]) -> None:
        """Close the files, wait for the last answers, and ask what it all took."""
        record, suggester = self.record, self._suggester
        record.unanswered = await suggester.finish(LAST_ANSWER_S)
        suggester.listen(lambda _: None)
        for page in self._pages:
            suggester.close_document(page.uri)
        record.take_usage(before, await suggester.usage())
        for sample in samples:
            try:
                record.memory.append((await sample).memory)
            except MidtokenError as error:
                record.errors.append(str(error))
        record.memory.append((await suggester.usage()).memory)
        record.errors += suggester.errors
        record.answers = dict(suggester.answers)
        suggester.errors.clear()
        suggester.answers.clear()

    def _position(self, text: str, offset: int) -> Position:
        """A place in the text as the suggester counts it."""
        line = text.count("\n", 0, offset)
        before = text[text.rfind("\n", 0, offset) + 1 : offset]
        return Position(line, count_characters(before.encode(), self._suggester.encoding))
