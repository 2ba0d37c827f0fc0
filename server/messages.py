"""The stream of messages between an editor and the server: framing, and what answers a bad one.

Every request gets an answer, whatever it looks like. pygls reads well-formed messages of running
sessions; here is what it leaves out, all of it found by trying:

- a message that is no JSON, or whose parameters are of a wrong shape, was not answered at all;
- a message of a method that the protocol does not have was wrong without parameters;
- after a wrong Content-Length no later message was understood any more. Here reading goes on at the
  next line that ends in a header;
- a request that is followed at once by an edit saw the document after the edit;
- requests before `initialize` were carried out, and those after `shutdown` were not answered;
- requests that a browser posts over HTTP were carried out;
- what was carried out for a notification or a command was kept for as long as the connection, and
  dozens of connections for as long as the process.

Not here: what requests mean.
"""

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, Protocol

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, lsp_method

logger = logging.getLogger("midtoken.messages")

LONGEST_MESSAGE = 1 << 30
"""Bytes; a longer one is a wrong header, and waiting for all of it would be for ever."""

_LENGTH = re.compile(rb"content-length:[ \t]*(\d{1,20})[ \t]*\r?\n\Z", re.IGNORECASE)
_NO_LENGTH = re.compile(rb"\Acontent-length[ \t]*:", re.IGNORECASE)
_HTTP = re.compile(rb"[ \t]HTTP/\d(\.\d)?[ \t]*\r?\n\Z")
_ALWAYS = frozenset({types.EXIT})
"""Notifications that count at any time."""


class Reader(Protocol):
    """Where messages come from."""

    def readline(self) -> Awaitable[bytes]:
        r"""The bytes up to and with the next `\n`; empty at the end."""

    def readexactly(self, n: int) -> Awaitable[bytes]:
        """The next bytes; at the end there may be fewer, or IncompleteReadError is raised."""


