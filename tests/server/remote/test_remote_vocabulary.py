"""The tokenizer of a model elsewhere, from files that are what they should be, and others."""

import os
import shutil

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from server.errors import EngineError
from server.remote.vocabulary import from_gguf, from_json
from tests.server.remote.fake_engine import MARKS, MODEL, tokenizer


class TestTokenizerJson:
    def test_what_is_read(self, tokenizer_json):
        known = from_json(tokenizer_json, MODEL)
        assert known.fim.dialect == "Qwen"
        assert known.start == ()
        assert known.whole
        assert known.exact
        assert {tokenizer().token_to_id(mark) for mark in MARKS} <= known.stops

    def test_a_beginning_of_sequence(self, tmp_path):
        """What the tokenizer puts before a text comes before a prompt."""
        other = Tokenizer.from_str(tokenizer().to_str())
        bos = other.token_to_id("<|im_end|>")
        other.post_processor = processors.TemplateProcessing(
            single="<|im_end|> $A", special_tokens=[("<|im_end|>", bos)]
        )
        other.save(str(tmp_path / "tokenizer.json"))
        assert from_json(tmp_path / "tokenizer.json", MODEL).start == (bos,)

    @pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b"[1]", b"GGU"])
    def test_what_is_none(self, tmp_path, content):
        """One sentence, whatever the library makes of it."""
        path = tmp_path / "tokenizer.json"
        path.write_bytes(content)
        with pytest.raises(EngineError, match="is no tokenizer that can be used") as raised:
            from_json(path, MODEL)
        assert str(raised.value).isprintable()

    def test_not_made_of_bytes(self, tmp_path):
        """Words alone can't spell every text."""
        other = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
        other.pre_tokenizer = pre_tokenizers.Whitespace()
        other.save(str(tmp_path / "tokenizer.json"))
        with pytest.raises(EngineError, match="is not made of bytes: set"):
            from_json(tmp_path / "tokenizer.json", MODEL)

    @pytest.mark.parametrize("name", ["none.json", "."])
    def test_no_file(self, serve, ask, tmp_path, name):
        with pytest.raises(EngineError, match=r"correct midtoken\.remote\.tokenizer"):
            ask(serve(), tokenizer=str(tmp_path / name))

    @pytest.mark.parametrize("kind", ["vllm", "sglang"])
    def test_of_another_model(self, serve, ask, tmp_path, kind):
        """Where the engine tells how it splits a text, it is noticed; else nothing can be said."""
        other = Tokenizer(models.BPE(tokenizer().get_vocab(), []))
        other.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        other.save(str(tmp_path / "tokenizer.json"))
        engine = serve(kind=kind)
        if kind == "sglang":
            ask(engine, tokenizer=str(tmp_path / "tokenizer.json"))
            return
        with pytest.raises(EngineError, match="is the tokenizer of another model: set"):
            ask(engine, tokenizer=str(tmp_path / "tokenizer.json"))

    def test_it_is_read_once(self, serve, ask, tmp_path, tokenizer_json):
        """An engine that was away is asked again and again, not a tokenizer that is the same."""
        path, engine = shutil.copy(tokenizer_json, tmp_path), serve()
        first, second = ask(engine, tokenizer=path), ask(engine, tokenizer=path)
        assert first.engine.known is second.engine.known
        os.utime(path, (0, 0))
        assert ask(engine, tokenizer=path).engine.known is not first.engine.known


class TestGguf:
    def test_the_same_as_in_this_process(self, tiny_completer, tiny_file):
        """The vocabulary alone gives the same ids, marks and ends as the loaded model."""
        known, engine = from_gguf(tiny_file(), "tiny"), tiny_completer.engine
        text = "def f(x):\n    return 'é本<|fim_middle|>'\n".encode()
        assert known.tokenization.encode(text) == engine.encode(text)
        assert known.fim == engine.fim
        assert known.stops == engine.stops
        assert known.kind == engine.info.vocabulary_type
        assert known.add_blank == engine.info.add_blank
        assert known.exact == tiny_completer.exact

    def test_sentencepiece(self, load_tiny, tiny_file):
        """Vocabularies that no `tokenizer.json` here is read for."""
        completer = load_tiny(vocabulary="sentencepiece")
        known = from_gguf(tiny_file(vocabulary="sentencepiece"), "tiny")
        assert known.add_blank == completer.engine.info.add_blank
        assert known.tokenization.encode(b"def f") == completer.engine.encode(b"def f")
