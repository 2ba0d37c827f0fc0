"""An engine elsewhere behind a server, the command line and the doctor."""

import asyncio
import json
import logging
import socket
import threading
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from click.testing import CliRunner

from server.backend import Backend
from server.cli import cli
from server.completer import ONE_ONLY
from server.completion_options import CompletionOptions
from server.errors import EngineError, MidtokenError, UsageError
from server.name_requests import NameRequests, NameWish
from server.option_layers import merge
from server.option_sections import RemoteSection
from server.options import Options
from server.ranking import rank
from server.remote.silence import waiting_for
from server.service import Request
from server.snapshot import Snapshot

SECRET = "sk-very-secret-1234"
AT = Snapshot("file:///a.py", 0, b"    retu", 8, "python")


def options_of(engine, **more):
    return Options(remote=RemoteSection(url=engine.url, **more))


@asynccontextmanager
async def backend_with(options):
    """A backend that has loaded what the options name, or has failed to."""
    backend = Backend()
    try:
        await backend.load(options)
        yield backend
    finally:
        backend.close()


def request(text=b"    retu", **options):
    snapshot = Snapshot("file:///a.py", 0, text, len(text), "python")
    return Request("a", snapshot, CompletionOptions(grammar="off", **options))


class TestServers:
    async def test_it_completes(self, serve, tokenizer_json):
        """The status names engine and address; requests are answered, and then from memory."""
        engine = serve()
        async with backend_with(options_of(engine, tokenizer=str(tokenizer_json))) as backend:
            assert backend.status.state == "ready"
            assert f"vLLM 0.12.0 at {engine.url}" in backend.status.message
            for _ in range(2):
                completion = await backend.complete(request())
                assert completion.items[0].text == "rn fibonacci(n - 1)"
            typed = await backend.complete(request(text=b"    return fib"))
            assert typed.items[0].text == "onacci(n - 1)"
            assert len(engine.completions) == 1

    @pytest.mark.parametrize("tokenizer", ["file", "engine"])
    async def test_no_text_is_logged(self, serve, tokenizer_json, caplog, tokenizer):
        """Neither what goes to the engine nor what comes back, at any level."""
        caplog.set_level(logging.DEBUG)
        file = str(tokenizer_json) if tokenizer == "file" else ""
        async with backend_with(options_of(serve(), tokenizer=file)) as backend:
            completion = await backend.complete(request(b"password = 1\n    retu"))
            assert completion.items[0].text == "rn fibonacci(n - 1)"
        for word in ("password", "retu", "fibonacci"):
            assert word not in caplog.text

    async def test_nothing_is_read_ahead(self, serve, tokenizer_json):
        """An engine that others use is not asked for what nobody wants yet."""
        engine = serve()
        async with backend_with(options_of(engine, tokenizer=str(tokenizer_json))) as backend:
            await backend.complete(Request("a", AT, CompletionOptions(grammar="off"), ahead=True))
            await asyncio.sleep(0.8)
            assert len(engine.completions) == 1
            assert await backend.idle_tokens() == 0

    async def test_no_storm_of_requests(self, serve, tokenizer_json):
        """While an engine is away, many requests make few; the status says what to do."""
        engine = serve(refusal=(429, {"error": "slow down"}, {"Retry-After": "60"}))
        async with backend_with(options_of(engine, tokenizer=str(tokenizer_json))) as backend:
            for _ in range(20):
                assert await backend.complete(request()) is None
                await asyncio.sleep(0.01)
            assert backend.status.state == "error"
            assert (
                "asked too often (429: slow down; it wants 60 s of rest)" in backend.status.message
            )
            assert len(engine.completions) == 1
            assert engine.paths().count("/v1/models") == 1
            # As long as the engine wants, instead of the usual second; what it wants is bounded.
            assert 30 < backend._retry_at - asyncio.get_running_loop().time() <= 60

    async def test_a_rest_without_measure(self, serve, tokenizer_json):
        """An engine that wants a week is asked again after ten minutes."""
        engine = serve(refusal=(429, {"error": "slow down"}, {"Retry-After": "604800"}))
        async with backend_with(options_of(engine, tokenizer=str(tokenizer_json))) as backend:
            assert await backend.complete(request()) is None
            assert 300 < backend._retry_at - asyncio.get_running_loop().time() <= 600

    async def test_an_engine_comes_back(self, serve, tokenizer_json):
        """After a pause the next request asks for it again, and later ones are answered."""
        engine = serve(refusal=(503, {"error": {"message": "Loading model"}}, {}))
        async with backend_with(options_of(engine, tokenizer=str(tokenizer_json))) as backend:
            assert await backend.complete(request()) is None
            engine.refusal = None
            await asyncio.sleep(1.1)
            assert await backend.complete(request()) is None
            while backend.status.state != "ready":
                await asyncio.sleep(0.02)
            assert (await backend.complete(request())).items

    async def test_lists_have_no_names(self, serve, tokenizer_json):
        """An engine elsewhere ranks none, so what it prepares is not stopped for that."""
        engine = serve(hold=threading.Event())
        async with backend_with(options_of(engine, tokenizer=str(tokenizer_json))) as backend:
            backend.service.prepare(request())
            names = NameRequests(backend, list)
            wish = NameWish(request(), (), asyncio.get_running_loop().time())
            assert await names.beside(wish) is None
            assert [job.ticket.cancelled for job in backend.service._jobs.values()] == [False]
            engine.hold.set()

    async def test_a_slow_engine(self, serve, tokenizer_json, monkeypatch):
        """Whoever waits for it is told so, and nobody else; until the answer is there."""
        monkeypatch.setattr("server.backend.SILENT_S", 600.0)
        engine = serve(hold=threading.Event())
        options = options_of(engine, tokenizer=str(tokenizer_json))
        async with backend_with(options) as backend:
            asked = asyncio.ensure_future(backend.complete(replace(request(), connection="me")))
            while not engine.completions:
                await asyncio.sleep(0.01)
            assert backend.busy_message("me") == backend.status.message
            monkeypatch.setattr("server.backend.SILENT_S", 0.001)
            assert backend.busy_message("me") == waiting_for(options.remote)
            assert backend.busy_message("you") == backend.status.message
            engine.hold.set()
            await asked
            assert backend.busy_message("me") == backend.status.message

    async def test_an_engine_that_does_not_say_what_it_is(self, monkeypatch):
        """That it is waited for is told, and then that it was for nothing."""
        monkeypatch.setattr("server.backend.SILENT_S", 0.1)
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
            remote = RemoteSection(url=url, timeout=0.4)
            backend, told = Backend(), []
            backend.listeners.add(lambda status: told.append((status.state, status.message)))
            await backend.load(Options(remote=remote))
            backend.close()
        assert ("loading", waiting_for(remote)) in told
        assert told[-1][0] == "error"
        assert "says nothing for too long" in told[-1][1]

    async def test_a_wrong_address(self, caplog):
        """One sentence, and no trace in the log."""
        caplog.set_level(logging.DEBUG, "midtoken")
        async with backend_with(Options(remote=RemoteSection(url="localhost"))) as backend:
            assert backend.status.state == "error"
            assert "midtoken.remote.url (--remote) is not an address" in backend.status.message
            assert "Traceback" not in caplog.text

    async def test_another_engine_is_another_model(self, serve):
        """Changing what is asked loads anew; changing nothing of it does not."""
        engine = serve()
        async with backend_with(options_of(engine)) as backend:
            assert backend.runs(options_of(engine))
            assert not backend.runs(options_of(engine, model="another"))
            assert not backend.runs(Options())

    async def test_newer_requests_stop_older_ones(self, serve, tokenizer_json):
        """A request that nobody waits for any more closes its connection."""
        engine = serve(wish="    return n", goes_on=True, chunk=1)
        async with backend_with(options_of(engine, tokenizer=str(tokenizer_json))) as backend:
            older = asyncio.ensure_future(backend.complete(request(max_tokens=100_000)))
            while not engine.completions:
                await asyncio.sleep(0.01)
            newer = asyncio.ensure_future(backend.complete(request(text=b"    prin")))
            assert await older is None
            assert await asyncio.to_thread(engine.left.wait, 5)
            newer.cancel()


