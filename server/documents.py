r"""The documents that an editor has open, kept in step with its edits.

A document is UTF-8 in a `bytearray`, with the byte offset of every line beside it. An edit moves
the bytes and the offsets behind it, which memory does fast (a tenth of a millisecond for 1 MB in
40,000 lines), and looks for line ends only in the lines that it touches. Line ends are `\n`, `\r\n`
and `\r` and no others. Requests read a `Snapshot`, which no later edit changes.

Example::

    >>> documents = Documents(Encoding.UTF16)
    >>> document = documents.open("untitled:a", "x = 😀\r\n", 1, "python")
    >>> place = Position(0, 6)
    >>> documents.change("untitled:a", 2, [Change("!", Range(place, place))])
    <VersionStep.NEXT: 'next'>
    >>> document.snapshot(Position(1, 0)).text.decode()
    'x = 😀!\r\n'

Everything here belongs to one thread, the event loop's; a snapshot may go to any.

What is not here: the protocol's own types, and files that are not open in the editor.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from server.errors import DocumentError
from server.positions import (
    Encoding,
    Position,
    Range,
    byte_offset,
    character_at,
    to_bytes,
    without_surrogates,
)
from server.snapshot import Snapshot, language_of, line_starts
from server.workspace.context import Material

MOST_DOCUMENTS, MOST_BYTES = 1000, 1 << 28
"""Of one editor. Nobody works in so many; each one costs memory, with its text as a snapshot twice.
Five files of 50 MB are followed."""


@dataclass(frozen=True, slots=True)
class Change:
    """One edit of a client."""

    text: str
    """What stands there afterwards."""
    range: Range | None = None
    """What it replaces; None for the whole document."""


class VersionStep(Enum):
    """How the version of a change follows the one before.

    Changes arrive in the order in which the client made them, whatever number it gives them, so
    they are applied in any case: leaving one out would make every later position wrong.
    """

    NEXT = "next"
    """One more than before, as nearly all clients count."""
    GAP = "gap"
    """Numbers were left out. The protocol allows it."""
    BACK = "back"
    """Not greater than before: the client counts wrongly, which is worth a line in the log."""


class Document:
    """The text of one open document."""

    uri: str
    """The document's address as the client wrote it when it opened it."""
    version: int
    """The client's number of the text."""
    language: str
    """The client's language identifier; guessed from the address where the client gave none."""
    encoding: Encoding
    """What the client counts as one character."""
    material: Material | None
    """What other places say of it (`surroundings`); None for nothing."""

    def __init__(
        self, uri: str, text: str, version: int, language: str, encoding: Encoding
    ) -> None:
        self.uri = uri
        self.version = version
        self.language = language or language_of(unquote(uri))
        self.encoding = encoding
        self.material = None
        self._shared: bytes | None = None
        """The text of the snapshots since the last edit, if there were any."""
        self._has_surrogates: bool
        """Whether lone surrogates are in the text, or were."""
        self._text: bytearray
        self._starts: NDArray[np.int64]
        """Shape (lines,): the byte offset of every line's first byte, ascending from 0."""
        self._set_text(to_bytes(text))

    @property
    def text(self) -> bytes:
        """The document as the client has it; lone surrogates take three bytes (`positions`)."""
        return bytes(self._text)

    @property
    def size(self) -> int:
        """Bytes of the text."""
        return len(self._text)

    @property
    def line_count(self) -> int:
        """At least one; a line end at the end of the text begins another, empty line."""
        return len(self._starts)

    def apply(self, version: int, changes: Sequence[Change]) -> VersionStep:
        """Take over a client's changes: each one is about the text that the one before left.

        Ranges are clamped to the text (`positions`), and one that ends before it starts is taken
        the other way round. The version becomes the client's, whatever the step was.
        """
        for change in changes:
            if change.range is None:
                self._set_text(to_bytes(change.text))
            else:
                first, last = sorted(map(self._locate, (change.range.start, change.range.end)))
                self._replace(first, last, to_bytes(change.text))
        step = VersionStep.NEXT if version == self.version + 1 else VersionStep.GAP
        if version <= self.version:
            step = VersionStep.BACK
        self.version = version
        return step

    def offset_at(self, position: Position) -> int:
        """The byte offset of a position, clamped: see `positions`; past the last line is the end.

        The offset is the same in `text` and in a snapshot.
        """
        return self._locate(position)[1]

    def position_at(self, offset: int) -> Position:
        r"""The position of a byte offset.

        An offset inside a code point, or between `\r` and `\n`, counts as the place before it.
        Raises ValueError for an offset outside the text.
        """
        if not 0 <= offset <= len(self._text):
            raise ValueError(f"offset {offset} is outside the text of {len(self._text)} bytes")
        line = int(np.searchsorted(self._starts, offset, "right")) - 1
        start, end = self._line_bounds(line)
        content = bytes(self._text[start:end])
        return Position(line, character_at(content, offset - start, self.encoding))

    def snapshot(self, position: Position) -> Snapshot:
        """The document as it is now, with the cursor at a position (clamped).

        Lone surrogates become U+FFFD, which is as long. All snapshots between two edits share one
        copy of the text: the first costs as much as copying it.
        """
        if self._shared is None:
            text = bytes(self._text)
            self._shared = without_surrogates(text) if self._has_surrogates else text
        cursor = self.offset_at(position)
        return Snapshot(self.uri, self.version, self._shared, cursor, self.language)

    def is_current(self, snapshot: Snapshot) -> bool:
        """Whether the document still reads as in a snapshot that it gave out; False if unsure.

        Better than comparing versions: clients may use a number twice, and closing and opening a
        document begins anew.
        """
        return snapshot.text is self._shared

    def _set_text(self, text: bytes) -> None:
        self._text = bytearray(text)
        self._has_surrogates = without_surrogates(text) != text
        self._starts = line_starts(text)
        self._shared = None

    def _locate(self, position: Position) -> tuple[int, int]:
        """The line of a position and its byte offset in the text, both clamped."""
        if position.line < 0:
            return 0, 0
        if position.line >= len(self._starts):
            return len(self._starts) - 1, len(self._text)
        start, end = self._line_bounds(position.line)
        line = bytes(self._text[start:end])
        return position.line, start + byte_offset(line, position.character, self.encoding)

    def _line_bounds(self, line: int) -> tuple[int, int]:
        """The byte offsets of a line's start and of its end, without its line end."""
        start = int(self._starts[line])
        if line + 1 == len(self._starts):
            return start, len(self._text)
        end = int(self._starts[line + 1])
        size = 2 if self._text[max(end - 2, start) : end] == b"\r\n" else 1
        return start, end - size

    def _replace(self, first: tuple[int, int], last: tuple[int, int], new: bytes) -> None:
        """Put bytes between two places, each a line and an offset in its content."""
        (first_line, start), (last_line, end) = first, last
        starts = self._starts
        # A `\r` right before the edit ends a line now, but not with a `\n` behind it.
        if first_line and start == starts[first_line] and self._text[start - 1] == 0x0D:
            first_line -= 1
        window_start = int(starts[first_line])
        rest = starts[last_line + 1 :]  # offsets that only move: no edit reaches into a line end
        window_end = int(rest[0]) if len(rest) else len(self._text)
        self._text[start:end] = new
        self._has_surrogates = self._has_surrogates or without_surrogates(new) != new
        growth = len(new) - (end - start)
        window = bytes(self._text[window_start : window_end + growth])
        found = line_starts(window)[1:] + window_start
        # The window's own line end, where it has one, was found in it: hence without rest[0].
        self._starts = np.concatenate((starts[: first_line + 1], found, rest[1:] + growth))
        self._shared = None


