"""The whole path on any document: the invariants of a completion, with a tiny model.

And on the default model: typing a line gives, at each character, what a fresh start would give.
"""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healing.rows import RowCache
from server.answers import present
from server.closers import closers
from server.completion_options import CompletionOptions
from server.decoding import METHODS, generate
from server.errors import Cancelled
from server.prompt import build_prompt
from server.rules import place_at
from server.snapshot import Snapshot, line_bounds, offset_at, position_at
from tests.server.documents import documents
from tests.server.engines import Noisy, Scripted, Watched, around

methods = st.sampled_from(METHODS)
prompts = st.sampled_from(["fim", "left"])


def snapshot_of(document, language="python"):
    text, cursor = document
    return Snapshot("a.py", 0, text, cursor, language)


def text_of(completion):
    return completion.items[0].text if completion.items else ""


@pytest.fixture(scope="module")
def written(tiny_completer):
    """Lets the model write after a document: prompt, generation, and the tokens of its slot."""

    def run(document, method, kind, max_tokens=8):
        engine = Watched(tiny_completer.engine)
        snapshot = snapshot_of(document)
        prompt = build_prompt(
            snapshot,
            place_at(snapshot),
            tiny_completer.tokenization,
            fim=engine.fim if kind == "fim" else None,
            start=(),
            root=engine.bos,
            budget=160,
            anchored=method != "off",
        )
        generation = generate(
            engine,
            tiny_completer.tokenization,
            prompt,
            method,
            rows=RowCache(),
            max_tokens=max_tokens,
            should_stop=lambda _: False,
        )
        return prompt, generation, engine.slots[-1].tokens

    return run


class TestTokens:
    @given(documents(), methods, prompts)
    @settings(deadline=None, max_examples=200)
    def test_nothing_repeated_nothing_lost(self, tiny_completer, written, document, method, kind):
        """The tokens after the anchor spell the typed bytes, then the remainder, and no more."""
        prompt, generation, tokens = written(document, method, kind)
        head, after = tokens[: len(prompt.head)], tokens[len(prompt.head) :]
        spelled = tiny_completer.engine.vocabulary.decode(after)
        whole = prompt.typed + generation.text
        common = min(len(spelled), len(whole))

        assert head == list(prompt.head)
        assert spelled[:common] == whole[:common]
        generation.text.decode()  # whole characters
        if generation.ended == "stop token":  # then all tokens are there
            assert spelled.startswith(whole)

    @given(documents(), methods, prompts)
    @settings(deadline=None, max_examples=100)
    def test_text_is_text(self, tiny_completer, written, document, method, kind):
        """Beside our own marks, only tokens of text are read and written."""
        prompt, _, tokens = written(document, method, kind)
        engine = tiny_completer.engine
        fim = engine.fim
        marks = [fim.prefix, fim.suffix, fim.middle] if kind == "fim" else []
        text = {*engine.vocabulary.text_ids().tolist()}

        assert {*tokens[len(prompt.head) :]} <= text
        special = [token for token in prompt.head if token not in text]
        assert special == marks or (prompt.head == (engine.bos,) and kind == "left")

    @pytest.mark.parametrize("spelled", [b"<|endoftext|>", b"<|fim_middle|>", b"<|im_end|>"])
    @pytest.mark.parametrize("method", METHODS)
    def test_spelled_marks(self, tiny_completer, written, spelled, method):
        """Marks that a document spells, cut anywhere, are completed as the text that they are."""
        text = b"x = '" + spelled
        for cursor in range(5, len(text) + 1):
            prompt, generation, tokens = written((text, cursor), method, "fim")
            marks = {*tiny_completer.engine.stops} & {*tokens}

            assert len(marks) == 3
            assert generation.text.isascii() or generation.text.decode()
            assert prompt.typed in (b"", text[:cursor])

    @given(st.binary(max_size=24), st.sampled_from(["exact", "align", "one"]))
    @settings(deadline=None, max_examples=200)
    def test_never_refuses(self, written, typed, method):
        """Any bytes can be healed, with any method."""
        written((typed, len(typed)), method, "left", max_tokens=2)


