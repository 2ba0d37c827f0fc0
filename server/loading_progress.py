"""The loading of a model as a progress of the editor, where the editor shows such things."""

import asyncio
import logging
from uuid import uuid4

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from server.backend import Status

logger = logging.getLogger("midtoken.server")


class LoadingProgress:
    """At most one progress at a time, from the status `loading` to any other one."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._token: str | None = None
        self._begun: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def follow(self, status: Status) -> None:
        """Begin the progress, tell how far it is, or end it, as the status says."""
        window = self._server.client_capabilities.window
        if window is None or not window.work_done_progress:
            return
        if status.state == "loading" and self._token is None:
            self._token = str(uuid4())
            task = asyncio.get_running_loop().create_task(self._begin(self._token, status))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif status.state == "loading":
            if self._token and self._token == self._begun and status.percent is not None:
                report = types.WorkDoneProgressReport(
                    message=status.message, percentage=status.percent
                )
                self._server.work_done_progress.report(self._token, report)
        elif status.state != "loading":
            # One that the editor has not answered for yet ends by itself (`_begin`).
            token, self._token = self._token, None
            if token is not None and token == self._begun:
                self._end(token, status.message)

    async def _begin(self, token: str, status: Status) -> None:
        progress = self._server.work_done_progress
        try:
            await progress.create_async(token)
        except Exception as error:  # an editor that refuses has said all there is to say
            logger.info("the editor shows no progress: %s", error)
            return
        self._begun = token
        progress.begin(
            token, types.WorkDoneProgressBegin("midtoken", message=status.message, percentage=0)
        )
        if self._token != token:
            self._end(token, "")

    def _end(self, token: str, message: str) -> None:
        self._server.work_done_progress.end(token, types.WorkDoneProgressEnd(message=message))
