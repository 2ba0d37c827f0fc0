"""A wish for a completion, and what its answer is remembered by.

Not here: how wishes are served (`service`).
"""

from collections.abc import Hashable
from dataclasses import dataclass

from server.completion_options import CompletionOptions
from server.confidence import BOLD, Caution
from server.grammar.languages import files_of
from server.prompt import title_of
from server.rules import place_at
from server.snapshot import Snapshot, line_bounds, with_lf

Wanted = list[tuple[Hashable, bytes]]
"""See `keys_of`."""

EARLIER_LINES = 16
"""So many lines of a suggestion can be typed along."""

KEY_BYTES = 1 << 16
"""Text before and after the cursor's line that a key holds at most: more than any prompt. A grammar
may have read more, and is taken to say the same if only that has changed."""


@dataclass(frozen=True)
class Request:
    """A wish for a completion."""

    document: Hashable
    """Newer requests of the same document supersede older ones."""
    snapshot: Snapshot
    options: CompletionOptions
    patience: float | None = None
    """Seconds of work for it after which whole words written so far are the answer; None waits for
    all of it."""
    delay: float = 0.0
    """Seconds to wait for a newer request before the model is asked (debouncing)."""
    ahead: bool = False
    """Whether more may be read there when the model has nothing to do."""
    caution: Caution = BOLD
    """How sure what is shown has to be. What is remembered does not depend on it."""
    most: int | None = None
    """How many continuations are shown at most, of those that are known; None for all."""
    connection: Hashable = None
    """Whose wish it is: connections take turns at the model."""


def keys_of(request: Request) -> Wanted:
    """Where an answer may be found: pairs of a key and what is typed, likeliest first.

    A key is all that an answer depends on, but for what is typed: exact bytes. Closers after the
    cursor are left out, as they are of prompts: a bracket that the editor closes by itself changes
    nothing. Documents of one language may have different grammars, which are edited, too: the file
    of a grammar or schema is a part of the key, with its version.

    The first pair is about the cursor's line, and a new answer is remembered by it. The others are
    about the lines before, where an answer of several lines was asked for that is typed along now.
    """
    snapshot, options = request.snapshot, request.options
    text, cursor = snapshot.text, snapshot.cursor
    place = place_at(snapshot)
    grammar = options.grammar != "off" and files_of(
        snapshot.uri,
        snapshot.language,
        text,
        dict(options.grammar_files),
        dict(options.grammar_schemas),
    )
    joined = len(place.rest) if place.closers is not None else len(place.tail)
    after = with_lf(text[cursor + joined : cursor + joined + KEY_BYTES])

    def key(start: int) -> Hashable:
        before = with_lf(text[max(0, start - KEY_BYTES) : start])
        title = title_of(snapshot, start, cursor + joined)
        return (snapshot.language, options, grammar, title, before, place.tail, after)

    start, end = line_bounds(text, cursor)
    stop = min(cursor, end)  # the cursor may stand between `\r` and `\n`
    found = [(key(start), text[start:stop])]
    while not place.rest and start and len(found) <= EARLIER_LINES:
        start, _ = line_bounds(text, start - (2 if text[start - 2 : start] == b"\r\n" else 1))
        found.append((key(start), with_lf(text[start:stop])))
    return found
