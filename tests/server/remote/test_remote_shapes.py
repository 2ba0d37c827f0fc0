"""Answers of any shape: an engine elsewhere may be anything that speaks HTTP."""

import json
from contextlib import suppress

from hypothesis import example, given, settings
from hypothesis import strategies as st

from server.errors import EngineError
from server.remote.discovery import discover
from server.remote.llama_server import LlamaServer
from server.remote.openai import Completions
from server.remote.served import LearnedVocabulary, ServedEncode, first_tokens, learn_marks
from server.remote.shapes import expected_from, finite
from server.remote.splitting import LlamaTokenizer, VllmTokenizer

NAMES = (
    *("data", "id", "owned_by", "max_model_len", "parent", "meta", "size", "n_ctx_train"),
    *("default_generation_settings", "n_ctx", "version", "tokens", "token_strs", "piece"),
    *("choices", "text", "logprobs", "token_logprobs", "finish_reason", "content", "stop"),
    *("completion_probabilities", "logprob", "timings", "cache_n", "stop_type"),
    *("top_logprobs", "token"),
)
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 10**12),
    st.floats(),
    st.sampled_from(["vllm", "llamacpp", "sglang", "a", "", "\ud800", "é"]),
)
anything = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=12,
)


class Says:
    """A client that is answered with one thing, whatever it asks."""

    url = "http://engine"

    def __init__(self, value):
        self.value = value

    def get(self, path):
        return self.value

    def post(self, path, body):
        return self.value

    def shown(self, text):
        return text


class TestAnyShape:
    @given(anything)
    @example({"data": [{"id": "m", "owned_by": "llamacpp", "meta": {"size": "x"}}]})
    @example({"data": [{"id": "m", "owned_by": "vllm", "max_model_len": True}]})
    @settings(max_examples=300)
    def test_lists_of_models(self, value):
        with suppress(EngineError):
            found = discover(Says(value))
            assert found.context_tokens > 0
            assert found.model

    @given(anything)
    @settings(max_examples=300)
    def test_tokens(self, value):
        """Nothing but a sentence, or tokens that spell the text."""
        client = Says(value)
        for tokenizer in (LlamaTokenizer(client), VllmTokenizer(client, "m")):
            vocabulary = LearnedVocabulary()
            encode = ServedEncode(tokenizer.pieces, vocabulary, cuts_marks=True)
            with suppress(EngineError):
                learn_marks(tokenizer, vocabulary)
            with suppress(EngineError):
                encode.prefetch([b"a\n", b"b\n"])
            with suppress(EngineError):
                assert vocabulary.decode(encode(b"a")) == b"a"
                first_tokens(tokenizer, encode)

    @given(st.dictionaries(st.sampled_from(NAMES), anything, max_size=5))
    @settings(max_examples=300)
    def test_events(self, value):
        """A piece of text with finite numbers, or a sentence."""
        for api in (LlamaServer(), Completions("m")):
            with suppress(EngineError), expected_from("http://engine"):
                piece = api.piece(value)
                piece.text.decode()
                json.dumps(piece.logprobs, allow_nan=False)
                assert all(type(text) is bytes for text, _ in piece.rivals)
                json.dumps([number for _, number in piece.rivals], allow_nan=False)

    def test_numbers(self):
        assert finite([1, None, "2", float("nan"), float("-inf"), -0.5]) == (1.0, -0.5)
