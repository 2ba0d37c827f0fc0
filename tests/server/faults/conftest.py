"""Disks that fail, and sessions of a server that has one of them for its home."""

import asyncio
import os
import resource
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.server.command import REPOSITORY
from tests.server.lsp.client import STATUS, Client
from tests.server.lsp.conftest import BUFFER_BYTES, settings
from tests.server.lsp.editors import NEOVIM_12

LINES = "".join(f"    reader_{n} = Reader(path, numbers[{n}])\n" for n in range(6))
TEXT = f"def read(path, numbers):\n{LINES}    return sum("
AT = (7, 15)
PATIENCE_S = 60


@dataclass(frozen=True)
class Session:
    """What one session of a server came to."""

    shown: tuple[str, ...]
    """The suggested texts."""
    messages: tuple[str, ...]
    """What the person was shown."""
    said: tuple[str, ...]
    """Lines on standard error, without their times."""
    code: int
    reused: int
    """Tokens of the prompt that were not read again."""
    status: str
    """What the server said of itself when the model was loaded."""


def mount(folder: Path, *options: str) -> None:
    """Put a disk of its own in a folder's place, or skip the test where that is not allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-o", ",".join(options), "-t", "tmpfs", "tmpfs", str(folder)]
    allowed = sys.platform == "linux" and os.geteuid() == 0
    if not allowed or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("only root on Linux may mount a disk; see the tests with limits")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Gives a folder that is a disk of its own, with these options of `mount`."""
    folder = tmp_path / "disk"

    def mounted(*options: str) -> Path:
        mount(folder, *options)
        return folder

    yield mounted
    subprocess.run(["umount", str(folder)], check=False, capture_output=True)


def problems(session: Session, home: Path) -> list[str]:
    """What was said on standard error, without the home's name and who said it."""
    return [line.split(": ", 1)[-1].replace(str(home), "HOME") for line in session.said]


def fill(folder: Path) -> Path:
    """Leave no room on a disk; the file that takes it."""
    filling = folder / "filling"
    with suppress(OSError), filling.open("wb", 0) as file:
        while file.write(bytes(4096)):
            pass
    return filling


def limit_files(size: int) -> Callable[[], None]:
    """For a process that begins: no file may become larger, as on a disk that is full."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@asynccontextmanager
async def begun(
    home: Path,
    model: Path,
    *,
    before: Callable[[], None] | None = None,
    program: Sequence[str] = ("-m", "server.cli"),
    how: str = "--stdio",
    **sections: dict[str, object],
) -> AsyncIterator[tuple[Client, asyncio.subprocess.Process, asyncio.Future[bytes]]]:
    """A server that is ready, its process, and what it will have said on standard error.

    Args:
        home: Its `MIDTOKEN_HOME`.
        model: The model's file.
        before: Is called in the new process, before the server runs.
        program: Python's arguments for midtoken.
        how: Its way of serving.
        sections: Options beside the usual ones.
    """
    environment = {"PYTHONPATH": str(REPOSITORY), "OMP_WAIT_POLICY": "passive"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *program, "serve", how),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | environment | {"MIDTOKEN_HOME": str(home)},
        limit=BUFFER_BYTES,
        preexec_fn=before,
    )
    said = asyncio.ensure_future(process.stderr.read())
    client = Client(process.stdout, process.stdin)
    client.settings = None
    # The same prompt, however fast the machine seems to be.
    steady = {"completion": {"contextTokens": 400}, "grammar": {"mode": "off"}}
    try:
        await client.begin(NEOVIM_12, settings(model, **(steady | sections)))
        await client.ready()
        yield client, process, said
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def serve(home: Path, model: Path, **more: Any) -> Session:
    """One session of a server: a suggestion, which is shown and accepted, and an end in order.

    Args:
        home: Its `MIDTOKEN_HOME`.
        model: The model's file.
        more: As for `begun`.
    """
    async with begun(home, model, **more) as (client, process, said):
        status = client.told(STATUS)[-1]["message"]
        uri = (home / "reader.py").as_uri()
        client.open(uri, TEXT)
        items = await client.inline(uri, AT)
        report = await client.request(
            "workspace/executeCommand", {"command": "midtoken.showReport", "arguments": []}
        )
        document = {"textDocument": {"uri": uri}}
        client.notify("midtoken/didShow", document)
        client.notify("midtoken/didAccept", document | {"length": 3})
        client.send("shutdown")
        client.notify("exit")
        code = await asyncio.wait_for(process.wait(), PATIENCE_S)
        lines = (await said).decode().splitlines()
    return Session(
        tuple(item["insertText"] for item in items),
        tuple(client.messages()),
        tuple(line.split(" ", 2)[-1] if line[:2] == "20" else line for line in lines),
        code,
        report["tokens"]["reused"],
        status,
    )
