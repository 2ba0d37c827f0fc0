"""Keeps what other places say for each open document, while an editor works (`workspace`).

Editing, asking, saving and closing tell where somebody is. When that pauses, everything that there
is to say for the document is gathered in a thread, and put where requests find it: at the document.
So it changes in pauses only, just before the model reads ahead, and no request waits for it.

What is not here: what is gathered (`workspace`), and how much of it a prompt has room for
(`prompt_choice`).
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from server.documents import Document, Documents
from server.lsp_items import folder_of
from server.options import Options
from server.positions import Position
from server.workspace.gathering import Gathering, Open

logger = logging.getLogger("midtoken.surroundings")

PAUSE_S = 0.25
"""So long nobody types before anything is gathered: shorter than the pause before the model reads
ahead (`idle`), so that what it reads is new."""


class Surroundings:
    """One editor's documents among the files of its workspace. Belongs to the event loop."""

    def __init__(self, documents: Callable[[], Documents], options: Callable[[], Options]) -> None:
        """Do nothing until `begin`.

        Args:
            documents: The editor's documents.
            options: The editor's options.
        """
        self._documents = documents
        self._options = options
        self._gathering = Gathering([])
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, folders: Iterable[Path]) -> None:
        """The editor has said which folders its workspace has."""
        self._gathering.close()
        self._gathering = Gathering(folders)

    def at(self, document: Document, offset: int) -> None:
        """Somebody opens a document, edits it, or asks for something there (a byte offset)."""
        path, options = folder_of(document.uri), self._options()
        is_wanted = options.for_language(document.language).context.workspace
        if path is None or not is_wanted or not options.enabled_for(document.language):
            document.material = None
            return
        line = document.position_at(offset).line
        self._gathering.at(path, lambda: _text_of(document), line)
        self._soon(document, path, offset)

    def saved(self, document: Document) -> None:
        """A document was saved."""
        path = folder_of(document.uri)
        if path is not None:
            self._gathering.note(path)

    def closed(self, document: Document) -> None:
        """A document is about to be closed."""
        path = folder_of(document.uri)
        if path is not None:
            self._gathering.note(path)
            self._gathering.forget(path)

    def close(self) -> None:
        """The connection has ended."""
        self._gathering.close()
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()

    def _soon(self, document: Document, path: Path, offset: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(PAUSE_S, self._begin, document, path, offset)

    def _begin(self, document: Document, path: Path, offset: int) -> None:
        task = asyncio.get_running_loop().create_task(self._gather(document, path, offset))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _gather(self, document: Document, path: Path, offset: int) -> None:
        documents = self._documents()
        if not documents.is_open(document):
            return
        places = ((folder_of(other.uri), other) for other in documents if other is not document)
        others = {place: _text_of(other) for place, other in places if place is not None}
        text = _text_of(document)
        asked = Open(path, document.language, text, min(offset, len(text)))
        try:
            document.material = await asyncio.to_thread(self._gathering.gather, asked, others)
        except Exception:  # whatever is in a workspace: completions go on without it
            logger.exception("what other files say of %s can't be gathered", path.name)
            document.material = None


def _text_of(document: Document) -> bytes:
    """The text, one copy of which is shared until the next edit."""
    return document.snapshot(Position(0, 0)).text
