"""The thread that owns the model: jobs go in, results come out, a running one can be stopped.

llama.cpp is used by one thread at a time, and the event loop must never wait for it. So the model
is loaded and used in a thread of its own; the loop submits jobs and awaits their futures.

An engine elsewhere does several jobs at once. What asks it comes as several alike, each with a
thread of its own (`add`): nothing is shared, and a job is stopped like any other.

A job is identified by its ticket. Cancelling a ticket stops exactly that job, never the next one:
a lock makes "this job runs" and "stop it" one step. A job that gives way is cancelled as soon as
another one comes.

Not here: which jobs are worth running, and in which order (`service`).
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import monotonic
from typing import Generic, Protocol, TypeVar

from server.errors import Cancelled


class Stoppable(Protocol):
    """What a worker owns. `cancel` may be called from any thread, the rest from the worker's."""

    def cancel(self) -> None:
        """Stop what is running, and everything that is started until `resume`."""

    def resume(self) -> None:
        """Forget an earlier `cancel`."""

    def close(self) -> None:
        """Free everything."""


Owned = TypeVar("Owned", bound=Stoppable)
Result = TypeVar("Result")


@dataclass(eq=False)
class Ticket:
    """One job's identity."""

    cancelled: bool = False


class Worker(Generic[Owned]):
    """A thread with something that only it uses, or several such threads.

    Results reach the event loop in which `load` and `submit` were called.
    """

    def __init__(self, owned: Owned | None = None) -> None:
        """Start with something, or with nothing until `load`."""
        self._more: list[Worker[Owned]] = []
        """Those with the other threads."""
        self._unsettled = 0
        """Jobs of this thread that the event loop has no result of yet."""
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._running: Ticket | None = None
        self._giving_way: set[Ticket] = set()
        self._owned = owned
        self._thread = threading.Thread(target=self._run, name="midtoken model", daemon=True)
        self._thread.start()

    def load(self, make: Callable[[], Owned]) -> "asyncio.Future[None]":
        """Replace all that the worker owns; it is closed first. Errors reach the future."""
        for worker in self._more:
            worker._end()
        self._more = []

        def work() -> None:
            if self._owned is not None:
                owned, self._owned = self._owned, None
                owned.close()
            made = make()
            with self._lock:
                self._owned = made

        return self._enqueue(work)

    def add(self, owned: Iterable[Owned]) -> None:
        """More of what was loaded: so many more jobs run at once, until the next `load`."""
        self._more += map(Worker, owned)

    def submit(
        self, ticket: Ticket, work: Callable[[Owned], Result], *, gives_way: bool = False
    ) -> "asyncio.Future[Result]":
        """Run work with what the worker owns, in the thread that has least to do.

        It is done after everything that was given to that thread before.

        The future raises Cancelled if the ticket was cancelled, before or while it ran, and
        RuntimeError if nothing is loaded.

        Args:
            ticket: What the job is known by.
            work: The job.
            gives_way: Whether it is cancelled when another job is submitted that does not.
        """
        worker = min(self._all, key=lambda one: one._unsettled)
        if not gives_way:
            for other in self._giving_way:
                self.cancel(other)
            return worker._submit(ticket, work)
        self._giving_way.add(ticket)
        future = worker._submit(ticket, work)
        future.add_done_callback(lambda _: self._giving_way.discard(ticket))
        return future

    def info(self, look: Callable[[Owned], Result]) -> "asyncio.Future[Result]":
        """Run something short with what was loaded. It can't be cancelled; nothing gives way."""
        return self._submit(Ticket(), look)

    def each(self, look: Callable[[Owned], Result]) -> "list[asyncio.Future[Result]]":
        """The same with everything that the worker owns."""
        return [worker.info(look) for worker in self._all]

    @property
    def _all(self) -> "list[Worker[Owned]]":
        return [self, *self._more]

    def _submit(self, ticket: Ticket, work: Callable[[Owned], Result]) -> "asyncio.Future[Result]":
        def run() -> Result:
            with self._lock:
                if ticket.cancelled:
                    raise Cancelled("the request was cancelled")
                if self._owned is None:
                    raise RuntimeError("no model is loaded")
                owned, self._running = self._owned, ticket
                owned.resume()
            try:
                return work(owned)
            finally:
                with self._lock:
                    self._running = None

        return self._enqueue(run)

    def cancel(self, ticket: Ticket) -> None:
        """Stop a job, wherever it is; harmless if it is done. From any thread."""
        for worker in self._all:
            with worker._lock:
                ticket.cancelled = True
                if worker._running is ticket and worker._owned is not None:
                    worker._owned.cancel()

    def close(self, timeout: float = 5.0) -> None:
        """Stop what is running and free everything; waits so many seconds."""
        until = monotonic() + timeout
        for worker in self._all:
            worker._end()
        for worker in self._all:
            worker._thread.join(max(0.0, until - monotonic()))

    def _end(self) -> None:
        """Have this thread stop what it does, and end after what it was given before."""
        with self._lock:
            if self._running is not None and self._owned is not None:
                self._running.cancelled = True
                self._owned.cancel()
        self._jobs.put(None)

    def _enqueue(self, work: Callable[[], Result]) -> "asyncio.Future[Result]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()

        def settle(result: Result | None, error: BaseException | None) -> None:
            self._unsettled -= 1
            if future.done():  # the waiter has gone
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)  # type: ignore[arg-type]

        def job() -> None:
            result: Result | None = None
            error: BaseException | None = None
            try:
                result = work()
            except Cancelled as cancelled:
                # Its frames would keep all that the work had, this one included: a circle that
                # is only found when garbage is looked for, and native memory does not hurry that.
                error = cancelled.with_traceback(None)
            except BaseException as failure:
                error = failure
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, result, error)

        self._unsettled += 1
        self._jobs.put(job)
        return future

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
        if self._owned is not None:
            self._owned.close()
