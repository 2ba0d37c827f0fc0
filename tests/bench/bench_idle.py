"""What reading ahead is worth, and that it is in nobody's way: requests with it and without.

`python -m tests.bench.bench_idle [MODEL] [--files N]` (a name or a path; the default model
otherwise). In each file somebody comes to a place in the second half, types a word, waits, types on
and begins the next line, once without idle work and once with it, each time with a model that was
just loaded, holds no text, and has not been measured. Each request is for the rest of a line.
Printed are medians: milliseconds to the first text, tokens that were read for it, tokens of the
prompt; tokens that were read ahead; and how much longer a request takes that comes while the model
reads ahead.
"""

import argparse
import asyncio
import os
import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from server.bench.holes import standard_library
from server.completer import Completer, load_completer
from server.completion_options import CompletionOptions
from server.models import store
from server.models.catalog import DEFAULT_MODEL
from server.service import Request, Service
from server.snapshot import Snapshot, read_document
from server.worker import Worker

OPTIONS = CompletionOptions(max_tokens=8)
STAGES = ("cold", "after a pause", "next line")


@dataclass
class Figures:
    """Of one way to work: milliseconds, tokens read, tokens of the prompt, by stage."""

    stages: dict[str, list[tuple[float, int, int]]] = field(
        default_factory=lambda: {stage: [] for stage in STAGES}
    )
    idle: list[int] = field(default_factory=list)
    rest_s: list[float] = field(default_factory=list)
    disturbed_ms: list[float] = field(default_factory=list)


async def at_rest(service: Service) -> None:
    """Wait until nothing is planned or under way."""
    idle = service.idle
    while service.is_busy or idle.is_active:
        await asyncio.sleep(0.01)


async def work(model: Path, name: str, text: bytes, ahead: bool, found: Figures) -> str:
    """Type some lines in a file with a model that knows nothing; the model's name and device."""
    completer = load_completer(model)
    worker: Worker[Completer] = Worker()
    await worker.load(lambda: completer)
    service = Service(worker)
    lines = text.splitlines(keepends=True)
    middle = len(lines) * 2 // 3
    before, after = b"".join(lines[:middle]), b"\n" + b"".join(lines[middle:])

    async def ask(typed: bytes) -> tuple[float, int, int]:
        start = before + typed
        snapshot = Snapshot(name, 0, start + after, len(start), "python")
        completion = await service.complete(Request(name, snapshot, OPTIONS, ahead=ahead))
        assert completion is not None
        times, tokens = completion.timing_ms, completion.tokens
        wait = times["prompt"] + times["grammar"] + times["first_text"]
        return wait, tokens.evaluated - tokens.generated, tokens.prompt

    read = completer.ahead.tokens
    found.stages["cold"].append(await ask(b"x"))
    if ahead:
        await asyncio.sleep(2.0)  # in the middle of reading ahead
        begun = time.perf_counter()
        wait, *_ = await ask(b"y")
        found.disturbed_ms.append(1e3 * (time.perf_counter() - begun) - wait)
        begun = time.perf_counter()
        await at_rest(service)
        found.rest_s.append(time.perf_counter() - begun)
    found.stages["after a pause"].append(await ask(b"z"))
    found.stages["next line"].append(await ask(b"value = 1\nx"))
    await at_rest(service)
    found.idle.append(completer.ahead.tokens - read)
    worker.close()
    return f"{completer.engine.info.name} on {completer.engine.info.backend}"


async def run(model: Path, files: int) -> tuple[str, dict[bool, Figures]]:
    """All files, each without and with idle work; the model's name and device first."""
    figures, said = {False: Figures(), True: Figures()}, ""
    paths = standard_library()
    random.Random(0).shuffle(paths)
    texts = [(path.name, read_document(str(path))) for path in paths]
    long = [(name, text) for name, text in texts if text.count(b"\n") > 400][:files]
    for number, (name, text) in enumerate(long):
        for ahead in (False, True) if number % 2 else (True, False):
            with TemporaryDirectory() as home:
                os.environ["MIDTOKEN_HOME"] = home  # what was learned about speed is there
                said = await work(model, name, text, ahead, figures[ahead])
    return said, figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?", default=DEFAULT_MODEL)
    parser.add_argument("--files", type=int, default=2)
    arguments = parser.parse_args()
    said, figures = asyncio.run(run(store.resolve(arguments.model), arguments.files))
    print(f"{said}, medians")
    for ahead, found in figures.items():
        print(f"{'with' if ahead else 'without'} idle work: {median(found.idle):.0f} tokens ahead")
        for stage, requests in found.stages.items():
            ms, read, prompt = (median(values) for values in zip(*requests, strict=True))
            print(f"  {stage:14} {ms:7.0f} ms  {read:5.0f} read  {prompt:5.0f} in the prompt")
    found = figures[True]
    print(f"at rest {median(found.rest_s):.1f} s after the last request; a request in between")
    print(f"waits {median(found.disturbed_ms):.0f} ms for the portion that is stopped")


if __name__ == "__main__":
    main()
