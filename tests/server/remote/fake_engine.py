"""A server on this machine that speaks as vLLM, SGLang and others are documented to speak.

It has no model but a wish: the text of the cursor's line, or what comes after the cursor. It reads
the prompt's ids, goes on from there, and keeps to a pattern if it knows the field that holds one.
"""

import contextlib
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from server.remote.probe import PROBE_TOKENS

MARKS = [
    *("<|endoftext|>", "<|im_end|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"),
    *("<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"),
]
CORPUS = [
    "def fibonacci(n):\n    if n < 2:\n        return n\n    return fibonacci(n - 1)\n",
    "import numpy as np\n\n\nfor item in items:\n    print(item, value, sorted(rows))\n",
    "class Name:\n    def __init__(self, name: str) -> None:\n        self.name = name\n",
]
MODEL = "Qwen/Qwen2.5-Coder-Tiny"


@cache
def tokenizer() -> Tokenizer:
    """A byte-level tokenizer with Qwen's marks, made of a little code."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=MARKS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(CORPUS, trainer)
    return made


def decode(ids: list[int]) -> str:
    """A prompt as text, with its marks."""
    return tokenizer().decode(ids, skip_special_tokens=False)


@dataclass
class FakeEngine:
    """What it says and has seen; tests change the former and look at the latter."""

    kind: str = "vllm"
    version: str | None = "0.12.0"
    knows: tuple[str, ...] = ("structured_outputs",)
    """Fields that it takes a pattern from; others are ignored."""
    wish: str = "    return fibonacci(n - 1)\n"
    unforced: str | None = None
    """What it writes instead if there is no pattern that it takes."""
    key: str | None = None
    models: list[dict[str, Any]] | None = None
    refusal: tuple[int, Any, dict[str, str]] | None = None
    """Status, body and headers for every completion."""
    echoes: bool = False
    """Whether it splits no text, and repeats it in what it says of that."""
    refuses_forms: bool = False
    """Whether a completion with a pattern is a bad request."""
    goes_on: bool = False
    """Whether it writes the last character of its wish for ever."""
    first_s: float = 0.0
    """Seconds before it writes anything, however many requests it has."""
    hold: threading.Event | None = None
    """Waits for it before it writes anything, for ten seconds."""
    held_out: bool = False
    """Whether it ever went on by itself after that."""
    breaks_after: int | None = None
    """Characters after which the connection is broken."""
    error_after: int | None = None
    """Characters after which an error comes in the stream."""
    chunk: int = 3
    """Characters of an event; with none it sends events that say nothing."""
    has_logprobs: bool = True
    rivals: dict[str, float] | None = None
    """What else it says of every token's place, with logarithms of probabilities."""
    requests: list[tuple[str, dict[str, str], dict[str, Any] | None]] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)
    """Set when somebody has closed a connection before the end."""
    tls: ssl.SSLContext | None = None
    url: str = ""

    @property
    def completions(self) -> list[dict[str, Any]]:
        """The bodies of all requests for text, but for those that measure how fast it reads."""
        asked = [body for path, _, body in self.requests if path == "/v1/completions" and body]
        return [body for body in asked if body["max_tokens"] != PROBE_TOKENS]

    def paths(self) -> list[str]:
        """What was asked for."""
        return [path for path, _, _ in self.requests]

    def text_for(self, body: dict[str, Any]) -> str:
        """What it writes after a prompt."""
        written = decode(body["prompt"]).rpartition("<|fim_middle|>")[2]
        rest = self.after(written)
        values = [body[name] for name in self.knows if name in body]
        if not values:
            return rest if self.unforced is None else self.unforced
        [pattern] = [one["regex"] if isinstance(one, dict) else one for one in values]
        if re.fullmatch(pattern, rest):
            return rest
        literal = pattern.removesuffix(r"(.|\n)*").replace(r"\n", "\n").replace(r"\t", "\t")
        literal = re.sub(r"\\(.)", r"\1", literal)
        return literal + self.after(written + literal)

    def after(self, written: str) -> str:
        """What is left of its wish after a text."""
        sizes = range(len(self.wish), -1, -1)
        return self.wish[next(size for size in sizes if written.endswith(self.wish[:size])) :]


