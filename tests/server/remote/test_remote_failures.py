"""What goes wrong between here and an engine: one sentence, a remedy, and no key in it."""

import doctest
import json
import logging
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.completion_options import CompletionOptions
from server.errors import Cancelled, EngineError, RemoteError
from server.option_sections import RemoteSection
from server.remote import echoes
from server.remote.client import Client, message_of
from server.remote.completer import load_remote
from server.remote.echoes import LEAST, texts_in, without
from server.remote.keys import Key
from server.snapshot import Snapshot

SECRET = "sk-very-secret-1234"
PLAIN = CompletionOptions(grammar="off")
AT = Snapshot("a.py", 0, b"    retu", 8, "python")
texts = st.text("ab\n'\"\\é", max_size=40)


def failure_of(work):
    """The message of what work raises: one line of reasonable length."""
    with pytest.raises(EngineError) as raised:
        work()
    message = str(raised.value)
    assert message.isprintable()
    assert len(message) < 500
    return message


class TestRefusals:
    @pytest.mark.parametrize(
        ("status", "body", "said"),
        [
            (400, {"error": {"message": "too long"}}, "does not take the request (400: too long)"),
            (403, {"detail": "Forbidden"}, "wants a key (403: Forbidden): put the right one into"),
            (
                404,
                {"object": "error", "message": "no model `x`"},
                "is not there (404: no model `x`)",
            ),
            (
                429,
                {"error": "slow down"},
                "is asked too often (429: slow down; it wants 7 s of rest)",
            ),
            (500, "<html>Oops</html>", "failed (500: Internal Server Error): see its own log"),
            (502, "", "failed (502: Bad Gateway)"),
            (
                503,
                {"error": {"code": 503, "message": "Loading model"}},
                "is loading its model or too",
            ),
            (
                307,
                "",
                "(--remote) to the final address",
            ),
        ],
    )
    def test_each_status(self, serve, ask, status, body, said):
        headers = {"Retry-After": "7", "Location": "https://elsewhere/"}
        engine = serve(refusal=(status, body, headers))
        completer = ask(engine)
        message = failure_of(
            lambda: completer.complete(AT, CompletionOptions("off", grammar="off"))
        )
        assert message.startswith(engine.url)
        assert said in message
        assert len(engine.completions) == 1  # nothing is asked twice

    def test_a_refused_key(self, serve, ask, monkeypatch, caplog):
        """The engine repeats the key that it was sent; the message does not, nor does the log."""
        caplog.set_level(logging.DEBUG)
        engine = serve(key="another")
        monkeypatch.setenv("A_KEY", SECRET)
        message = failure_of(lambda: ask(engine, key_variable="A_KEY"))
        assert "refuses the key (401: Unauthorized: Bearer (the key))" in message
        assert SECRET not in message + caplog.text

    def test_a_wanted_key(self, serve, ask):
        assert "wants a key (401" in failure_of(lambda: ask(serve(key=SECRET)))

    def test_the_right_key(self, serve, ask, tmp_path):
        """It goes with every request, to this engine alone."""
        engine = serve(key=SECRET)
        path = tmp_path / "key"
        path.write_text(SECRET)
        path.chmod(0o600)
        completion = ask(engine, key_file=str(path), tokenizer="").complete(AT, PLAIN)
        assert completion.items[0].text == "rn fibonacci(n - 1)"
        assert SECRET not in repr(completion)
        assert SECRET not in json.dumps(completion.as_json())

    def test_another_model(self, serve, ask):
        message = failure_of(lambda: ask(serve(), model="Qwen3"))
        assert "has no model Qwen3, but Qwen/Qwen2.5-Coder-Tiny: correct midtoken.remote" in message

    def test_adapters_are_not_the_model(self, serve, ask):
        """vLLM lists a model's adapters as models of their own; the first that is none is taken."""
        both = [
            {"id": "sql-lora", "owned_by": "vllm", "parent": "base", "max_model_len": 64},
            {"id": "base", "owned_by": "vllm", "parent": None, "max_model_len": 128},
        ]
        assert ask(serve(models=both)).engine.info.name == "base"
        assert ask(serve(models=both), model="sql-lora").engine.info.name == "sql-lora"

    @pytest.mark.parametrize("models", [[], [{"id": None}], [7]])
    def test_no_model(self, serve, ask, models):
        assert "names no model" in failure_of(lambda: ask(serve(models=models)))


def _say(listening, said):
    connection, _ = listening.accept()
    with connection:
        connection.recv(1 << 16)
        connection.sendall(said)


