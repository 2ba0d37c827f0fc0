"""Unsure suggestions: what is hidden, what is cut, and what a remembered answer shows later."""

import asyncio
from dataclasses import replace
from itertools import accumulate
from math import log

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.answers import TOO_UNSURE, UNSURE, present, present_after
from server.completer import Completer
from server.completion_options import CompletionOptions
from server.confidence import BOLD, Calibration, Caution
from server.service import Request, Service
from server.snapshot import Snapshot
from server.worker import Worker
from tests.server.lsp.properties import in_this_loop

OPTIONS = CompletionOptions(max_tokens=16, grammar="off")
BLOCK = replace(OPTIONS, multiline="auto", max_tokens=40)


def snapshot_of(text: str) -> Snapshot:
    """A document with the cursor at the mark."""
    before, after = text.encode().split("║".encode())
    return Snapshot("a.py", 1, before + after, len(before), "python")


@pytest.fixture(autouse=True)
def _own_opinion(monkeypatch):
    """Probabilities are those of the tokens, whatever was fitted."""
    monkeypatch.setattr("server.answers.calibration_of", lambda _: Calibration())


@pytest.fixture(scope="module")
def answer_of(tiny_completer):
    """An answer of given tokens, each with its probability."""

    def make(text: str, pieces, **options):
        snapshot = snapshot_of(text)
        answer = tiny_completer.answer(snapshot, replace(OPTIONS, **options))
        generation = replace(
            answer.generation,
            text=b"".join(piece for piece, _ in pieces),
            ends=tuple(accumulate(len(piece) for piece, _ in pieces)),
            logprobs=tuple(log(share) for _, share in pieces),
            ended="stop rule",
        )
        return snapshot, replace(answer, generation=generation)

    return make


CALL = [(b"foo", 0.9), (b"(a", 0.5), (b", b", 0.5), (b")\n", 0.9)]


class TestHiding:
    def test_what_is_told(self, answer_of):
        """An item says how probable its line and its first word are."""
        [item] = present(*answer_of("x = ║", CALL)).items

        assert item.confidence == pytest.approx(0.2025, abs=1e-4)
        assert item.word_confidence == pytest.approx(0.9, abs=1e-4)
        assert item.as_json()["confidence"] == item.confidence

    def test_below(self, answer_of):
        """What is too unsure is no item, and the report says so."""
        completion = present(*answer_of("x = ║", CALL), Caution(least=0.3))

        assert (completion.items, completion.empty_reason) == ((), TOO_UNSURE)
        assert completion.as_json()["withheld"] == pytest.approx(0.2025, abs=1e-4)

    def test_above(self, answer_of):
        """All else is as without caution."""
        snapshot, answer = answer_of("x = ║", CALL)

        assert present(snapshot, answer, Caution(least=0.2)) == present(snapshot, answer)

    def test_a_part(self, answer_of):
        """The beginning of an answer is judged by itself: what a time budget leaves of it."""
        snapshot, answer = answer_of("x = ║", CALL)
        part = replace(answer, generation=replace(answer.generation, text=b"foo(", ended="part"))

        [item] = present(snapshot, part, Caution(least=0.4)).items
        assert (item.text, item.confidence) == ("foo(", pytest.approx(0.45, abs=1e-4))

    def test_what_was_there(self, answer_of):
        """Closers that follow the cursor are certain, whoever writes them."""
        pieces = [(b"a", 0.9), (b")", 0.1)]
        [item] = present(*answer_of("foo(║)", pieces)).items
        [kept] = present(*answer_of("foo(║)", pieces[:1])).items

        assert (item.text, kept.text) == ("a)", "a)")
        assert kept.confidence == pytest.approx(0.9, abs=1e-4)


