"""Models by the editor: which there are, and fetching one while the person watches, or stops it.

- `midtoken/models` (request): `{"current", "models": [{"name", "size", "here", "mirror", "licence",
  "description"}]}`; `current` is the option `model.name`, which may be a path, or
  `remote.url` where an engine elsewhere is asked.
- `midtoken/pullModel` (request): fetches the model `name` of the list; `{"path"}` when it is here,
  `{"problem"}`, a line for people, when it can't be had. With a `workDoneToken` its progress is
  told. Cancelling the request stops the download; what has arrived stays, and the next one goes on
  from there. With `mirror: true` the model's mirror may be used.

Nothing is fetched unless a client asks for it here or the option `model.autoPull` allows it.
What is not here: choosing a model, which is the option `model.name`.
"""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from server.errors import Cancelled, MidtokenError
from server.models import download, store
from server.models.catalog import CATALOG, Model
from server.models.files import Progress, megabytes

MODELS, PULL_MODEL = "midtoken/models", "midtoken/pullModel"


class PullTold:
    """The progress of one download, told to a client as percentages of its stages."""

    def __init__(self, server: LanguageServer, token: str | int | None) -> None:
        self._server, self._token = server, token
        self._told = ("", -1)

    def begin(self, title: str) -> None:
        """Tell that it begins."""
        self._send(types.WorkDoneProgressBegin(title, cancellable=True, percentage=0))

    def report(self, done: int, total: int, what: str) -> None:
        """Tell how far it is, if that is news."""
        told = (what, 100 * done // max(total, 1))
        if told != self._told:
            self._told = told
            size = f"{megabytes(done)} of {megabytes(total)}"
            self._send(types.WorkDoneProgressReport(message=f"{what}: {size}", percentage=told[1]))

    def end(self) -> None:
        """Tell that it has ended, whatever came of it."""
        self._send(types.WorkDoneProgressEnd())

    def _send(
        self,
        value: types.WorkDoneProgressBegin
        | types.WorkDoneProgressReport
        | types.WorkDoneProgressEnd,
    ) -> None:
        if self._token is not None:
            self._server.protocol.notify("$/progress", types.ProgressParams(self._token, value))


def bind_model_methods(server: LanguageServer, current: Callable[[], str]) -> None:
    """Bind the methods to a connection; `current()` says what is in use (see above)."""

    @server.feature(MODELS)
    def models(_: Any) -> dict[str, Any]:  # noqa: ANN401 (any JSON)
        return {"current": current(), "models": [described(entry) for entry in CATALOG.values()]}

    @server.feature(PULL_MODEL)
    async def pull(params: Any) -> dict[str, str]:  # noqa: ANN401 (any JSON)
        name, token = getattr(params, "name", None), getattr(params, "workDoneToken", None)
        if name is None:
            return {"problem": f"which model? Its name is missing: there are {', '.join(CATALOG)}"}
        mirror = getattr(params, "mirror", None) is True
        told = PullTold(server, token if isinstance(token, str | int) else None)
        try:
            entry = store.find_model(str(name))
            told.begin(f"midtoken: fetching {entry.name}")
            try:
                path = await fetched(entry, told.report, mirror=mirror)
            finally:
                told.end()
        except MidtokenError as error:
            return {"problem": str(error)}
        return {"path": str(path)}


def described(entry: Model) -> dict[str, Any]:
    """A model of the catalog for a list of choices."""
    return {
        "name": entry.name,
        "size": megabytes(entry.size_bytes) if entry.size_bytes else "",
        "here": store.is_whole(entry),
        "mirror": entry.mirror is not None,
        "licence": entry.licence,
        "description": entry.description,
    }


async def fetched(entry: Model, report: Progress, *, mirror: bool) -> Path:
    """Fetch a model in a thread; `report` is called in the event loop.

    When this task is cancelled it ends at once, and the thread at its next piece of the download.
    """
    loop = asyncio.get_running_loop()
    stopped = threading.Event()

    def progress(done: int, total: int, what: str) -> None:
        if stopped.is_set():
            raise Cancelled("the download was stopped")
        loop.call_soon_threadsafe(report, done, total, what.partition(",")[0])

    try:
        return await asyncio.to_thread(download.pull, entry, mirror=mirror, progress=progress)
    except asyncio.CancelledError:
        stopped.set()
        raise
