"""Whole suggestions for the rest of a line, with code below it (and maybe behind it), judged.

The language server's own path writes them, rules and all: as it is by default, without the grammar,
and without healing as well. CPython judges whether what is written can still become a program. What
is not here: another program's suggestions (`peers`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from server.bench.doubling import is_doubled
from server.bench.heal.places import library
from server.bench.heal.writing import similarity
from server.bench.holes import Hole, compiles, holes, is_dead_end
from server.completer import Completer
from server.completion_options import CompletionOptions
from server.snapshot import Snapshot

WAYS = {
    "exact, grammar": ("exact", "auto"),
    "exact": ("exact", "off"),
    "off": ("off", "off"),
}
"""Healing method and mode of the grammar by the name of a way; the first one is the default."""
MOST_TOKENS = 32


@dataclass(frozen=True)
class Judged:
    """A suggestion in its hole."""

    shown: bool
    """Whether there is one. One that is not shown matches nothing, and is no fault either."""
    match: bool
    """Whether the file is as it was."""
    similarity: float
    """Of what the line now has from the cursor on, to what it had (see `similarity`)."""
    doubled: bool
    """Whether it writes something a second time."""
    dead_end: bool
    """Whether no text after it could make the file compile."""


def line_holes(seed: int) -> Iterator[Hole]:
    """Holes that are the rest of a line or a part of it, without end; the same for a seed."""
    return (hole for hole in holes(library(), seed) if hole.kind != "block")


def suggest(
    completer: Completer, hole: Hole, healing: str, grammar: str, context_tokens: int
) -> tuple[bytes, int]:
    """The language server's suggestion for a hole, and how many bytes behind it it replaces."""
    options = CompletionOptions(
        healing=healing,
        grammar="auto" if grammar == "auto" else "off",
        max_tokens=MOST_TOKENS,
        context_tokens=context_tokens,
    )
    snapshot = Snapshot(hole.name, 0, hole.before + hole.after, len(hole.before), "python")
    items = completer.complete(snapshot, options).items
    return (items[0].text.encode(), items[0].replaced_bytes) if items else (b"", 0)


def judge(hole: Hole, text: bytes, replaced: int) -> Judged:
    """How good a suggestion is.

    Args:
        hole: A hole within a line.
        text: The suggestion; empty for none.
        replaced: How many bytes after the hole it takes the place of.
    """
    line, real = (after.split(b"\n", 1)[0] for after in (hole.after[replaced:], hole.after))
    alike = similarity((text + line).decode(errors="replace"), (hole.text + real).decode())
    if not text:
        return Judged(False, False, alike, False, False)
    written = hole.before + text
    after = hole.after[replaced:]
    texts = (hole.before, text, after, hole.text)
    return Judged(
        True,
        written + after == hole.before + hole.text + hole.after,
        alike,
        is_doubled(*(part.decode(errors="replace") for part in texts)),
        not compiles(written + after) and is_dead_end(written),
    )
