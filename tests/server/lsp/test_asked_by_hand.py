"""Several suggestions: whoever asks for them gets them, in order, and typing along any is free."""

import asyncio
import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.server.lsp.client import AUTOMATIC, INVOKED, Client
from tests.server.lsp.editors import VSCODE
from tests.server.lsp.properties import in_this_loop
from tests.server.lsp.test_typing_along import OPTIONS, Editor

pytestmark = pytest.mark.asyncio(loop_scope="session")

URI = "file:///a.py"
TEXT, END = "x = 1\ny = ", (1, 4)
SEVERAL = replace(OPTIONS, candidates=5)


def texts(items: list[dict]) -> list[str]:
    return [item["insertText"] for item in items]


async def asked_for(client: Client) -> int:
    """How often the model was asked because somebody waited for it."""
    counts = (await client.request("midtoken/counters"))["requests"]
    return counts["started"] - counts["prepared"]


class TestRequests:
    """What a client asks for, and what it gets."""

    async def test_by_hand(self, client: Client):
        """Three different ones by default; the first is the one of an automatic request."""
        client.open(URI, TEXT)

        [first] = await client.inline(URI, END, AUTOMATIC)
        items = await client.inline(URI, END, INVOKED)

        assert items[0] == first
        assert len(items) == len({*texts(items)}) == 3

    async def test_from_memory(self, client: Client):
        """One that is remembered is not enough; what was asked for once is not asked for again."""
        client.open(URI, "x = 2\n" + TEXT)
        place = (2, 4)
        before = await asked_for(client)
        await client.inline(URI, place, AUTOMATIC)
        items = await client.inline(URI, place, INVOKED)
        asked = await asked_for(client)

        again = await client.inline(URI, place, INVOKED)
        automatic = await client.inline(URI, place, AUTOMATIC)
        menu = (await client.menu(URI, place))["items"]
        after = await asked_for(client)

        assert items == again == automatic
        assert [item["textEdit"]["newText"] for item in menu] == texts(items)
        assert (asked, after) == (before + 2, asked)

    async def test_menu(self, client: Client):
        """Sorted as they are, each with its probability; one of them is selected."""
        client.open(URI, TEXT)
        items = (await client.menu(URI, END))["items"]

        assert len(items) == 3
        assert [item["sortText"] for item in items] == sorted({i["sortText"] for i in items})
        assert [item.get("preselect") for item in items] == [True, None, None]
        assert all(re.fullmatch(r"tiny llama · .* %", item["detail"]) for item in items)

    @pytest.mark.parametrize(("number", "found"), [(1, [1]), (2, [2]), (10, range(4, 11))])
    async def test_option(self, connect, number, found):
        """As many as the option says, where there are so many."""
        client = await connect(VSCODE, completion={"candidates": number})
        client.open(URI, TEXT)

        assert len(await client.inline(URI, END, INVOKED)) in found

    @pytest.mark.parametrize("wrong", [0, 11, "three", 10**9])
    async def test_wrong_option(self, connect, wrong):
        """The person is told, and the default holds."""
        client = await connect(VSCODE, completion={"candidates": wrong})
        client.open(URI, TEXT)

        assert len(await client.inline(URI, END, INVOKED)) == 3
        assert any("completion.candidates" in message for message in client.messages())

    async def test_report(self, client: Client):
        """It has all of them, the likeliest of the others first."""
        client.open(URI, TEXT)
        items = await client.inline(URI, END, INVOKED)
        command = {"command": "midtoken.showReport"}
        report = await client.request("workspace/executeCommand", command)

        assert [item["text"] for item in report["items"]] == texts(items)
        shares = [item["probability"] for item in report["items"]]
        assert shares[1:] == sorted(shares[1:], reverse=True)
        assert all(0 < share <= 1 for share in shares)

    @pytest.mark.parametrize("method", ["align", "one", "off"])
    async def test_other_methods(self, connect, method):
        """They find one, and the report says why."""
        client = await connect(VSCODE, completion={"healing": method})
        client.open(URI, TEXT)
        items = await client.inline(URI, END, INVOKED)
        command = {"command": "midtoken.showReport"}
        report = await client.request("workspace/executeCommand", command)

        assert len(items) <= 1
        assert any("only exact healing" in note for note in report["notes"])

    async def test_automatic_and_by_hand_at_once(self, client: Client):
        """Both are answered, whichever comes first."""
        for number, kinds in enumerate([(AUTOMATIC, INVOKED), (INVOKED, AUTOMATIC)]):
            client.open(f"file:///b{number}.py", TEXT)
            asked = [client.send_inline(f"file:///b{number}.py", END, kind) for kind in kinds]

            answers = [(await client.answer(one))["items"] for one in asked]

            by_hand = answers[kinds.index(INVOKED)]
            assert len(by_hand) == 3
            assert answers[kinds.index(AUTOMATIC)][0] == by_hand[0]

    async def test_cancelled(self, client: Client):
        """A request for several is cancelled like any other; the next one is answered."""
        client.open(URI, TEXT)
        number = client.send_inline(URI, END, INVOKED)
        client.cancel(number)
        items = await client.inline(URI, END, INVOKED)

        await client.until(lambda: number in client.answers)
        assert len(items) == 3


class TestTypingAlong:
    """Each of them is typed along as if it were the only one."""

    async def test_any_of_them(self, worker):
        """Whatever part of it has been typed, the rest is shown first, without the model."""

        @given(
            st.sampled_from(["y = ", "print(", "self.", "for i in"]),
            st.integers(0, 4),
            st.integers(0, 99),
        )
        @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
        @in_this_loop
        async def check(line: str, number: int, share: int) -> None:
            editor = Editor(worker(), line, "\n", SEVERAL)
            found = (await editor.service.complete(editor.request())).items
            item = found[min(number, len(found) - 1)]
            size = 1 + share * len(item.text) // 100
            started = editor.started

            editor.options = OPTIONS
            editor.before += item.text[:size]
            completion = await editor.service.complete(editor.request())

            if size < len(item.text):
                assert editor.started == started
                assert completion.items[0].text == item.text[size:]

        await asyncio.to_thread(check)

    async def test_asked_again_by_hand(self, worker):
        """Where one is left of them, others are asked for, and it stays the first."""
        editor = Editor(worker(), "y = ", "\n", SEVERAL)
        items = (await editor.service.complete(editor.request())).items
        started = editor.started
        editor.before += items[0].text[:2]

        again = (await editor.service.complete(editor.request())).items

        assert editor.started == started + 1
        assert again[0].text == items[0].text[2:]
