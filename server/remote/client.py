"""HTTP to one engine: JSON in, JSON or a stream of events out, and one sentence for every failure.

The standard library's client is enough: a request is one POST on a connection of its own, and to
stop it is to close that connection, which these engines take as a wish to stop. Nothing is asked
twice here, and redirects are not followed: a key goes where it was meant to go. Certificates are
checked against those of the system, or of `SSL_CERT_FILE`.
"""

import contextlib
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from server import __version__
from server.address import is_loopback
from server.errors import Cancelled, EngineError, RemoteError
from server.remote.echoes import texts_in, without
from server.remote.events import events
from server.remote.keys import Key

CONNECT_S = 5.0
MOST_LINE = 1 << 20
"""Bytes of one line of a stream."""
MOST_ANSWER = 1 << 26
"""Bytes of an answer that is not streamed."""
MOST_ERROR = 1 << 14
SHOWN = 200
"""Characters of an engine's own message."""

MOST_DIGITS = 7
"""Of the seconds that an engine wants to rest."""


class Client:
    """One engine's address. All methods but `cancel` and `resume` belong to one thread."""

    def __init__(self, url: str, key: Key | None = None, wait_s: float = 60.0) -> None:
        """Connects to nothing yet.

        Args:
            url: `http://HOST:PORT` or `https://…`, with or without a path; `/v1` at its end is
                left out.
            key: Sent as a bearer token.
            wait_s: How long the engine may say nothing.

        Raises:
            EngineError: The address can't be one.
        """
        self.url, self._host, self._port, self._path, self._secure = _parts(url)
        self._given, self._key, self._wait_s = url, key, wait_s
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._cancelled = False
        self._sent: list[str] = []
        """Texts in the last request."""

    def twin(self) -> "Client":
        """The same address for another thread, which is stopped by itself."""
        return Client(self._given, self._key, self._wait_s)

    @property
    def tells_key_to_others(self) -> bool:
        """Whether a key crosses the network readable."""
        return self._key is not None and not self._secure and not is_loopback(self._host)

    def get(self, path: str) -> Any:  # noqa: ANN401 (any JSON)
        """What an engine says at a path. Raises RemoteError or Cancelled."""
        with self._answer("GET", path, None) as answer:
            return self._json(answer, path)

    def post(self, path: str, body: Mapping[str, object]) -> Any:  # noqa: ANN401 (any JSON)
        """What an engine answers. Raises RemoteError or Cancelled."""
        with self._answer("POST", path, body) as answer:
            return self._json(answer, path)

    def stream(self, path: str, body: Mapping[str, object]) -> Iterator[str]:
        """The data of the events that an engine answers with; closing the iterator stops it.

        Raises RemoteError or Cancelled.
        """
        with self._answer("POST", path, body) as answer:
            yield from events(self._lines(answer))

    def cancel(self) -> None:
        """Break off the running request and every later one until `resume`; from any thread."""
        with self._lock:
            self._cancelled = True
            if self._socket is not None:
                # Not a TLS socket's own way, which waits for the other side to say goodbye.
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def resume(self) -> None:
        """Forget an earlier `cancel`."""
        self._cancelled = False

    @contextlib.contextmanager
    def _answer(
        self, method: str, path: str, body: Mapping[str, object] | None
    ) -> Iterator[http.client.HTTPResponse]:
        headers = {"User-Agent": f"midtoken/{__version__}", "Accept": "*/*"}
        data, self._sent = None, [*texts_in(body)]
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key.value}"
        connection = self._connection()
        try:
            self._check()
            connection.connect()
            connection.sock.settimeout(self._wait_s)
            with self._lock:
                self._socket = connection.sock
            self._check()
            connection.request(method, self._path + path, data, headers)
            answer = connection.getresponse()
            if answer.status != http.HTTPStatus.OK:
                raise self._refusal(answer, path)
            yield answer
        except (OSError, http.client.HTTPException) as error:
            self._check()
            raise self._failure(error) from error
        finally:
            with self._lock:
                self._socket = None
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        if self._secure:
            return http.client.HTTPSConnection(
                self._host, self._port, timeout=CONNECT_S, context=self._trusted
            )
        return http.client.HTTPConnection(self._host, self._port, timeout=CONNECT_S)

    @cached_property
    def _trusted(self) -> ssl.SSLContext:
        """Read once: to read the system's certificates takes some 30 ms."""
        return ssl.create_default_context()

    def _check(self) -> None:
        if self._cancelled:
            raise Cancelled("the request was cancelled")

    def _lines(self, answer: http.client.HTTPResponse) -> Iterator[bytes]:
        while line := answer.readline(MOST_LINE):
            if len(line) == MOST_LINE:
                raise RemoteError(f"{self.url} sends lines without an end: is it such an engine?")
            # What has arrived is there to be read, also when the connection is shut down from here.
            self._check()
            yield line
        # An answer that is over looks like one whose connection was shut down.
        self._check()

    def _json(self, answer: http.client.HTTPResponse, path: str) -> Any:  # noqa: ANN401
        content = answer.read(MOST_ANSWER)
        self._check()
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise RemoteError(
                f"{self.url}{path} answers with something else than JSON: is this the address of "
                "a llama-server, vLLM or SGLang?"
            ) from error

    def _refusal(self, answer: http.client.HTTPResponse, path: str) -> RemoteError:
        """What a status means, with what to do."""
        status = answer.status
        reason = self.shown(message_of(answer.read(MOST_ERROR)) or answer.reason or "")
        said = f"{status}: {reason}" if reason else str(status)
        after = answer.headers.get("Retry-After") or ""
        rest = float(after) if after.isdecimal() and len(after) < MOST_DIGITS else 0.0
        if status in {401, 403}:
            what = "refuses the key" if self._key else "wants a key"
            told = (
                f"{self.url} {what} ({said}): put the right one into the file that "
                "midtoken.remote.keyFile (--remote-key-file) names, or the "
                "variable of midtoken.remote.keyVariable"
            )
        elif status == 404:
            told = (
                f"{self.url}{path} is not there ({said}): correct midtoken.remote.url "
                "(--remote) or midtoken.remote.model (--remote-model)"
            )
        elif status == 429:
            wish = f"; it wants {rest:g} s of rest" if rest else ""
            told = f"{self.url} is asked too often ({said}{wish}): wait, or ask its owner for more"
        elif status == 503:
            told = f"{self.url} is loading its model or too busy ({said}): it is asked again later"
        elif status in {400, 413, 422}:
            told = (
                f"{self.url} does not take the request ({said}): see "
                "midtoken.remote.api (--remote-api)"
            )
        elif 300 <= status < 400:
            where = self.shown(answer.headers.get("Location") or "")
            told = (
                f"{self.url} sends on to {where}: set midtoken.remote.url (--remote) "
                "to the final address"
            )
        else:
            told = f"{self.url} failed ({said}): see its own log"
        return RemoteError(told, status, rest)

    def _failure(self, error: Exception) -> RemoteError:
        """What went wrong with the connection, with what to do."""
        if isinstance(error, ssl.SSLCertVerificationError):
            return RemoteError(
                f"the certificate of {self.url} is not trusted ({error.verify_message}): name "
                "your organisation's certificates in the variable SSL_CERT_FILE"
            )
        if isinstance(error, TimeoutError):
            return RemoteError(
                f"{self.url} says nothing for too long: see whether it runs, or raise "
                "midtoken.remote.timeout (--remote-timeout)"
            )
        reason = getattr(error, "strerror", None) or str(error)
        reason = self.shown(reason) or type(error).__name__
        if isinstance(error, http.client.RemoteDisconnected | ConnectionResetError):
            return RemoteError(f"{self.url} broke off the connection: see its own log")
        if isinstance(error, http.client.HTTPException | ssl.SSLError):
            return RemoteError(
                f"{self.url} does not speak as expected ({reason}): is it http or "
                "https, and the address of an engine?"
            )
        return RemoteError(
            f"no engine answers at {self.url} ({reason}): start it, or correct "
            "midtoken.remote.url (--remote)"
        )

    def shown(self, text: str) -> str:
        """A text of the engine's for a message: one line, short, without the key and our text."""
        hidden = without(text if self._key is None else self._key.hide_in(text), self._sent)
        line = " ".join("".join(c if c.isprintable() else " " for c in hidden).split())
        return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"


