"""Too little memory for the context that was asked for: a smaller one is taken, which is said."""

import json
import re
import resource
import sys

import pytest

from tests.server.command import run_process
from tests.server.faults.conftest import serve

ASKED = 1 << 24
"""Tokens: 4.3 GB of keys and values of the tiny model."""

NOTE = re.compile(rf"no memory for a context of {ASKED:,} tokens: it has ([\d,]+)")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep limits")


def little_memory() -> None:
    """For a process that begins: it gets no more than 4 GB of addresses, whatever is free."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def test_a_command(tiny_file, tmp_path):
    """llama.cpp's own allocation fails, and the suggestion comes; a note says what was taken."""
    document = tmp_path / "a.py"
    document.write_text("import o")
    arguments = ("complete", f"{document}:1:9", "--model", tiny_file(), "--threads", 1, "--json")
    usual = json.loads(run_process(*arguments).out)
    done = run_process(*arguments, "--context-size", ASKED, preexec_fn=little_memory)
    answer = json.loads(done.out)

    assert (done.code, done.err) == (0, "")
    assert [item["text"] for item in answer["items"]] == [item["text"] for item in usual["items"]]
    [note] = [note for note in answer["notes"] if NOTE.fullmatch(note)]
    taken = int(NOTE.fullmatch(note)[1].replace(",", ""))
    assert ASKED % taken == 0
    assert 512 <= taken < ASKED


async def test_a_server(tiny_file, tmp_path):
    """The status says it beside the model's name, and the log in a line; nobody is disturbed."""
    usual = await serve(tmp_path / "usual", tiny_file())
    session = await serve(
        tmp_path / "home",
        tiny_file(),
        before=little_memory,
        engine={"contextSize": ASKED, "threads": 1},
    )

    assert (session.shown, session.code, session.messages) == (usual.shown, 0, ())
    assert len(session.said) == 1, session.said
    assert NOTE.search(session.said[0])
    assert NOTE.search(session.status)
