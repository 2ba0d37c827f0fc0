"""Unsure suggestions over the protocol: who asks sees them, and settings say who else does."""

import pytest

from server.answers import TOO_UNSURE
from tests.server.explain_page.parsing import parsed
from tests.server.lsp.client import AUTOMATIC, INVOKED
from tests.server.lsp.conftest import Connect

pytestmark = pytest.mark.asyncio(loop_scope="session")

URI = "file:///a.py"
PATIENT = {"timeBudget": 60_000}
REPORT = {"command": "midtoken.showReport"}


async def test_hidden(connect: Connect):
    """What is less sure than is wanted comes only when it is asked for; the report says why."""
    client = await connect(trigger={"minConfidence": 1})
    client.open(URI, "x = 3\ny = ")
    place = (1, 4)

    assert await client.inline(URI, place, AUTOMATIC) == []
    report = await client.request("workspace/executeCommand", REPORT)
    assert report["empty_reason"] == TOO_UNSURE
    assert 0 <= report["withheld"] < 1
    first, *_ = await client.inline(URI, place, INVOKED)
    assert first["insertText"]


async def test_ended(connect: Connect):
    """A line ends after its first word if nothing more is sure; who asks sees all of it."""
    client = await connect(completion={"stopUnsure": 1})
    ended = 0
    for number, line in enumerate(["y = ", "for i in ", "self.", "print(o", "import o", "a = '"]):
        uri = f"file:///unsure/{number}.py"
        client.open(uri, f"x = 4\n{line}")
        place = (1, len(line))
        items = await client.inline(uri, place, AUTOMATIC)
        report = await client.request("workspace/executeCommand", REPORT)
        whole = await client.inline(uri, place, INVOKED)

        assert bool(items) == bool(whole)
        for short in items:
            assert whole[0]["insertText"].startswith(short["insertText"])
            if report["ended"] == "unsure":
                ended += 1
                assert len(short["insertText"]) < len(whole[0]["insertText"])
                assert report["items"][0]["confidence"] <= report["items"][0]["word_confidence"]
    assert ended


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"trigger": PATIENT, "completion": {"stopUnsure": 1}},
            "It ended where the rest was too unsure",
        ),
        ({"trigger": PATIENT | {"minConfidence": 1}}, TOO_UNSURE),
    ],
)
async def test_explained(connect: Connect, settings, said):
    """The page is about what was shown, and says why it was no more; nothing else is suggested."""
    client = await connect(**settings)
    client.open(URI, "x = 4\nfor i in ")
    await client.inline(URI, (1, 9), AUTOMATIC)
    root = parsed((await client.request("midtoken/explain", {}))["html"])

    assert said in root.text
    assert "was suggested when it was asked for" not in root.text
