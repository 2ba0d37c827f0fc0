"""OpenAI's completions as vLLM, SGLang and others serve them: `/v1/completions` with token ids.

Written after the engines' documentation: vLLM's pages "OpenAI-Compatible Server" and "Structured
Outputs" (`structured_outputs` since 0.11, `guided_regex` until 0.12), SGLang's "Structured Outputs"
(`regex`). Fields that an engine does not know are ignored by most of them, so whether an answer was
really forced is seen only when it comes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from server.remote.apis import RIVALS, Ask, Piece
from server.remote.literal import gbnf, pattern
from server.remote.shapes import finite, rivals

STRUCTURED = "structured_outputs"
GUIDED = "guided_regex"
REGEX = "regex"
GRAMMAR = "grammar"

ENDS = {"length": "token limit"}


@dataclass(frozen=True)
class Completions:
    """The language of an engine that speaks OpenAI's."""

    model: str
    """The name that the engine serves it under."""
    forms: tuple[str, ...] = (STRUCTURED, GUIDED, REGEX, GRAMMAR)
    extended: bool = True
    """Whether it knows the fields that vLLM and SGLang share beyond OpenAI's."""
    path: str = "/v1/completions"

    def body(self, ask: Ask, form: str | None) -> dict[str, Any]:
        """See `apis.Api`."""
        sampling = ask.sampling
        body: dict[str, Any] = {
            "model": self.model,
            "prompt": list(ask.tokens),
            "max_tokens": ask.max_tokens,
            "stream": True,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "logprobs": RIVALS,
        }
        if sampling.temperature:  # a seed costs some engines a faster way, and is of no use here
            body["seed"] = sampling.seed
        if self.extended:
            body["min_p"] = sampling.min_p
            body["top_k"] = sampling.top_k or -1
            body["stop_token_ids"] = list(ask.stops)
        if form is not None and ask.forced:
            body |= _forced(form, ask.forced)
        return body

    def piece(self, found: Mapping[str, Any]) -> Piece:
        """See `apis.Api`."""
        choices = found.get("choices") or []
        if not choices:  # the last event may hold usage alone
            return Piece(b"")
        choice = choices[0]
        told = choice.get("logprobs") or {}
        logprobs, tops = told.get("token_logprobs") or [], told.get("top_logprobs") or []
        reason = choice.get("finish_reason")
        return Piece(
            str(choice.get("text") or "").encode(errors="surrogatepass"),
            finite(logprobs),
            None if reason is None else ENDS.get(str(reason), "stop token"),
            rivals=rivals((tops[0] or {}).items()) if len(tops) == len(logprobs) == 1 else (),
        )


def _forced(form: str, literal: bytes) -> dict[str, Any]:
    if form == STRUCTURED:
        return {STRUCTURED: {"regex": pattern(literal)}}
    return {form: gbnf(literal) if form == GRAMMAR else pattern(literal)}
