r"""Text that is really written at a place, greedily, and how much of it is what really followed.

    >>> how_right(b"turn x", b"turn x + 1", 4)
    Written(token=True, word=True, line=False)
    >>> similarity("return x", "return y")
    0.875

What is not here: probabilities (`scores`) and the rules of the language server.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from healing.rows import RowCache
from server.bench.heal.prompts import Truth
from server.completer import Completer
from server.decoding import generate
from server.prompt import Prompt

MOST_TOKENS = 32
"""Longer rests of lines count as not reproduced."""

REPEATED = 16
"""So many bytes of what follows a hole, written again, end what is written in it."""

_WORD = re.compile(rb"[^\S\n]*(?:[\w\x80-\xff]+|[^\w\s\x80-\xff]+)")


@dataclass(frozen=True)
class Written:
    """Whether a text agrees with what really followed, to the end of its token, word and line."""

    token: bool
    word: bool
    line: bool


def write(completer: Completer, prompt: Prompt, method: str, truth: Truth, rest: bytes) -> Written:
    """Write greedily until the line ends or is wrong, and compare.

    Args:
        completer: The model.
        prompt: With its hole at the cursor for the method `off`.
        method: One of `decoding.METHODS`, or `loose`.
        truth: The true tokens at this place.
        rest: What really follows on the line.
    """
    text = _generated(
        completer,
        prompt,
        method,
        MOST_TOKENS,
        lambda so_far: b"\n" in so_far or not rest.startswith(so_far),
    )
    return how_right(text, rest, truth.visible)


def fill(
    completer: Completer, prompt: Prompt, method: str, max_tokens: int, follows: bytes
) -> bytes:
    """Write greedily until the model ends the text, or begins to write what follows the hole."""
    until = follows[:REPEATED] if len(follows[:REPEATED].strip()) >= REPEATED // 2 else None
    text = _generated(
        completer,
        prompt,
        method,
        max_tokens,
        lambda so_far: until is not None and until in so_far,
    )
    return text if until is None else text.partition(until)[0]


def _generated(
    completer: Completer,
    prompt: Prompt,
    method: str,
    max_tokens: int,
    should_stop: Callable[[bytes], bool],
) -> bytes:
    """Write greedily, with no rows from earlier places."""
    return generate(
        completer.engine,
        completer.tokenization,
        prompt,
        method,
        rows=RowCache(),
        max_tokens=max_tokens,
        should_stop=should_stop,
    ).text


def how_right(text: bytes, rest: bytes, visible: int) -> Written:
    """Compare a text with the rest of a line, whose first token shows `visible` bytes of it.

    Blanks at the end of the line don't matter. A token may reach beyond the line's end.
    """
    line = text.split(b"\n", 1)[0]
    ended = line != text
    word, found = _WORD.match(rest), _WORD.match(line)
    return Written(
        token=(text if ended else line).startswith(rest[:visible]),
        word=word is not None and found is not None and word[0] == found[0],
        line=line.rstrip() == rest.rstrip(),
    )


def similarity(one: str, other: str) -> float:
    """How alike two texts are, from 0 to 1: one minus the edits between them a character.

    Edits are of single characters (Levenshtein), a character is one of the longer text.
    """
    if not one and not other:
        return 1.0
    row = list(range(len(other) + 1))
    for number, character in enumerate(one, 1):
        above, row[0] = row[0], number
        for at, wanted in enumerate(other, 1):
            above, row[at] = (
                row[at],
                min(row[at] + 1, row[at - 1] + 1, above + (character != wanted)),
            )
    return 1 - row[-1] / max(len(one), len(other))
