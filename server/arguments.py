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


class CompleteArguments(EngineArguments):
    """Options of `midtoken complete`."""

    as_json: bool
    via_server: bool
    server: str | None
    explain: bool
    stream: bool
    healing: str
    grammar: str
    prompt: str
    max_tokens: int
    context_tokens: int | None
    stdin_filename: str | None
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    seed: int


class TypingArguments(EngineArguments):
    """Options of `midtoken bench typing`."""

    keys: int
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
