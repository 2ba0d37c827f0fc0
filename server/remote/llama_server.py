"""llama.cpp's server: `/completion` with token ids, a GBNF grammar, and its own prompt cache.

Written after tools/server/README.md of llama.cpp; what is asked here was run against build 11549.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from server.remote.apis import RIVALS, Ask, Piece
from server.remote.literal import gbnf
from server.remote.shapes import finite, rivals

SAMPLERS = ["top_k", "top_p", "min_p", "temperature"]
"""Those that midtoken has options for, in llama.cpp's order: no penalties, which punish code."""

ENDS = {"eos": "stop token", "word": "stop token", "limit": "token limit"}


@dataclass(frozen=True)
class LlamaServer:
    """The language of llama-server."""

    path: str = "/completion"
    forms: tuple[str, ...] = ("grammar",)

    def body(self, ask: Ask, form: str | None) -> dict[str, Any]:
        """See `apis.Api`."""
        sampling = ask.sampling
        body: dict[str, Any] = {
            "prompt": list(ask.tokens),
            "n_predict": ask.max_tokens,
            "stream": True,
            "cache_prompt": True,
            "temperature": sampling.temperature,
            "top_k": sampling.top_k,
            "top_p": sampling.top_p,
            "min_p": sampling.min_p,
            "seed": sampling.seed,
            "samplers": SAMPLERS,
            "n_probs": RIVALS,
            "timings_per_token": True,
        }
        if form is not None and ask.forced:
            body[form] = gbnf(ask.forced)
        return body

    def piece(self, found: Mapping[str, Any]) -> Piece:
        """See `apis.Api`."""
        probabilities = found.get("completion_probabilities") or []
        reused = (found.get("timings") or {}).get("cache_n")
        ended = ENDS.get(str(found.get("stop_type")), "stop token") if found.get("stop") else None
        return Piece(
            str(found.get("content") or "").encode(errors="surrogatepass"),
            finite(one.get("logprob") for one in probabilities),
            ended,
            reused if isinstance(reused, int) else None,
            rivals(
                (other.get("token"), other.get("logprob"))
                for one in probabilities[:1]
                if len(probabilities) == 1
                for other in one.get("top_logprobs") or ()
            ),
        )
