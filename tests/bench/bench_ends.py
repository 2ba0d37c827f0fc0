"""How long a server takes to end when it is told to by SIGTERM, whatever it is doing.

    python -m tests.bench.bench_ends [MODEL] [--times N]

prints a table in Markdown: real server processes, each in one of five situations when the signal
comes, and the time until the process is gone, in the median and at worst. *reads* is in the middle
of a prompt of 1,000 tokens or more, *writes* in the middle of a text without end, *remembers* has
the prompts of four documents to write down (`engine.warmStart`). Timings are of this machine at the
moment; nothing is asserted but the exit code.
"""

import argparse
import asyncio
import os
import shlex
import signal
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from server.models import store
from server.models.catalog import DEFAULT_MODEL
from tests.server.lsp.client import Client
from tests.server.lsp.conftest import own_server, settings
from tests.server.lsp.editors import NEOVIM_12

SITUATIONS = ("loads", "waits", "reads", "writes", "remembers")

TEXT = Path(shlex.__file__).read_text(encoding="utf-8")
"""Of 350 lines."""
LINES = 300
DOCUMENTS = 4

LOADING_S = 0.5
"""The middle of loading the default model."""
READING_S = 4.0
"""A prompt of 160 tokens is read in this time, and then a block is written."""


def text_of(number: int) -> str:
    """A document that no other one begins like, cut in a line."""
    lines = [f"# number {number}", *TEXT.splitlines()[: LINES - 1]]
    return "\n".join(lines) + "\n    def __"


async def bring_into(situation: str, client: Client, model: Path) -> None:
    """Have a server do something."""
    most = 4 if situation == "remembers" else 2000
    prompt = 1200 if situation == "reads" else 160
    completion = {"maxTokens": most, "maxTokensBlock": most, "contextTokens": prompt}
    completion["multiline"] = "always"
    engine = {"threads": len(os.sched_getaffinity(0)), "contextSize": 4096}
    await client.begin(NEOVIM_12, settings(model, engine=engine, completion=completion))
    if situation == "loads":
        await client.until(lambda: "loading" in client.states())
        return await asyncio.sleep(LOADING_S)
    await client.ready()
    at = (LINES, 10)
    if situation in {"reads", "writes"}:
        client.open("file:///0.py", text_of(0))
        asked = client.send_inline("file:///0.py", at)
        await client.until(lambda: client.states()[-1] == "busy")
        await asyncio.sleep(READING_S if situation == "writes" else 0)
        assert asked not in client.answers, "it was answered: nothing is measured"
    if situation == "remembers":
        for number in range(DOCUMENTS):
            client.open(f"file:///{number}.py", text_of(number))
            await client.inline(f"file:///{number}.py", at)
    return None


async def measured(situation: str, model: Path) -> float:
    """Milliseconds from the signal to the end of a process."""
    async with own_server() as (client, process):
        client.settings = None
        await bring_into(situation, client, model)
        started = perf_counter()
        process.send_signal(signal.SIGTERM)
        code = await process.wait()
        assert code == 0, code
        return 1e3 * (perf_counter() - started)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?", default=DEFAULT_MODEL)
    parser.add_argument("--times", type=int, default=10)
    arguments = parser.parse_args()
    model = store.resolve(arguments.model)
    print("| when the signal comes, it | median | most |\n| --- | --- | --- |")
    for situation in SITUATIONS:
        times = []
        for _ in range(arguments.times):
            with tempfile.TemporaryDirectory() as home:
                os.environ["MIDTOKEN_HOME"] = home
                times.append(asyncio.run(measured(situation, model)))
        print(f"| {situation} | {median(times):.0f} ms | {max(times):.0f} ms |", flush=True)


if __name__ == "__main__":
    main()