def _handler(engine: FakeEngine) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: object) -> None:
            pass

        def do_GET(self) -> None:
            self.answer(None)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.answer(body)

        def answer(self, body: dict[str, Any] | None) -> None:
            engine.requests.append((self.path, dict(self.headers), body))
            if engine.key and self.headers.get("Authorization") != f"Bearer {engine.key}":
                shown = self.headers.get("Authorization", "nothing")
                error = {"error": {"message": f"Unauthorized: {shown}", "type": "auth"}}
                return self.send(401, error)
            if self.path == "/v1/models":
                owner = {"id": MODEL, "object": "model", "owned_by": engine.kind}
                model = owner | {"root": MODEL, "parent": None, "max_model_len": 2048}
                listed = [model] if engine.models is None else engine.models
                return self.send(200, {"object": "list", "data": listed})
            if self.path == "/version" and engine.kind == "vllm" and engine.version:
                return self.send(200, {"version": engine.version})
            if self.path == "/tokenize" and engine.echoes and body:
                wrong = {"loc": ["body", "prompt"], "msg": "no", "input": body["prompt"]}
                return self.send(422, {"detail": [wrong]})
            if self.path == "/tokenize" and engine.kind == "vllm" and body:
                # Special tokens in the text are found, as Hugging Face's tokenizers do.
                found = tokenizer().encode(body["prompt"], add_special_tokens=False)
                strings = found.tokens if body.get("return_token_strs") else None
                more = {"max_model_len": 2048, "tokens": found.ids, "token_strs": strings}
                return self.send(200, {"count": len(found.ids), **more})
            if self.path == "/v1/completions" and body:
                return self.complete(body)
            return self.send(404, {"detail": "Not Found"})

        def complete(self, body: dict[str, Any]) -> None:
            is_probe = body["max_tokens"] == PROBE_TOKENS
            has_form = any(name in body for name in ("structured_outputs", "guided_regex", "regex"))
            if engine.refusal is not None and not is_probe:
                return self.send(*engine.refusal)
            if engine.refuses_forms and has_form:
                error = {"message": "extra fields are not permitted", "code": 400}
                return self.send(400, {"object": "error", **error})
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                if engine.hold is not None and not is_probe:
                    engine.held_out |= not engine.hold.wait(10)
                if not is_probe:
                    time.sleep(engine.first_s)
                events = [self.event("x", "length")] if is_probe else self.events(body)
                for event in events:
                    self.write(f"data: {event}\n\n")
                self.write("")
            except OSError:
                if not is_probe:
                    engine.left.set()
            self.close_connection = True
            return None

        def events(self, body: dict[str, Any]) -> Iterator[str]:
            text, sent = engine.text_for(body), 0
            while engine.goes_on or sent < len(text):
                if engine.breaks_after is not None and sent >= engine.breaks_after:
                    self.close_connection = True
                    self.connection.shutdown(2)
                    raise OSError
                if engine.error_after is not None and sent >= engine.error_after:
                    yield json.dumps({"error": {"message": "out of memory", "code": 500}})
                    return
                piece = text[sent : sent + engine.chunk] or (text[-1:] if engine.chunk else "")
                yield self.event(piece, None)
                sent += engine.chunk
            yield self.event("", "stop")
            yield json.dumps({"id": "cmpl-1", "choices": [], "usage": {"prompt_tokens": 3}})
            yield "[DONE]"

        def event(self, text: str, reason: str | None) -> str:
            logprobs: dict[str, Any] | None = None
            if engine.has_logprobs:
                logprobs = {"token_logprobs": [-0.5], "tokens": [text]}
                if engine.rivals is not None:
                    logprobs["top_logprobs"] = [{text: -0.5, **engine.rivals}]
            choice = {"index": 0, "text": text, "logprobs": logprobs, "finish_reason": reason}
            return json.dumps({"id": "cmpl-1", "object": "text_completion", "choices": [choice]})

        def write(self, text: str) -> None:
            data = text.encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

        def send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(OSError):  # whoever asked has gone
                self.wfile.write(data)

    return Handler


@contextmanager
def running(engine: FakeEngine) -> Iterator[FakeEngine]:
    """The engine behind a port of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(engine))
    server.daemon_threads = True
    host = "http://127.0.0.1"
    if engine.tls is not None:
        host = "https://localhost"
        server.socket = engine.tls.wrap_socket(server.socket, server_side=True)
    engine.url = f"{host}:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield engine
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


Serve = Callable[..., FakeEngine]
