"""llama.vim's behaviour against a server of the tests: what is asked when, and what is shown."""

import asyncio

import pytest

from server.bench.typing import llama_vim
from server.bench.typing.llama_vim import LlamaVim
from server.positions import Position, Range
from tests.server.fake_llama import FakeServer

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""Of the editor's fixture, whose timers and requests belong to its loop."""

URI = "file:///a.py"
QUICK, AHEAD = 250, 1000


async def until(condition):
    """Wait until something is so; the time is a limit for a test that fails."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


@pytest.fixture
def server():
    fake = FakeServer()
    yield fake
    fake.close()


@pytest.fixture
async def editor(server):
    """The plugin in a file whose second line is `    a`, with what is on its screen."""
    vim = LlamaVim(server)
    vim.screen = []
    vim.listen(lambda offer: vim.screen.append(offer and offer.text))
    vim.open(URI, "python", "def f(x):\n    a\nend\n")
    yield vim
    vim.close()
    server.go.set()
    await vim.finish(10)


def at(column, line=1):
    return Position(line, column)


def type_text(vim, column, text):
    """Type after a column of the second line; the cursor is asked about after each character."""
    for number, character in enumerate(text):
        here = at(column + number)
        vim.change(URI, Range(here, here), character)
        vim.ask(URI, at(column + number + 1))


class TestRequest:
    async def test_body(self, editor, server):
        """What llama.vim sends, by its default settings."""
        editor.ask(URI, at(5))
        await until(lambda: server.asked)

        assert server.asked[0] == {
            "id_slot": 0,
            "input_prefix": "def f(x):\n",
            "input_suffix": "\nend\n",
            "input_extra": [],
            "prompt": "    a",
            "n_predict": 128,
            "stop": [],
            "n_cmpl": 1,
            "n_indent": 4,
            "top_k": 40,
            "top_p": 0.9,
            "samplers": ["top_k", "top_p", "infill"],
            "stream": False,
            "cache_prompt": True,
            "t_max_prompt_ms": 500,
            "t_max_predict_ms": 250,
            "response_fields": ["content", *llama_vim.TIMINGS, "truncated", "tokens_cached"],
        }

    async def test_one_at_a_time(self, editor, server):
        """While a request runs there is no other; the newest wish comes next, none between."""
        server.go.clear()
        editor.ask(URI, at(5))
        type_text(editor, 5, "bcd")
        await until(lambda: server.asked)
        assert editor.owes
        server.go.set()
        await until(lambda: len(server.asked) > 1)

        assert server.prompts[:2] == [("    a", QUICK), ("    abcd", QUICK)]

    @pytest.mark.parametrize(("right", "asked"), [(8, 1), (9, 0)])
    async def test_right_of_the_cursor(self, editor, server, right, asked):
        """Nothing is asked where more than eight bytes stand right of the cursor."""
        editor.change(URI, Range(at(5), at(5)), "x" * right)
        editor.ask(URI, at(5))
        await editor.finish(10)

        assert len(server.asked) == asked

    async def test_known_place(self, editor, server):
        """What is known is not asked again, also when it is nothing."""
        editor.ask(URI, at(5))
        await until(lambda: not editor.owes)
        editor.ask(URI, at(5))

        assert not editor.owes
        assert len(server.asked) == 1

    async def test_failure(self, editor, server):
        """An error is counted, and the next request is made."""
        server.answers = [None, "b"]
        editor.ask(URI, at(5))
        await until(lambda: editor.errors)
        await until(lambda: not editor.owes)
        editor.ask(URI, at(5))
        await until(lambda: "b" in editor.screen)

        assert editor.answers["error"] == 1


class TestScreen:
    async def test_answer(self, editor, server):
        """An answer is shown, and what comes after it is asked for at once, for longer."""
        server.answers = ["bc\n    d"]
        editor.ask(URI, at(5))
        await until(lambda: len(server.asked) > 1)

        assert editor.screen == [None, "bc\n    d"]
        assert server.prompts[1] == ("    d", AHEAD)
        assert server.asked[1]["input_prefix"] == "def f(x):\n    abc\n"

    async def test_typed_along(self, editor, server):
        """The rest of an answer stays on the screen, without an answer of its own."""
        server.answers = ["bcd"]
        editor.ask(URI, at(5))
        await until(lambda: "bcd" in editor.screen)
        server.go.clear()
        type_text(editor, 5, "bc")

        assert editor.screen[-2:] == ["cd", "d"]

    async def test_other_key(self, editor, server):
        """Another key takes the suggestion away at once."""
        server.answers = ["bcd"]
        editor.ask(URI, at(5))
        await until(lambda: "bcd" in editor.screen)
        server.go.clear()
        type_text(editor, 5, "x")

        assert editor.screen[-1] is None

    async def test_late_answer(self, editor, server):
        """An answer that comes after its first character was typed is shown without it."""
        server.answers = ["bcd"]
        server.go.clear()
        editor.ask(URI, at(5))
        type_text(editor, 5, "b")
        server.go.set()
        await until(lambda: "cd" in editor.screen)

        assert editor.screen == [None, None, "cd"]

    async def test_after_acceptance(self, editor, server):
        """What was asked ahead is there as soon as the suggestion is accepted."""
        server.answers = ["bc", "; e"]
        editor.ask(URI, at(5))
        await until(lambda: editor.answers.get("ahead"))
        server.go.clear()
        editor.change(URI, Range(at(5), at(5)), "bc")
        editor.ask(URI, at(7))

        assert editor.screen[-1] == "; e"

    async def test_shown_already(self, editor, server):
        """The answer for a place where something is on the screen is kept, and not shown."""
        server.answers = ["bcd", "", "XY"]
        editor.ask(URI, at(5))
        await until(lambda: len(server.asked) == 2)
        type_text(editor, 5, "b")
        await until(lambda: len(server.asked) > 2)
        await until(lambda: editor.answers.get("completions") == 2)

        assert "XY" not in editor.screen
        editor.ask(URI, at(6))
        assert editor.screen[-1] == "XY"


class TestChunks:
    async def test_entered_file(self, editor, server, monkeypatch):
        """A file that was entered gives a chunk, which the model reads when all is still."""
        monkeypatch.setattr(llama_vim, "STILL_S", 0)
        monkeypatch.setattr(llama_vim, "RING_UPDATE_S", 0.01)
        editor.open("file:///b.py", "python", "p q\nr s\nt u\n")
        editor.ask("file:///b.py", Position(0, 0))
        await until(lambda: editor.answers.get("chunks"))
        editor.ask(URI, at(5))
        await until(lambda: server.asked[-1]["prompt"] == "    a")

        extra = [{"text": "p q\nr s\nt u\n", "filename": "file:///b.py"}]
        assert [body["input_extra"] for body in server.asked if body["n_predict"] == 0] == [extra]
        assert server.asked[-1]["input_extra"] == extra

    async def test_changed_file(self, editor, server, monkeypatch):
        """A file with changes gives none."""
        monkeypatch.setattr(llama_vim, "ENTERED_S", 0)
        type_text(editor, 5, "b")
        await until(lambda: not editor.owes)
        await asyncio.sleep(0.01)  # the timer of having entered the file

        assert not editor._ring.queued

    async def test_far_move(self, editor, server):
        """A cursor that went far has text gathered that the prompt does not reach."""
        editor.open("file:///b.py", "python", "\n".join(f"w{n} x{n}" for n in range(1000)))
        editor.ask("file:///b.py", Position(500, 9))

        first, second = editor._ring.queued
        assert 0 <= int(first.lines[0].split()[0][1:]) <= 244
        assert 564 <= int(second.lines[0].split()[0][1:]) <= 628


class TestUsage:
    async def test_tokens(self, editor, server):
        """Tokens that were read anew, and tokens that were written."""
        editor.ask(URI, at(5))
        await until(lambda: not editor.owes)
        usage = await editor.usage()

        assert usage.tokens == 13
        assert (usage.details["prompt_tokens"], usage.details["written_tokens"]) == (10, 3)