class TestConnections:
    def test_nobody_there(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        message = failure_of(lambda: load_remote(RemoteSection(url=url)))
        assert message == (
            f"no engine answers at {url} (Connection refused): start it, or correct "
            "midtoken.remote.url (--remote)"
        )

    @pytest.mark.parametrize("said", [b"\x00\x01\n", b"\n" * 9, b"SSH-2.0-OpenSSH_9.2\r\n"])
    def test_no_http(self, said):
        """A port of something else: what it says is quoted, or what is wrong is named."""
        with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor() as pool:
            pool.submit(_say, listening, said)
            url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            message = failure_of(lambda: Client(url).get("/v1/models"))
        assert message.startswith(f"{url} does not speak as expected (")
        assert "()" not in message

    def test_lines_without_an_end(self, monkeypatch):
        """Of a stream that never ends its line a bounded part is read."""
        monkeypatch.setattr("server.remote.client.MOST_LINE", 1000)
        said = b"HTTP/1.1 200 OK\r\n\r\ndata: " + b"x" * 5000
        with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor() as pool:
            pool.submit(_say, listening, said)
            client = Client(f"http://127.0.0.1:{listening.getsockname()[1]}")
            message = failure_of(lambda: list(client.stream("/v1/completions", {})))
        assert "sends lines without an end" in message

    def test_an_answer_without_measure(self, monkeypatch):
        """Of one that is not streamed, too; what is cut off there is no JSON any more."""
        monkeypatch.setattr("server.remote.client.MOST_ANSWER", 1000)
        said = b'HTTP/1.1 200 OK\r\n\r\n"' + b"x" * 5000 + b'"'
        with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor() as pool:
            pool.submit(_say, listening, said)
            client = Client(f"http://127.0.0.1:{listening.getsockname()[1]}")
            message = failure_of(lambda: client.get("/v1/models"))
        assert "answers with something else than JSON" in message

    def test_no_such_host(self):
        message = failure_of(lambda: Client("http://no-such-host.invalid").get("/v1/models"))
        assert "no engine answers at http://no-such-host.invalid" in message

    def test_silence(self):
        """A port that takes connections and says nothing."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
            message = failure_of(lambda: Client(url, wait_s=0.2).get("/v1/models"))
        assert "says nothing for too long" in message
        assert "midtoken.remote.timeout" in message

    def test_not_https(self, serve):
        """A secure address of a server that is none."""
        url = serve().url.replace("http://", "https://")
        message = failure_of(lambda: Client(url).get("/v1/models"))
        assert "is it http or https" in message

    def test_certificates_are_checked(self):
        """An unknown certificate is refused, and the message names the way out."""
        error = ssl.SSLCertVerificationError("bad")
        error.verify_message = "self-signed certificate"
        message = str(Client("https://engine")._failure(error))
        assert "is not trusted (self-signed certificate)" in message
        assert "SSL_CERT_FILE" in message

    def test_a_real_certificate(self, serve, certificate, monkeypatch):
        """Of the engine's own: refused until SSL_CERT_FILE names it; then cancelling works, too."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        engine = serve(tls=context)
        message = failure_of(lambda: Client(engine.url).get("/v1/models"))
        assert "the certificate of https://localhost" in message
        assert "SSL_CERT_FILE" in message

        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        client = Client(engine.url)
        assert client.get("/v1/models")["object"] == "list"
        engine.hold = threading.Event()
        timer = threading.Timer(0.2, client.cancel)
        timer.start()
        with pytest.raises(Cancelled):
            list(client.stream("/v1/completions", {"prompt": [], "max_tokens": 8}))
        assert not engine.held_out, "it was waited for"
        timer.join()

    def test_no_engine(self, serve):
        """Any other web server."""
        engine = serve()
        message = failure_of(lambda: Client(engine.url + "/else").get("/v1/models"))
        assert "/else/v1/models is not there (404" in message

    @pytest.mark.parametrize("body", ["<html>", "[1, 2", "[" * 5000])
    def test_no_json(self, serve, ask, body):
        engine = serve(refusal=(200, body, {}))
        message = failure_of(lambda: ask(engine).complete(AT, PLAIN))
        assert message == f"{engine.url} broke off its answer: see its own log"

    def test_a_broken_stream(self, serve, ask):
        engine = serve(breaks_after=6)
        message = failure_of(lambda: ask(engine).complete(AT, PLAIN))
        assert message == f"{engine.url} broke off its answer: see its own log"

    def test_an_error_in_the_stream(self, serve, ask):
        engine = serve(error_after=6)
        message = failure_of(lambda: ask(engine).complete(AT, PLAIN))
        assert message == f"{engine.url} failed (out of memory): see its own log"


class TestTexts:
    """Messages go into logs, where no text of documents belongs."""

    def test_an_engine_repeats_what_it_was_sent(self, serve, ask, caplog):
        """As FastAPI does with a request that it does not take."""
        caplog.set_level(logging.DEBUG)
        engine = serve()
        completer = ask(engine, tokenizer="")
        engine.echoes = True
        text = b"my_password = 'this, very secret'\n\tprint(my_password)\n    retu"
        message = failure_of(
            lambda: completer.complete(Snapshot("a.py", 0, text, len(text), "python"), PLAIN)
        )
        assert "does not take the request (422: " in message
        assert "(your text)" in message
        for word in ("password", "secret", "print"):
            assert word not in message + caplog.text

    @given(texts, texts, texts)
    def test_nothing_long_is_left(self, before, sent, after):
        """However it is quoted; what is not repeated stays."""
        forms = (sent, json.dumps(sent)[1:-1], repr(sent)[1:-1])
        for form in forms:
            shown = without(before + form + after, [sent])
            for at in range(len(form) - LEAST + 1):
                assert form[at : at + LEAST] not in shown
        if not any(before[at : at + LEAST] in form for at in range(len(before)) for form in forms):
            assert without(before, [sent]) == before

    def test_what_is_no_text(self):
        """The model's name is told; so are examples in the docstrings."""
        body = {"model": "Qwen", "prompt": [1, 2], "structured_outputs": {"regex": "a.*"}, "n": "b"}
        assert [*texts_in(body)] == ["a.*", "b"]
        assert [*texts_in(None)] == []
        assert doctest.testmod(echoes).failed == 0


class TestAddresses:
    @pytest.mark.parametrize(
        "url",
        [
            "",
            "localhost:8000",
            "ftp://host",
            "http://",
            "http://ho st",
            "http://h:99999",
            "http://[::1",
        ],
    )
    def test_what_is_none(self, url):
        assert "is not an address: write http://HOST:PORT" in failure_of(lambda: Client(url))

    @pytest.mark.parametrize("url", [f"https://me:{SECRET}@host", f"https://host?key={SECRET}"])
    def test_keys_are_not_in_addresses(self, url):
        """Addresses are shown and logged: one with a password is refused, without a word of it."""
        message = failure_of(lambda: Client(url))
        assert "a key goes into the file of midtoken.remote.keyFile" in message
        assert SECRET not in message

    @pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
    def test_the_end_may_be_that_of_openai(self, end):
        assert Client(f"http://host:1/team{end}").url == "http://host:1/team"

    @pytest.mark.parametrize(
        ("url", "place"),
        [
            ("http://[::1]", ("::1", 80)),
            ("http://[::1]:8000/v1", ("::1", 8000)),
            ("https://engine", ("engine", 443)),
        ],
    )
    def test_hosts_and_ports(self, url, place):
        """An IPv6 address is not taken for a host and a port."""
        connection = Client(url)._connection()
        assert (connection.host, connection.port) == place

    def test_keys_in_the_open(self):
        """A key over plain HTTP to another machine is worth a warning; over loopback it is not."""
        assert Client("http://engine", Key(SECRET)).tells_key_to_others
        assert not Client("https://engine", Key(SECRET)).tells_key_to_others
        for host in ("127.0.0.1:1", "[::1]:1", "LOCALHOST"):
            assert not Client(f"http://{host}", Key(SECRET)).tells_key_to_others
        assert not Client("http://engine").tells_key_to_others


class TestMessages:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ('{"error": {"message": "a"}}', "a"),
            ('{"object": "error", "message": "a"}', "a"),
            ('{"error": "a"}', "a"),
            ('{"detail": [{"loc": ["body"], "msg": "a"}]}', '[{"loc": ["body"], "msg": "a"}]'),
            ('{"detail": {"message": "a"}}', "a"),
            ("[]", None),
            ("<html>", None),
            ("", None),
        ],
    )
    def test_shapes(self, content, message):
        assert message_of(content) == message

    def test_they_are_shown_safely(self):
        """One line, not too long, without what a terminal would act upon, without the key."""
        client = Client("http://engine", Key(SECRET))
        assert client.shown(f"a\n\x1b[31mb\t{SECRET}") == "a [31mb (the key)"
        assert len(client.shown("x" * 5000)) < 300

    def test_status_and_rest(self, serve, ask):
        """What a caller decides by: the status, and how long the engine wants to rest."""
        engine = serve(refusal=(429, {}, {"Retry-After": "30"}))
        completer = ask(engine)
        with pytest.raises(RemoteError) as raised:
            completer.complete(AT, PLAIN)
        assert (raised.value.status, raised.value.rest_s) == (429, 30.0)
