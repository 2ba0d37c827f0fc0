"""The thread that owns the model: jobs go in, results come out, a running one can be stopped.

llama.cpp is used by one thread at a time, and the event loop must never wait for it. So the model
is loaded and used in a thread of its own; the loop submits jobs and awaits their futures.

A job is identified by its ticket. Cancelling a ticket stops exactly that job, never the next one:
a lock makes "this job runs" and "stop it" one step. A job that gives way is cancelled as soon as
another one comes.

Not here: which jobs are worth running, and in which order (`service`).
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
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
    """A thread with something that only it uses.

    Results reach the event loop in which `load` and `submit` were called.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._running: Ticket | None = None
        self._giving_way: set[Ticket] = set()
        self._owned: Owned | None = None
        self._thread = threading.Thread(target=self._run, name="midtoken model", daemon=True)
        self._thread.start()

    def load(self, make: Callable[[], Owned]) -> "asyncio.Future[None]":
        """Replace what the worker owns; the old one is closed first. Errors reach the future."""

        def work() -> None:
            if self._owned is not None:
                owned, self._owned = self._owned, None
                owned.close()
            made = make()
            with self._lock:
                self._owned = made

        return self._enqueue(work)

    def submit(
        self, ticket: Ticket, work: Callable[[Owned], Result], *, gives_way: bool = False
    ) -> "asyncio.Future[Result]":
        """Run work with what the worker owns, after everything that was submitted before.

        The future raises Cancelled if the ticket was cancelled, before or while it ran, and
        RuntimeError if nothing is loaded.

        Args:
            ticket: What the job is known by.
            work: The job.
            gives_way: Whether it is cancelled when another job is submitted that does not.
        """
        if not gives_way:
            for other in self._giving_way:
                self.cancel(other)
            return self._submit(ticket, work)
        self._giving_way.add(ticket)
        future = self._submit(ticket, work)
        future.add_done_callback(lambda _: self._giving_way.discard(ticket))
        return future

    def info(self, look: Callable[[Owned], Result]) -> "asyncio.Future[Result]":
        """Run something short that can't be cancelled, as `submit` does. Nothing gives way."""
        return self._submit(Ticket(), look)

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
        with self._lock:
            ticket.cancelled = True
            if self._running is ticket and self._owned is not None:
                self._owned.cancel()

    def close(self, timeout: float = 5.0) -> None:
        """Stop the running job, drop the others and free everything; waits so many seconds."""
        with self._lock:
            if self._running is not None and self._owned is not None:
                self._running.cancelled = True
                self._owned.cancel()
        self._jobs.put(None)
        self._thread.join(timeout)

    def _enqueue(self, work: Callable[[], Result]) -> "asyncio.Future[Result]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()

        def settle(result: Result | None, error: BaseException | None) -> None:
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

        self._jobs.put(job)
        return future

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
        if self._owned is not None:
            self._owned.close()
