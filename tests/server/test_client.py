"""The client of real server processes, and `midtoken complete --via-server`."""

import asyncio
import json
import os
import signal
import socket
import sys

import pytest
import pytest_asyncio

from server import stats
from server.access import admission
from server.client import ServerClient, read_message
from server.completion_options import CompletionOptions
from server.engine.llama_load import EngineOptions
from server.errors import Cancelled, EngineError, UsageError
from server.gate import Gate
from server.own_methods import COUNTERS, DID_ACCEPT, DID_SHOW
from server.positions import Encoding, Position, Range
from server.via_server import complete_via_server, completion_settings, server_settings
from tests.server.command import run_here, run_process

SOURCE = "def größer(a, b):\n    return sum(a)\n\nprint(größer)\n"
URI = "file:///größer.py"
AT = Position(1, 16)


ONE_LOOP = pytest.mark.asyncio(loop_scope="session")  # that of the fixtures


@pytest.fixture(scope="module")
def settings(tiny_file):
    """Settings for a tiny model, and short suggestions of one line."""
    options = CompletionOptions(max_tokens=8)
    engine = EngineOptions(n_ctx=1024, threads=1)
    return {**server_settings(tiny_file(), engine), **completion_settings(options)}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(settings):
    """A server process with its model loaded."""
    async with await ServerClient.start() as started:
        await started.initialize(settings)
        await started.ready(60)
        yield started


@pytest.fixture
def client(server):
    """The same, with a document that is new for each test."""
    server.open(URI, "python", SOURCE)
    yield server
    server.close_document(URI)


async def fake_server(answer):
    """A TCP server that does as it is told with the first message; its address."""

    async def serve(reader, writer):
        await answer(await read_message(reader), reader, writer)
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    return listener, "127.0.0.1:{1}".format(*listener.sockets[0].getsockname())


def framed(message):
    """A message as bytes."""
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


@ONE_LOOP
class TestProcess:
    async def test_conversation(self, client):
        """Ask, type what was suggested, ask again: the rest of it comes, without the model."""
        [item] = (await client.inline(URI, AT).result)["items"]
        before = await client.request(COUNTERS, {}).result
        first = item["insertText"][0]
        client.change(URI, Range(AT, AT), first)
        after_it = Position(AT.line, AT.character + 1)
        [rest] = (await client.inline(URI, after_it).result)["items"]
        after = await client.request(COUNTERS, {}).result

        assert client.encoding is Encoding.UTF32
        assert first + rest["insertText"] == item["insertText"]
        assert after["evaluatedTokens"] == before["evaluatedTokens"] > 0
        assert after["requests"]["from_memory"] == before["requests"]["from_memory"] + 1

    async def test_cancel(self, client):
        """A cancelled request is answered, with an answer or as cancelled; the next one works."""
        call = client.inline(URI, AT)
        client.cancel(call)
        [outcome] = await asyncio.gather(call.result, return_exceptions=True)

        assert outcome is None or isinstance(outcome, (dict, Cancelled))
        assert (await client.inline(URI, AT).result)["items"]
        assert client.unanswered == 0

    async def test_counters(self, client):
        """The server tells its memory and how late its event loop was."""
        await client.request(COUNTERS, {}).result
        counters = await client.request(COUNTERS, {}).result

        assert counters["worstLoopDelayMs"] >= counters["worstLoopHeldMs"] >= 0
        assert counters["memory"]["residentBytes"] > 1 << 20
        assert counters["draftedTokens"] >= counters["acceptedTokens"] >= 0

    async def test_closed(self, settings):
        """After closing, the process has ended as it should, and nothing can be asked."""
        async with await ServerClient.start() as client:
            await client.initialize(settings)

        assert client._process.returncode == 0
        with pytest.raises(EngineError):
            client.inline(URI, AT)

    async def test_notes(self, settings):
        """What an editor tells of suggestions is written down when the server ends."""
        note = {"textDocument": {"uri": "file:///not/open.zig"}}
        async with await ServerClient.start() as client:
            await client.initialize(settings)
            client.notify(DID_SHOW, note)
            client.notify(DID_ACCEPT, {**note, "length": 7})

        assert stats.by_language(stats.read())["zig"] == stats.Counted(1, 1, 0, 7)

    @pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
    async def test_killed(self):
        """When the server dies, those who wait hear of it, and closing is no error."""
        async with await ServerClient.start() as client:
            call = client.request("initialize", {})
            client._process.send_signal(signal.SIGKILL)
            with pytest.raises(EngineError, match="has ended"):
                await call.result
            with pytest.raises(EngineError, match="has ended"):
                client.request(COUNTERS, {})

    async def test_no_model(self, settings):
        """A model that can't be loaded is told in one line, not waited for."""
        async with await ServerClient.start() as client:
            await client.initialize({**settings, "model": {"name": "/no/such/model.gguf"}})
            with pytest.raises(EngineError, match=r"/no/such/model\.gguf"):
                await client.ready(60)

    async def test_no_program(self):
        """A program that is not there is named."""
        with pytest.raises(EngineError, match="no-such-program can't be started"):
            await ServerClient.start(["no-such-program"])

    async def test_other_program(self):
        """A program that speaks another language is no server."""
        async with await ServerClient.start([sys.executable, "-c", "print('hello')"]) as client:
            with pytest.raises(EngineError, match="can't be understood"):
                await client.initialize({})


