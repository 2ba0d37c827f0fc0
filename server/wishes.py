"""What an editor wants, as requests of the service: now, next, and when there is time.

Not here: documents and settings (`language_server`), and which request runs when (`service`).
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

from lsprotocol import types

from server.confidence import Caution
from server.documents import Change, Document
from server.idle import Spot, Where
from server.lsp_items import completion_options
from server.options import Options
from server.positions import Position, to_bytes
from server.report import Completion
from server.service_request import Request
from server.snapshot import Snapshot
from server.workspace.context import Material

CPU_PATIENCE_MS, GPU_PATIENCE_MS = 600, 250
"""After so long, an automatic request is answered with the whole words that are there. VS Code
opens its list of words, and gives up on ghost text, 750 ms after a key."""

OPENED_BYTES = 6000
"""A document that is opened and no longer than this is read before anybody types: all of it fits
the larger prompts, and those of any place begin like it."""


@dataclass(frozen=True)
class Wish:
    """What an editor asks for, whatever the request's name."""

    uri: str
    position: types.Position
    automatic: bool
    selected: types.SelectedCompletionInfo | None = None
    is_single: bool = False
    """Whether one suggestion will do even if it is no automatic request."""


def request_of(
    wish: Wish,
    document: Hashable,
    snapshot: Snapshot,
    options: Options,
    *,
    offloaded: bool,
    pause: Callable[[], float],
    material: Material | None = None,
) -> Request:
    """The request for a wish.

    Args:
        wish: The wish.
        document: What the service knows the document by.
        snapshot: The document.
        options: The editor's options.
        offloaded: Whether the model runs on a GPU.
        pause: Seconds to wait for the next key, where the options do not say.
        material: What other places say of the document.
    """
    wanted = completion_options(options, snapshot.language, snapshot, material)
    options = options.for_language(snapshot.language)
    ahead = options.engine.idle_work
    most = options.completion.candidates
    if not wish.automatic:
        wanted = replace(wanted, candidates=1 if wish.is_single else most)
        return Request(document, snapshot, wanted, ahead=ahead, most=most)
    trigger = options.trigger
    usual = GPU_PATIENCE_MS if offloaded else CPU_PATIENCE_MS
    patience = usual if trigger.time_budget == "auto" else trigger.time_budget
    delay = pause() if trigger.debounce == "auto" else trigger.debounce / 1e3
    caution = Caution(trigger.min_confidence, options.completion.stop_unsure)
    return Request(document, snapshot, wanted, patience / 1e3, delay, ahead, caution, most)


def request_after(request: Request, completion: Completion, options: Options) -> Request | None:
    """What will be asked for if a suggestion is accepted as a whole; None if there is none."""
    if not completion.items:
        return None
    snapshot, item = request.snapshot, completion.items[0]
    text, written = snapshot.text, item.text.encode()
    after = text[snapshot.cursor + item.replaced_bytes :]
    accepted = replace(
        snapshot,
        text=text[: snapshot.cursor] + written + after,
        cursor=snapshot.cursor + len(written),
    )
    wanted = completion_options(options, snapshot.language, accepted, request.options.material)
    return Request(request.document, accepted, wanted, connection=request.connection)


def spot_after(document: Document, change: Change, options: Options) -> Where | None:
    """Where somebody works who made a change; None if it tells no place."""
    if change.range is None:
        return None
    start = min(document.offset_at(end) for end in (change.range.start, change.range.end))
    end = start + len(to_bytes(change.text))
    return lambda: _spot(document, end, options)


def spot_in_new(document: Document, options: Options) -> Where | None:
    """Where to read in a document that was opened; None if that would help few places."""
    size = len(document.text)
    if not 0 < size <= OPENED_BYTES:
        return None
    return lambda: replace(_spot(document, size, options), only_largest=True)


def _spot(document: Document, cursor: int, options: Options) -> Spot:
    snapshot = document.snapshot(Position(0, 0))
    snapshot = replace(snapshot, cursor=min(cursor, len(snapshot.text)))
    wanted = completion_options(options, document.language, snapshot, document.material)
    return Spot(snapshot, wanted)
