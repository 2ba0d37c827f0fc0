r"""What an engine repeats of a request in its errors: left out, since errors go into logs.

Servers made with FastAPI, as vLLM and SGLang are, tell a request's own text beside what is wrong
with it::

    >>> without('[{"msg": "too long", "input": "def pay(card):\\n    retu"}]', ["def pay(card):\n"])
    '[{"msg": "too long", "input": "(your text)    retu"}]'

Not here: keys (`keys.Key.hide_in`).
"""

import json
from collections.abc import Iterable, Iterator, Mapping

HIDDEN = "(your text)"

LEAST = 12
"""Characters: what is shorter may be a word of the engine's own."""

MOST = 2000
"""Characters of a message that are looked at, of which some 200 are shown."""

_NOT_TEXT = "model"
"""A field of requests whose value the person should see."""


def without(message: str, sent: Iterable[str]) -> str:
    """The start of a message without the pieces of texts that it repeats, plain or escaped."""
    forms = [form for text in sent for form in (text, json.dumps(text)[1:-1], repr(text)[1:-1])]
    message, kept, at = message[:MOST], list[str](), 0

    def is_repeated(end: int) -> bool:
        return end <= len(message) and any(message[at:end] in form for form in forms)

    while at < len(message):
        end = at + LEAST
        if not is_repeated(end):
            kept.append(message[at])
            at += 1
            continue
        while is_repeated(end + 1):
            end += 1
        kept.append(HIDDEN)
        at = end
    return "".join(kept)


def texts_in(value: object) -> Iterator[str]:
    """All texts in the body of a request, but the model's name."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            if name != _NOT_TEXT:
                yield from texts_in(one)
