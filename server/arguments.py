"""The options of the commands, as click hands them over."""

from typing import TypedDict


class EngineArguments(TypedDict):
    """Options of every command that runs a model."""

    model_name: str
    lora: str | None
    lora_scale: float
    yes: bool
    threads: int | None
    context_size: int
    gpu_layers: str
    main_gpu: int
    tensor_split: str
    flash_attn: str


class RequestArguments(EngineArguments):
    """Options of every command that completes at a location."""

    healing: str
    grammar: str
    prompt: str
    max_tokens: int
    candidates: int
    context_tokens: int | None
    stdin_filename: str | None
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    seed: int
    bans: tuple[str, ...]
    ban_patterns: tuple[str, ...]


class RemoteArguments(TypedDict):
    """Options of every command that may ask an engine elsewhere."""

    remote: str | None
    remote_api: str
    remote_model: str
    remote_key_file: str
    remote_tokenizer: str
    remote_timeout: float


class DoctorArguments(EngineArguments, RemoteArguments):
    """Options of `midtoken doctor`."""


class TeamArguments(EngineArguments, RemoteArguments):
    """Options of `midtoken bench team`."""

    shared: bool
    parallel: int
    users: str
    keys: int
    seed: int
    as_json: bool


class CompleteArguments(RequestArguments, RemoteArguments):
    """Options of `midtoken complete`."""

    as_json: bool
    via_server: bool
    server: str | None
    explain: bool
    stream: bool


class ExplainArguments(RequestArguments, RemoteArguments):
    """Options of `midtoken explain`."""

    out: str
    open_page: bool


class RankArguments(EngineArguments):
    """Options of `midtoken rank`."""

    labels: str | None
    best: int | None
    tokens: int | None
    whole: bool
    per_token: bool
    forgiving: bool
    bans: tuple[str, ...]
    ban_patterns: tuple[str, ...]
    as_json: bool
    context_tokens: int | None
    stdin_filename: str | None


class RankBenchArguments(EngineArguments):
    """Options of `midtoken bench rank`."""

    places: int
    seed: int
    as_json: bool


class ConfidenceBenchArguments(EngineArguments):
    """Options of `midtoken bench confidence`."""

    places: int
    languages: tuple[str, ...]
    projects: tuple[str, ...]
    quick: bool
    minutes: float | None
    fit: bool
    out: str
    seed: int
    context_tokens: int
    as_json: bool


class TypingArguments(EngineArguments):
    """Options of `midtoken bench typing`."""

    keys: int
    quick: bool
    languages: tuple[str, ...]
    projects: tuple[str, ...]
    peer: str | None
    both: bool
    peer_batch: int
    patient: bool
    settings: tuple[str, ...]
    also: tuple[str, ...]
    out: str | None
    seed: int
    fast: float
    cancel: bool
    grammar: str
    as_json: bool


class GrammarArguments(EngineArguments):
    """Options of `midtoken bench grammar`."""

    holes: int
    seed: int
    max_tokens: int
    context_tokens: int | None
    temperature: float
    as_json: bool


class HealArguments(EngineArguments):
    """Options of `midtoken bench heal`."""

    cuts: int
    quick: bool
    minutes: float | None
    peers: bool
    programs: bool
    out: str
    seed: int
    context_tokens: int
    as_json: bool


class EngineBenchArguments(EngineArguments):
    """Options of `midtoken bench engine`."""

    quick: bool
    llama_bench: str | None
    out: str
    seed: int
    as_json: bool