class MessageProtocol(LanguageServerProtocol):
    """pygls' protocol, with an answer for everything."""

    longest_message: int | None = None
    """Bytes; a longer message is answered with an error and ends the connection. None for any."""
    object_hook: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """What is made of every object in a message before anybody looks at it."""
    heard: bool | None = None
    """Whether there was a message's header in what has arrived; None if nothing has."""
    _begun = False
    """Whether `initialize` was carried out."""

    async def read_all(self, reader: Reader) -> None:
        """Handle one message after the other, until the stream ends."""
        length: int | None = None
        try:
            while header := await reader.readline():
                found = _LENGTH.search(header)
                self.heard = bool(self.heard or found)
                if found:
                    length = int(found[1])
                elif _HTTP.search(header):
                    # A page in a browser can post to any port of this machine, and the body of what
                    # it posts comes after a Content-Length as well.
                    logger.warning("what arrives is HTTP: the connection is given up")
                    return
                elif _NO_LENGTH.match(header):
                    if self.heard:  # else it may be anything that is no editor's
                        wrong = "a Content-Length is no number of bytes: its message is passed over"
                        self._refuse(None, types.ErrorCodes.ParseError, wrong)
                    length = None
                elif length is not None and not header.strip():
                    if self.longest_message is not None and length > self.longest_message:
                        longest = f"{self.longest_message >> 20} MiB"
                        wrong = f"the message is too long: {longest} are allowed here"
                        self._refuse({"id": None}, types.ErrorCodes.InvalidRequest, wrong)
                        return
                    if length <= LONGEST_MESSAGE:
                        body = await reader.readexactly(length)
                        if len(body) < length:  # all that standard input tells of its end
                            raise asyncio.IncompleteReadError(body, length)
                        self.read(body)
                        # Its handler looks at the document before the next message may edit it.
                        await asyncio.sleep(0)
                    else:
                        self._refuse(None, types.ErrorCodes.ParseError, "the message is too long")
                    length = None
        except asyncio.IncompleteReadError:
            logger.warning("the connection ended in the middle of a message")
        except ValueError:  # a line without an end
            logger.warning("what arrives has no headers: the connection is given up")

    def read(self, body: bytes) -> None:
        """Handle one message. What can't be is answered with an error."""
        try:
            data = json.loads(body, object_hook=self.object_hook)
        except RecursionError:
            self._refuse(None, types.ErrorCodes.ParseError, "the message is nested too deeply")
            return
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            self._refuse(None, types.ErrorCodes.ParseError, f"the message is no JSON: {error}")
            return
        except ValueError:  # Python's limit for the digits of a number
            wrong = "a number in the message has too many digits"
            self._refuse(None, types.ErrorCodes.ParseError, wrong)
            return
        if not isinstance(data, dict) or data.get("jsonrpc") != self.VERSION:
            wrong = "the message is no JSON-RPC 2.0 object"
            self._refuse(data, types.ErrorCodes.InvalidRequest, wrong)
            return
        if not isinstance(data.get("method", ""), str) or not isinstance(
            data.get("id"), int | str | None
        ):
            wrong = "a method is a string, and the id of a request a number or a string"
            self._refuse(data, types.ErrorCodes.InvalidRequest, wrong)
            return
        if "method" in data:
            if not self._is_in_order(data):
                return
            if data["method"] not in types.METHOD_TO_TYPES:
                data.setdefault("params", None)  # which may be left out, and pygls wants there
        try:
            message = self.structure_message(data)
        except JsonRpcException as error:
            if "method" in data:
                shown = f"the parameters of {data['method']} have a wrong shape"
                self._refuse(data, types.ErrorCodes.InvalidParams, shown)
            else:
                shown = "the message has no method, and is no answer to one of the server's"
                self._refuse(data, types.ErrorCodes.InvalidRequest, shown)
            logger.debug("%s", error)
            self.passed_over(data)
            return
        try:
            self.handle_message(message)
        except Exception as error:
            self._server._report_server_error(error, JsonRpcException)

    def passed_over(self, message: dict[str, Any]) -> None:
        """A message has parameters of a wrong shape; the sender takes a notification for read."""

    # pygls remembers the answers of these two with their connections, dozens of which would stay.

    def get_message_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        """The shape of a method's messages."""
        return types.METHOD_TO_TYPES.get(method, (None,))[0]

    def get_result_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        """The shape of a method's results."""
        return types.METHOD_TO_TYPES.get(method, (None, None))[1]

    def let_go(self) -> None:
        """The connection has ended: what the editor was asked, it does not answer any more.

        Whoever waits for that would wait, and keep all of the connection, for ever.
        """
        for waited_for in list(self._request_futures.values()):
            if not isinstance(waited_for, asyncio.Task):  # those are what the editor has asked for
                waited_for.cancel()

    def _is_in_order(self, data: dict[str, Any]) -> bool:
        """Whether a session that is where this one is takes the message; answers it if not."""
        method, codes = data["method"], types.ErrorCodes
        if method in _ALWAYS:
            return True
        if self._shutdown:
            self._refuse(data, codes.InvalidRequest, "the server is shut down")
        elif not self._begun and method != types.INITIALIZE:
            self._refuse(data, codes.ServerNotInitialized, "the first request is initialize")
        elif self._begun and method == types.INITIALIZE:
            self._refuse(data, codes.InvalidRequest, "the server is initialized already")
        else:
            return True
        return False

    def _execute_handler(
        self,
        msg_id: str | int,
        handler: Callable[[Any], Any],
        callback: Callable[[Future[Any]], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Run a handler, as pygls does, which forgets those of requests alone when they are done.

        What runs for a notification, or for a part of a request, has a number of its own.
        """

        def done(future: Future[Any]) -> None:
            if self._request_futures.get(msg_id) is future:
                del self._request_futures[msg_id]
            callback(future)

        super()._execute_handler(msg_id, handler, done, args, kwargs)

    def _refuse(self, data: object, code: int, message: str) -> None:
        """Answer a request with an error; a notification gets a line in the log only."""
        logger.warning("%s", message)
        request = data if isinstance(data, dict) else {}
        is_notification = "method" in request and "id" not in request
        is_answer = "method" not in request and not {"result", "error"}.isdisjoint(request)
        if is_notification or is_answer:
            return
        number = request.get("id")
        number = number if isinstance(number, int | str) else None
        error = {"code": int(code), "message": f"midtoken: {message}"}
        self._send_data({"jsonrpc": self.VERSION, "id": number, "error": error})

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Any:  # noqa: ANN401 (a generator)
        """Cancel what is under way, as pygls does, which stumbles over what ends at once."""
        for number, future in list(self._request_futures.items()):
            if number != self.msg_id:
                future.cancel()
        return (yield from super().lsp_shutdown(*args))