class TestOtherModels:
    @pytest.mark.parametrize(
        "model",
        [{"vocabulary": "sentencepiece"}, {"vocabulary": "unigram"}, {"architecture": "mamba"}],
    )
    def test_never_refuses(self, load_tiny, model):
        """Any document can be completed by other models, whatever healing knows of them."""
        completer = load_tiny(**model)

        @given(documents(), methods, prompts)
        @settings(deadline=None, max_examples=60)
        def check(document, method, kind):
            options = CompletionOptions(method, kind, max_tokens=3)
            text_of(completer.complete(snapshot_of(document), options))

        check()


class TestItems:
    @given(documents(), methods, prompts, st.sampled_from(["python", "markdown", "c"]))
    @settings(deadline=None, max_examples=300)
    def test_valid_where_shown(self, tiny_completer, document, method, kind, language):
        """A suggestion is one line at the cursor, and loses nothing that is there."""
        snapshot = snapshot_of(document, language)
        options = CompletionOptions(method, kind, max_tokens=8)
        completion = tiny_completer.complete(snapshot, options)

        assert bool(completion.items) != bool(completion.empty_reason)
        for item in completion.items:
            text, cursor = document
            assert item.start == position_at(text, cursor)
            assert item.start[0] == item.end[0]
            assert item.start <= item.end
            assert item.text
            assert all(char == "\t" or (char >= " " and char != "\x7f") for char in item.text)
            assert item.score <= 0
            (line, character), (_, end) = item.start, item.end
            first = offset_at(text, line + 1, character + 1)
            last = offset_at(text, line + 1, end + 1)
            replaced = text[first:last]
            assert last <= line_bounds(text, cursor)[1]
            if replaced:
                assert closers(replaced) == replaced
                rest = iter(item.text.encode())
                assert all(byte in rest for byte in replaced if byte not in b" \t")

    @given(documents(), methods, prompts)
    @settings(deadline=None, max_examples=100)
    def test_rules_are_named(self, tiny_completer, document, method, kind):
        """Where no rule is named, what is shown is what the model wrote, to the last byte."""
        snapshot = snapshot_of(document)
        answer = tiny_completer.answer(snapshot, CompletionOptions(method, kind, max_tokens=8))
        completion = present(snapshot, answer)

        if completion.items and not completion.rules:
            assert completion.items[0].text == answer.generation.text.decode()

    def test_line_ends(self, load_tiny):
        """A document's line ends change nothing: the model sees LF, and the answer is one line."""
        completer = load_tiny()
        lines = ["import os", "", "def f(a):", "    return a", "print(a", "", "b = 1"]
        texts = []
        for end in ("\n", "\r\n", "\r"):
            text = end.join(lines).encode()
            cursor = text.index(b"print(a") + 7
            texts.append(text_of(completer.complete(snapshot_of((text, cursor)))))

        assert texts[0]
        assert len(set(texts)) == 1


