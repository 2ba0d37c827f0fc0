"""The connection: whatever arrives, requests are answered once, and nothing is raised."""

import asyncio
import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from server.backend import Backend
from server.completer import load_completer
from server.engine.llama_load import EngineOptions
from server.handlers import create_server
from server.options import Options, with_values
from tests.fuzz.havoc import damaged
from tests.server.lsp.editors import NEOVIM_12, OLD, VSCODE
from tests.tiny_model import write_tiny_model

URIS = ["file:///a.py", "untitled:b", "file:///%00", "", "file:///a.json"]
KEYS = ["textDocument", "uri", "position", "line", "character", "context", "text", "contentChanges"]
KEYS += ["range", "start", "end", "version", "languageId", "settings", "labels", "value", "limit"]
PATIENCE_S = 20
"""Nothing here takes so long."""


class Sink:
    """What the server writes to."""

    def __init__(self) -> None:
        self.data = b""
        self.written = asyncio.Event()

    def write(self, data: bytes) -> None:
        self.data += data
        self.written.set()

    def close(self) -> None: ...

    def messages(self) -> list[dict[str, Any]]:
        """All that was sent; it must be whole messages of JSON."""
        messages, rest = [], self.data
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            [size] = [
                int(line.partition(b" ")[2])
                for line in head.split(b"\r\n")
                if line.startswith(b"Content-Length: ")
            ]
            messages.append(json.loads(rest[:size]))
            rest = rest[size:]
        return messages

    def numbers(self) -> list[object]:
        """The numbers of answers."""
        return [message["id"] for message in self.messages() if "method" not in message]


@cache
def session() -> tuple[asyncio.Runner, Backend, TemporaryDirectory[str]]:
    """An event loop, a backend with a tiny model, and where that lies, for all inputs."""
    runner, folder = asyncio.Runner(), TemporaryDirectory()
    path = write_tiny_model(Path(folder.name, "tiny.gguf"))
    tiny = load_completer(path, EngineOptions(512, threads=1))

    async def begin() -> Backend:
        backend = Backend(lambda *_: tiny)
        await backend.load(with_values(Options(), {"model.name": str(path)}))
        assert backend.is_ready, backend.status
        return backend

    return runner, runner.run(begin()), folder


def framed(message: object) -> bytes:
    """A message as it is sent."""
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def talk_to_server(data: bytes, wanted: frozenset[object] = frozenset()) -> Sink:
    """What the server sends to a connection on which this arrives, once these are answered."""
    runner, backend, _ = session()

    async def connection() -> Sink:
        sink = Sink()
        server = create_server(backend)
        server.protocol.set_writer(sink)
        reader = asyncio.StreamReader(limit=1 << 26)
        reader.feed_data(data)

        async def read() -> None:
            with suppress(SystemExit):  # the client said `exit`
                await server.protocol.read_all(reader)

        reading = asyncio.ensure_future(read())
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                while not wanted <= {*sink.numbers()}:
                    sink.written.clear()
                    await sink.written.wait()
        reader.feed_eof()
        try:
            await asyncio.wait_for(reading, PATIENCE_S)
        finally:
            server.leave()
        return sink

    return runner.run(connection())


