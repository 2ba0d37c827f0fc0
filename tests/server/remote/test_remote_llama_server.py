"""A real llama-server, from the package that benchmarks fetch: a tiny model, the default one."""

import asyncio
import threading
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.backend import Backend
from server.bench.llama_server import LlamaProcess, fetch
from server.completion_options import CompletionOptions
from server.errors import Cancelled, DownloadError, EngineError, RemoteError
from server.models import store
from server.models.catalog import DEFAULT_MODEL
from server.option_sections import RemoteSection
from server.options import Options
from server.remote.apis import Ask
from server.remote.completer import UNFORCED, load_remote
from server.service_request import Request
from server.snapshot import Snapshot
from tests.server.remote.fake_engine import tokenizer

SECRET = "sk-very-secret-1234"
PLAIN = CompletionOptions(grammar="off", max_tokens=8)
LONG = CompletionOptions(grammar="off", max_tokens=64, multiline="always")
HARD = [
    "x = 'é",
    'f(r"\\d+$", [^a',
    "\tif x:",
    "a\x01b",
    "s = '本",
    '    return "',
    "a\n\n  b",
    "😀",
]


@pytest.fixture(scope="module")
def package():
    try:
        return fetch()
    except DownloadError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def tiny_server(package, tiny_file):
    with LlamaProcess(package, tiny_file(), 1, {"n_ctx": 1024}) as process:
        yield process


@pytest.fixture(scope="module")
def served(tiny_server):
    """Asks the server with its own tokenizer."""
    completer = load_remote(RemoteSection(url=tiny_server.address))
    yield completer
    completer.close()


@pytest.fixture(scope="module")
def known(tiny_server, tiny_file):
    """Asks the server with the model file's vocabulary."""
    completer = load_remote(RemoteSection(url=tiny_server.address, tokenizer=str(tiny_file())))
    yield completer
    completer.close()


def at(text):
    return Snapshot("a.py", 0, text, len(text), "python")


class TestTokenizers:
    @given(st.text(st.sampled_from("ab é本😀\n\t<|fim_mdle>(){}0\x00"), max_size=24))
    @settings(max_examples=40)
    def test_the_same_ids(self, tiny_completer, served, known, text):
        """Asked for or read from the file: what a model in this process has."""
        ids = tiny_completer.engine.encode(text.encode())
        assert known.engine.encode(text.encode()) == ids
        assert served.engine.encode(text.encode()) == ids
        assert served.engine.vocabulary.decode(ids) == text.encode()

    def test_the_same_marks(self, tiny_completer, served, known):
        for completer in (served, known):
            assert completer.engine.fim == tiny_completer.engine.fim
            assert completer.engine.bos == (
                tiny_completer.engine.bos if tiny_completer.engine.info.add_bos else None
            )


class TestForcing:
    @pytest.mark.parametrize("text", HARD)
    def test_an_answer_begins_as_forced(self, known, text):
        """llama-server keeps to the grammar, and what comes after the literal is whole text."""
        tokens = tuple(known.engine.encode(b"def f(x):\n"))
        written = b"".join(
            piece.text for piece in known.remote.write(Ask(tokens, text.encode(), 40))
        )
        written.decode()  # and no NotForcedError

    @pytest.mark.parametrize("text", HARD)
    @pytest.mark.parametrize("name", ["known", "served"])
    def test_a_completion_is_healed(self, request, name, text):
        """Whatever is typed, a healed answer comes in one request."""
        completer = request.getfixturevalue(name)
        before = completer.engine.forward_passes
        completion = completer.complete(at(text.encode()), PLAIN)
        assert UNFORCED not in completion.notes
        assert completer.remote.can_force
        assert completer.engine.forward_passes == before + 1

    def test_the_same_answer_again(self, known):
        """With most of the prompt in the engine's memory."""
        first, second = (known.complete(at(b"def f(x):\n    ret"), PLAIN) for _ in range(2))
        assert first.items == second.items
        assert second.tokens.reused > 0


