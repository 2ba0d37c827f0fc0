"""A small client of a real server process: JSON-RPC over pipes or a TCP connection.

It is what an editor is to the server, without the editor: it opens and edits documents, asks for
inline completions, cancels, and answers what the server asks. `midtoken complete --via-server` and
the benchmarks drive the server with it::

    async with await ServerClient.start() as client:
        await client.initialize({"model": {"name": "qwen2.5-coder-0.5b"}})
        await client.ready()
        client.open("file:///a.py", "python", "retu")
        items = await client.inline("file:///a.py", Position(0, 4)).result

Shapes of messages are the protocol's own, as plain dictionaries. What is not here: documents (the
caller knows its text), converting positions (`positions`), and restarting a server that died.
"""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from server.address import parsed
from server.errors import Cancelled, EngineError
from server.positions import Encoding, Position, Range

JSON = dict[str, Any]

REQUEST_CANCELLED = -32800
METHOD_NOT_FOUND = -32601

OFFERED = (Encoding.UTF32, Encoding.UTF16)
"""Positions in code points are those of Python; UTF-16 is what every server must know."""

GRACE_S = 5.0
"""How long a server that was told to exit may take."""

HEADER_BYTES, MESSAGE_BYTES = 4096, 1 << 28
"""Longer ones do not come from a language server."""


@dataclass(frozen=True)
class Call:
    """A request under way."""

    id: int
    result: "asyncio.Future[Any]"
    """Raises Cancelled if the server says that it was cancelled, EngineError for other errors."""