places = st.fixed_dictionaries(
    {
        "textDocument": st.fixed_dictionaries({"uri": st.sampled_from(URIS)}),
        "position": st.fixed_dictionaries(
            {"line": st.integers(-1, 4), "character": st.integers(-1, 40)}
        ),
    }
)
ranges = st.none() | st.fixed_dictionaries(
    {
        end: st.fixed_dictionaries({"line": st.integers(0, 3), "character": st.integers(0, 9)})
        for end in ("start", "end")
    }
)
texts = st.text("ab(\n\r\té😀\ud83d\0\u2028", max_size=20)
opened = st.builds(
    lambda uri, text, version, language: {
        "textDocument": {"uri": uri, "text": text, "version": version, "languageId": language}
    },
    st.sampled_from(URIS),
    texts,
    st.integers(-1, 9),
    st.sampled_from(["python", "json", "", "c"]),
)
changed = st.builds(
    lambda uri, version, edits: {
        "textDocument": {"uri": uri, "version": version},
        "contentChanges": [
            {"text": text} if where is None else {"text": text, "range": where}
            for where, text in edits
        ],
    },
    st.sampled_from(URIS),
    st.integers(-1, 9),
    st.lists(st.tuples(ranges, texts), max_size=3),
)
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=8,
)
asked = places.flatmap(
    lambda place: st.sampled_from(
        [
            ("textDocument/inlineCompletion", place | {"context": {"triggerKind": 1}}),
            ("textDocument/inlineCompletion", place | {"context": {"triggerKind": 2}}),
            ("textDocument/completion", place),
            ("midtoken/explain", place),
            ("midtoken/rank", place | {"labels": ["a", "b", "\ud800", ""]}),
            ("midtoken/rank", place | {"limit": 1, "tokens": 9}),
            ("midtoken/counters", None),
            ("midtoken/models", None),
            ("workspace/executeCommand", {"command": "midtoken.showReport"}),
        ]
    )
)
strange = st.tuples(
    st.sampled_from(
        [
            *("textDocument/inlineCompletion", "textDocument/completion", "midtoken/rank"),
            *("midtoken/explain", "workspace/executeCommand", "shutdown", "initialize", "", "x"),
            "completionItem/resolve",
        ]
    ),
    junk,
)
told = st.one_of(
    st.tuples(st.just("textDocument/didOpen"), opened),
    st.tuples(st.just("textDocument/didChange"), changed),
    st.tuples(
        st.sampled_from(
            [
                *("textDocument/didOpen", "textDocument/didChange", "textDocument/didClose"),
                *("workspace/didChangeConfiguration", "$/cancelRequest", "midtoken/didAccept"),
                *(
                    "midtoken/didShow",
                    "initialized",
                    "$/setTrace",
                    "window/workDoneProgress/cancel",
                ),
            ]
        ),
        junk,
    ),
)
talks = st.lists(st.tuples(st.just(True), asked | strange) | st.tuples(st.just(False), told))


@given(st.sampled_from([NEOVIM_12, VSCODE, OLD]), talks, st.sampled_from([int, str]))
def test_every_request_is_answered_once(editor, messages, kind):
    """An answer for each number, in time, whatever is asked and told in between."""
    sent = [{"id": kind(0), "method": "initialize", "params": editor.initialize({})}]
    sent.append({"method": "initialized", "params": {}})
    for number, (is_request, (method, params)) in enumerate(messages, start=1):
        message = {"method": method, "params": params}
        sent.append({"id": kind(number), **message} if is_request else message)
    data = b"".join(framed({"jsonrpc": "2.0", **message}) for message in sent)
    wanted = [message["id"] for message in sent if "id" in message]
    sink = talk_to_server(data, frozenset(wanted))

    answered = [number for number in sink.numbers() if number is not None]
    assert sorted(answered, key=str) == sorted(wanted, key=str)


SESSION = b"".join(
    framed({"jsonrpc": "2.0", **message})
    for message in [
        {"id": 0, "method": "initialize", "params": NEOVIM_12.initialize({})},
        {"method": "initialized", "params": {}},
        {
            "method": "textDocument/didOpen",
            "params": {
                "textDocument": {
                    "uri": URIS[0], "text": "import o", "version": 1, "languageId": "python"
                }
            },
        },
        {
            "id": 1,
            "method": "textDocument/completion",
            "params": {
                "textDocument": {"uri": URIS[0]}, "position": {"line": 0, "character": 8}
            },
        },
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
)  # fmt: skip


@given(damaged([SESSION, b"Content-Length: 99999999999999999999\r\n\r\n{}"]) | st.binary())
def test_any_bytes(data):
    """Whatever arrives, what is sent are whole messages of JSON, and the reading ends."""
    assert all(message["jsonrpc"] == "2.0" for message in talk_to_server(data).messages())