class TestStopping:
    def test_cancelling(self, known):
        """The connection is closed, and the server has time for the next request at once."""
        options = CompletionOptions(grammar="off", max_tokens=900, multiline="always")
        timer = threading.Timer(0.05, known.cancel)
        timer.start()
        with suppress(Cancelled):  # a tiny model may be quicker
            known.complete(at(b"def f(x):\n    ret"), options)
        timer.join()
        known.resume()
        known.complete(at(b"def f(x):\n    ret"), PLAIN)


class TestTogether:
    TEXTS = (b"def f(x):\n    ret", b"import o", b"for i in ran", b"class A:\n    de")

    async def test_several_documents_at_once(self, package, tiny_file):
        """Each gets the text that it gets alone; one that is cancelled disturbs no other."""
        parameters = {"n_ctx": 2048, "n_parallel": 4}
        with LlamaProcess(package, tiny_file(), 1, parameters) as process:
            backend = Backend()
            await backend.load(Options(remote=RemoteSection(url=process.address, parallel=9)))
            assert backend.service.turns.at_once == 4

            def ask(number, text):
                snapshot = Snapshot(f"{number}.py", 0, text, len(text), "python")
                return asyncio.ensure_future(backend.complete(Request(number, snapshot, LONG)))

            alone = [await ask(number, text) for number, text in enumerate(self.TEXTS)]
            backend.service.reset()  # nothing is remembered
            asked = [ask(number, text) for number, text in enumerate(self.TEXTS)]
            await asyncio.sleep(0.01)
            asked[0].cancel()  # on a fast machine its text may be there already
            found = await asyncio.gather(*asked[1:])
            again = await ask(0, self.TEXTS[0])
            backend.close()

        # In a batch the last digits of probabilities are others.
        texts, usual = ([one.items[0].text for one in them] for them in ((again, *found), alone))
        assert texts == usual
        assert backend.service.counts.from_memory <= 1

    def test_no_more_than_it_has_slots(self, served):
        """With one, there is nothing to be won: what waits there can't be given up as quickly."""
        assert served.twins() == []


class TestKeys:
    def test_a_key_is_wanted(self, package, tiny_file, monkeypatch):
        """llama-server with a key: without it one sentence, with it an answer."""
        with LlamaProcess(package, tiny_file(), 1, {"n_ctx": 512, "api_keys": [SECRET]}) as process:
            section = RemoteSection(url=process.address, key_variable="A_KEY")
            with pytest.raises(RemoteError, match="wants a key"):
                load_remote(section).complete(at(b"x"), PLAIN)
            monkeypatch.setenv("A_KEY", "wrong")
            with pytest.raises(RemoteError, match="refuses the key"):
                load_remote(section).complete(at(b"x"), PLAIN)
            monkeypatch.setenv("A_KEY", SECRET)
            load_remote(section).complete(at(b"x"), PLAIN)


@pytest.mark.model
class TestTheDefaultModel:
    CASES = (
        (b"def fibonacci(n):\n    if n < 2:\n        return n\n    retu", "rn fibonacci("),
        (b"import nump", "y as np"),
        (b"for i in ran", "ge("),
    )

    def test_words_are_healed(self, package, report):
        """In the middle of words, with llama-server's tokenizer and with the file's."""
        model = store.resolve(DEFAULT_MODEL)
        with LlamaProcess(package, model, 2, {"n_ctx": 1024}) as process:
            for tokenizer in ("", str(model)):
                section = RemoteSection(url=process.address, tokenizer=tokenizer)
                completer = load_remote(section)
                found = [completer.complete(at(text), PLAIN) for text, _ in self.CASES]
                texts = [completion.items[0].text for completion in found]
                report(f"llama-server, {'its own' if not tokenizer else 'the file'}: {texts}")
                for text, (_, start) in zip(texts, self.CASES, strict=True):
                    assert text.startswith(start)


def test_the_tokenizer_of_another_model(tiny_server, tmp_path):
    """It is noticed, instead of prompts of nonsense."""
    tokenizer().save(str(tmp_path / "tokenizer.json"))
    section = RemoteSection(url=tiny_server.address, tokenizer=str(tmp_path / "tokenizer.json"))
    with pytest.raises(EngineError, match="is the tokenizer of another model"):
        load_remote(section)
