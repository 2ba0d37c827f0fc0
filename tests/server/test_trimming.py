"""Memory that was freed goes back to the system, when nobody waits for the model."""

import asyncio
import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from server import trimming
from server.trimming import Trimming, give_back
from server.worker import Worker
from tests.server.test_state_keeper import Model

PATIENCE_S = 20
SIZE, COUNT = 50_000, 2_000
"""Bytes of a piece (malloc maps only larger ones by themselves), and how many there are."""


def resident():
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def freed_between_others():
    """Bytes that are given back of what was freed between pieces that stay."""
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    library.free.argtypes = [ctypes.c_void_p]
    pieces = [library.malloc(ctypes.c_size_t(SIZE)) for _ in range(COUNT)]
    for piece in pieces:
        ctypes.memset(piece, 1, SIZE)
    for number, piece in enumerate(pieces):
        if number % 10:
            library.free(piece)
    before = resident()
    give_back()
    return before - resident()


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not hasattr(ctypes.CDLL(None), "malloc_trim"),
    reason="malloc can't be asked for it here",
)
def test_pages_between_pieces_that_stay():
    """In a process of its own: what others have left in this one is in the way."""
    code = "from tests.server.test_trimming import freed_between_others as f; print(f())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert int(done.stdout) > 0.5 * SIZE * COUNT


def test_where_it_can_not_be_asked_for(monkeypatch):
    monkeypatch.setattr(trimming, "_malloc_trim", lambda: None)

    give_back()


@pytest.fixture
def given(monkeypatch):
    """How often it was asked for. Waits are short, the pause is not."""
    monkeypatch.setattr(trimming, "IDLE_S", 0.01)
    times = []
    monkeypatch.setattr(trimming, "give_back", lambda: times.append(None))
    return times


@pytest.fixture
def worker():
    worker = Worker(Model(None))
    yield worker
    worker.close()


async def test_once_in_a_while(given, worker):
    """After many uses in a row it is done once."""
    trimming = Trimming(worker, lambda: False)
    for _ in range(3):
        trimming.later()
    async with asyncio.timeout(PATIENCE_S):
        while not given:
            await asyncio.sleep(0.005)
    trimming.later()
    await asyncio.sleep(0.1)

    assert len(given) == 1


async def test_again_after_the_pause(given, worker, monkeypatch):
    monkeypatch.setattr(trimming, "PAUSE_S", 0.02)
    watching = Trimming(worker, lambda: False)
    async with asyncio.timeout(PATIENCE_S):
        while len(given) < 2:
            watching.later()
            await asyncio.sleep(0.1)


async def test_without_a_model(given):
    """It is a favour: a model that was taken away meanwhile is no error."""
    worker = Worker()
    Trimming(worker, lambda: False).later()
    await asyncio.sleep(0.1)
    worker.close()

    assert not given
