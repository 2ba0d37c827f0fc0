"""What an engine says of itself: which one it is, what it serves, how long its texts may be.

`GET /v1/models` tells nearly all of it: llama-server, vLLM and SGLang each sign it. Where something
stands before the engine and signs nothing, `midtoken.remote.api` says what it is, or its language
is taken to be OpenAI's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from server.errors import RemoteError
from server.remote.apis import Api
from server.remote.client import Client
from server.remote.llama_server import LlamaServer
from server.remote.openai import GUIDED, REGEX, STRUCTURED, Completions
from server.remote.shapes import expected_from

Kind = Literal["llama-server", "vllm", "sglang", "openai"]

OWNERS: dict[str, Kind] = {"llamacpp": "llama-server", "vllm": "vllm", "sglang": "sglang"}
"""How engines sign their list of models (`owned_by`)."""

NAMES: dict[Kind, str] = {
    "llama-server": "llama-server",
    "vllm": "vLLM",
    "sglang": "SGLang",
    "openai": "OpenAI-compatible engine",
}

FIRST_STRUCTURED = (0, 11)
"""vLLM's release with `structured_outputs`; the older fields were removed in 0.12."""

CONTEXT_TOKENS = 4096
"""The longest text of an engine that does not tell."""

SHOWN_MODELS = 8


@dataclass(frozen=True)
class Found:
    """An engine that answered."""

    kind: Kind
    api: Api
    model: str
    """The name under which it serves the model."""
    context_tokens: int
    """The longest text, answer included."""
    version: str = ""
    """As it tells it; empty if it does not."""
    size_bytes: int = 0
    """Of the model's weights, where it tells."""
    slots: int | None = None
    """Requests that it does at once, where it tells: others wait there."""

    @property
    def name(self) -> str:
        """The engine, for people."""
        return f"{NAMES[self.kind]} {self.version}".strip()


def discover(client: Client, kind: str = "auto", model: str = "") -> Found:
    """Ask an engine what it is.

    Args:
        client: Its address.
        kind: A `Kind`, or `auto`.
        model: The model that is wanted; empty for the first one that it names.

    Raises:
        RemoteError: It is not there, refuses, or does not serve that model.
    """
    with expected_from(client.url):
        return _found(client, kind, model)


def _found(client: Client, kind: str, model: str) -> Found:
    try:
        models = _models(client.get("/v1/models"))
    except RemoteError as error:
        if error.status != 404 or kind != "llama-server":
            raise
        models = []  # llama-server has had a list only since 2023
    entry = _entry(models, model, client)
    owner = str(entry.get("owned_by", ""))
    known: Kind = next((one for one in get_args(Kind) if one == kind), OWNERS.get(owner, "openai"))
    name = model or str(entry.get("id") or "")
    if not name and known != "llama-server":
        raise RemoteError(
            f"{client.url} names no model: set midtoken.remote.model (--remote-model)"
        )
    if known == "llama-server":
        return _llama_server(client, name, entry)
    longest = entry.get("max_model_len")
    context = longest if isinstance(longest, int) and longest > 0 else CONTEXT_TOKENS
    if known == "vllm":
        version = str(_asked(client, "/version").get("version") or "")
        return Found(known, Completions(name, _vllm_forms(version)), name, context, version)
    if known == "sglang":
        version = str(_asked(client, "/get_server_info").get("version") or "")
        return Found(known, Completions(name, (REGEX,)), name, context, version)
    return Found(known, Completions(name, extended=False), name, context)


def _models(answer: object) -> list[Mapping[str, Any]]:
    listed = answer.get("data") if isinstance(answer, dict) else None
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _entry(models: list[Mapping[str, Any]], wanted: str, client: Client) -> Mapping[str, Any]:
    """The model that is wanted, or the first one that is no adapter of another one."""
    ids = [str(one.get("id")) for one in models]
    if wanted and wanted in ids:
        return models[ids.index(wanted)]
    # llama-server serves one model, whatever it is called.
    alone = models[0] if len(models) == 1 and models[0].get("owned_by") == "llamacpp" else None
    if wanted and models and alone is None:
        more = f" and {len(ids) - SHOWN_MODELS} more" if len(ids) > SHOWN_MODELS else ""
        served = client.shown(", ".join(ids[:SHOWN_MODELS])) + more
        raise RemoteError(
            f"{client.url} has no model {client.shown(wanted)}, but {served}: correct "
            "midtoken.remote.model (--remote-model)"
        )
    return next((one for one in models if not one.get("parent")), alone or {})


def _llama_server(client: Client, name: str, entry: Mapping[str, Any]) -> Found:
    meta = entry.get("meta") or {}
    properties = _asked(client, "/props")
    settings = properties.get("default_generation_settings") or {}
    context = settings.get("n_ctx") or meta.get("n_ctx_train") or CONTEXT_TOKENS
    slots = properties.get("total_slots")
    return Found(
        "llama-server",
        LlamaServer(),
        name.replace("\\", "/").rpartition("/")[2] or "model",
        int(context),
        str(properties.get("build_info") or ""),
        int(meta.get("size") or 0),
        slots if isinstance(slots, int) and slots > 0 else None,
    )


def _asked(client: Client, path: str) -> Mapping[str, Any]:
    """What an engine says at a path that it, or what stands before it, may not have."""
    try:
        answer = client.get(path)
    except RemoteError as error:
        if error.status is None:
            raise
        return {}
    return answer if isinstance(answer, dict) else {}


def _vllm_forms(version: str) -> tuple[str, ...]:
    """The ways to force a beginning, the one first that the release knows best."""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdecimal()]
    known = len(numbers) == len(FIRST_STRUCTURED)
    if known and tuple(numbers) < FIRST_STRUCTURED:
        return (GUIDED, STRUCTURED)
    return (STRUCTURED, GUIDED)
