r"""Which end of what was typed an engine writes again, and which tokens stay.

Where the vocabulary is known, that is as far back as alignment goes in this process: to the first
boundary that could have come out differently (`healing.covers`), or as long as some token spells
all of it (`healing.constrained.loose`). Where an engine only splits texts, it is the last tokens.

The engine is told characters, so what is forced starts where one does::

    typed   │ name │ = │ "caf │ \xc3 │ \xa9 │        kept: name = "caf
                              └── forced ──┘

Bytes that can't be said (no UTF-8, NUL) stay as they are, and only what comes after them is forced.
"""

from dataclasses import dataclass

from healing.constrained import aligned, loose, one_token
from healing.covers import covering_tree
from healing.tokenization import Tokenization
from server.remote.literal import can_be_forced

LAST_TOKENS = 3
"""Taken back where nothing is known but the split itself: deeper makes a greedy engine choose worse
first tokens, less does not reach the start of many words."""


@dataclass(frozen=True)
class Forced:
    """What was typed, as an engine gets it: `kept` tokens spell what comes before `owed`."""

    kept: tuple[int, ...] = ()
    owed: bytes = b""
    """The answer begins with it. Empty if nothing is forced."""
    owed_tokens: int = 0
    """Tokens of the typed text, as it is usually split, that spell it or a part of it."""


def forced_end(
    typed: bytes, tokenization: Tokenization, method: str, *, exact: bool, whole: bool
) -> Forced:
    """The part of a typed text that is forced.

    Args:
        typed: From the hole's start to the cursor.
        tokenization: The tokenizer.
        method: `align`, or `one` for the last token only.
        exact: Whether covering trees understand the vocabulary.
        whole: Whether all of the vocabulary is known.
    """
    if not typed:
        return Forced()
    ids = tuple(tokenization.encode(typed))
    if method == "one":
        owed = one_token(typed, tokenization).owed if whole else _last(ids, 1, tokenization)
    elif whole and exact:
        owed = aligned(covering_tree(typed, tokenization)).owed
    elif whole:
        owed = loose(typed, tokenization).owed
    else:
        owed = _last(ids, LAST_TOKENS, tokenization)
    start = max(0, len(typed) - len(owed))
    return _forced_from(start, typed, ids, tokenization)


def _last(ids: tuple[int, ...], count: int, tokenization: Tokenization) -> bytes:
    return tokenization.vocabulary.decode(ids[-count:])


def _forced_from(
    start: int, typed: bytes, ids: tuple[int, ...], tokenization: Tokenization
) -> Forced:
    """The forced end from `start` on, or from a little before or after where that can't be said."""
    ends = [0]
    for token in ids:
        ends.append(ends[-1] + len(tokenization.vocabulary[token]))
    for count in range(len(ids), -1, -1):
        end = ends[count]
        if end <= start and can_be_forced(typed[end:]):
            if tokenization.vocabulary.decode(ids[:count]) == typed[:end]:
                return Forced(ids[:count], typed[end:], len(ids) - count)
            break
    while not can_be_forced(typed[start:]):
        start += 1
    kept = tuple(tokenization.encode(typed[:start]))
    return Forced(kept, typed[start:], sum(end > start for end in ends))