class TestConnection:
    @pytest.mark.parametrize("address", ["", "localhost", "localhost:x", "localhost:70000"])
    async def test_address(self, address):
        """What is no address is an error of usage."""
        with pytest.raises(UsageError, match="HOST:PORT"):
            await ServerClient.connect(address)

    async def test_nobody(self):
        """Where nobody answers, the remedy is said."""
        with pytest.raises(EngineError, match="midtoken serve --tcp"):
            await ServerClient.connect("127.0.0.1:1")

    async def test_not_let_in(self):
        """What the server shows to a person before it ends is told."""
        listening = socket.create_server(("127.0.0.1", 0))
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        gate = Gate(listening, admission(b"0123456789abcdef"), lambda *_: asyncio.sleep(0))
        keeping = asyncio.ensure_future(gate.keep())
        async with await ServerClient.connect(address) as client:
            with pytest.raises(EngineError, match="has ended: this server wants a token"):
                await client.initialize({})
        keeping.cancel()
        await asyncio.wait({keeping})

    async def test_questions(self):
        """What the server asks is answered: settings with nothing, the unknown with an error."""
        replies = []

        async def answer(hello, reader, writer):
            configuration = {"items": [{"section": "midtoken"}]}
            ask = {"id": "a", "method": "workspace/configuration", "params": configuration}
            writer.write(framed(ask) + framed({"id": "b", "method": "what/ever"}))
            replies.extend([await read_message(reader), await read_message(reader)])
            result = {"capabilities": {"positionEncoding": "utf-16"}}
            writer.write(framed({"id": hello["id"], "result": result}))
            await read_message(reader)

        listener, address = await fake_server(answer)
        async with listener, await ServerClient.connect(address) as client:
            await client.initialize({})

        assert replies[0] == {"jsonrpc": "2.0", "id": "a", "result": [None]}
        assert replies[1]["error"]["code"] == -32601

    @pytest.mark.parametrize(
        "data",
        [b"\r\n", b"Content-Length: x\r\n\r\n", b"Content-Length: -4\r\n\r\n", framed([1])],
        ids=["no length", "no number", "negative", "no object"],
    )
    async def test_malformed(self, data):
        """What is no message ends the connection with a sentence."""

        async def answer(_hello, reader, writer):
            writer.write(data)
            await reader.read(1)

        listener, address = await fake_server(answer)
        async with listener, await ServerClient.connect(address) as client:
            with pytest.raises(EngineError, match="can't be understood"):
                await client.initialize({})