def message_of(content: bytes | str) -> str | None:
    """The message in an engine's error; None if there is none.

    OpenAI's shape is `{"error": {"message": …}}`, which llama-server and vLLM since 0.10 follow;
    older ones have `{"message": …}`, and FastAPI itself `{"detail": …}`.
    """
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return message_in(found)


def message_in(found: object) -> str | None:
    """The same of JSON that was read."""
    for name in ("error", "message", "detail"):
        value = found.get(name) if isinstance(found, dict) else None
        if isinstance(value, str):
            return value
        if isinstance(value, dict):
            return message_in(value) or json.dumps(value)
        if isinstance(value, list):
            return json.dumps(value)
    return None


def _parts(url: str) -> tuple[str, str, int, str, bool]:
    """An address as it is shown, its host, port and path, and whether it is a secure one."""
    try:
        split = urlsplit(url.strip())
        host, port = split.hostname, split.port
    except ValueError:
        split, host, port = urlsplit(""), None, None
    plain = url.isascii() and url.strip().isprintable() and " " not in url.strip()
    if split.scheme not in {"http", "https"} or not host or not plain:
        raise EngineError(
            "midtoken.remote.url (--remote) is not an address: write http://HOST:PORT or "
            "https://HOST"
        )
    if split.username is not None or split.query or split.fragment:
        raise EngineError(
            "midtoken.remote.url (--remote) is an address only: no user, password or query; a "
            "key goes into the file of midtoken.remote.keyFile (--remote-key-file)"
        )
    path, secure = split.path.rstrip("/").removesuffix("/v1"), split.scheme == "https"
    # Said in any case: without one, the end of an IPv6 address would be taken for it.
    port = port or (http.client.HTTPS_PORT if secure else http.client.HTTP_PORT)
    return f"{split.scheme}://{split.netloc}{path}", host, port, path, secure
