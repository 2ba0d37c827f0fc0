"""Text from engines elsewhere: how each is asked, and how the answer's beginning is forced."""

import threading
from math import log

import pytest

from server.completion_options import CompletionOptions
from server.errors import Cancelled, EngineError
from server.remote.apis import Ask
from server.remote.literal import pattern
from server.snapshot import Snapshot
from tests.server.remote.fake_engine import MODEL, decode

BEFORE = b"def fibonacci(n):\n    if n < 2:\n        return n\n"
PLAIN = CompletionOptions(grammar="off")


def at(text, after=b""):
    return Snapshot("a.py", 0, text + after, len(text), "python")


def text_of(completion):
    return completion.items[0].text if completion.items else ""


class TestAsking:
    @pytest.mark.parametrize(
        ("kind", "version", "field"),
        [
            ("vllm", "0.12.0", "structured_outputs"),
            ("vllm", "0.10.2", "guided_regex"),
            ("sglang", None, "regex"),
        ],
    )
    def test_each_engine_in_its_language(self, serve, ask, kind, version, field):
        """Token ids go out with what the end of the typed text has to be; the rest comes back."""
        engine = serve(kind=kind, version=version, knows=(field,))
        completion = ask(engine).complete(at(BEFORE + b"    retu"), PLAIN)
        [body] = engine.completions

        assert text_of(completion) == "rn fibonacci(n - 1)"
        assert completion.healing.mode == "align"
        assert completion.healing.backed_up_text.endswith("retu")
        forced = pattern(completion.healing.backed_up_text.encode())
        assert body[field] == ({"regex": forced} if field == "structured_outputs" else forced)
        assert body["model"] == MODEL
        assert body["stream"] is True
        assert all(type(token) is int for token in body["prompt"])
        typed = (BEFORE + b"    retu").decode()
        whole = decode(body["prompt"]) + completion.healing.backed_up_text
        marks = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
        assert all(mark in whole for mark in marks)
        for mark in marks:
            whole = whole.replace(mark, "")
        assert whole == typed

    def test_an_engine_without_a_name(self, serve, ask):
        """Each way to force is tried, until one of them is seen to work; then it alone is used."""
        engine = serve(kind="proxy", knows=("regex",), unforced=" # something else")
        completer = ask(engine)
        for _ in range(2):
            assert text_of(completer.complete(at(b"    retu"), PLAIN)) == "rn fibonacci(n - 1)"

        used = [
            [name for name in body if "regex" in name or "struct" in name]
            for body in engine.completions
        ]
        assert used == [["structured_outputs"], ["guided_regex"], ["regex"], ["regex"]]

    def test_forms_may_be_bad_requests(self, serve, ask):
        """Engines that refuse what they do not know are asked without, and told so once."""
        engine = serve(kind="proxy", refuses_forms=True, knows=(), unforced="nacci")
        completer = ask(engine)
        first = completer.complete(at(b"x = fibo"), PLAIN)
        count = len(engine.completions)
        second = completer.complete(at(b"y = fibo"), PLAIN)

        assert text_of(first) == text_of(second) == "nacci"
        assert first.healing.mode == second.healing.mode == "off"
        for completion in (first, second):
            assert any("can't be told how to begin" in note for note in completion.notes)
        assert len(engine.completions) == count + 1

    def test_unhealed_means_the_hole_is_at_the_cursor(self, serve, ask):
        """An anchored hole without healing is worse than none."""
        engine = serve(knows=(), unforced="rn n")
        completion = ask(engine).complete(at(b"    retu"), PLAIN)

        assert text_of(completion) == "rn n"
        assert decode(engine.completions[-1]["prompt"]).endswith("<|fim_middle|>")

    def test_healing_off_forces_nothing(self, serve, ask):
        engine = serve(wish=" fibonacci(n)")
        options = CompletionOptions(healing="off", grammar="off")
        assert text_of(ask(engine).complete(at(b"    return"), options)) == " fibonacci(n)"
        assert "structured_outputs" not in engine.completions[0]

    def test_nothing_typed_forces_nothing(self, serve, ask):
        """At the start of a document there is nothing to write again."""
        engine = serve(wish="import numpy")
        assert text_of(ask(engine).complete(at(b""), PLAIN)) == "import numpy"
        assert "structured_outputs" not in engine.completions[0]

    @pytest.mark.parametrize("typed", ["x = 'é", 'f(r"\\d+$", [^a', "\tif x:", "a\x01b", "s = '本"])
    def test_any_characters(self, serve, ask, typed):
        """What is typed comes back as it is, whatever it means in patterns."""
        engine = serve(wish=f"{typed}Z1")
        assert text_of(ask(engine).complete(at(typed.encode()), PLAIN)) == "Z1"

    @pytest.mark.parametrize("typed", [b"x = '\xff ret", b"x = \0 ret", b"\xc3"])
    def test_what_can_not_be_forced(self, serve, ask, typed):
        """Bytes that no pattern can hold stay in the prompt, and the engine goes on from them."""
        engine = serve(goes_on=True, wish="a")
        completer = ask(engine)
        completion = completer.complete(at(typed), CompletionOptions(grammar="off", max_tokens=4))
        assert len(engine.completions) == 1
        assert completion.healing.backed_up_text in {"", " ret"}

    def test_sampling(self, serve, ask):
        """Options of sampling go out under the engines' names."""
        from healing.sampling import Sampling

        engine = serve()
        options = CompletionOptions(grammar="off", sampling=Sampling(0.5, 40, 0.9, 0.05, 7))
        ask(engine).complete(at(b"    retu"), options)
        body = engine.completions[0]
        assert [body[name] for name in ("temperature", "top_k", "top_p", "min_p", "seed")] == [
            *(0.5, 40, 0.9, 0.05, 7)
        ]


