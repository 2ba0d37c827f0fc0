"""Typing what is suggested: answered from memory, and always the rest of what was shown."""

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.completer import Completer
from server.completion_options import CompletionOptions
from server.service import Request, Service
from server.snapshot import Snapshot
from server.worker import Worker
from tests.server.lsp.properties import in_this_loop

pytestmark = pytest.mark.asyncio(loop_scope="session")

OPTIONS = CompletionOptions(max_tokens=16)
# A model without sense writes control characters, too, and a text would end at the first.
BLOCK = replace(
    OPTIONS, multiline="auto", max_tokens=40, rules_off=frozenset({"no control characters"})
)

BEFORE = ["", "import os\n", "class Reader:\n    def read(self):\n", "x = 1\r\n", "# größer\n"]
LINES = [
    "import o",
    "    retu",
    "self.",
    "x = foo(a",
    "print(",
    "für",
    "    for i in ",
    "a = '",
    "",
]
AFTER = ["", "\n", ")\n", "\nx = 2\n", "])\n", ";\r\ny\r\n"]

places = st.tuples(st.sampled_from(BEFORE), st.sampled_from(LINES), st.sampled_from(AFTER))


class Editor:
    """A document, a cursor, and a service of its own: what an editor does, without the protocol."""

    def __init__(
        self, worker: Worker[Completer], before: str, after: str, options: CompletionOptions
    ) -> None:
        self.service = Service(worker)
        self.before, self.after, self.options = before, after, options

    def request(self) -> Request:
        """A request at the cursor."""
        text = (self.before + self.after).encode()
        snapshot = Snapshot("a.py", 1, text, len(self.before.encode()), "python")
        return Request("a.py", snapshot, self.options)

    async def shown(self) -> str:
        """What is suggested now: the new text alone, without the closers that it takes in."""
        completion = await self.service.complete(self.request())
        if not completion.items:
            return ""
        [item] = completion.items
        closers = self.after.encode()[: item.replaced_bytes].decode()
        return item.text.removesuffix(closers) if closers else item.text

    async def idle(self) -> None:
        """Wait until the model has nothing to do."""
        while self.service.is_busy:
            await asyncio.gather(*self.service._tasks)

    @property
    def started(self) -> int:
        """How often the model was asked."""
        return self.service.counts.started


@pytest.mark.parametrize("options", [OPTIONS, BLOCK], ids=["line", "block"])
async def test_typing_what_is_shown(worker, options):
    """Each character of a suggestion that is typed leaves the rest of it, without the model."""

    @given(places)
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @in_this_loop
    async def check(place: tuple[str, str, str]) -> None:
        before, line, after = place
        editor = Editor(worker(), before + line, after, options)
        shown = await editor.shown()
        started = editor.started
        for size in range(1, len(shown.rstrip())):
            if shown[size - 1 : size + 1] == "\r\n":
                continue  # no editor stops between them
            editor.before = before + line + shown[:size]
            assert await editor.shown() == shown[size:]
        assert editor.started == started

    await asyncio.to_thread(check)


@pytest.mark.parametrize("options", [OPTIONS, BLOCK], ids=["line", "block"])
async def test_deleting_back(worker, options):
    """Deleting what was typed along shows the same again, without the model."""

    @given(places, st.lists(st.integers(0, 99)))
    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
    @in_this_loop
    async def check(place: tuple[str, str, str], numbers: list[int]) -> None:
        before, line, after = place
        editor = Editor(worker(), before + line, after, options)
        shown = await editor.shown()
        started = editor.started
        for size in (number % max(1, len(shown.rstrip())) for number in numbers):
            if shown[size - 1 : size + 1] == "\r\n":
                continue
            editor.before = before + line + shown[:size]
            assert await editor.shown() == shown[size:]
        assert editor.started == started

    await asyncio.to_thread(check)


async def test_the_next_one_is_prepared(worker):
    """After a suggestion was accepted as a whole, the next one is there without the model."""
    prepared = 0
    for before in (first + line for first in BEFORE for line in LINES):
        editor = Editor(worker(), before, "\n", BLOCK)
        editor.before += await editor.shown()
        editor.service.prepare(editor.request())
        await editor.idle()
        prepared += editor.service.counts.prepared
        started = editor.started

        await editor.shown()
        assert editor.started == started
    assert prepared


async def test_accepting_line_by_line(worker):
    """The lines of a block that are accepted one after the other come from memory."""
    several = 0
    for before in (first + line for first in BEFORE for line in LINES):
        editor = Editor(worker(), before, "\n", BLOCK)
        lines = (await editor.shown()).splitlines(keepends=True)
        several += len(lines) > 1
        for number, line in enumerate(lines[:-1], 1):
            editor.before += line
            assert await editor.shown() == "".join(lines[number:])
        assert editor.started == 1
    assert several


