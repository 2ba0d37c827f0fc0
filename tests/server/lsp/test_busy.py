"""What an editor is told while the model computes."""

import pytest

from tests.server.lsp.client import AUTOMATIC, STATUS

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_busy(connect):
    """While a request waits for long the editor is told, and that it is answered then."""
    client = await connect(trigger={"debounce": 1000})
    client.open("file:///a.py", "# not in memory\nimport o")
    before = client.told(STATUS)[-1]
    assert await client.inline("file:///a.py", (1, 8), AUTOMATIC) is not None
    await client.until(lambda: client.states()[-1:] == ["ready"])

    assert client.told(STATUS)[-3:] == [before, before | {"state": "busy"}, before]