class TestSameAnswer:
    """What was read before changes nothing, but where two texts are as good as equally likely."""

    def close_call(self, completer, snapshot, options):
        """Whether noise no larger than that of a batch's shape gives another text."""
        texts = {
            text_of(around(completer, Noisy(completer.engine, seed)).complete(snapshot, options))
            for seed in range(24)
        }
        return len(texts) > 1

    @pytest.mark.parametrize("kind", ["fim", "left"])
    @pytest.mark.parametrize("method", METHODS)
    def test_after_others(self, load_tiny, report, method, kind):
        """The same text again, after another document and after a cancelled request."""
        completer = load_tiny()
        # The same prompt, however fast the machine seems to be.
        options = CompletionOptions(method, kind, max_tokens=8, context_tokens=200)
        counts = {"same": 0, "close call": 0}

        @given(documents(), documents())
        @settings(deadline=None, max_examples=40)
        def check(document, other):
            fresh = Watched(completer.engine)
            snapshot = snapshot_of(document)
            alone = text_of(around(completer, fresh).complete(snapshot, options))
            fresh.forget()
            first = text_of(completer.complete(snapshot, options))
            cancel_in_between(completer, snapshot_of(other), options)
            completer.complete(snapshot_of(other), options)
            cancel_in_between(completer, snapshot, options)
            again = text_of(completer.complete(snapshot, options))

            if alone == first == again:
                counts["same"] += 1
            else:
                counts["close call"] += 1
                assert self.close_call(completer, snapshot, options)

        check()
        if counts["close call"]:
            report(f"{method}, {kind}: another text after other requests, by noise: {counts}")

    def test_engine_loaded_again(self, load_tiny):
        """Another process with the same model gives the same text."""
        snapshot = snapshot_of((b"def f(a, b):\n    return sum(a)\n", 29))
        texts = {text_of(load_tiny().complete(snapshot)) for _ in range(2)}

        assert len(texts) == 1
        assert texts != {""}


def cancel_in_between(completer, snapshot, options):
    """A request that is cancelled when its first text is there, if it comes to that."""
    with suppress(Cancelled):
        completer.complete(snapshot, options, on_text=lambda _: completer.cancel())
    completer.resume()


def test_cancelling(tiny_completer):
    """A cancelled request is no answer; after `resume` the next one is."""
    snapshot = snapshot_of((b"def f(a, b):\n    return sum(a\n", 29))
    for _ in range(2):
        with pytest.raises(Cancelled):
            tiny_completer.complete(snapshot, on_text=lambda _: tiny_completer.cancel())

    tiny_completer.resume()
    assert text_of(tiny_completer.complete(snapshot))


@pytest.mark.model
@pytest.mark.parametrize(("seconds", "told"), [(0, 3), (1e9, 1)])
def test_told_on_the_way(tiny_completer, monkeypatch, seconds, told):
    """The first text at once, and a later one not sooner after another than is of use."""
    monkeypatch.setattr("server.asked.TELL_S", seconds)
    tokens = [tiny_completer.tokenization.encode(word)[0] for word in (b"a", b"b", b"c")]
    completer = around(tiny_completer, Scripted(tiny_completer.engine, tokens))
    answers = []

    document = snapshot_of((b"x = ", 4))
    last = completer.answer(document, CompletionOptions("off", grammar="off"), answers.append)

    assert [answer.generation.text for answer in answers] == [b"a", b"ab", b"abc"][:told]
    assert last.generation.text == b"abc"


class TestTypingAlong:
    BEFORE = b"def fibonacci(n):\n    if n < 2:\n        return n\n"
    LINE = b"    return fibonacci(n"
    AFTER = b"\n\nprint(fibonacci(10))\n"
    OPTIONS = CompletionOptions(max_tokens=3)

    def test_each_character(self, completer, report):
        """Typed character by character, a line is completed as by a fresh start, at small cost."""
        engine = Watched(completer.engine)
        warm = around(completer, engine)
        others, costs = 0, []
        for typed in range(len(self.LINE) + 1):
            text = self.BEFORE + self.LINE[:typed]
            snapshot = snapshot_of((text + self.AFTER, len(text)))
            along = warm.complete(snapshot, self.OPTIONS)
            fresh = Watched(completer.engine)
            alone = around(completer, fresh).complete(snapshot, self.OPTIONS)
            fresh.forget()
            others += text_of(along) != text_of(alone)
            costs.append(along.tokens.evaluated - along.tokens.generated + 1)
        report(
            f"typing a line: {sum(costs[1:]) / len(costs[1:]):.1f} tokens evaluated a character "
            f"beside the answer's own, {max(costs[1:])} at most; {costs[0]} for the prompt; "
            f"{others} of {len(costs)} answers differ from a fresh start"
        )

        assert others <= 1
        assert max(costs[1:]) <= 8