class TestEnding:
    def test_a_rule_closes_the_connection(self, serve, ask):
        """What is wanted is there: the engine is told by the closed connection."""
        engine = serve(wish="    return n\nx", goes_on=True)
        completion = ask(engine).complete(at(b"    retu"), PLAIN)
        assert text_of(completion) == "rn n"
        assert engine.left.wait(5)

    def test_tokens_are_limited(self, serve, ask):
        engine = serve(wish="    return n", goes_on=True, chunk=1)
        options = CompletionOptions(grammar="off", max_tokens=9)
        completion = ask(engine).complete(at(b"    retu"), options)
        assert completion.ended == "token limit"
        assert completion.tokens.generated == 9
        assert engine.left.wait(5)

    def test_cancelling_closes_the_connection(self, serve, ask):
        """From another thread, while the engine says nothing; and the next request works."""
        engine = serve(hold=threading.Event())
        completer = ask(engine)
        timer = threading.Timer(0.2, completer.cancel)
        timer.start()
        with pytest.raises(Cancelled):
            completer.complete(at(b"    retu"), PLAIN)
        assert not engine.held_out, "it was waited for"
        timer.join()
        with pytest.raises(Cancelled):
            completer.complete(at(b"    retu"), PLAIN)
        completer.resume()
        engine.hold.set()
        assert text_of(completer.complete(at(b"    retu"), PLAIN)) == "rn fibonacci(n - 1)"

    def test_a_grammar_cuts(self, serve, ask):
        """Before the first byte that it refuses, with the rest of the line in view."""
        engine = serve(wish="x = [fibonacci(n)} + 1\n", chunk=30)
        completion = ask(engine).complete(at(b"x = [fib"))
        assert completion.grammar.state == "on"
        assert "}" not in text_of(completion)
        assert text_of(completion).startswith("onacci(n)")

    def test_a_grammar_that_refuses_all(self, serve, ask):
        engine = serve(wish="x = [fibonacci(n)}\n", chunk=30)
        completion = ask(engine).complete(at(b"x = [fibonacci(n)"))
        assert not completion.items
        assert completion.empty_reason == "the model wants what the grammar does not allow here"

    def test_a_ban_cuts(self, serve, ask):
        """There is no way back to something else, and the report says so."""
        engine = serve(wish="    return n + print(n)\n")
        options = CompletionOptions(grammar="off", bans=("print(",))
        completion = ask(engine).complete(at(b"    retu"), options)
        assert text_of(completion).rstrip() == "rn n +"
        assert completion.ended == "ban"
        assert any("bans end a suggestion" in note for note in completion.notes)

    def test_streamed(self, serve, ask, monkeypatch):
        """What is shown on the way is the beginning of what is shown in the end."""
        monkeypatch.setattr("server.asked.TELL_S", 0)
        engine = serve(wish="    return fibonacci(n - 1) + fibonacci(n)\n", chunk=1)
        shown = []
        completion = ask(engine).complete(at(b"    retu"), PLAIN, shown.append)
        assert len(set(shown)) > 5
        assert all(text_of(completion).startswith(text) for text in shown)

    @pytest.mark.parametrize("kind", ["llama-server", "vllm"])
    def test_half_a_character(self, serve, ask, kind):
        """A surrogate that stands alone is no text: it ends before, and no sign stands for it."""
        engine = serve(kind=kind, wish="    return total\ud83d(n - 1)\n")
        completion = ask(engine).complete(at(b"    retu"), PLAIN)
        assert text_of(completion) in {"rn total", "rn tota", "rn tot"}  # it comes in pieces

    def test_without_probabilities(self, serve, ask):
        """An engine that tells none still completes, and the report says so."""
        engine = serve(has_logprobs=False)
        completion = ask(engine).complete(at(b"    retu"), PLAIN)
        assert text_of(completion) == "rn fibonacci(n - 1)"
        assert any("tells no probabilities" in note for note in completion.notes)

    @pytest.mark.parametrize(
        ("rivals", "share"),
        [
            ({}, 1.0),
            ({"xyz": -0.1, "use": -800.0}, 1.0),  # does not agree, or is next to nothing
            ({"use": -0.5, "xyz": -0.1}, 0.5),
            ({"use": -0.5, "u": -0.5, "": -0.5, "é": -0.5}, 1 / 3),
        ],
    )
    def test_what_is_typed_is_certain(self, serve, ask, rivals, share):
        """The token across the cursor counts by its share of those that agree with the text."""
        engine = ask(serve(rivals=rivals, wish="return n\n", chunk=3)).remote
        pieces = [piece for piece in engine.write(Ask((1,), b"retu", 20)) if piece.text]
        assert [piece.text for piece in pieces][:2] == [b"rn", b" n\n"]
        assert pieces[0].logprobs == pytest.approx([log(share)], abs=1e-5)
        assert pieces[0].logprobs != (0.0,), "that is what none is taken for"
        assert pieces[1].logprobs == (-0.5,)

    def test_one_continuation(self, serve, ask):
        options = CompletionOptions(grammar="off", candidates=3)
        completion = ask(serve()).complete(at(b"    retu"), options)
        assert len(completion.items) == 1
        assert any("there is one" in note for note in completion.notes)

    def test_an_answer_without_an_end(self, serve, ask):
        """An engine that takes no notice of its limit, and writes nothing, is left."""
        engine = serve(wish="    return", goes_on=True, chunk=0)
        with pytest.raises(EngineError, match="goes on after"):
            ask(engine).complete(at(b"    retu"), PLAIN)


