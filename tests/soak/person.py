"""Somebody who writes: real text key by key, and everything else that people do meanwhile.

All that is drawn comes from one generator, so a seed does the same again, as far as answers come at
the same times. Not here: connections (`connection`), and what may be answered (`asked`).
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.server.lsp.client import AUTOMATIC, INVOKED, place, range_of
from tests.soak import wishes
from tests.soak.asked import COMMAND, COUNTERS, EXPLAIN, INLINE, MENU, MODELS, RANK, Asked
from tests.soak.connection import Connection
from tests.soak.texts import index_of, position, some_text, whole

OPEN = 4
"""Documents that are open at a time, at most."""
UNDONE = 30
"""Edits that can be taken back."""
LABELS = ("self", "return", "read", "reader", "größe", "x", "", "not a name", "print", "index")


@dataclass
class Page:
    """An open document."""

    uri: str
    language: str
    text: str
    cursor: int = 0
    rest: str = ""
    """What is still to be typed at the cursor."""
    undo: list[tuple[int, int, str]] = field(default_factory=list)
    """Edits that take the last ones back: start, end and new text, the newest last."""


class Person:
    """One person at one connection."""

    def __init__(
        self,
        draw: random.Random,
        connection: Connection,
        folder: Path,
        settings: dict[str, Any],
        models: Sequence[Path | str],
        first: Sequence[str] = (),
    ) -> None:
        """Sit down at a connection that has begun with these settings.

        Args:
            draw: Decides all.
            connection: Where to say it.
            folder: The workspace; half of the documents lie in it.
            settings: What the connection has begun with.
            models: Those that this person may choose.
            first: Suffixes of documents to open at once, one after the other.
        """
        self.pages: list[Page] = []
        self._draw, self._connection, self._folder = draw, connection, folder
        self._settings, self._models, self._first = settings, [*models], [*first]
        self._opened = 0
        self._tokens = 0

    async def act(self) -> float:
        """Do one thing; returns the seconds until the next one."""
        draw = self._draw
        if self._first and len(self.pages) >= OPEN:
            self._close(self.pages[-1])
        if self._first or not self.pages or (len(self.pages) < OPEN and draw.random() < 0.01):
            self._open()
        if draw.random() < 0.03:
            draw.shuffle(self.pages)
        page = self.pages[0]
        if draw.random() < 0.75:
            self._type(page)
        else:
            actions = self._actions()
            draw.choices([act for act, _ in actions], [weight for _, weight in actions])[0](page)
            if draw.random() < 0.3:  # and wait what comes of it
                await self._connection.quiet(2)
        await self._connection.writer.drain()
        return draw.choices([0.0, 0.02, 0.1, 0.4, 2.0], [25, 30, 25, 17, 3])[0]

    def close_all(self) -> None:
        """Close all documents."""
        for page in self.pages:
            self._connection.close(page.uri)
        self.pages.clear()

    def _actions(self) -> list[tuple[Callable[[Page], None], int]]:
        return [
            (self._accept, 20),
            (self._cancel, 12),
            (self._edit_elsewhere, 10),
            (self._edit_another, 6),
            (self._take_back, 8),
            (self._move, 8),
            (self._ask_by_hand, 8),
            (self._ask_selected, 4),
            (self._rank, 5),
            (self._explain, 1),
            (self._look, 4),
            (self._configure, 4),
            (self._reopen, 2),
            (self._close, 2),
            (self._save, 2),
            (self._burst, 2),
        ]

    # Documents

    def _open(self) -> None:
        name, language, text = some_text(self._draw, self._first.pop() if self._first else None)
        self._opened += 1
        if self._draw.random() < 0.5:
            uri = (self._folder / f"{self._opened % 20}_{name}").as_uri()
        else:
            uri = f"untitled:{self._opened % 20}-{name}"
        if any(page.uri == uri for page in self.pages):
            return
        self._connection.open(uri, text, language)
        page = Page(uri, language, text)
        self.pages.insert(0, page)
        self._new_hole(page)

    def _close(self, page: Page) -> None:
        self.pages.remove(page)
        self._connection.close(page.uri)

    def _reopen(self, page: Page) -> None:
        """Open it again, sometimes without closing it, sometimes in another language."""
        if self._draw.random() < 0.6:
            self._connection.close(page.uri)
        if self._draw.random() < 0.5:
            page.language = self._draw.choice(["python", "json", "plaintext", "go", "typescript"])
        self._connection.open(page.uri, page.text, page.language)
        page.undo.clear()

    def _save(self, page: Page) -> None:
        self._connection.notify("textDocument/didSave", {"textDocument": {"uri": page.uri}})

    # Edits

    def _type(self, page: Page) -> None:
        if not page.rest:
            self._new_hole(page)
        draw, size = self._draw, 1
        if page.rest.startswith("\r\n"):
            size = 2
        elif draw.random() < 0.05:
            size = draw.randint(2, 12)
        new, page.rest = page.rest[:size], page.rest[size:]
        if draw.random() < 0.02:  # a slip, which is taken back by the next keys
            page.rest, new = "\b" + new + page.rest, draw.choice("qx(\"'é")
        if new.startswith("\b"):
            start = whole(page.text, page.cursor - 1)
            self._edit(page, start, page.cursor, "")
            page.rest = new[1:] + page.rest
        else:
            self._edit(page, page.cursor, page.cursor, new)
        if draw.random() < 0.4:
            self._take_back_older(page)
        if draw.random() < 0.8:
            self._ask(page, INLINE, AUTOMATIC)
        if draw.random() < 0.25:
            self._ask(page, MENU, draw.choice([INVOKED, 2, 3]))

    def _new_hole(self, page: Page) -> None:
        """Cut out some text, which is what will be typed."""
        draw = self._draw
        start = whole(page.text, draw.randrange(len(page.text) + 1))
        end = page.text.find("\n", start + draw.randint(1, 120)) + 1
        end = whole(page.text, end or len(page.text))
        page.rest = page.text[start : max(start, end - 1)] or "value = first(second, third)\n"
        if draw.random() < 0.8:
            start = page.cursor = whole(page.text, start)
            self._edit(page, start, whole(page.text, max(start, end - 1)), "")
        page.cursor = start

    def _edit(self, page: Page, start: int, end: int, new: str, *, undone: bool = False) -> None:
        """Replace a part of the text; the cursor goes along."""
        old = page.text[start:end]
        editor = self._connection.editor
        where = position(page.text, start, editor), position(page.text, end, editor)
        self._connection.change(page.uri, (where, new))
        page.text = page.text[:start] + new + page.text[end:]
        if page.cursor >= end:
            page.cursor += len(new) - len(old)
        elif page.cursor > start:
            page.cursor = start + len(new)
        page.cursor = whole(page.text, page.cursor)
        if not undone:
            page.undo.append((start, start + len(new), old))
            del page.undo[:-UNDONE]

    def _take_back(self, page: Page) -> None:
        """Undo the last edits."""
        for _ in range(self._draw.randint(1, 3)):
            if page.undo:
                start, end, old = page.undo.pop()
                if whole(page.text, start) == start and whole(page.text, end) == end:
                    self._edit(page, start, end, old, undone=True)
                    page.cursor = start + len(old)
        page.cursor, page.rest = whole(page.text, page.cursor), ""
        self._ask(page, INLINE, AUTOMATIC)

    def _edit_elsewhere(self, page: Page) -> None:
        """Change another place of the document, or all of it."""
        draw = self._draw
        kind = draw.random()
        if kind < 0.1:
            self._connection.change(page.uri, (None, page.text))
            return
        if kind < 0.2 or len(page.text) > 50_000:
            _, _, text = some_text(draw)
            self._connection.change(page.uri, (None, text))
            page.text, page.cursor, page.rest = text, 0, ""
            page.undo.clear()
            return
        start = whole(page.text, draw.randrange(len(page.text) + 1))
        end = whole(page.text, start + draw.choice([0, 0, 1, 5, 80]))
        new = draw.choice(["", "x", "\n", "    y = (1,\n", "é😀"])
        self._edit(page, start, max(start, end), new)

    def _edit_another(self, page: Page) -> None:
        """Change another document."""
        self._edit_elsewhere(self.pages[-1])

    def _move(self, page: Page) -> None:
        page.cursor = whole(page.text, self._draw.randrange(len(page.text) + 1))
        page.rest = ""
        if self._draw.random() < 0.5:
            self._ask(page, INLINE, AUTOMATIC)

    def _accept(self, page: Page) -> None:
        """Accept the ghost text or a part of it, if there is any for the text as it is."""
        asked, items = self._connection.offers.pop(page.uri, (None, []))
        if asked is None or asked.text != page.text or asked.cursor != page.cursor:
            return self._ask(page, INLINE, INVOKED)
        item = self._draw.choice(items)
        editor = self._connection.editor
        start, end = (index_of(page.text, item["range"][side], editor) for side in ("start", "end"))
        if start is None or end is None:  # told already
            return None
        new = item["insertText"]
        if self._draw.random() < 0.3:  # a word of it
            new, end = new[: self._draw.randint(1, len(new))], page.cursor
        self._edit(page, start, end, new)
        page.rest = page.rest.removeprefix(new)
        note = self._draw.choice(["midtoken/didShow", "midtoken/didAccept", "midtoken/didReject"])
        document = {"textDocument": {"uri": page.uri}}
        self._connection.notify(note, {**document, "length": len(new)})
        return self._ask(page, INLINE, AUTOMATIC)

    # Requests

    def _asked(self, page: Page, method: str, **more: Any) -> tuple[Asked, dict[str, Any]]:
        editor = self._connection.editor
        at = position(page.text, page.cursor, editor)
        asked = Asked(method, 0, 0, page.uri, page.text, page.cursor, editor, page.cursor, **more)
        return asked, {"textDocument": {"uri": page.uri}, "position": place(at)}

    def _ask(self, page: Page, method: str, kind: int) -> None:
        token = None
        if method == MENU and self._draw.random() < 0.3:
            self._tokens += 1
            token = f"part {self._tokens}"
        asked, params = self._asked(page, method, token=token)
        params["context"] = {"triggerKind": kind}
        if kind == 2 and method == MENU:  # by a character
            params["context"]["triggerCharacter"] = "."
        if token is not None:
            params["partialResultToken"] = token
        self._connection.ask(asked, params)

    def _ask_by_hand(self, page: Page) -> None:
        self._ask(page, self._draw.choice([INLINE, MENU]), INVOKED)

    def _ask_selected(self, page: Page) -> None:
        """Ghost text while an entry of a menu is selected."""
        start = page.cursor
        while start and page.text[start - 1].isidentifier():
            start -= 1
        asked, params = self._asked(page, INLINE, selected=page.text[start : page.cursor] + "abc")
        asked.start = start
        editor = self._connection.editor
        where = position(page.text, start, editor), position(page.text, page.cursor, editor)
        selected = {"range": range_of(where), "text": asked.selected}
        params["context"] = {"triggerKind": INVOKED, "selectedCompletionInfo": selected}
        self._connection.ask(asked, params)

    def _burst(self, page: Page) -> None:
        """Many requests at once, of which some are taken back in any order."""
        before = {*self._connection.pending}
        for _ in range(self._draw.randint(5, 30)):
            self._ask(page, self._draw.choice([INLINE, MENU]), AUTOMATIC)
        new = sorted({*self._connection.pending} - before)
        for number in self._draw.sample(new, len(new) // 2):
            self._connection.take_back(number)

    def _rank(self, page: Page) -> None:
        labels = LABELS if self._draw.random() < 0.5 else None
        asked, params = self._asked(page, RANK, labels=labels)
        if labels:
            params["labels"] = [*labels]
        self._connection.ask(asked, {**params, "limit": self._draw.choice([1, 10])})

    def _explain(self, page: Page) -> None:
        asked, params = self._asked(page, EXPLAIN)
        self._connection.ask(asked, params if self._draw.random() < 0.5 else None)

    def _look(self, page: Page) -> None:
        """Requests that say nothing of a place."""
        method, params = self._draw.choice(
            [
                (MODELS, None),
                (COUNTERS, None),
                (COMMAND, {"command": "midtoken.showReport"}),
                (COMMAND, {"command": "midtoken.openReport"}),
            ]
        )
        self._connection.ask(Asked(method, 0, 0, editor=self._connection.editor), params)

    def _cancel(self, page: Page) -> None:
        """Take back something that was asked for, is answered already, or never was asked for."""
        pending = [*self._connection.pending]
        number = self._draw.choice([*pending[-3:], self._connection._number, 1 << 30])
        self._connection.take_back(number)

    def _take_back_older(self, page: Page) -> None:
        """Cancel what waits for this document, as VS Code does at each key."""
        for number, asked in self._connection.pending.items():
            if asked.uri == page.uri and not asked.cancelled:
                self._connection.take_back(number)

    def _configure(self, page: Page) -> None:
        """Change a setting; the server is told, or told to ask."""
        self._settings, what = wishes.changed(self._draw, self._settings, self._models)
        self._connection.settings = self._settings
        self._connection.note(what)
        told = self._draw.choice([None, {"midtoken": self._settings}])
        self._connection.notify("workspace/didChangeConfiguration", {"settings": told})