class TestStopping:
    def test_at_a_word(self, answer_of):
        """The line ends before the word that is too unsure; what is left is judged."""
        completion = present(*answer_of("x = ║", CALL), Caution(least=0.4, stop=0.4))
        [item] = completion.items

        assert (item.text, completion.ended) == ("foo(a", UNSURE)
        assert item.confidence == pytest.approx(0.45, abs=1e-4)

    def test_the_first_word(self, answer_of):
        """It stays however unsure it is."""
        pieces = [(b"fo", 0.2), (b"o", 0.5), (b" bar", 0.9)]
        [item] = present(*answer_of("x = ║", pieces), Caution(stop=0.9)).items

        assert item.text == "foo"

    def test_before_closers(self, answer_of):
        """No closer of the document is lost when the rest of a line is."""
        snapshot, answer = answer_of("print(║)\n", [(b"foo", 0.9), (b"(a", 0.2), (b"))\n", 0.9)])
        [item] = present(snapshot, answer, Caution(stop=0.5)).items
        cursor = snapshot.cursor
        rest = snapshot.text[cursor + item.replaced_bytes :]

        assert item.text.encode() + rest == b"foo)\n"

    def test_inside_a_word(self, answer_of):
        """A text that joins the rest of a word is one word."""
        snapshot, answer = answer_of("calc_to║tal(x)", [(b"_sub", 0.5), (b"tal", 0.2), (b"(", 0.9)])
        [item] = present(snapshot, answer, Caution(stop=0.9)).items

        assert item.text == "_sub"

    def test_lines(self, answer_of):
        """Of several lines, whole ones stay; when one is typed, more of them do."""
        pieces = [(b"a:", 0.9), (b"\n    b = 1", 0.7), (b"\n    c", 0.7), (b" = 2", 0.9)]
        snapshot, answer = answer_of("if ║\n", pieces, multiline="always")
        caution = Caution(least=0.5, stop=0.5)
        [item] = present(snapshot, answer, caution).items
        assert item.text == "a:\n    b = 1"

        since = b"a:\n    b"
        text = b"if " + since + b"\n"
        later = replace(snapshot, text=text, cursor=3 + len(since))
        left = replace(answer, generation=answer.generation.later(len(since)))
        [item] = present_after(later, since, left, caution).items
        assert item.text == " = 1"
        assert item.confidence == pytest.approx(0.7, abs=1e-4)

        since = b"a:\n    b = 1"
        later = replace(snapshot, text=b"if " + since + b"\n", cursor=3 + len(since))
        left = replace(answer, generation=answer.generation.later(len(since)))
        [item] = present_after(later, since, left, caution).items
        assert item.text == "\n    c = 2"


class Editor:
    """A document, a cursor, and a service of its own."""

    def __init__(self, worker: Worker[Completer], before: str, options: CompletionOptions) -> None:
        self.service = Service(worker)
        self.before, self.options = before, options

    async def complete(self, caution: Caution):
        """The completion at the cursor."""
        text = self.before.encode()
        snapshot = Snapshot("a.py", 1, text + b"\n", len(text), "python")
        request = Request("a.py", snapshot, self.options, caution=caution)
        return await self.service.complete(request)

    async def shown(self, caution: Caution) -> str:
        """What is suggested now."""
        items = (await self.complete(caution)).items
        return items[0].text if items else ""

    @property
    def started(self) -> int:
        """How often the model was asked."""
        return self.service.counts.started


@pytest.mark.asyncio(loop_scope="session")
class TestMemory:
    async def test_asked_for_by_hand(self, worker):
        """What is not shown by itself is remembered, and shown when it is asked for."""
        places = ("class A:\n    ", "print(o", "import o", "x = 1\nfor i in ", "self.", "a = '")
        shown = [place for place in places if await Editor(worker(), place, OPTIONS).shown(BOLD)]
        editor = Editor(worker(), shown[0], OPTIONS)
        hidden = await editor.complete(Caution(least=1.0))
        assert hidden.items == ()
        assert 0 <= hidden.withheld < 1

        for typed in ("", *(await editor.shown(BOLD))[:1]):
            editor.before += typed
            await editor.complete(Caution(least=1.0))
        assert editor.started == 1

    @pytest.mark.parametrize("options", [OPTIONS, BLOCK], ids=["line", "block"])
    async def test_typing_along(self, worker, options):
        """Of a remembered answer more and more is shown, and the model is not asked again."""

        @given(
            st.sampled_from(["import o", "x = 1\nfor i in ", "class A:\n    ", "print("]),
            st.sampled_from([0.0, 1e-9, 1e-6, 1e-3, 0.1, 0.9]),
            st.sampled_from([0.0, 1e-9, 1e-6, 1e-3, 0.1, 0.9]),
        )
        @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
        @in_this_loop
        async def check(before: str, least: float, stop: float) -> None:
            editor = Editor(worker(), before, options)
            whole = await editor.shown(BOLD)
            started, confidence = editor.started, 0.0
            reached = 0
            for size in range(len(whole.rstrip())):
                editor.before = before + whole[:size]
                rest, completion = whole[size:], await editor.complete(Caution(least, stop))
                for item in completion.items:
                    assert rest.startswith(item.text)
                    assert item.confidence >= least
                    assert size + len(item.text) >= reached
                    reached = size + len(item.text)
                if not completion.items:
                    assert completion.withheld < least
                    if not stop and "\n" not in whole:
                        assert completion.withheld >= confidence
                        confidence = completion.withheld
            assert editor.started == started

        await asyncio.to_thread(check)
