"""Turns at the model: nobody starves, connections alternate, and within one the newest is first."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.errors import Cancelled
from server.turns import PASSES, Turns
from server.worker import Ticket


class FakeModel:
    """A worker that does one job at a time and remembers them; jobs last until the next `step`."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.done: list[tuple[str, int]] = []
        self.at_work = 0
        self.tickets: dict[tuple[str, int], Ticket] = {}
        self.tasks: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._end = asyncio.Event()

    async def add(self, connection: str) -> tuple[str, int]:
        """A new job; its number counts the jobs of all."""
        job = (connection, len(self.tasks))
        self.tickets[job] = Ticket()
        self.tasks[job] = asyncio.ensure_future(self._run(job))
        await settle()
        return job

    async def step(self) -> None:
        """The job that is at the model ends."""
        self._end.set()
        await settle()

    async def _run(self, job: tuple[str, int]) -> None:
        async with self.turns.turn(job[0], self.tickets[job]):
            self.at_work += 1
            assert self.at_work == 1
            self.done.append(job)
            self._end.clear()
            try:
                await self._end.wait()
            finally:
                self.at_work -= 1


async def settle() -> None:
    """Let everything happen that waits for nothing but the loop."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_round_robin():
    """A connection with many jobs gets one turn for each of another's, who come first then."""
    model = FakeModel()
    for connection in "AAAABBC":
        await model.add(connection)
    for _ in range(6):
        await model.step()

    assert "".join(connection for connection, _ in model.done) == "ABCABAA"


async def test_newest_first_within_a_connection():
    """The job that came last goes first, until an older one has been passed over often enough."""
    model = FakeModel()
    for _ in range(PASSES + 4):
        await model.add("A")
    for _ in range(PASSES + 3):
        await model.step()

    order = [number for _, number in model.done]
    newest = [PASSES + 3 - passed for passed in range(PASSES)]
    assert order == [0, *newest, 1, 2, 3]


async def test_cancelled_while_it_waits():
    """A job that is cancelled takes nobody's turn, whether its ticket or its task is."""
    model = FakeModel()
    first, ticket, task, last = [await model.add(connection) for connection in "ABBC"]
    model.tickets[ticket].cancelled = True
    model.tasks[task].cancel()
    await settle()
    await model.step()

    assert model.done == [first, last]
    with pytest.raises(Cancelled):
        await model.tasks[ticket]
    with pytest.raises(asyncio.CancelledError):
        await model.tasks[task]


async def test_cancelled_just_as_its_turn_comes():
    """The turn goes on to the next one."""
    turns, order = Turns(), []

    async def work(name: str) -> None:
        async with turns.turn(name, Ticket()):
            order.append(name)

    async with turns.turn("A", Ticket()):
        cancelled, next_one = (asyncio.ensure_future(work(name)) for name in "BC")
        await settle()
    cancelled.cancel()
    await next_one

    assert order == ["C"]


async def test_several_at_once():
    """As many as there may be; each that ends makes room for one, and all of them end."""
    turns, running, ends = Turns(), [], {}
    turns.at_once = 2

    async def work(name: str) -> None:
        async with turns.turn(name[0], Ticket()):
            running.append(name)
            ends[name] = asyncio.Event()
            await ends[name].wait()
            running.remove(name)

    tasks = [asyncio.ensure_future(work(name)) for name in ("A1", "A2", "A3", "B1")]
    await settle()
    assert running == ["A1", "A2"]
    assert not turns.is_free

    ends["A2"].set()
    await settle()
    assert running == ["A1", "B1"]
    ends["A1"].set()
    await settle()
    assert running == ["B1", "A3"]

    turns.at_once = 1  # another model, which does one at a time
    last = asyncio.ensure_future(work("C1"))
    ends["B1"].set()
    await settle()
    assert running == ["A3"]
    ends["A3"].set()
    await settle()
    assert running == ["C1"]
    ends["C1"].set()
    await asyncio.gather(*tasks, last)
    assert turns.is_free


@given(st.lists(st.sampled_from(["step", "cancel", "A", "A", "A", "B", "C"]), max_size=60))
def test_nobody_starves(actions):
    """However jobs come, one waits for a bounded number of turns: of others, and of its own."""
    asyncio.run(_nobody_starves(actions))


async def _nobody_starves(actions: list[str]) -> None:
    model = FakeModel()
    own_turns: dict[tuple[str, int], int] = {}
    others_turns: dict[tuple[str, int], Counter[str]] = {}
    older: dict[tuple[str, int], int] = {}

    def waiting() -> list[tuple[str, int]]:
        cancelled = {job for job, ticket in model.tickets.items() if ticket.cancelled}
        return [job for job in model.tasks if job not in {*model.done, *cancelled}]

    async def step() -> None:
        known = len(model.done)
        await model.step()
        for taken in model.done[known:]:
            for job in [*waiting(), taken]:
                if job[0] == taken[0]:
                    own_turns[job] += 1
                    others_turns[job].clear()
                else:
                    others_turns[job][taken[0]] += 1
                    # Between two turns of its connection each other one has one at most.
                    assert others_turns[job][taken[0]] <= 1
            assert own_turns[taken] <= PASSES + older[taken] + 1

    for action in actions:
        if action == "step":
            await step()
        elif action == "cancel" and waiting():
            model.tickets[waiting()[-1]].cancelled = True
        elif action in "ABC":
            before = sum(job[0] == action for job in waiting())
            job = (action, len(model.tasks))
            own_turns[job], others_turns[job], older[job] = 0, Counter(), before
            assert await model.add(action) == job
    while waiting():
        left = len(waiting())
        await step()
        assert len(waiting()) < left
    await step()
    await asyncio.gather(*model.tasks.values(), return_exceptions=True)
    cancelled = {job for job, ticket in model.tickets.items() if ticket.cancelled}
    assert set(model.tasks) == {*model.done, *cancelled}