class TestSettings:
    @pytest.mark.parametrize("name", ["url", "api", "model", "keyFile", "keyVariable", "tokenizer"])
    def test_a_workspace_sets_nothing(self, name):
        """Where text is sent, and which file or variable is read, is the user's business."""
        value = "vllm" if name == "api" else "x"
        options, problems = merge([("/w/midtoken.toml", {"remote": {name: value}})])
        assert options.remote == RemoteSection()
        assert "can't be set by a workspace" in str(problems[0])

        options, problems = merge([("initializationOptions", {"remote": {name: value}})])
        assert options.remote != RemoteSection()
        assert not problems

    def test_no_option_holds_a_key(self):
        """Options end up in settings files, which are shared and backed up."""
        assert not {"key", "token", "password"} & set(RemoteSection.__annotations__)


class TestRanking:
    def test_it_is_refused(self, serve, ask):
        """Names are ranked by probabilities that an engine elsewhere does not give."""
        completer = ask(serve())
        with pytest.raises(EngineError, match="names can't be ranked by"):
            rank(completer, AT, ["return"])
        with pytest.raises(EngineError, match="gives text alone"):
            completer.engine.open([1])


class TestCommands:
    @pytest.fixture(autouse=True)
    def patience(self, monkeypatch):
        """Nobody is told of a busy machine's pace."""
        monkeypatch.setattr("server.remote.silence.SILENT_S", 600.0)

    @pytest.fixture
    def document(self, tmp_path):
        path = tmp_path / "a.py"
        path.write_bytes(b"    retu")
        return path

    def run(self, *arguments):
        return CliRunner().invoke(cli, arguments)

    def test_complete(self, serve, document, tokenizer_json):
        engine = serve()
        result = self.run(
            *("complete", f"{document}:1:9", "--remote", engine.url),
            *("--remote-tokenizer", str(tokenizer_json)),
        )
        assert result.output == "rn fibonacci(n - 1)\n"

    @pytest.mark.parametrize(
        "more",
        [(), ("--stream",), ("--candidates", "2"), ("--explain",), ("--json",)],
        ids=" ".join,
    )
    def test_what_a_terminal_obeys_is_not_printed(self, serve, document, tokenizer_json, more):
        """Text that names the window, colours it, and turns its direction: it ends before that."""
        engine = serve(wish="    return \x1b]0;mine\x07 \x9b31m \u202e y\n", chunk=1)
        result = self.run(
            *("complete", f"{document}:1:9", "--remote", engine.url, "--grammar", "off"),
            *("--remote-tokenizer", str(tokenizer_json), *more),
        )
        assert "rn" in result.output
        assert "mine" not in result.output
        assert result.output.replace("\n", "").isprintable()

    def test_json(self, serve, document):
        """The report says which engine it was, and that it is elsewhere."""
        engine = serve()
        result = self.run("complete", f"{document}:1:9", "--remote", engine.url, "--json")
        found = json.loads(result.output)
        assert found["items"][0]["text"] == "rn fibonacci(n - 1)"
        assert found["model"]["remote"] is True
        assert found["model"]["backend"] == f"vLLM 0.12.0 at {engine.url}"
        assert found["healing"]["mode"] == "align"

    def test_via_server(self, serve, document, tokenizer_json):
        """A real server process asks the same engine, and says the same."""
        engine = serve()
        result = self.run(
            *("complete", f"{document}:1:9", "--via-server", "--remote", engine.url),
            *("--remote-tokenizer", str(tokenizer_json)),
        )
        assert result.output == "rn fibonacci(n - 1)\n"
        assert engine.completions

    def test_errors(self, document, serve, monkeypatch):
        """The key of the environment is sent, and shown nowhere."""
        monkeypatch.setenv("MIDTOKEN_API_KEY", SECRET)
        engine = serve(key="another")
        result = self.run("--verbose", "complete", f"{document}:1:9", "--remote", engine.url)
        assert isinstance(result.exception, MidtokenError)
        assert "refuses the key" in str(result.exception)
        assert engine.requests[0][1]["Authorization"] == f"Bearer {SECRET}"
        assert SECRET not in str(result.exception) + result.output

    @pytest.mark.parametrize("arguments", [["--remote", ""], ["--remote-model", "x"]])
    def test_half_an_engine(self, document, arguments):
        result = self.run("complete", f"{document}:1:9", *arguments)
        assert isinstance(result.exception, MidtokenError)
        assert "--remote" in str(result.exception)

    def checks(self, *arguments):
        output = self.run("doctor", "--json", *arguments).stdout
        return {one["name"]: one for one in json.loads(output)["checks"]}

    def test_doctor(self, serve):
        """It tells engine, model, and whether healing works there."""
        engine = serve(wish="    return celsius * 9 / 5 + 32\n")
        checks = self.checks("--remote", engine.url)
        assert checks["engine"]["facts"]["url"] == engine.url
        assert checks["trial"]["facts"] | {"total_ms": 0} == {
            "text": "ius * 9 / 5 + 32",
            "healed": True,
            "total_ms": 0,
        }
        assert checks["vocabulary"]["state"] == "note"
        assert "model file" not in checks

    def test_doctor_of_an_engine_that_can_not_heal(self, serve):
        checks = self.checks("--remote", serve(knows=(), unforced="ius").url)
        assert checks["trial"]["state"] == "warning"
        assert "unhealed" in checks["trial"]["found"]

    def test_doctor_without_an_engine(self):
        checks = self.checks("--remote", "http://127.0.0.1:9")
        assert checks["engine"]["state"] == "problem"
        assert "start it" in checks["engine"]["found"]

    def test_explain(self, serve, document, tokenizer_json, tmp_path):
        """The page of an answer from elsewhere: its prompt, and how it was forced to begin."""
        page = tmp_path / "page.html"
        result = self.run(
            *("explain", f"{document}:1:9", "--remote", serve().url, "--out", str(page)),
            *("--remote-tokenizer", str(tokenizer_json)),
        )
        assert result.output == f"{page}\n"
        assert "by the engine, which was told how to begin" in page.read_text()
        assert "0.0 kB" not in page.read_text()

    def test_explain_a_file_of_secrets(self, serve, tmp_path):
        """Nothing is asked, so nothing is shown; the reason is."""
        (tmp_path / ".env").write_bytes(b"KEY=abc")
        result = self.run(
            *("explain", f"{tmp_path / '.env'}:1:8", "--remote", serve().url),
            *("--out", str(tmp_path / "page.html")),
        )
        assert isinstance(result.exception, MidtokenError)
        assert "files of secrets" in str(result.exception)

    def test_rank(self, document):
        """It says why not, and what to do, before anything is asked or loaded."""
        result = self.run("rank", f"{document}:1:9", "--remote", "http://127.0.0.1:9")
        assert isinstance(result.exception, UsageError)
        assert "leave --remote away" in str(result.exception)

    @pytest.mark.parametrize("way", [(), ("--via-server",)])
    def test_candidates(self, serve, document, tokenizer_json, way):
        """There is one, and standard error says why, whoever reads it."""
        result = self.run(
            *("complete", f"{document}:1:9", "--remote", serve().url, "--candidates", "3"),
            *("--remote-tokenizer", str(tokenizer_json), *way),
        )
        assert "--- 1 of 1" in result.stdout
        assert result.stderr == ONE_ONLY + "\n"

    def test_an_engine_that_hangs(self, serve, document, tokenizer_json, monkeypatch):
        """After a while standard error says that it is waited for, and until when."""
        monkeypatch.setattr("server.remote.silence.SILENT_S", 0.2)
        engine = serve(hold=threading.Event())
        result = self.run(
            *("complete", f"{document}:1:9", "--remote", engine.url, "--remote-timeout", "3"),
            *("--remote-tokenizer", str(tokenizer_json)),
        )
        engine.hold.set()
        assert result.stderr == (
            f"waiting: no whole answer from {engine.url} after 0.2 s; it is given up when it says "
            "nothing for 3 s (midtoken.remote.timeout, --remote-timeout)\n"
        )
        assert "says nothing for too long" in str(result.exception)
