"""Re-typing under a mask: the cheaper methods, one token at a time.

They take back some tokens at the end of the typed text and let the model choose again, step by
step, among tokens that agree with the bytes taken back (the *owed* bytes):

- *alignment* (`aligned`): back to the first boundary of the covering tree, and only down its paths,
  so that every path is one the tokenizer could have made (the canonicity mask). Several steps if
  need be. Where the tree can't be had, `loose` masks by bytes alone, as guidance and llama.cpp's
  pull request 7187 do.
- *one token* (`one_token`): takes back the last token and chooses once, as exllamav2 does.

Both ask at each step which token is likely, never how likely the rest of the owed bytes is after
it. That is what `exact` adds; these are here for comparison, and for engines that can't evaluate
trees.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from healing.covers import CoveringTree
from healing.tokenization import Tokenization

Path = tuple[int, ...]


@dataclass(frozen=True)
class Retyping:
    """A constraint that re-types the end of the typed text, one token after the other."""

    kept: Path
    """The typed text's tokens that stay."""
    owed: bytes
    """The typed bytes after them, which have to be written again."""
    allowed: Callable[[Path, bytes], NDArray[np.int64]]
    """Tokens that agree, given the tokens written since `kept` and the bytes still owed."""
    admits: Callable[[Path, int], bool]
    """A slower second test of one allowed token, in the order in which they are wanted."""


def aligned(tree: CoveringTree) -> Retyping:
    """Alignment within the covering tree: as deep as typed text could have been split otherwise."""
    tokenization = tree.tokenization
    inner = {tree.path(node) for node in range(len(tree.nodes))}
    starts = {tree.path(boundary.node): boundary for boundary in tree.boundaries}
    trunk_bytes = len(tokenization.vocabulary.decode(tree.trunk))

    def allowed(path: Path, owed: bytes) -> NDArray[np.int64]:
        here = tree.trunk + path
        children = [p[-1] for p in inner if len(p) == len(here) + 1 and p[:-1] == here]
        leaves = tokenization.trie.extending(owed) if here in starts else np.empty(0, np.int64)
        return np.concatenate([np.array(sorted(children), dtype=np.int64), leaves])

    def admits(path: Path, token: int) -> bool:
        here = tree.trunk + path
        return (*here, token) in inner or (here in starts and tree.admits(starts[here], token))

    return Retyping(tree.trunk, tree.typed[trunk_bytes:], allowed, admits)


def loose(typed: bytes, tokenization: Tokenization) -> Retyping:
    """Alignment by bytes alone, for vocabularies whose splits are not understood.

    The encoder's own tokens are taken back from the end for as long as some token starts with all
    the bytes taken back (the dynamic rollback of llama.cpp's pull request 7187), at least one.
    """
    ids = tokenization.encode(typed)
    trie, vocabulary = tokenization.trie, tokenization.vocabulary
    usable = _spelled_at_the_end(ids, typed, tokenization)
    count = min(1, usable)
    while count < usable and len(trie.extending(vocabulary.decode(ids[-count - 1 :]))):
        count += 1
    kept, owed = ids[: len(ids) - count], vocabulary.decode(ids[len(ids) - count :])
    # An encoder may add a blank before the text; what it spells then is not what was typed.
    if vocabulary.decode(kept) + owed != typed and _can_spell(typed, tokenization):
        kept, owed = [], typed

    def allowed(_: Path, owed: bytes) -> NDArray[np.int64]:
        prefixes = [
            token
            for token in trie.prefixes_of(owed)
            if _can_spell(owed[len(vocabulary[token]) :], tokenization)
        ]
        return np.concatenate([np.array(prefixes, dtype=np.int64), trie.extending(owed)])

    return Retyping(tuple(kept), owed, allowed, lambda _path, _token: True)


def one_token(typed: bytes, tokenization: Tokenization) -> Retyping:
    """The last token again or one that starts with its bytes: one step, and no more."""
    ids = tokenization.encode(typed)
    count = min(1, _spelled_at_the_end(ids, typed, tokenization))
    kept, owed = ids[: len(ids) - count], tokenization.vocabulary.decode(ids[len(ids) - count :])

    def allowed(_: Path, owed: bytes) -> NDArray[np.int64]:
        return tokenization.trie.starting_with(owed)

    return Retyping(tuple(kept), owed, allowed, lambda _path, _token: True)


def _spelled_at_the_end(ids: list[int], typed: bytes, tokenization: Tokenization) -> int:
    """How many tokens at the end spell what is typed there.

    All of them, if the vocabulary can spell every text. Else one of them may stand for what it
    can't spell, and stays.
    """
    end, count = len(typed), 0
    while count < len(ids):
        piece = tokenization.vocabulary[ids[-count - 1]]
        if not typed[:end].endswith(piece) or ids[-count - 1] not in tokenization.trie.spelling(
            piece
        ):
            break
        end -= len(piece)
        count += 1
    return count


def _can_spell(text: bytes, tokenization: Tokenization) -> bool:
    """Whether tokens spell a text, or one that starts with it."""
    trie, vocabulary = tokenization.trie, tokenization.vocabulary
    good = {len(text)}
    for start in range(len(text) - 1, -1, -1):
        rest = text[start:]
        if len(trie.extending(rest)) or any(
            start + len(vocabulary[token]) in good for token in trie.prefixes_of(rest)
        ):
            good.add(start)
    return 0 in good
