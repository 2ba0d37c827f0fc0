"""How a suggestion came about, for editors: the report as data, and the page as HTML.

- `midtoken.showReport` (command): the report of the last suggestion, as `midtoken complete --json`
  prints it; null before the first one.
- `midtoken.openReport` (command): opens its page outside the editor, as `window/showDocument` asks
  the client to. For editors that have no plugin of ours.
- `midtoken/explain` (request): `{"html"}`, the page of the last suggestion; with a `textDocument`
  and a `position`, that of a new request there; `{"problem"}`, a line for people, where there is
  none. The model is asked again, so it takes as long as a suggestion; cancelling stops it.

What is not here: what is on the page (`explain_page`).
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from server.backend import Backend
from server.errors import MidtokenError
from server.explain_page.facts import gather
from server.explain_page.page import page
from server.lsp_items import Place, place_of
from server.report import Completion
from server.service_request import Request

logger = logging.getLogger("midtoken.explain")

EXPLAIN = "midtoken/explain"

Last = tuple[Request, Completion]
"""A request, and what was answered."""


def bind_explain_methods(
    server: LanguageServer,
    backend: Backend,
    last: Callable[[], Last | None],
    request_at: Callable[[str, types.Position], Request],
) -> Callable[[], None]:
    """Bind the methods to a connection; gives what to call when that has ended.

    Args:
        server: The connection.
        backend: The model.
        last: The last request that had an answer; None if there was none.
        request_at: A request at a place; raises DocumentError.
    """

    async def explained(place: Place | None) -> dict[str, str]:
        try:
            request, first = (
                (last() or (None, None)) if place is None else (request_at(*place), None)
            )
            if request is None:
                return {"problem": "there was no suggestion yet"}
            if not backend.is_ready:
                return {"problem": backend.status.message or "the model is not loaded yet"}
            snapshot, options, caution = request.snapshot, request.options, request.caution
            facts = await backend.run(
                lambda completer: gather(completer, snapshot, options, first, caution),
                request.connection,
            )
        except MidtokenError as error:
            return {"problem": str(error)}
        return {"html": await asyncio.to_thread(page, facts)}

    written, ended = ExitStack(), False

    @cache
    def folder() -> Path:
        """Nobody else may read it; it goes with the connection, whatever ends that."""
        made = TemporaryDirectory(prefix="midtoken-", ignore_cleanup_errors=True)
        return Path(written.enter_context(made))

    def end() -> None:
        nonlocal ended
        ended = True
        written.close()

    def tell(message: str) -> None:
        server.window_show_message(
            types.ShowMessageParams(types.MessageType.Info, f"midtoken: {message}")
        )

    @server.command("midtoken.showReport")
    def report() -> dict[str, Any] | None:
        answered = last()
        return None if answered is None else answered[1].as_json()

    @server.command("midtoken.openReport")
    async def open_report() -> None:
        answer = await explained(None)
        if "problem" in answer:
            return tell(answer["problem"])
        if ended:
            return None
        try:
            file = folder() / "report.html"
            file.write_text(answer["html"], encoding="utf-8")
        except OSError as error:
            return tell(f"the page can't be written ({error.strerror}): make room for it")
        window = server.client_capabilities.window
        shown = bool(window and window.show_document and window.show_document.support)
        if shown:
            wish = types.ShowDocumentParams(file.as_uri(), external=True)
            try:
                shown = (await server.window_show_document_async(wish)).success
            except JsonRpcException as error:
                logger.warning("the editor did not open the page: %s", error)
                shown = False
        if not shown:
            tell(f"the page is {file}")
        return None

    @server.feature(EXPLAIN)
    async def explain(params: Any) -> dict[str, str]:  # noqa: ANN401 (any JSON)
        return await explained(place_of(params))

    return end
