"""The covering tree: every way in which the model's tokens could have spelled what is typed.

Text that goes on after the cursor may be split into tokens differently from text that ends there:
`import nump` is `import| n|ump`, but `import numpy` is `import| numpy`. A *cover* of the typed
bytes is a token path whose last token ends at or after the cursor. It is *admissible* if it is how
the tokenizer splits some longer text. All admissible covers form a small tree::

    typed: b"import nump"           import ── " n" ── "ump" ── (any next token)       boundary 11
                                      └── " numpy", " numpad", ...                    boundary  6

Its inner nodes are few (two on average beyond the common trunk), for byte-pair encoding leaves
at most one path to each byte offset (at the cursor another one: the text as it stands). The last
tokens of the covers, the *leaves*, are many; they are not stored but found by prefix, and
`CoveringTree.admits` tells which of them are admissible.

The method is the valid covering tree of ByteSampler (Hayase, Liu, Smith, Oh 2025, arXiv
2506.14123); Phan et al. (arXiv 2410.09303) prove that covers carry the whole probability. Ours
differs in how it knows the pretokenizer: not by its rules but by *witnesses*, continuations that
make every known look-ahead rule show itself. A path is admissible if, with one of them after it,
the encoder returns it. So every admitted path comes with a proof, for any pretokenizer.

Not here: scoring (`exact`), and vocabularies without a byte for every byte value.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from healing.tokenization import Tokenization
from healing.unfinished import finishing_bytes, is_text, unfinished_tail
from healing.vocabulary import TokenKind, Vocabulary

ROOT = -1
"""In `Node.parent` and `Boundary.node`: the end of the trunk."""

TELLING = 6
"""How many witnesses, from the first, are tried where the merges say that two tokens would join.

Then only the end of a pretoken can keep them apart, and these show every such end.
"""

PROBES = 24
"""How many leaves are tried before a boundary counts as one without leaves.

