"""Prompts for a benchmark of healing: one place, the ways to put a hole there, and its true tokens.

The hole may be at the cursor (then nothing is healed), where the cursor's word starts, or where its
line starts (as in the language server). What is between the hole and the cursor is typed again.

What is not here: what the model makes of a prompt (`scores`, `writing`).
"""

import re
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

from server.bench.heal.places import Place
from server.completer import Completer
from server.prompt import SUFFIX_SHARE, Prompt, build_prompt
from server.prompt_choice import line_tokens
from server.rules import place_at
from server.snapshot import Snapshot, language_of

Kind = Literal["left", "fim"]
KINDS: tuple[Kind, ...] = ("left", "fim")
Edge = Literal["cursor", "word", "line"]

_WORD = re.compile(rb"(?:[^\w\n]?\w+|[^\w\n]+)\Z")
"""The word before the cursor and one sign before it, as tokens take it in; or what is no word."""
_LOOK_AHEAD = 80
"""So many bytes after the cursor's line decide how its end is split into tokens, at most."""


@dataclass(frozen=True)
class Truth:
    """How the tokenizer splits what was typed together with what really follows."""

    boundaries: tuple[int, ...]
    """Offsets of token boundaries in typed and following text, from 0, ascending."""
    tokens: tuple[int, ...]
    cursor: int

    @property
    def aligned(self) -> bool:
        """Whether the cursor is at the end of a token."""
        return self.cursor in self.boundaries

    @property
    def left(self) -> tuple[int, ...]:
        """The tokens that end at the cursor or before it."""
        return self.tokens[: sum(offset <= self.cursor for offset in self.boundaries) - 1]

    @property
    def start(self) -> int:
        """Where they end: the last true boundary that is not after the cursor."""
        return max(offset for offset in self.boundaries if offset <= self.cursor)

    @property
    def visible(self) -> int:
        """Bytes of the first true token that are after the cursor."""
        later = [offset for offset in self.boundaries if offset > self.cursor]
        return (later[0] if later else self.boundaries[-1]) - self.cursor


def prompt_at(
    completer: Completer,
    place: Place,
    kind: Kind,
    edge: Edge,
    context_tokens: int,
    *,
    joined: bool = True,
) -> Prompt:
    """The prompt for a place with the hole's left edge where `edge` says.

    Args:
        completer: The model.
        place: The cursor.
        kind: `left` for the text before the cursor alone, `fim` for the text after it as well.
        edge: What comes between it and the cursor is the prompt's `typed`.
        context_tokens: The most tokens of text around the hole.
        joined: Whether the hole takes in brackets that follow the cursor, as in the language
            server; else the text after it is given as it is.
    """
    if edge == "word":
        start = word_start(place.before)
        hole = Place(
            place.name, place.before[:start], place.before[start:] + place.rest, place.after
        )
        unhealed = prompt_at(completer, hole, kind, "cursor", context_tokens, joined=joined)
        return replace(unhealed, typed=place.before[start:])
    engine = completer.engine
    info = engine.info
    snapshot = Snapshot(
        place.name,
        0,
        place.before + place.after,
        len(place.before),
        language_of(place.name),
    )
    surroundings = place_at(snapshot)
    return build_prompt(
        snapshot,
        surroundings if joined else replace(surroundings, rest=b""),
        completer.tokenization,
        fim=engine.fim if kind == "fim" else None,
        start=(engine.bos,) if info.add_bos and engine.bos is not None else (),
        root=engine.bos if engine.bos is not None else min(engine.stops, default=None),
        budget=context_tokens,
        anchored=edge == "line",
        lead=b" " if info.add_blank else b"",
        line_tokens=line_tokens(info, context_tokens - context_tokens // SUFFIX_SHARE),
    )


def word_start(before: bytes) -> int:
    """Where the cursor's word starts; in an indentation, where the line before it ends."""
    line = before[before.rfind(b"\n") + 1 :]
    if not line.strip():
        return max(0, len(before) - len(line) - 1)
    found = _WORD.search(line)
    assert found is not None
    return len(before) - len(line) + found.start()


def truth(completer: Completer, prompt: Prompt, place: Place) -> Truth:
    """How what was typed and what follows is split, from the hole's left edge on.

    In a prompt for a hole the text ends with the line; else it goes on, which may change the split.
    """
    follows = place.rest if prompt.kind == "fim" else place.gold[: len(place.rest) + _LOOK_AHEAD]
    tokens = completer.tokenization.encode(prompt.typed + follows)
    vocabulary = completer.tokenization.vocabulary
    boundaries = accumulate((len(vocabulary[token]) for token in tokens), initial=0)
    return Truth(tuple(boundaries), tuple(tokens), len(prompt.typed))
