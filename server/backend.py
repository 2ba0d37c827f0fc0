"""The model behind a server: loading it in the background, saying how it is, starting it again.

There is one backend in a process, however many editors are connected. The first one's settings
decide how the model is run; asking for another model, or for the same one run differently, loads
that one instead. Another name of the same file is no other model. One that can't be loaded does not
take the running one away from other editors.
"""

import asyncio
import gc
import logging
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from server.completer import Completer, load_completer
from server.engine.llama_advice import warn_of
from server.engine.llama_load import EngineOptions
from server.errors import MidtokenError, RemoteError
from server.model_options import (
    asked_for,
    check,
    engine_options,
    model_file,
    what_runs,
)
from server.option_sections import RemoteSection
from server.options import Options
from server.plain_files import shortened
from server.remote.silence import SILENT_S, waiting_for
from server.report import Completion
from server.service import Service
from server.service_request import Request
from server.state_store import default_folder
from server.warm_start import warm_start
from server.worker import Ticket, Worker

logger = logging.getLogger("midtoken.backend")

Result = TypeVar("Result")

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
"""After a failure, requests are answered with nothing for so long; the pause doubles each time."""
LONGEST_REST_S = 600.0
"""An engine elsewhere that wants not to be asked for longer is asked after so long all the same."""


@dataclass(frozen=True)
class Status:
    """How the server is, as editors are told."""

    state: str
    """`starting`, `loading`, `ready` or `error`; an editor may be told `busy` for `ready`."""
    message: str = ""
    """One line for people: what is loaded and where it runs, or what is wrong and what to do."""
    percent: int | None = None
    """While loading: how far it is, where that is known."""


Listener = Callable[[Status], None]
"""Tells one editor how the server is."""


