"""The server with models whose memory can't be cut: what an editor shows is the same as afresh.

Two documents are typed in by turns, a character at a time, with deletions; each answer is compared
with that of a server process that was asked nothing before but this.
"""

import pytest

from server.completer import Completer
from server.completion_options import CompletionOptions
from server.service import Request, Service
from server.snapshot import Snapshot
from server.worker import Worker
from tests.server.lsp.conftest import own_server, settings
from tests.server.lsp.editors import NEOVIM_12

pytestmark = pytest.mark.asyncio(loop_scope="session")

LINES = {"file:///a.py": "for name in sorted(", "file:///b.py": "    return self.numbe"}
STEPS = [8, 9, 10, 14, 12, 3]
"""Characters of the line that are there, one after the other."""


async def shown(client, uri, typed):
    """The suggestion's text after this much of the line."""
    text = LINES[uri][:typed]
    client.change(uri, (None, text + "\n"))
    items = await client.inline(uri, (0, len(text)))
    return [item["insertText"] for item in items or []]


@pytest.mark.parametrize("architecture", ["mamba", "jamba"])
async def test_by_turns(tiny_file, load_tiny, architecture):
    """Whatever was asked before, and whichever slots are in use."""
    async with own_server() as (client, _):
        await client.begin(NEOVIM_12, settings(tiny_file(architecture=architecture)))
        await client.ready()
        for uri in LINES:
            client.open(uri, "")
        along = [
            (uri, typed, await shown(client, uri, typed))
            for typed in (*STEPS, STEPS[0])
            for uri in LINES
        ]
        await client.end()

    assert any(texts for _, _, texts in along)
    others = [
        (uri, typed)
        for uri, typed, texts in along
        if texts != await afresh(load_tiny(architecture=architecture), uri, typed)
    ]
    assert len(others) <= 1, others  # by noise, where two texts are as good as equally likely


async def afresh(completer: Completer, uri: str, typed: int) -> list[str]:
    """What a service says that was just started."""
    worker: Worker[Completer] = Worker()
    await worker.load(lambda: completer)
    text = LINES[uri][:typed]
    snapshot = Snapshot(uri, 1, f"{text}\n".encode(), len(text.encode()), "python")
    options = CompletionOptions(max_tokens=12, multiline="auto")
    completion = await Service(worker).complete(Request(uri, snapshot, options))
    return [item.text for item in completion.items]
