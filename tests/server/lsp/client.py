"""A language client for tests: it can say anything, and it remembers everything that it is told.

It frames messages by itself and checks nothing, so that wrong ones can be sent as well. Answers are
kept by the number of their request: a test can see that there was exactly one.

    client = await connect(port)
    await client.begin(VSCODE, {"model": {"name": str(path)}})
    client.open("file:///a.py", "x = 1")
    items = await client.inline("file:///a.py", (0, 5))
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tests.server.lsp.editors import Editor

PATIENCE_S = 60
"""Nothing here takes so long; a test that waits longer has found something."""

INVOKED, AUTOMATIC = 1, 2
STATUS = "midtoken/status"


class AnsweredWithError(Exception):
    """The server's error answer."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]


class Client:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: Any) -> None:
        self.reader, self.writer = reader, writer
        self.answers: dict[object, list[dict[str, Any]]] = defaultdict(list)
        self.notes: list[dict[str, Any]] = []
        """Notifications, in their order."""
        self.settings: Any = None
        """What the server is told when it asks for the section `midtoken`."""
        self.asked: list[str] = []
        """Requests of the server."""
        self.replies: dict[str, Callable[[Any], Any]] = {}
        """What to answer to these requests, by what they ask; to others null."""
        self.editor: Editor
        self.capabilities: dict[str, Any] = {}
        self.versions: dict[str, int] = {}
        self._number = 0
        self._news = asyncio.Condition()
        self._listening = asyncio.ensure_future(self._listen())

    async def begin(self, editor: Editor, options: Any = None, **changed: Any) -> dict[str, Any]:
        """`initialize` as an editor does it, and `initialized`."""
        self.editor = editor
        params = editor.initialize(options) | changed
        result = await self.request("initialize", params)
        self.capabilities = result["capabilities"]
        self.notify("initialized", {})
        return result

    async def ready(self) -> None:
        """Wait until the model is loaded."""
        await self.until(lambda: self.states()[-1:] == ["ready"])

    async def end(self) -> None:
        """Leave in order, whatever state the connection is in."""
        if not self.reader.at_eof():
            self.send("shutdown")
            self.notify("exit")
        await asyncio.wait_for(asyncio.wait({self._listening}), PATIENCE_S)
        self.writer.close()

    def send_raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.writer.write(data)

    def send_message(self, message: object) -> None:
        """Send any JSON as one message."""
        body = json.dumps(message).encode()
        self.send_raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        self.send_message({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, method: str, params: Any = None) -> int:
        """Send a request and return its number."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.send_message(message)
        return self._number

    async def answer(self, number: object) -> Any:
        """The result of a request, by its number. Raises AnsweredWithError."""
        await self.until(lambda: number in self.answers)
        [message] = self.answers[number]
        if "error" in message:
            raise AnsweredWithError(message["error"])
        return message["result"]

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and wait for its result."""
        return await self.answer(self.send(method, params))

    def cancel(self, number: int) -> None:
        """Cancel a request."""
        self.notify("$/cancelRequest", {"id": number})

    async def until(self, is_true: Callable[[], bool]) -> None:
        """Wait until something that was received makes this true."""
        async with asyncio.timeout(PATIENCE_S), self._news:
            await self._news.wait_for(is_true)

    def told(self, method: str) -> list[Any]:
        """The parameters of all notifications of a method."""
        return [note["params"] for note in self.notes if note["method"] == method]

    def states(self) -> list[str]:
        """The states that the server said it was in."""
        return [status["state"] for status in self.told(STATUS)]

    def messages(self) -> list[str]:
        """What a person was shown."""
        return [shown["message"] for shown in self.told("window/showMessage")]

    def open(self, uri: str, text: str, language: str = "python", version: int = 1) -> None:
        """Open a document."""
        self.versions[uri] = version
        document = {"uri": uri, "languageId": language, "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, uri: str, *changes: tuple[Any, str], version: int | None = None) -> None:
        """Edit a document: pairs of a range (None for all of it) and a new text."""
        self.versions[uri] = version or self.versions.get(uri, 0) + 1
        events = [
            {"text": text} if where is None else {"range": range_of(where), "text": text}
            for where, text in changes
        ]
        document = {"uri": uri, "version": self.versions[uri]}
        params = {"textDocument": document, "contentChanges": events}
        self.notify("textDocument/didChange", params)

    def close(self, uri: str) -> None:
        """Close a document."""
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def send_inline(
        self, uri: str, position: tuple[int, int], kind: int = INVOKED, selected: Any = None
    ) -> int:
        """Send a request for ghost text and return its number."""
        context = {"triggerKind": kind}
        if selected is not None:
            context["selectedCompletionInfo"] = selected
        params = {"textDocument": {"uri": uri}, "position": place(position), "context": context}
        return self.send("textDocument/inlineCompletion", params)

    async def inline(self, uri: str, position: tuple[int, int], *more: Any) -> Any:
        """Ghost text: the items, or None for null."""
        result = await self.answer(self.send_inline(uri, position, *more))
        return result if result is None else result["items"]

    async def menu(self, uri: str, position: tuple[int, int], kind: int = INVOKED) -> Any:
        """A completion list, or None for null."""
        context = {"triggerKind": kind}
        params = {"textDocument": {"uri": uri}, "position": place(position), "context": context}
        return await self.request("textDocument/completion", params)

    async def _listen(self) -> None:
        try:
            while header := await self.reader.readline():
                if header.lower().startswith(b"content-length:"):
                    length = int(header.split(b":")[1])
                elif not header.strip():
                    await self._take(json.loads(await self.reader.readexactly(length)))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass

    async def _take(self, message: dict[str, Any]) -> None:
        if "method" in message and "id" in message:
            self.asked.append(message["method"])
            result = [self.settings] if message["method"] == "workspace/configuration" else None
            if message["method"] in self.replies:
                result = self.replies[message["method"]](message["params"])
            if self.settings is not NO_ANSWER:
                self.send_message({"jsonrpc": "2.0", "id": message["id"], "result": result})
        async with self._news:
            if "method" in message and "id" not in message:
                self.notes.append(message)
            elif "method" not in message:
                self.answers[message["id"]].append(message)
            self._news.notify_all()


NO_ANSWER = object()
"""As `Client.settings`: the server's question stays open."""


def place(position: tuple[int, int]) -> dict[str, int]:
    """A position as the protocol writes it."""
    return {"line": position[0], "character": position[1]}


def range_of(where: tuple[tuple[int, int], tuple[int, int]]) -> dict[str, Any]:
    """A range as the protocol writes it."""
    return {"start": place(where[0]), "end": place(where[1])}