class TestViaServer:
    @pytest.fixture
    def source(self, tmp_path):
        """A file; line 2, column 17 is before a bracket."""
        path = tmp_path / "größer.py"
        path.write_text(SOURCE, encoding="utf-8")
        return path

    def test_same(self, source, tiny_file):
        """Through a server process, the command prints what it prints without one."""
        arguments = ("complete", f"{source}:2:17", "--model", tiny_file(), "--max-tokens", 8)
        direct, via = run_process(*arguments), run_process(*arguments, "--via-server")

        assert (via.code, via.out) == (0, direct.out)
        assert via.out.strip()

    def test_same_json(self, source, tiny_file):
        """The items and the report are the same as well."""
        arguments = ("complete", f"{source}:2:17", "--model", tiny_file(), "--max-tokens", 8)
        direct = json.loads(run_process(*arguments, "--json").out)
        via = json.loads(run_process(*arguments, "--json", "--via-server").out)

        assert set(via) == set(direct)
        assert via["items"] == direct["items"]
        assert via["healing"]["backed_up_text"] == direct["healing"]["backed_up_text"]

    @ONE_LOOP
    async def test_positions(self, tmp_path, settings):
        """Ranges are in code points, also where bytes are no UTF-8 and characters are wide."""
        from server.completion import read_snapshot

        path = tmp_path / "a.py"
        path.write_bytes("x = '😀".encode() + b"\xff'; print(sum(a)\r\n")
        snapshot = read_snapshot(f"{path}:1:21", None)
        [item] = (await complete_via_server(snapshot, settings, None))["items"]

        assert item["range"]["start"] == {"line": 0, "character": 20}

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--via-server", "--explain"), "--json alone"),
            (("--via-server", "--stream"), "--json alone"),
            (("--server", "127.0.0.1:1"), "goes with --via-server"),
        ],
    )
    def test_usage(self, capfdbinary, monkeypatch, source, arguments, message):
        """What a server can't do is an error of usage."""
        result = run_here(capfdbinary, monkeypatch, "complete", f"{source}:2:17", *arguments)

        assert result.code == 2
        assert message in result.error


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def address(midtoken_home):
    """A server process on a port."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server.cli", "serve", "--tcp", "127.0.0.1:0"),
        stderr=asyncio.subprocess.PIPE,
    )
    said = (await process.stderr.readline()).decode()
    drained = asyncio.ensure_future(process.stderr.read())
    yield said.split()[-1]
    process.terminate()
    await process.wait()
    await drained


@ONE_LOOP
class TestRunningServer:
    """`midtoken complete --via-server --server` beside an editor of the same server."""

    @pytest_asyncio.fixture(loop_scope="session")
    async def editor(self, address, settings):
        """An editor that is connected and has its model."""
        async with await ServerClient.connect(address) as client:
            await client.initialize(settings)
            await client.ready(60)
            client.loads = 0
            yield client

    @pytest.fixture
    def location(self, tmp_path):
        path = tmp_path / "größer.py"
        path.write_text(SOURCE, encoding="utf-8")
        return f"{path}:2:17"

    async def command(self, location, address, *more):
        """What the command line prints."""
        arguments = ("complete", location, "--via-server", "--server", address, *more)
        return await asyncio.to_thread(run_process, *arguments)

    async def test_takes_the_model_that_runs(self, editor, address, location):
        """Without options of the model's, the command changes nothing for the editor."""
        printed = await self.command(location, address, "--max-tokens", 8)

        assert printed.code == 0, printed.error
        assert printed.out.strip()
        assert (editor.loads, editor.status["state"]) == (0, "ready")

    async def test_the_same_file_is_the_same_model(
        self, editor, address, location, tiny_file, tmp_path
    ):
        """Under another name, and with the same options, nothing is loaded."""
        link = tmp_path / "another-name.gguf"
        link.symlink_to(tiny_file())
        same = ("--model", link, "--context-size", 1024, "--threads", 1)
        printed = await self.command(location, address, *same)

        assert printed.code == 0, printed.error
        assert editor.loads == 0

    async def test_waits_for_another_model(self, editor, address, location, tiny_file):
        """Where the model has to be loaded anew, the command waits, and has its suggestion."""
        other = ("--model", tiny_file(), "--context-size", 512, "--threads", 1)
        printed = await self.command(location, address, *other)

        assert printed.code == 0, printed.error
        assert printed.out.strip()
        assert editor.loads == 1

    async def test_an_editor_without_options(self, editor, address):
        """It is told of the model that runs; restarting loads that one again."""
        async with await ServerClient.connect(address) as other:
            await other.initialize({"completion": {"maxTokens": 8}})
            await other.ready(60)
            assert (await other.request("midtoken/models", {}).result)["current"].endswith(".gguf")
            assert editor.loads == 0

            command = {"command": "midtoken.restartModel"}
            await other.request("workspace/executeCommand", command).result
            await other.ready(60)
            assert editor.loads == other.loads == 1
            assert other.status["message"] == editor.status["message"]


async def test_a_folder_with_a_package_of_the_same_name(tmp_path, monkeypatch):
    """A project's own package `server` is not run, wherever the command is started."""
    (tmp_path / "server").mkdir()
    (tmp_path / "server" / "__init__.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)

    async with await ServerClient.start() as client:
        assert "completionProvider" in await client.initialize({})