class Documents:
    """The documents that one client has open, found by any spelling of their address.

    At most `MOST_DOCUMENTS` with `MOST_BYTES` of text together: what is more is not open.
    """

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self._open: dict[bytes, Document] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Document]:
        return iter(self._open.values())

    def open(self, uri: str, text: str, version: int, language: str) -> Document:
        """Begin with a document; one that was open already is replaced.

        Raises DocumentError, and forgets it, if that would be too many or too much text.
        """
        key = uri_key(uri)
        self._open.pop(key, None)
        if len(self._open) >= MOST_DOCUMENTS:
            raise DocumentError(
                f"{MOST_DOCUMENTS} documents are open, and no more are followed: close some"
            )
        document = self._open[key] = Document(uri, text, version, language, self.encoding)
        self._check_size(document)
        return document

    def find(self, uri: str) -> Document:
        """An open document. Raises DocumentError if it is not open."""
        document = self._open.get(uri_key(uri))
        if document is None:
            raise _not_open(uri)
        return document

    def is_open(self, document: Document) -> bool:
        """Whether this very document is open: not closed, nor closed and opened again."""
        return self._open.get(uri_key(document.uri)) is document

    def change(self, uri: str, version: int, changes: Sequence[Change]) -> VersionStep:
        """Edit a document (`Document.apply`).

        Raises DocumentError if it is not open, or no more, since there is too much text now.
        """
        document = self.find(uri)
        step = document.apply(version, changes)
        self._check_size(document)
        return step

    def close(self, uri: str) -> None:
        """Forget a document and free its text. Raises DocumentError if it is not open."""
        if self._open.pop(uri_key(uri), None) is None:
            raise _not_open(uri)

    def _check_size(self, newest: Document) -> None:
        if sum(each.size for each in self._open.values()) > MOST_BYTES:
            self.close(newest.uri)
            raise DocumentError(
                f"{_shown(newest.uri)} is followed no more: the open documents are larger than "
                f"{MOST_BYTES >> 20} MiB together"
            )


def uri_key(uri: str) -> bytes:
    """A form of an address that is the same for all spellings of it.

    Percent-encoded bytes are taken as they are meant, except those of `/ ? # %`, which would change
    the address; the scheme and a drive letter are lower case. Nothing else is touched, so a
    malformed address is a document like any other.

        >>> uri_key("file:///C%3A/caf%c3%a9.py") == uri_key("FILE:///c:/café.py")
        True
    """
    key = _ENCODED_BYTE.sub(_decoded_byte, to_bytes(uri))
    return _START.sub(lambda start: start[0].lower(), key, count=1)


_ENCODED_BYTE = re.compile(rb"%([0-9A-Fa-f]{2})")
_START = re.compile(rb"\A[A-Za-z][A-Za-z0-9+.-]*:(/{0,3}[A-Za-z]:(?=[/\\]|\Z))?")
"""The scheme and, where the path starts with one, a drive letter."""


def _decoded_byte(encoded: re.Match[bytes]) -> bytes:
    byte = bytes([int(encoded[1], 16)])
    return encoded[0].upper() if byte in b"/?#%" else byte


def _not_open(uri: str) -> DocumentError:
    return DocumentError(f"{_shown(uri)} is not open: the editor must open it (didOpen) first")


def _shown(uri: str) -> str:
    return uri if uri.isprintable() and uri else ascii(uri)
