"""What is suggested at a place, with all that a calibration needs; JSON-ready.

The language server's own path writes it, rules and all, with the default options. A suggestion
agrees with the file as far as its bytes are those that follow there: no more is asked of it, as
a text that ends too early is right as far as it goes.
"""

from dataclasses import replace
from typing import Any

from server.answers import present
from server.bench.confidence.places import Place
from server.completer import Completer
from server.grammar.kept import common_prefix
from server.lsp_items import completion_options
from server.options import Options

MOST_TOKENS = 24


def suggestion_at(completer: Completer, place: Place, context_tokens: int) -> dict[str, Any]:
    """The suggestion: what is shown, its tokens, and how much of it is right.

    Returns:
        `file` and `language`; `shown`, the text with LF line ends; `agreed`, how many of its first
        bytes the file has there; `tokens`, for each its end in bytes and its log-probability;
        `ended` as in `Generation`.
    """
    snapshot = place.snapshot
    options = completion_options(Options(), place.language, snapshot)
    options = replace(options, max_tokens=MOST_TOKENS, context_tokens=context_tokens)
    answer = completer.answer(snapshot, options)
    generation = answer.generation
    items = present(snapshot, answer).items
    shown = items[0].text.encode() if items else b""
    return {
        "file": place.file,
        "language": place.language,
        "shown": shown.decode(),
        "agreed": common_prefix(shown, place.gold + place.after),
        "tokens": [
            [end, round(logprob, 4)]
            for end, logprob in zip(generation.ends, generation.logprobs, strict=False)
        ],
        "ended": generation.ended,
    }
