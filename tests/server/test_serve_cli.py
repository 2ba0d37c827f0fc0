"""`midtoken serve` and `midtoken connect`: options that do not go together or can't be used."""

import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest

from server.address import is_loopback, parsed
from server.errors import UsageError
from tests.server.command import run_here, run_process

TOKEN = "0123456789abcdef-secret"


@pytest.fixture
def command(capfdbinary, monkeypatch, tmp_path):
    """Runs `midtoken` in this process, in a folder with some files."""
    monkeypatch.delenv("MIDTOKEN_TOKEN", raising=False)
    monkeypatch.chdir(tmp_path)
    for name, content in (
        ("token", TOKEN),
        ("garbage.pem", "no certificate"),
        ("team.toml", "[model]\nname = 5\n"),
        ("broken.toml", "["),
    ):
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o600)
    return lambda *arguments: run_here(capfdbinary, monkeypatch, *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stdio", "--tcp", ":0"], "choose one of --stdio, --shared and --tcp"),
        (["--shared", "--tcp", ":0"], "choose one of --stdio, --shared and --tcp"),
        (["--linger", "5"], "--linger goes with --shared"),
        (["--stdio", "--token-file", "token"], "--token-file goes with --tcp"),
        (["--shared", "--settings", "team.toml"], "--settings goes with --tcp"),
        (["--insecure"], "--insecure goes with --tcp"),
        (["--tcp", "7777x"], "7777x is not an address"),
        (["--tcp", "[::1]:99999"], "is not an address"),
        (["--tcp", "0.0.0.0:0"], "0.0.0.0 can be reached from other machines: give --token-file"),
        (["--tcp", "0.0.0.0:0", "--insecure"], "give --token-file"),
        (["--tcp", "[::]:0", "--token-file", "token"], "give --tls-cert and --tls-key, or"),
        (["--tcp", "some.host:0", "--token-file", "token"], "give --tls-cert and --tls-key, or"),
        (["--tcp", ":0", "--token-file", "missing"], "can't be used: No such file"),
        (["--tcp", ":0", "--tls-cert", "garbage.pem"], "--tls-cert and --tls-key go together"),
        (["--tcp", ":0", "--tls-cert", "x", "--tls-key", "token"], "x is missing"),
        (
            ["--tcp", ":0", "--tls-cert", "garbage.pem", "--tls-key", "garbage.pem"],
            "are no certificate and its key",
        ),
        (["--tcp", ":0", "--settings", "nowhere.toml"], "nowhere.toml is missing"),
        (["--tcp", ":0", "--settings", "broken.toml"], "broken.toml can't be used"),
        (["--tcp", ":0", "--settings", "team.toml"], "midtoken.model.name is 5"),
        (["--tcp", ":0", "--connections", "0"], "0 is not in the range"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_serve(command, arguments, message):
    """One line that says what to do, before anything listens."""
    result = command("serve", *arguments)

    assert message in result.error
    assert result.code == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["here"], 2, "here is not an address"),
        (["localhost:0"], 2, "localhost:0 is not an address"),
        (["localhost:1", "--insecure", "--tls"], 2, "choose one of --insecure and --tls"),
        (["localhost:1", "--token-file", "missing"], 2, "can't be used: No such file"),
        (["localhost:1", "--tls-ca", "missing"], 2, "missing is missing"),
        (["localhost:1", "--tls-ca", "garbage.pem"], 2, "garbage.pem is no certificate"),
        (["localhost:1"], 1, "no server answers at localhost:1"),
        (
            ["127.0.0.1:1"],
            1,
            "no server answers at 127.0.0.1:1 (Connection refused): is it running?",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_connect(command, arguments, code, message):
    """The same for editors' way to a server."""
    result = command("connect", *arguments)

    assert message in result.error
    assert result.code == code


@contextmanager
def answering(said: bytes | None, context: ssl.SSLContext | None = None):
    """A server's address that says something to whoever comes, or nothing, and waits."""

    def serve() -> None:
        with suppress(OSError):
            connected, _ = listening.accept()
            with connected:
                if context is not None:
                    connected = context.wrap_socket(connected, server_side=True)
                if said is not None:
                    connected.sendall(said)
                connected.recv(1 << 16)
                ended.wait(60)

    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:
        pool.submit(serve)
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}"
        finally:
            ended.set()


def test_connect_checks_certificates(command, certificate):
    """One that nobody vouches for is refused, before the token is said; the line tells the way."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)
    with answering(b"", context) as address:
        result = command("connect", address, "--tls", "--token-file", "token")

    assert f"the certificate of {address} is not trusted (self-signed certificate)" in result.error
    assert "--tls-ca" in result.error
    assert result.code == 1


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (b"Content-Length: 2\r\n\r\n{}", "does not speak TLS ("),
        (None, "does not answer within 0 s"),
    ],
    ids=["plain", "silent"],
)
def test_connect_to_what_does_not_encrypt(command, monkeypatch, said, message):
    """A server without TLS, and a port where nothing happens."""
    monkeypatch.setattr("server.connect.PATIENCE_S", 0.3 if said is None else 60.0)
    with answering(said) as address:
        result = command("connect", address, "--tls")

    assert f"{address} {message}" in result.error
    assert result.code == 1


def test_a_port_that_is_in_use(command):
    """Says so, in one sentence."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = command("serve", "--tcp", address)

    assert result.err == f"midtoken: {address} is in use: choose another port\n"
    assert result.code == 1


def test_a_message_that_is_cut_off():
    """The end of input within a message is told as such, as on a port."""
    result = run_process("serve", "--stdio", stdin=b'Content-Length: 500\r\n\r\n{"json')

    assert result.err == "midtoken.messages: the connection ended in the middle of a message\n"
    assert result.out == b""


@pytest.mark.parametrize("how", ["--stdio", "--shared"])
@pytest.mark.parametrize("text", [b"def f(x):\n    retu", b"\n", b"Content-Length: x\n\n{}"])
def test_no_editor(tmp_path, how, text):
    """Text from a person or a pipe: a line says what it is not, and nothing is started for it."""
    home = tmp_path / "home"
    result = run_process("serve", how, stdin=text, env={"MIDTOKEN_HOME": str(home)})

    assert "does not speak the Language Server Protocol" in result.error
    assert result.code == 2
    assert not home.exists()


@pytest.mark.parametrize("how", ["--stdio", "--shared"])
def test_an_editor_that_says_nothing(tmp_path, how):
    """It has ended before it began, which is no error."""
    result = run_process("serve", how, env={"MIDTOKEN_HOME": str(tmp_path)})

    assert (result.code, result.out, result.err) == (0, b"", "")


def test_tokens_are_not_shown(command, tmp_path):
    """What is wrong with a token is told without it."""
    (tmp_path / "token").write_text("secret secret secret")
    result = command("serve", "--tcp", ":0", "--token-file", "token")

    assert "holds no token" in result.error
    assert "secret" not in result.error


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [("127.0.0.1:7777", "127.0.0.1", 7777), (":0", "127.0.0.1", 0), ("[::1]:1", "::1", 1)],
)
def test_addresses(address, host, port):
    """IPv6 in brackets; this machine if no host is named."""
    assert parsed(address) == (host, port)


@pytest.mark.parametrize("address", ["", ":", "x", "x:", "x:-1", "x:70000", "x:7 7", "x:٧"])
def test_no_addresses(address):
    """Anything else."""
    with pytest.raises(UsageError, match="is not an address"):
        parsed(address)


@pytest.mark.parametrize(
    ("host", "here"),
    [
        *(("localhost", True), ("LOCALHOST", True), ("127.0.0.1", True), ("127.8.9.1", True)),
        *(("::1", True), ("0.0.0.0", False), ("::", False), ("192.168.1.5", False)),
        *(
            ("127.0.0.1.example.org", False),
            ("localhost.example.org", False),
            ("2130706433", False),
        ),
    ],
)
def test_loopback(host, here):
    """Only what no other machine can reach is this machine."""
    assert is_loopback(host) == here
