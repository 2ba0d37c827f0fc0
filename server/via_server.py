"""A request of the command line through a server process: the way that editors go.

The document is opened, one explicit request is made at the cursor, and what the protocol gives back
is turned into the shape that `midtoken complete --json` prints. So the two ways can be compared.
What is not here: reading the document and printing (`completion`).
"""

import re
from pathlib import Path
from typing import Any

from server.client import ServerClient, position_from
from server.completion_options import CompletionOptions
from server.documents import Document
from server.engine.llama_load import EngineOptions
from server.errors import EngineError
from server.positions import Position
from server.snapshot import Snapshot, position_at

JSON = dict[str, Any]

_INVALID_BYTE = re.compile("[\udc80-\udcff]")
"""What the error handler `surrogateescape` makes of a byte that is no UTF-8."""


def server_settings(model: Path, engine: EngineOptions) -> JSON:
    """Settings that make a server run a model as the command line would.

    Paths are absolute: a server that runs already may stand in another folder.
    """
    lora = engine.lora
    return {
        "model": {"name": str(model.absolute())}
        | ({"lora": str(Path(lora.path).absolute()), "loraScale": lora.scale} if lora else {}),
        "engine": {
            "gpuLayers": engine.gpu_layers,
            "threads": "auto" if engine.threads is None else engine.threads,
            "contextSize": engine.n_ctx,
            "mainGpu": engine.main_gpu,
            "tensorSplit": list(engine.tensor_split),
            "flashAttention": engine.flash_attn,
        },
    }


def completion_settings(options: CompletionOptions) -> JSON:
    """Settings that make a server complete with the options of a request."""
    sampling = options.sampling
    return {
        "completion": {
            "healing": options.healing,
            "prompt": options.prompt,
            "maxTokens": options.max_tokens,
            "candidates": options.candidates,
            "contextTokens": "auto" if options.context_tokens is None else options.context_tokens,
            "multiline": options.multiline,
            "temperature": sampling.temperature,
            "topK": sampling.top_k,
            "topP": sampling.top_p,
            "minP": sampling.min_p,
            "seed": sampling.seed,
        },
        "grammar": {"mode": options.grammar},
        "filters": {"bans": list(options.bans), "banPatterns": list(options.ban_patterns)},
    }


async def complete_via_server(snapshot: Snapshot, settings: JSON, address: str | None) -> JSON:
    """The answer of a server to an explicit request at a snapshot's cursor.

    Args:
        snapshot: The document. Bytes that are no UTF-8 are sent as U+FFFD, as an editor shows them.
        settings: `initializationOptions`. Without `model` and `engine` a server that runs already
            goes on with what it runs.
        address: A server that runs already; None to start one for this request.

    Returns:
        The server's report of the request, with the items as the protocol gave them; characters of
        their ranges are code points.

    Raises:
        EngineError: The server can't be reached or can't complete.
        UsageError: The address is none.
    """
    text, before = _text(snapshot.text), _text(snapshot.text[: snapshot.cursor])
    uri = _address(snapshot.uri)
    connect = ServerClient.connect(address) if address else ServerClient.start()
    async with await connect as client:
        await client.initialize(settings)
        await client.ready()
        document = Document(uri, text, 1, snapshot.language, client.encoding)
        client.open(uri, snapshot.language, text)
        cursor = document.position_at(len(before.encode()))
        answer = await _answer(client, uri, cursor)
        command = {"command": "midtoken.showReport"}
        report = await client.request("workspace/executeCommand", command).result
    kept = ("score", "confidence", "word_confidence", "probability")
    items = [
        {
            "text": item["insertText"],
            "range": {side: _place(document, item["range"][side]) for side in ("start", "end")},
            **{name: reported[name] for name in kept},
        }
        for item, reported in zip(answer["items"], report["items"], strict=True)
    ]
    return {**report, "items": items}


async def _answer(client: ServerClient, uri: str, cursor: Position) -> JSON:
    """The answer to a request; asks again where the model was loaded anew meanwhile.

    That happens when the settings name another model, or another client does.
    """
    while True:
        loads = client.loads
        answer: JSON | None = await client.inline(uri, cursor).result
        if answer is not None:
            return answer
        if client.loads == loads and client.status["state"] != "loading":
            break
        await client.ready()
    if client.status["state"] == "error":
        raise EngineError(f"the server gave no answer: {client.status['message']}")
    raise EngineError("the server gave no answer although its model is ready: see the server's log")


def _text(data: bytes) -> str:
    """Bytes as an editor holds them: one U+FFFD for every byte that is no UTF-8."""
    return _INVALID_BYTE.sub("\ufffd", data.decode("utf-8", "surrogateescape"))


def _address(name: str) -> str:
    return "untitled:stdin" if name == "-" else Path(name).absolute().as_uri()


def _place(document: Document, shape: JSON) -> JSON:
    """A position of the protocol's, counted in code points."""
    line, character = position_at(document.text, document.offset_at(position_from(shape)))
    return {"line": line, "character": character}