class Backend:
    """One model and everyone who is interested in how it is."""

    def __init__(self, load: Callable[[Path, EngineOptions], Completer] = load_completer) -> None:
        """Start without a model; `load` makes a completer of a file."""
        self._load = load
        self._worker: Worker[Completer] = Worker()
        self.service = Service(self._worker)
        self.status = Status("starting")
        self.listeners: set[Listener] = set()
        self.offloaded = False
        self.options: Options | None = None
        """What the model is run with, or loaded with; None before anybody has asked."""
        self._loading: asyncio.Task[None] | None = None
        """The newest attempt; older ones end without a word."""
        self._choosing = asyncio.Lock()
        """Of several models that are asked for, one is looked at at a time, in order."""
        self._pause = FIRST_PAUSE_S
        self._retry_at = 0.0

    @property
    def is_ready(self) -> bool:
        """Whether requests reach a model."""
        return self.status.state == "ready"

    @property
    def is_elsewhere(self) -> bool:
        """Whether an engine elsewhere is asked, which writes text and nothing else."""
        return bool(self.options and self.options.remote.url)

    def busy_message(self, connection: Hashable) -> str:
        """What an editor is told while a request of its connection waits."""
        options = self.options
        if options and options.remote.url and self.service.waiting_s(connection) >= SILENT_S:
            return waiting_for(options.remote)
        return self.status.message

    async def start(self, options: Options, asker: Listener | None = None) -> None:
        """As `load`, unless the model that the options name runs like that already."""
        await self._replace(options, asker, anew=False)

    def runs(self, options: Options) -> bool:
        """Whether loading what the options name would change nothing."""
        known = self.options
        if known is None:
            return False
        if asked_for(options) == asked_for(known):
            return True
        return self.status.state != "error" and what_runs(options) == what_runs(known)

    async def load(self, options: Options, asker: Listener | None = None) -> None:
        """Load the model that the options name; errors end up in the status, not here.

        Where other editors use a model already and this one can't be loaded, only `asker` is told.
        Loading goes on when the caller is cancelled: others may wait for the same model. Of several
        calls the newest counts that names a model which can be had.
        """
        await self._replace(options, asker, anew=True)

    async def _replace(self, options: Options, asker: Listener | None, *, anew: bool) -> None:
        async with self._choosing:
            runs = self.runs(options)
            if runs and not anew:
                return
            before = self.options if self.status.state in {"loading", "ready"} else None
            if before is not None and asker is not None and self._has_others(asker):
                try:
                    await asyncio.to_thread(check, options)
                except Exception as error:
                    _refuse(asker, error)
                    asker(self.status)
                    return
            task = self._begin_loading(options, None if runs else before, asker)
        await asyncio.shield(task)

    def _has_others(self, asker: Listener) -> bool:
        """Whether editors use the model that have not asked for another one."""
        return bool(self.listeners - {asker})

    def _begin_loading(
        self, options: Options, before: Options | None = None, asker: Listener | None = None
    ) -> "asyncio.Task[None]":
        self.options = options
        self.service.reset()
        attempt = self._load_model(options, before, asker)
        task = self._loading = asyncio.get_running_loop().create_task(attempt)
        what = f"loading {shortened(options.model.name)}"
        if options.remote.url:
            what = "asking the engine elsewhere which model it runs"
        self._tell(Status("loading", what))
        return task

    async def _load_model(
        self, options: Options, before: Options | None, asker: Listener | None
    ) -> None:
        """Load a model; if that fails, the one before it again where other editors use that."""
        me = asyncio.current_task()
        loop = asyncio.get_running_loop()

        def tell(done: float, total: float, what: str) -> None:
            """Called in other threads, and often: only a new percentage is news."""
            percent = int(100 * done / max(total, 1))
            status = Status("loading", f"{what} {shortened(options.model.name)}", percent)
            if status != self.status:
                with suppress(RuntimeError):  # the loop has ended, and with it everyone who listens
                    loop.call_soon_threadsafe(self._tell_loading, me, status)

        try:
            make = await self._prepared(options, tell)
            if self._loading is not me:
                return
            gc.unfreeze()
            with self._told_if_slow(me, options.remote):
                await self._worker.load(make)
            # Looking through a model's tables for garbage takes the event loop some 30 ms each
            # time. They live as long as the model: look no more.
            gc.collect()
            gc.freeze()
            info, twins = await self._worker.info(
                lambda completer: (completer.engine.info, completer.twins())
            )
        except Exception as error:
            if self._loading is me and before and asker and self._has_others(asker):
                _refuse(asker, error)
                await self._begin_loading(before)
            elif self._loading is me:
                self._fail(error)
            return
        if self._loading is not me:
            return
        self._worker.add(twins)
        self.service.turns.at_once = 1 + len(twins)
        self.offloaded = info.offloaded_layers > 0
        if options.engine.idle_work:
            self.service.idle.measure()
        where = info.backend if self.offloaded or info.remote else "CPU"
        self._tell(
            Status("ready", f"{info.name} on {where}" + (f"; {info.note}" if info.note else ""))
        )
        if info.note:
            logger.warning("%s", info.note)

    @contextmanager
    def _told_if_slow(
        self, task: "asyncio.Task[None] | None", remote: RemoteSection
    ) -> Iterator[None]:
        """Tell of an engine elsewhere that takes long to say what it is."""
        status = Status("loading", waiting_for(remote))
        loop = asyncio.get_running_loop()
        timer = loop.call_later(SILENT_S, self._tell_loading, task, status) if remote.url else None
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()

    async def _prepared(
        self, options: Options, progress: Callable[[float, float, str], None]
    ) -> Callable[[], Completer]:
        """What makes the completer; a model's file is here then."""
        if options.remote.url:
            return partial(_load_remote, options.remote)
        path = await asyncio.to_thread(model_file, options, progress)
        engine = replace(
            engine_options(options), on_progress=lambda share: progress(share, 1.0, "loading")
        )
        return partial(self._load_completer, path, engine, options.engine.warm_start)

    def _load_completer(self, path: Path, engine: EngineOptions, megabytes: int) -> Completer:
        warn_of(engine)
        completer = self._load(path, engine)
        completer.warm = warm_start(completer.engine, default_folder(), megabytes)
        return completer

    async def complete(self, request: Request) -> Completion | None:
        """The service's answer; None while there is no model, and when it fails.

        After a failure the first request that comes later than a pause has the model loaded again,
        without waiting for it.
        """
        if not self.is_ready:
            late = asyncio.get_running_loop().time() >= self._retry_at
            if self.status.state == "error" and late and self.options:
                self._begin_loading(self.options)
            return None
        try:
            completion = await self.service.complete(request)
        except Exception as error:
            if self.is_ready:  # else it is said already
                self._fail(error)
            return None
        if completion is not None:
            self._pause = FIRST_PAUSE_S
        return completion

    async def run(self, work: Callable[[Completer], Result], connection: Hashable = None) -> Result:
        """What work with the model gives, when its turn comes; cancelling the task stops it.

        Raises RuntimeError if no model is loaded, and whatever `work` does.
        """
        with self._waited_for() as ticket:
            async with self.service.turns.turn(connection, ticket):
                return await self._worker.submit(ticket, work)

    async def beside(self, work: Callable[[Completer], Result]) -> Result:
        """As `run`, but it does not wait for its turn: it is cancelled as soon as anything comes.

        Raises Cancelled then.
        """
        with self._waited_for() as ticket:
            return await self._worker.submit(ticket, work, gives_way=True)

    @contextmanager
    def _waited_for(self) -> Iterator[Ticket]:
        """A ticket for work that somebody waits for; cancelling the task cancels it."""
        ticket = Ticket()
        self.service.idle.stop()
        try:
            yield ticket
        except asyncio.CancelledError:
            self._worker.cancel(ticket)
            raise
        finally:
            self.service.idle.rest()

    async def evaluated_tokens(self) -> int:
        """Tokens put through the model since it was loaded; waits for what is running."""
        return sum(await self._told(lambda completer: completer.engine.evaluated_tokens))

    async def forward_passes(self) -> int:
        """Calls of the model since it was loaded; of an engine elsewhere, requests for text."""
        return sum(await self._told(lambda completer: completer.engine.forward_passes))

    async def draft_tokens(self) -> tuple[int, int]:
        """Drafted tokens that were evaluated since the model was loaded, and those that held."""
        told = await self._told(
            lambda completer: completer.drafter.counts if completer.drafter else (0, 0)
        )
        return sum(drafted for drafted, _ in told), sum(accepted for _, accepted in told)

    async def idle_tokens(self) -> int:
        """How many of the evaluated tokens nobody had asked for yet."""
        return sum(await self._told(lambda completer: completer.ahead.tokens))

    async def _told(self, read: Callable[[Completer], Result]) -> list[Result]:
        """What each completer tells; there is none before a model is loaded."""
        return await asyncio.gather(*self._worker.each(read)) if self.is_ready else []

    def close(self, timeout: float = 5.0) -> None:
        """Stop and free the model; waits so many seconds. May be called again."""
        self._worker.close(timeout)

    def _fail(self, error: Exception) -> None:
        message = _said_of(error)
        rest = min(error.rest_s, LONGEST_REST_S) if isinstance(error, RemoteError) else 0.0
        self._retry_at = asyncio.get_running_loop().time() + max(self._pause, rest)
        self._pause = min(2 * self._pause, LONGEST_PAUSE_S)
        if self.status != Status("error", message):
            logger.error("%s", message)
        self._tell(Status("error", message))

    def _tell_loading(self, task: "asyncio.Task[None] | None", status: Status) -> None:
        """Tell how far an attempt is, if it is still the one that counts."""
        if self._loading is task and self.status.state == "loading" and self.status != status:
            self._tell(status)

    def _tell(self, status: Status) -> None:
        self.status = status
        for listener in tuple(self.listeners):
            listener(status)


def _said_of(error: Exception) -> str:
    """What people are told of an error; the log has more of one that nobody expected."""
    if isinstance(error, MidtokenError):
        return str(error)
    logger.error("unexpected failure", exc_info=error)
    return f"the model failed ({type(error).__name__}: {error}): see the server's log"


def _refuse(asker: Listener, error: Exception) -> None:
    """Tell who asked for a model, and nobody else, why it is not loaded."""
    message = _said_of(error)
    logger.error("%s", message)
    asker(Status("error", message))


def _load_remote(options: RemoteSection) -> Completer:
    from server.remote.completer import load_remote

    return load_remote(options)
