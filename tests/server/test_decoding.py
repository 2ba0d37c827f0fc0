"""The decoding loop: what ends a text, and what never gets into one."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healing.rows import RowCache
from healing.sampling import Sampling
from healing.vocabulary import TokenKind
from server.decoding import METHODS, generate
from server.prompt import Prompt
from tests.server.engines import Scripted, Watched


@pytest.fixture
def write(tiny_completer):
    """Generates without healing, from an engine that says a script."""

    def run(script, *, max_tokens=64, should_stop=lambda _: False, **options):
        tokenization = tiny_completer.tokenization
        script = tokenization.encode(script) if isinstance(script, bytes) else script
        tempting = options.pop("tempting", [])
        engine = Scripted(tiny_completer.engine, script, options.pop("context_tokens", None))
        engine.tempting = tempting
        return generate(
            engine,
            tokenization,
            Prompt((engine.bos,), b"", "left"),
            "off",
            rows=RowCache(),
            max_tokens=max_tokens,
            should_stop=should_stop,
            **options,
        )

    return run


class TestEnds:
    def test_stop_token(self, write):
        """The model's end token ends the text and is no part of it."""
        generation = write(b"return total\n")

        assert (generation.text, generation.ended) == (b"return total\n", "stop token")

    def test_at_once(self, write):
        """The model may have nothing to say."""
        assert (write(b"").text, write(b"").ended) == (b"", "stop token")

    @pytest.mark.parametrize("most", [1, 2, 5])
    def test_token_limit(self, write, most):
        """No token more than allowed is written, the first one included."""
        script = [65 + index for index in range(20)]
        generation = write(script, max_tokens=most)

        assert generation.ended == "token limit"
        assert len(generation.logprobs) == most

    def test_full_context(self, write):
        """What was written before the context was full is the answer."""
        generation = write(b"abcdefgh" * 9, context_tokens=12)

        assert generation.ended == "token limit"
        assert len(generation.logprobs) == 12
        assert (b"abcdefgh" * 9).startswith(generation.text)

    @pytest.mark.parametrize("text", [b"x", b"return total\n", "größer = '€'".encode()])
    def test_token_ends(self, write, text):
        """Each token's end is told, and moves with what is left of the text."""
        generation = write(text)
        sizes = [end - start for start, end in pairwise((0, *generation.ends))]

        assert len(generation.ends) == len(generation.logprobs)
        assert min(sizes) > 0
        assert sum(sizes) == len(text)
        later = generation.later(1)
        assert (later.text, later.ends[-1]) == (text[1:], len(text) - 1)

    def test_stop_rule(self, write):
        """The rule is asked with all of the text so far, each time that it has grown."""
        asked = []
        generation = write(
            "größer = 1\nx".encode(), should_stop=lambda text: asked.append(text) or b"\n" in text
        )

        assert generation.ended == "stop rule"
        assert generation.text == asked[-1]
        assert b"\n" in generation.text
        assert all(after.startswith(before) for before, after in pairwise(asked))


class TestText:
    def test_whole_characters(self, write, tiny_completer):
        """A character is shown when its last byte is there, and dropped if that never comes."""
        single = tiny_completer.engine.vocabulary.byte_ids()
        shown = []
        script = [single[byte] for byte in "a日本".encode()[:-1]]
        generation = write(script, on_progress=lambda so_far: shown.append(so_far.text))

        assert shown == [b"a", "a日".encode()]
        assert generation.text == "a日".encode()

    def test_no_utf8(self, write, tiny_completer):
        """The text ends before the first byte that is no UTF-8."""
        single = tiny_completer.engine.vocabulary.byte_ids()

        assert write([single[byte] for byte in b"ab\xe9cd"]).text == b"ab"

    def test_only_text(self, write, tiny_completer):
        """What is neither text nor its end is never written, however probable it is."""
        engine = tiny_completer.engine
        kinds = engine.vocabulary.kinds
        tempting = [
            token
            for token in np.flatnonzero(kinds != TokenKind.NORMAL).tolist()
            if token not in engine.stops
        ]
        generation = write(b"print(a)", tempting=tempting)

        assert tempting
        assert generation.text == b"print(a)"

    def test_marks_end(self, write, tiny_completer):
        """A mark of prompt structure ends the text."""
        generation = write(b"print(a)", tempting=[tiny_completer.engine.fim.prefix])

        assert (generation.text, generation.ended) == (b"", "stop token")

    def test_logprobs(self, write, tiny_completer):
        """The log probability of each token, among those that may be chosen."""
        engine = tiny_completer.engine
        usable = len({*engine.vocabulary.text_ids().tolist(), *engine.stops})
        generation = write([65, 66])

        expected = -np.log(1 + (usable - 1) * np.exp(-9.0))
        assert generation.logprobs == pytest.approx([expected] * 2, abs=1e-5)

    @given(st.integers(0, 2**32), st.sampled_from(METHODS), st.floats(0.1, 5))
    @settings(deadline=None, max_examples=50)
    def test_sampled_text(self, tiny_completer, seed, method, temperature):
        """Sampling as wild as can be writes text tokens only, and the same ones for a seed."""
        engine = Watched(tiny_completer.engine)
        typed = b"" if method == "off" else b"print(to"
        prompt = Prompt((engine.fim.prefix, engine.fim.suffix, engine.fim.middle), typed, "fim")
        text_ids = {*engine.vocabulary.text_ids().tolist()}

        def run():
            engine.forget()  # batches of the same shape give the very same numbers
            return generate(
                engine,
                tiny_completer.tokenization,
                prompt,
                method,
                rows=RowCache(),
                max_tokens=6,
                should_stop=lambda _: False,
                sampling=Sampling(temperature, seed=seed),
            )

        first, again = run(), run()

        assert {*engine.slots[-1].tokens[3:]} <= text_ids
        assert first.text == again.text