async def test_preparing_makes_room(worker):
    """Work that nobody waits for ends when somebody asks for something else."""
    editor = Editor(worker(), "self.", "\n", replace(BLOCK, max_tokens=900))
    editor.service.prepare(editor.request())
    prepared = editor.service._jobs["a.py"]
    editor.before = "import o"
    editor.options = OPTIONS
    assert await editor.shown()

    await editor.idle()
    assert prepared.ticket.cancelled


async def test_keys_are_exact(worker):
    """Blanks, the text around and the options make another request; closers that follow do not."""
    variants = [
        ("x = ", "\n", OPTIONS),
        ("x =  ", "\n", OPTIONS),
        ("x =\t", "\n", OPTIONS),
        (" x = ", "\n", OPTIONS),
        ("\nx = ", "\n", OPTIONS),
        ("x = ", "\n\n", OPTIONS),
        ("x = ", "\ny", OPTIONS),
        ("x = ", "y", OPTIONS),
        ("x = ", "\n", replace(OPTIONS, max_tokens=17)),
        ("x = ", "\n", replace(OPTIONS, healing="one")),
    ]
    editor = Editor(worker(), "", "", OPTIONS)
    for number, (editor.before, editor.after, editor.options) in enumerate(variants, 1):
        await editor.shown()
        assert editor.started == number
    for editor.before, editor.after, editor.options in variants:
        await editor.shown()
    assert editor.started == len(variants)

    editor.before, editor.after, editor.options = "x = ", ")\n", OPTIONS
    await editor.shown()
    assert editor.started == len(variants)


async def test_a_running_answer_is_joined(worker):
    """Typing what the model is writing does not start it again."""
    options = replace(BLOCK, max_tokens=300)
    editor = Editor(worker(), "# joined\nself.", "\n", options)
    whole = await editor.shown()
    other = Editor(worker(), "# joined\nself.", "\n", options)
    first = asyncio.ensure_future(other.shown())
    await asyncio.sleep(0)
    other.before += whole[:2]

    assert await other.shown() == whole[2:]
    assert (other.started, other.service.counts.joined) == (1, 1)
    with pytest.raises(AttributeError):  # superseded: no completion at all
        await first


async def test_what_is_shown_stays(worker):
    """An answer that was asked for earlier and nearer does not replace the one that is shown."""
    for line in LINES:
        editor = Editor(worker(), line, "\n", OPTIONS)
        shown = await editor.shown()
        other = Editor(worker(), line, "\n", OPTIONS)
        for size in range(len(shown.rstrip()) - 1, 0, -1):  # nearer ones first
            other.before = line + shown[:size]
            await other.shown()
        for size in range(len(shown.rstrip())):
            other.before = line + shown[:size]
            assert await other.shown() == shown[size:]


async def test_the_same_without_memory(worker, report):
    """Where the model is asked again in the middle, it may say something else: counted.

    Greedy decoding goes on with the one token that it wrote. Healing weighs all spellings of what
    is typed by then, also those that decoding had left behind, and they may win.
    """
    counts = await count_differences(worker(), [b + line for b in BEFORE for line in LINES])
    report(f"asked again while typing along, tiny model: {counts}")


async def count_differences(worker: Worker[Completer], texts: list[str]) -> str:
    same = total = 0
    for before in texts:
        editor = Editor(worker, before, "\n", OPTIONS)
        shown = await editor.shown()
        for size in range(1, len(shown.rstrip())):
            fresh = Editor(worker, before + shown[:size], "\n", OPTIONS)
            again = await fresh.shown()
            total += 1
            same += again.startswith(shown[size:]) or shown[size:].startswith(again) != (not again)
    return f"{same} of {total} the same"


@pytest.mark.model
async def test_the_real_model(completer, report):
    """The same with the real model."""
    worker: Worker[Completer] = Worker()
    await worker.load(lambda: completer)
    texts = ["def area(width, height):\n    retu", "import o", "for i in ran", "print('hel"]
    for text in texts:
        editor = Editor(worker, text, "\n", OPTIONS)
        shown = await editor.shown()
        for one, two in pairwise(range(len(shown))):
            editor.before = text + shown[:two]
            assert await editor.shown() == shown[one + 1 :]
        assert editor.started == 1
    report(f"asked again while typing along, real model: {await count_differences(worker, texts)}")


async def test_empty_documents_are_told_apart(worker):
    """What a model says to an empty document depends on its name, so no other one gets it."""
    service = Service(worker())
    for started, name in [(1, "a.py"), (2, "b.py"), (2, "a.py"), (3, "b.go")]:
        await service.complete(Request(name, Snapshot(name, 1, b"im", 2, "python"), OPTIONS))
        assert service.counts.started == started


async def test_first_text_is_measured(worker):
    """The time to the first text is known after a job: of this model, and not from memory."""
    editor = Editor(worker(), "import o", "\n", OPTIONS)
    assert editor.service.first_text_s is None

    await editor.shown()
    measured = editor.service.first_text_s
    assert measured > 0
    await editor.shown()
    assert editor.service.first_text_s == measured
    editor.service.reset()
    assert editor.service.first_text_s is None