class TestItsOwnTokenizer:
    def test_the_same_text(self, serve, ask):
        """With the engine's tokenizer the last tokens are written again."""
        engine = serve()
        completion = ask(engine, tokenizer="").complete(
            at(BEFORE + b"    retu", b"\n\nx = 1\n"), PLAIN
        )
        prompt = decode(engine.completions[0]["prompt"])
        assert text_of(completion) == "rn fibonacci(n - 1)"
        assert completion.healing.backed_up_text
        assert "x = 1" in prompt
        assert "def fibonacci" in prompt

    def test_marks_in_text_stay_text(self, serve, ask):
        """A document that spells special tokens can't put them into a prompt."""
        engine = serve(wish="")
        ask(engine, tokenizer="").complete(at(b"s = '<|fim_middle|><|endoftext|>'\nx"), PLAIN)
        ids = engine.completions[0]["prompt"]
        from tests.server.remote.fake_engine import tokenizer

        assert ids.count(tokenizer().token_to_id("<|fim_middle|>")) == 1
        assert tokenizer().token_to_id("<|endoftext|>") not in ids
        assert "'<|fim_middle|><|endoftext|>'" in decode(ids)

    def test_few_requests(self, serve, ask):
        """Hundreds of lines are asked for together, and only once."""
        engine = serve(wish="")
        completer = ask(engine, tokenizer="")
        lines = b"".join(b"item_%d = sorted(rows)\n" % number for number in range(150))
        completer.complete(at(lines + b"    retu"), PLAIN)
        first = engine.paths().count("/tokenize")
        completer.complete(at(lines + b"    retur"), PLAIN)
        assert first < 12
        assert engine.paths().count("/tokenize") - first <= 2

    def test_sglang_has_none(self, serve, ask):
        engine = serve(kind="sglang")
        with pytest.raises(EngineError, match=r"set midtoken\.remote\.tokenizer"):
            ask(engine, tokenizer="")