Likely leaves are tried first, so the first admissible one is nearly always among the first three.
"""

NEIGHBOURS = 256
"""How many leaves are looked at, by their merges alone, to find the likely ones."""

REMEMBERED = 1 << 14
"""So many answers of `admissible` are remembered: while a word is typed, the same paths are asked
about at each key, and to find that a path has no leaf takes hundreds of encodings."""


@dataclass(frozen=True)
class Node:
    """A token of the tree beyond the trunk."""

    parent: int
    """Index of the parent node, or `ROOT`."""
    token: int


@dataclass(frozen=True)
class Boundary:
    """A place in the tree where the last token of a cover may start."""

    node: int
    """The node that ends here, or `ROOT`."""
    start: int
    """Byte offset in the typed text; leaves are the tokens that continue `typed[start:]`."""
    stop: bool
    """Whether the text may also end here, at the cursor."""
    path: tuple[int, ...]
    """The tokens from the start of the window to here, for `CoveringTree.admits`."""


@dataclass(frozen=True)
class CoveringTree:
    """The admissible covers of some typed bytes."""

    tokenization: Tokenization
    typed: bytes
    trunk: tuple[int, ...]
    """The tokens that all covers start with."""
    nodes: tuple[Node, ...]
    """The inner nodes beyond the trunk, parents first: what has to be evaluated."""
    boundaries: tuple[Boundary, ...]
    """Where leaves start, by offset; the last ones are at the cursor. Never empty."""

    def path(self, node: int) -> tuple[int, ...]:
        """The tokens from the start of the typed text to the end of a node."""
        tail: list[int] = []
        while node != ROOT:
            tail.append(self.nodes[node].token)
            node = self.nodes[node].parent
        return self.trunk + tuple(reversed(tail))

    def admits(self, boundary: Boundary, token: int) -> bool:
        """Whether a leaf is admissible: some text is split into this path and this token."""
        return admissible(self.tokenization, boundary.path, token)

    @property
    def backed_up(self) -> bytes:
        """The typed bytes that the model types again: those after the first boundary."""
        return self.typed[self.boundaries[0].start :]


def covering_tree(typed: bytes, tokenization: Tokenization) -> CoveringTree:
    """The covering tree of the bytes between a fixed token boundary and the cursor.

    Args:
        typed: The bytes from the boundary (the start of the text, or a control token) to the
            cursor. A few hundred bytes: the work grows with their number.
        tokenization: The model's tokenizer.

    Returns:
        A tree with at least one boundary: what the encoder makes of `typed` as it stands.
    """
    size = len(typed)
    longest = tokenization.vocabulary.longest
    starts = [
        start
        for start in range(max(0, size - longest), size)
        if tokenization.trie.is_extended(typed[start:])
    ]
    whole = tokenization.encode(typed)
    base, fixed = _window(typed, starts[0] if starts else size, whole, tokenization)
    window = typed[base:]

    splits = {tuple(whole[len(fixed) :])}
    splits |= {tuple(tokenization.encode(window + w)) for w in _endings(window, tokenization)}
    paths: dict[int, set[tuple[int, ...]]] = {start: set() for start in [*starts, size]}
    proven: set[tuple[int, ...]] = set()
    for split in splits:
        for offset, path, crosses in _prefixes(split, base, size, tokenization.vocabulary):
            if offset in paths:
                paths[offset].add(path)
                if crosses:
                    proven.add(path)
    for start in starts:
        paths[start].add(tuple(tokenization.encode(window[: start - base])))

    found = [(size, tuple(whole[len(fixed) :]), True)]
    for start, candidates in paths.items():
        for path in candidates:
            if path != found[0][1] and (
                path in proven or _has_leaf(tokenization, path, typed[start:])
            ):
                found.append((start, path, False))
    return _assemble(tokenization, typed, fixed, found)


def admissible(tokenization: Tokenization, path: tuple[int, ...], token: int) -> bool:
    """Whether some text that starts a pretoken at the path's start is split into path and token.

    The path may spell anything, for that may have been typed; what the token adds must be UTF-8.
    """
    known, key = tokenization.known_admissible, (path, token)
    found = known.get(key)
    if found is None:
        if len(known) >= REMEMBERED:
            known.clear()
        found = known[key] = _is_admissible(tokenization, path, token)
    return found


def _is_admissible(tokenization: Tokenization, path: tuple[int, ...], token: int) -> bool:
    wanted = [*path, token]
    text = tokenization.vocabulary.decode(wanted)
    piece = tokenization.vocabulary[token]
    begun = unfinished_tail(text[: len(text) - len(piece)])
    if not (is_text(begun + piece) or (begun and is_text(piece))):
        return False
    endings = _endings(text, tokenization, token)
    merges = tokenization.merges
    if path and merges is not None and not merges.separate(path[-1], token):
        endings = islice(endings, TELLING)
    return any(tokenization.encode(text + end)[: len(wanted)] == wanted for end in endings)


def _window(
    typed: bytes, first: int, whole: list[int], tokenization: Tokenization
) -> tuple[int, tuple[int, ...]]:
    """Where the search may start, and the tokens before it, which no continuation changes."""
    base = tokenization.sure_boundary(typed, first)
    fixed = tokenization.encode(typed[:base])
    if whole != fixed + tokenization.encode(typed[base:]):
        return 0, ()
    return base, tuple(fixed)


def _endings(text: bytes, tokenization: Tokenization, token: int | None = None) -> Iterator[bytes]:
    """Continuations to try after a text; an unfinished character is finished first."""
    if not unfinished_tail(text):
        yield from tokenization.witnesses
    for ending in finishing_bytes(text, tokenization, token):
        yield ending
        yield ending + b"a"


def _prefixes(
    split: tuple[int, ...], base: int, size: int, vocabulary: Vocabulary
) -> Iterator[tuple[int, tuple[int, ...], bool]]:
    """Offset, path and whether the next token passes the cursor, for each prefix of a split."""
    offset = base
    for count in range(len(split) + 1):
        if offset > size:
            return
        after = offset + len(vocabulary[split[count]]) if count < len(split) else offset
        yield offset, split[:count], after > size
        offset = after


def _has_leaf(tokenization: Tokenization, path: tuple[int, ...], owed: bytes) -> bool:
    """Whether a path can be continued by a token that starts with `owed` and goes on."""
    leaves = tokenization.trie.extending(owed)
    if len(leaves) > NEIGHBOURS:  # at the cursor that is nearly the whole vocabulary
        # SentencePiece's first tokens are those of single bytes, which are seldom used.
        leaves = leaves[tokenization.vocabulary.kinds[leaves] == TokenKind.NORMAL]
    if len(leaves) > NEIGHBOURS:
        leaves = np.partition(leaves, NEIGHBOURS)[:NEIGHBOURS]
    first = sorted(leaves.tolist())
    likely = iter(first)
    merges = tokenization.merges
    if merges is not None and path:
        apart = (token for token in first if merges.separate(path[-1], token))
        likely = chain(first[:1], apart)
    return any(admissible(tokenization, path, token) for token in islice(likely, PROBES))


def _assemble(
    tokenization: Tokenization,
    typed: bytes,
    fixed: tuple[int, ...],
    found: Iterable[tuple[int, tuple[int, ...], bool]],
) -> CoveringTree:
    """Join the paths into one tree below their longest common prefix."""
    ordered = sorted(found)
    paths = [path for _, path, _ in ordered]
    low, high = min(paths), max(paths)
    common = 0
    while common < len(low) and low[common] == high[common]:
        common += 1

    nodes: list[Node] = []
    index: dict[tuple[int, ...], int] = {low[:common]: ROOT}
    for path in paths:
        for length in range(common + 1, len(path) + 1):
            if path[:length] not in index:
                nodes.append(Node(index[path[: length - 1]], path[length - 1]))
                index[path[:length]] = len(nodes) - 1
    boundaries = tuple(Boundary(index[path], start, stop, path) for start, path, stop in ordered)
    return CoveringTree(tokenization, typed, fixed + low[:common], tuple(nodes), boundaries)
