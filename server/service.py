"""Completions for clients that type while the model computes: newest request first, nothing twice.

One model serves all, one job at a time (an engine elsewhere: some), and connections take turns
(`turns`). A request takes the first of these ways that is open to it:

1. a remembered answer that still fits (`memory`): at once, without the model;
2. the job that runs for its document, if what the job has written so far agrees with what is
   typed: it is joined, not restarted;
3. a new job. A job that works for an older state of the document, or for nobody, is stopped.

Every request is answered: with a completion, or with None if a newer one came for another state of
the same document. Cancelling a request stops its job, a moment later, if nobody waits for it then.

Not here: documents, protocol messages, and what is shown (`answers.present`).
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from statistics import median

from server.answers import Answer
from server.completer import Completer
from server.errors import Cancelled
from server.idle import Idle, Spot
from server.job import Job
from server.memory import Memory, remainder
from server.report import Completion
from server.service_request import Request, Wanted, keys_of
from server.several import present_all
from server.state_keeper import StateKeeper
from server.trimming import Trimming
from server.turns import Turns
from server.worker import Worker

GRACE_S = 0.06
"""A cancelled job may be joined for so long. VS Code cancels a request at each key and asks again
50 ms later; what the model has read until then would be lost each time. It is no longer because the
model is to be free 100 ms after a cancel, and to stop a batch takes it up to some 30 ms."""

LATENCIES = 9
"""Jobs whose time to their first text is remembered."""

_UNTIL_FIRST_TEXT = ("prompt", "grammar", "first_text")

SLICE_S = 2.0
"""Somebody else's job that has waited so long for its turn ends the one that runs, as soon as that
one has a whole word to show: a line takes so long on a CPU, and a block of code ten times that."""


@dataclass
class Counts:
    """How requests were answered."""

    from_memory: int = 0
    joined: int = 0
    started: int = 0
    prepared: int = 0
    superseded: int = 0


class Service:
    """Requests of any number of clients, one model. All methods belong to one event loop."""

    def __init__(self, worker: Worker[Completer]) -> None:
        """Serve with a worker that has a completer loaded before the first request."""
        self._worker = worker
        self._memory = Memory()
        self._jobs: dict[Hashable, Job] = {}
        self._newest: dict[Hashable, object] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._first_texts: deque[float] = deque(maxlen=LATENCIES)
        self._keeper = StateKeeper(worker, lambda: self.is_busy)
        self._trimming = Trimming(worker, lambda: self.is_busy)
        self.idle = Idle(worker, lambda: self.is_busy)
        self.turns = Turns()
        self.counts = Counts()

    @property
    def is_busy(self) -> bool:
        """Whether the model is at work."""
        return bool(self._jobs)

    def waiting_s(self, connection: Hashable) -> float:
        """How long the job has taken that a connection waits for, the longest of several."""
        now = asyncio.get_running_loop().time()
        jobs = (job for job in self._jobs.values() if job.connection == connection and job.waiting)
        return max((now - job.began for job in jobs), default=0.0)

    @property
    def first_text_s(self) -> float | None:
        """Seconds that the model takes to its first text, as usual of late; None if not known."""
        return median(self._first_texts) if self._first_texts else None

    async def complete(self, request: Request) -> Completion | None:
        """The completion, or None if a newer request of the same document came first.

        Raises:
            MidtokenError: The model could not be run.
            asyncio.CancelledError: The task was cancelled, and with it the job if nobody else
                waits for it.
        """
        wanted = keys_of(request)
        mine = self._newest[request.document] = wanted[0]
        running = self._jobs.get(request.document)
        if running is not None:
            running.wake()  # older requests are answered now
        spot = Spot(request.snapshot, request.options)
        self.idle.at(request.document, (lambda: spot) if request.ahead else None)
        known = self._known(request, wanted)
        if known is not None:  # a job that prepares what comes after it goes on
            self.counts.from_memory += 1
            self.idle.rest()
            return known
        if running is not None and not running.serves(request, wanted):
            self._worker.cancel(running.ticket)
        if request.delay and not (running and running.is_open):
            await asyncio.sleep(request.delay)
        while self._newest.get(request.document) == mine:
            job = self._join(request, wanted) or self._start(request, *wanted[0])
            found = await self._wait(job, request, wanted, mine)
            if found is not None and self._newest.get(request.document) == mine:
                since, left = found
                completion = self._shown(request, since, left)
                if job.is_open or _is_answer(completion, since, left):
                    return completion
        self.counts.superseded += 1
        return None

    def prepare(self, request: Request) -> None:
        """Compute an answer that nobody waits for yet, if the model has nothing else to do."""
        wanted = keys_of(request)
        if not self._jobs and self._known(request, wanted) is None:
            self.counts.prepared += 1
            self._start(request, *wanted[0])

    @property
    def is_asked(self) -> bool:
        """Whether the model works, or will, on something that was asked for and not taken back."""
        return any(job.asked and not job.in_grace for job in self._jobs.values())

    def stop_prepared(self) -> None:
        """Something is wanted that is no completion: stop what nobody has asked for yet."""
        for job in self._jobs.values():
            if not job.asked:
                self._worker.cancel(job.ticket)

    def reset(self) -> None:
        """The model is replaced: requests are superseded, and what the old one wrote is gone."""
        self._memory.clear()
        self._first_texts.clear()
        self.idle.forget()
        for document in {*self._newest, *self._jobs}:
            self.forget(document)

    def free(self, uri: str) -> None:
        """A document was closed: what its syntax states take is freed when the model is idle."""
        for freed in self._worker.each(lambda completer: completer.forget(uri)):
            freed.add_done_callback(lambda done: done.cancelled() or done.exception())

    def forget(self, document: Hashable) -> None:
        """A document was closed: its requests are superseded, its job is stopped."""
        self._newest.pop(document, None)
        self.idle.forget(document)
        job = self._jobs.get(document)
        if job is not None:
            self._worker.cancel(job.ticket)
            job.wake()

    def _known(self, request: Request, wanted: Wanted) -> Completion | None:
        """What a remembered answer has to show here; None if the model has to be asked."""
        for key, typed in wanted:
            for found in self._memory.find(key, typed):
                left = remainder(found.typed, found.answer, typed)
                assert left is not None
                since = typed[len(found.typed) :]
                if not _has_enough(left, since, request.options.candidates):
                    continue
                left = replace(left, evaluated=0)
                completion = self._shown(request, since, left)
                if _is_answer(completion, since, left):
                    self._memory.use(key, found)
                    return completion
        return None

    @staticmethod
    def _shown(request: Request, since: bytes, left: Answer) -> Completion:
        return present_all(request.snapshot, since, left, request.caution, request.most)

    def _shows(self, request: Request, since: bytes, left: Answer) -> bool:
        """Whether a part of an answer is worth to be the answer: an opening bracket is none."""
        completion = self._shown(request, since, left)
        return bool(completion.items) or completion.withheld is not None

    def _join(self, request: Request, wanted: Wanted) -> Job | None:
        job = self._jobs.get(request.document)
        if job is not None and job.is_open and job.serves(request, wanted):
            self.counts.joined += 1
            return job
        return None

    def _start(self, request: Request, key: Hashable, typed: bytes) -> Job:
        """A new job; the document's earlier one is stopped.

        Where there are more jobs than turns, those that nobody waits for make room. What another
        connection has cancelled just now it may join again.
        """
        is_full = len(self._jobs) >= self.turns.at_once
        for document, other in self._jobs.items():
            is_left = not other.waiting and (
                not other.in_grace or other.connection == request.connection
            )
            if document == request.document or (is_full and is_left):
                self._worker.cancel(other.ticket)
        self.idle.stop()
        self.counts.started += 1
        loop = asyncio.get_running_loop()
        job = self._jobs[request.document] = Job(
            key, typed, request.options.candidates, loop.time(), connection=request.connection
        )

        def written(so_far: Answer) -> None:
            if job.so_far is None:
                timing = so_far.timing_ms
                self._first_texts.append(sum(timing[part] for part in _UNTIL_FIRST_TEXT) / 1e3)
            job.so_far = so_far
            job.wake()

        def work(completer: Completer) -> Answer:
            is_first = True

            def tell(so_far: Answer) -> None:
                nonlocal is_first
                if is_first:
                    seconds = so_far.timing_ms["first_text"] / 1e3
                    completer.prompts.reading.saw(so_far.evaluated, seconds)
                is_first = False
                loop.call_soon_threadsafe(written, so_far)

            return completer.answer(request.snapshot, request.options, tell)

        async def run() -> None:
            try:
                async with self._turn(job):
                    answer = await self._worker.submit(job.ticket, work)
                    job.answer = replace(answer, candidates=job.candidates)
                if not job.ticket.cancelled:  # else it may be the work of a model that was replaced
                    self._memory.add(key, typed, job.answer)
            except Cancelled as error:
                job.failure = error.with_traceback(None)  # else job and frame keep each other
            except Exception as error:
                job.failure = error
            finally:
                if self._jobs.get(request.document) is job:
                    del self._jobs[request.document]
                job.wake()
                self._keeper.later()
                self._trimming.later()
                self.idle.rest()

        task = loop.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return job

    @asynccontextmanager
    async def _turn(self, job: Job) -> AsyncIterator[None]:
        """The job's turn at the model; while it waits for that, others are hurried."""
        hurrying = asyncio.ensure_future(self._hurry_others(job))
        try:
            async with self.turns.turn(job.connection, job.ticket):
                hurrying.cancel()
                job.runs = True
                yield
        finally:
            hurrying.cancel()

    async def _hurry_others(self, job: Job) -> None:
        """From time to time, what another connection's oldest job has written has to do."""
        while True:
            await asyncio.sleep(SLICE_S)
            running = [one for one in self._jobs.values() if one.runs]
            others = [one for one in running if one.connection != job.connection]
            if others:
                oldest = min(others, key=lambda one: one.began)
                oldest.hurried = True
                oldest.wake()
                self._stop_unwanted(oldest)

    def _stop_unwanted(self, job: Job) -> None:
        """Stop a job if nobody waits for it."""
        if not job.waiting:
            self._worker.cancel(job.ticket)

    async def _wait(
        self, job: Job, request: Request, wanted: Wanted, mine: object
    ) -> tuple[bytes, Answer] | None:
        """What was typed since the job was begun, and what it writes after that.

        None if it does not fit or the request was superseded.
        """
        typed = job.typed_of(wanted)
        assert typed is not None
        since = typed[len(job.typed) :]
        loop = asyncio.get_running_loop()
        deadline = None if request.patience is None else job.began + request.patience
        job.waiting, job.asked, job.in_grace = job.waiting + 1, True, False
        try:
            while job.is_open:
                if self._newest.get(request.document) != mine:
                    return None
                if not job.agrees(job.key, typed):
                    return None
                news = job.news
                try:
                    async with asyncio.timeout_at(deadline):
                        await news.wait()
                except TimeoutError:
                    deadline = None  # if nothing can be shown yet, wait for the first that can
                if job.hurried or (deadline is None and request.patience is not None):
                    words = job.whole_words(typed)
                    if words is not None and (job.hurried or self._shows(request, since, words)):
                        return since, words
        except asyncio.CancelledError:
            if self._newest.get(request.document) == mine:
                job.in_grace = True
                loop.call_later(GRACE_S, self._stop_unwanted, job)
            raise
        finally:
            job.waiting -= 1
            if job.hurried:  # nobody gets more of it than this
                loop.call_soon(self._stop_unwanted, job)
        if job.failure is not None and not isinstance(job.failure, Cancelled):
            raise job.failure
        left = None if job.answer is None else remainder(job.typed, job.answer, typed)
        return None if left is None else (since, left)


def _has_enough(left: Answer, since: bytes, candidates: int) -> bool:
    """Whether so many continuations need not be asked for, as it is known which there are.

    Where more has been typed, others than those that are left may have become likely.
    """
    return candidates == 1 or (left.candidates >= candidates and bool(left.others or not since))


def _is_answer(completion: Completion, since: bytes, left: Answer) -> bool:
    """Whether there is something to show, or is known not to be.

    An answer that is used up says nothing of what comes after it, unless the model ended the text
    there. One that is too unsure now will be surer when more of it has been typed.
    """
    if completion.items or completion.withheld is not None:
        return True
    return not since or not left.generation.text
