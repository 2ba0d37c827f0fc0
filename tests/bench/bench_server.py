"""How quickly the server lets go: cancelling, the event loop while the model works, memory.

    python -m tests.bench.bench_server [MODEL] [--times N]

prints a table in Markdown. It runs the service in this process, with the model's own thread, as the
language server does; what the protocol adds is a millisecond or two. Timings are of this machine at
this moment; nothing is asserted.

- *cancelled*: from the cancel to the request's end, which is when the editor gets its answer;
- *stopped*: from the cancel to the model's thread being free for the next request, the moment in
  which a cancelled job may still be joined (`service.GRACE_S`) included;
- *late*: how long the event loop was kept, seen by a task that wants to run every 2 ms. On Linux
  the last row of these is all beats together without the time in which the system had no processor
  free: what is left is our own doing (Python's lock, a long callback).
"""

import argparse
import asyncio
import os
import platform
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import count
from time import perf_counter
from typing import Any

import numpy as np

from server.completer import Completer, load_completer
from server.completion_options import CompletionOptions
from server.engine import Slot, TokenEngine
from server.models import store
from server.models.catalog import DEFAULT_MODEL
from server.own_methods import core_wait
from server.service import Request, Service
from server.snapshot import Snapshot
from server.worker import Worker

STAGES = ("prefill", "tree", "decoding")
BEAT_S = 0.002
OPTIONS = CompletionOptions(max_tokens=16)
FUNCTION = "def area_{0}(width, height):\n    return width * height + {0}\n\n\n"

_number = count()
_own: list[float] = []
"""Of every beat: seconds it came late, without those of waiting for a processor."""


class Staged:
    """An engine that tells which stage of a request it is in."""

    def __init__(self, engine: TokenEngine, entered: Callable[[str], None]) -> None:
        self.engine = engine
        self.entered = entered

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def evaluate(self, slot: Slot, nodes: Sequence[tuple[int, int]], want: Sequence[int]) -> Any:
        """As the engine does it; `entered` is told before."""
        pending = len(slot.tokens) - slot.resident
        stage = "prefill" if pending > 8 else "tree" if len(nodes) > 1 else "decoding"
        self.entered(stage)
        return self.engine.evaluate(slot, nodes, want)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default=DEFAULT_MODEL)
    parser.add_argument("--times", type=int, default=20, help="requests a row (default 20)")
    arguments = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print("| what | median ms | p99 ms | most ms |\n| --- | --- | --- | --- |")
    asyncio.run(_measure(arguments.model, arguments.times))


async def _measure(model: str, times: int) -> None:
    worker: Worker[Completer] = Worker()
    stages: dict[str, asyncio.Event] = {stage: asyncio.Event() for stage in STAGES}
    loop = asyncio.get_running_loop()

    def entered(stage: str) -> None:
        loop.call_soon_threadsafe(stages[stage].set)

    def load() -> Completer:
        completer = load_completer(store.resolve(model))
        completer.engine = Staged(completer.engine, entered)  # type: ignore[assignment]
        return completer

    await worker.load(load)
    service = Service(worker)
    async with _beats() as late:
        await asyncio.sleep(1)
    _row("late, nothing to do", late)
    for stage in STAGES:
        cancelled, stopped = [], []
        async with _beats() as late:
            for _ in range(times):
                request = _request()
                if stage == "tree":  # else it goes through the model together with the prompt
                    await service.complete(replace(request, options=replace(OPTIONS, max_tokens=1)))
                    request = _at(request.snapshot.text + b"rn (ite")
                one, two = await _cancel(service, stages, stage, request)
                cancelled.append(one)
                stopped.append(two)
        _row(f"cancelled in {stage}", cancelled)
        _row(f"stopped in {stage}", stopped)
        _row(f"late while requests are cancelled in {stage}", late)
    other = _start_other_process()
    async with _beats() as late:
        for _ in range(max(2, times // 5)):
            await service.complete(_request())
    _row("late while whole requests are served", late)
    _row("late meanwhile, a process that does nothing else", _end_other_process(other))
    _row("late in all of this, but for waiting for a processor", _own)
    _row("answered from memory", await _from_memory(service, times))
    worker.close()


async def _cancel(
    service: Service, stages: dict[str, asyncio.Event], stage: str, request: Request
) -> tuple[float, float]:
    """Cancel one request in a stage, and tell the seconds that it took: its end, the model's."""
    for event in stages.values():
        event.clear()
    running = asyncio.ensure_future(service.complete(request))
    reached = asyncio.ensure_future(stages[stage].wait())
    await asyncio.wait({running, reached}, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.sleep(random.uniform(0, 0.03))
    begun = perf_counter()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    ended = perf_counter()
    await asyncio.gather(*service._tasks)
    reached.cancel()
    return ended - begun, perf_counter() - begun


async def _from_memory(service: Service, times: int) -> list[float]:
    """Seconds of requests that are answered while a suggestion is typed along."""
    first = _request()
    completion = await service.complete(first)
    text = completion.items[0].text if completion and completion.items else ""
    before = first.snapshot.text
    found = []
    for size in range(times * len(text)):
        typed = text[: size % len(text)].encode()
        started = perf_counter()
        await service.complete(_at(before + typed))
        found.append(perf_counter() - started)
    return found


def _request() -> Request:
    """A request that nothing is known of yet."""
    number = next(_number)
    functions = "".join(FUNCTION.format(f"{number}_{index}") for index in range(6))
    return _at(f"{functions}def total_{number}(items):\n    retu".encode())


def _at(text: bytes) -> Request:
    return Request("bench", Snapshot("bench.py", 1, text, len(text), "python"), OPTIONS)


@asynccontextmanager
async def _beats() -> AsyncIterator[list[float]]:
    """Collects how late the event loop ran a task, in seconds, while the block runs."""
    late: list[float] = []

    async def beat() -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, waited = loop.time() + BEAT_S, core_wait()
            await asyncio.sleep(BEAT_S)
            late.append(loop.time() - due)
            _own.append(max(0.0, late[-1] - core_wait() + waited))

    task = asyncio.ensure_future(beat())
    try:
        yield late
    finally:
        task.cancel()


_OTHER = f"""
import sys, threading, time
late, stop = [], threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set())).start()
while not stop.is_set():
    due = time.monotonic() + {BEAT_S}
    time.sleep({BEAT_S})
    late.append(time.monotonic() - due)
print(*late)
"""


def _start_other_process() -> subprocess.Popen[str]:
    """What the machine itself is late by: the same beats in a process of their own."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", _OTHER], text=True, **pipes)


def _end_other_process(other: subprocess.Popen[str]) -> list[float]:
    out, _ = other.communicate("")
    return [float(value) for value in out.split()]


def _row(name: str, seconds: Sequence[float]) -> None:
    if not seconds:
        print(f"| {name} | - | - | - |")
        return
    values = 1e3 * np.asarray(seconds)
    cells = [np.median(values), np.percentile(values, 99), values.max()]
    print(f"| {name} | " + " | ".join(f"{value:.1f}" for value in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