class ServerClient:
    """One connection to a server. All methods belong to one event loop."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        process: asyncio.subprocess.Process | None = None,
    ) -> None:
        """Take a connection over; `start` and `connect` make one."""
        self.encoding = Encoding.UTF16
        """What a character is in positions; agreed upon by `initialize`."""
        self.messages: list[str] = []
        """What the server showed to the person."""
        self.status: JSON = {"state": "starting", "message": ""}
        """The last `midtoken/status`."""
        self.loads = 0
        """How often the server began to load a model while this connection was told of it."""
        self._reader, self._writer, self._process = reader, writer, process
        self._calls: dict[int, Call] = {}
        self._sent = 0
        self._versions: dict[str, int] = {}
        self._news = asyncio.Event()
        self._gone: str | None = None
        self._reading = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def start(
        cls,
        command: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Self:
        """Start a server process; its log goes to this process's standard error.

        Args:
            command: The program and its arguments; None for the server of this installation.
            environment: Variables that it has beside this process's own, or with other values.

        Raises:
            EngineError: The program can't be started.
        """
        # `-P`: a package `server` in the folder that this is run in is none of ours.
        command = command or (sys.executable, "-P", "-m", "server.cli", "serve", "--stdio")
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=MESSAGE_BYTES,
                # Idle OpenMP threads sleep; a Ctrl-C in the terminal is ours to pass on.
                env={"OMP_WAIT_POLICY": "passive", **os.environ, **(environment or {})},
                start_new_session=os.name == "posix",
            )
        except OSError as error:
            raise EngineError(f"{command[0]} can't be started ({error.strerror})") from error
        assert process.stdin is not None
        assert process.stdout is not None
        return cls(process.stdout, process.stdin, process)

    @classmethod
    async def connect(cls, address: str) -> Self:
        """Connect to a server that `midtoken serve --tcp` runs.

        Raises UsageError for an address that is not `HOST:PORT`, EngineError if nobody answers.
        """
        host, port = parsed(address, least_port=1)
        try:
            reader, writer = await asyncio.open_connection(host, port, limit=MESSAGE_BYTES)
        except OSError as error:
            raise EngineError(
                f"no server answers at {address}: start one with `midtoken serve --tcp {address}`"
            ) from error
        return cls(reader, writer)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def initialize(self, options: JSON, workspace: str | None = None) -> JSON:
        """Say hello with settings; returns what the server can do.

        Args:
            options: `initializationOptions`, midtoken's settings.
            workspace: The address of the folder that is open, if one is.
        """
        folders = [{"uri": workspace, "name": "workspace"}] if workspace else None
        answer = await self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": {"name": "midtoken client"},
                "rootUri": workspace,
                "workspaceFolders": folders,
                "initializationOptions": options,
                "capabilities": {
                    "general": {"positionEncodings": [str(encoding) for encoding in OFFERED]},
                    "textDocument": {"inlineCompletion": {}},
                },
            },
        ).result
        capabilities: JSON = answer["capabilities"]
        self.encoding = Encoding(capabilities.get("positionEncoding", Encoding.UTF16))
        self.notify("initialized", {})
        return capabilities

    async def ready(self, timeout_s: float | None = None) -> None:
        """Wait until the model is loaded. Raises EngineError if it can't be, or not in time."""
        try:
            async with asyncio.timeout(timeout_s):
                while self.status["state"] != "ready":
                    if self.status["state"] == "error":
                        raise EngineError(str(self.status["message"]))
                    self._check()
                    await self._news.wait()
        except TimeoutError:
            raise EngineError(f"the server has no model after {timeout_s:g} seconds") from None

    def open(self, uri: str, language: str, text: str) -> None:
        """Open a document."""
        self._versions[uri] = 1
        document = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, uri: str, where: Range | None, text: str) -> None:
        """Put a text in place of a range, or of the whole document for None."""
        self._versions[uri] += 1
        change: JSON = {"text": text}
        if where is not None:
            change["range"] = {"start": _shape(where.start), "end": _shape(where.end)}
        document = {"uri": uri, "version": self._versions[uri]}
        self.notify(
            "textDocument/didChange", {"textDocument": document, "contentChanges": [change]}
        )

    def close_document(self, uri: str) -> None:
        """Close a document."""
        del self._versions[uri]
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def inline(self, uri: str, position: Position, *, automatic: bool = False) -> Call:
        """Ask for ghost text; the result is a list with `items`, or None."""
        return self.request(
            "textDocument/inlineCompletion",
            {
                "textDocument": {"uri": uri},
                "position": _shape(position),
                "context": {"triggerKind": 2 if automatic else 1},
            },
        )

    def request(self, method: str, params: Any) -> Call:  # noqa: ANN401 (JSON)
        """Ask for something. Raises EngineError if the server has gone."""
        self._check()
        self._sent += 1
        call = Call(self._sent, asyncio.get_running_loop().create_future())
        self._calls[call.id] = call
        self._write({"id": call.id, "method": method, "params": params})
        return call

    def notify(self, method: str, params: Any) -> None:  # noqa: ANN401 (JSON)
        """Tell something. Raises EngineError if the server has gone."""
        self._check()
        self._write({"method": method, "params": params})

    def cancel(self, call: Call) -> None:
        """Say that a request's answer is not needed any more; an answer comes all the same."""
        if call.id in self._calls:
            self.notify("$/cancelRequest", {"id": call.id})

    @property
    def process_id(self) -> int | None:
        """The server's process, if this connection started it."""
        return self._process.pid if self._process is not None else None

    @property
    def unanswered(self) -> int:
        """Requests that wait for an answer."""
        return len(self._calls)

    async def close(self) -> None:
        """Shut the server down (or this connection, where others use it too); never raises."""
        with contextlib.suppress(EngineError, Cancelled, TimeoutError, OSError):
            async with asyncio.timeout(GRACE_S):
                await self.request("shutdown", None).result
            self.notify("exit", None)
        self._writer.close()
        if self._process is not None:
            try:
                async with asyncio.timeout(GRACE_S):
                    await self._process.wait()
            except TimeoutError:
                self._process.kill()
                await self._process.wait()
        self._reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reading
        self._end("the connection was closed")

    def _check(self) -> None:
        if self._gone is not None:
            raise EngineError(self._gone)

    def _write(self, message: JSON) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def _read(self) -> None:
        """Take messages until the server ends."""
        reason = "the server has ended"
        try:
            while (message := await read_message(self._reader)) is not None:
                self._take(message)
            why = self.messages[-1] if self.messages else "its messages above may tell why"
            reason = f"{reason}: {why.removeprefix('midtoken: ')}"
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            reason = f"the server can't be understood ({error}): is it midtoken's?"
        finally:
            self._end(reason)

    def _take(self, message: JSON) -> None:
        if "method" in message:
            if "id" in message:
                self._answer(message)
            else:
                self._hear(message["method"], message.get("params"))
            return
        call = self._calls.pop(message.get("id") or 0, None)
        if call is None or call.result.done():  # whoever waited has gone
            return
        error = message.get("error")
        if error is None:
            call.result.set_result(message.get("result"))
        elif error.get("code") == REQUEST_CANCELLED:
            call.result.set_exception(Cancelled("the request was cancelled"))
        else:
            call.result.set_exception(EngineError(f"the server says: {error.get('message')}"))

    def _answer(self, message: JSON) -> None:
        """Answer what the server asks as a client without settings of its own does."""
        method, known = message["method"], True
        result: object = None
        if method == "workspace/configuration":
            result = [None for _ in message["params"]["items"]]
        elif method not in {"client/registerCapability", "window/workDoneProgress/create"}:
            known = False
        reply: JSON = {"id": message["id"]}
        if known:
            reply["result"] = result
        else:
            reply["error"] = {"code": METHOD_NOT_FOUND, "message": f"{method} is not known here"}
        self._write(reply)

    def _hear(self, method: str, params: Any) -> None:  # noqa: ANN401 (JSON)
        if method == "midtoken/status":
            self.loads += params["state"] == "loading" != self.status["state"]
            self.status = params
            self._wake()
        elif method == "window/showMessage":
            self.messages.append(str(params["message"]))

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _end(self, reason: str) -> None:
        """Nothing comes any more: nobody may wait for it."""
        self._gone = self._gone or reason
        for call in self._calls.values():
            if not call.result.done():
                call.result.set_exception(EngineError(self._gone))
                call.result.exception()  # those that nobody awaits are no news
        self._calls.clear()
        self._wake()


async def read_message(reader: asyncio.StreamReader) -> JSON | None:
    """The next message of a stream; None at its end.

    Raises:
        ValueError: It is no message of the protocol.
        asyncio.IncompleteReadError: The stream ends within one.
    """
    length: int | None = None
    while (line := await reader.readline()).strip():
        name, _, value = line.partition(b":")
        if len(line) > HEADER_BYTES or not value:
            raise ValueError(f"no header: {line[:60]!r}")
        if name.strip().lower() == b"content-length":
            length = int(value)
    if not line:
        return None
    if length is None or not 0 <= length <= MESSAGE_BYTES:
        raise ValueError("a message without its length")
    message = json.loads(await reader.readexactly(length))
    if not isinstance(message, dict):
        raise ValueError("a message that is no object")
    return message


def position_from(shape: JSON) -> Position:
    """A position of the protocol's."""
    return Position(shape["line"], shape["character"])


def _shape(position: Position) -> JSON:
    return {"line": position.line, "character": position.character}
