"""What editors are told where a file of secrets is not sent to an engine elsewhere."""

import pytest

from server.secret_files import NOT_SENT
from tests.server.remote.fake_engine import FakeEngine, running, tokenizer

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_editors_are_told_once(connect, tmp_path):
    """Whoever writes there knows why nothing comes."""
    tokenizer().save(str(tmp_path / "tokenizer.json"))
    file = str(tmp_path / "tokenizer.json")
    with running(FakeEngine()) as engine:
        client = await connect(remote={"url": engine.url, "tokenizer": file})
        client.open("file:///w/.env", "KEY=abc\n")
        for _ in range(2):
            await client.inline("file:///w/.env", (0, 7))

        assert client.messages() == [f"midtoken: {NOT_SENT}"]
