"""Recall and precision of covering trees, for real vocabularies at random places in real code.

Recall: the path that the tokenizer takes through the whole text is in the tree. Precision: every
boundary has a leaf, and every leaf that is read out is right, which is shown by the tokenizer's
`encode` alone: some continuation makes it return the path and the leaf.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise, product

import numpy as np

from healing import exact
from healing.covers import Boundary, CoveringTree, covering_tree
from healing.tokenization import Tokenization
from tests.healing.cuts import Cut, all_files, cuts, read
from tests.healing.real import file_of, tokenization_of_file

READ = 32
"""How many leaves are read out, the most probable ones, at each cut."""

CONTINUATIONS = [
    *("", "x", " x", "  x", "7", " 7", "777", "7777", "\n", "\n x", "\r\n", "\n\n", "\t", " "),
    *("'", "'s x", "'t", '"', ")", " (", "=", "/", "X", "_x", ".x", "\u00df", "\u4e16", "\u0301"),
]
"""What may follow a leaf; written for this test, not those that `healing` tries."""

SCATTERED = [0x80 + 23 * index % 64 for index in range(64)]
"""Bytes that continue a character: neighbours are often in the vocabulary together."""


def typed_and_gold(cut: Cut, anchored: bool, tokenization: Tokenization) -> tuple[bytes, list[int]]:
    """The typed bytes as a prompt would have them, and the whole text's tokens from there on."""
    if anchored:
        return cut.text[cut.line : cut.cursor], tokenization.encode(cut.text[cut.line :])
    ids = tokenization.encode(cut.text)
    start = tokenization.sure_boundary(cut.text, max(0, cut.cursor - 100))
    offset = count = 0
    while offset < start:
        offset += len(tokenization.vocabulary[ids[count]])
        count += 1
    assert offset == start, f"no boundary after {cut.text[:start]!r}"
    return cut.text[start : cut.cursor], ids[count:]


def holds(tree: CoveringTree, gold: list[int]) -> bool:
    """Whether the way that some tokens take across the cursor is in the tree."""
    vocabulary = tree.tokenization.vocabulary
    offset = count = 0
    while count < len(gold) and offset + len(vocabulary[gold[count]]) <= len(tree.typed):
        offset += len(vocabulary[gold[count]])
        count += 1
    leaves = tree.tokenization.trie.extending(tree.typed[offset:])
    return any(
        boundary.start == offset
        and tree.path(boundary.node) == tuple(gold[:count])
        and (
            tree.admits(boundary, gold[count]) and gold[count] in leaves
            if count < len(gold)
            else boundary.stop
        )
        for boundary in tree.boundaries
    )


def proven(tree: CoveringTree, boundary: Boundary, token: int) -> bool:
    """Whether the encoder splits some text into a boundary's path and a leaf."""
    wanted = [*tree.path(boundary.node), token]
    text = tree.tokenization.vocabulary.decode(wanted)
    encode = tree.tokenization.encode
    return any(
        is_utf8(text + end) and encode(text + end)[: len(wanted)] == wanted
        for end in continuations(text)
    )


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def continuations(text: bytes) -> Iterator[bytes]:
    """Ways to go on; an unfinished character is finished first, in every way there is."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        tail = text[error.start :]
        missing = (2 if tail[0] < 0xE0 else 3 if tail[0] < 0xF0 else 4) - len(tail)
        yield from map(bytes, product(SCATTERED, repeat=missing))
    else:
        yield from (continuation.encode() for continuation in CONTINUATIONS)


class Bigrams:
    """A small language model, learned from some files: what it finds likely are real leaves."""

    def __init__(self, tokenization: Tokenization) -> None:
        followers: dict[int, Counter[int]] = {}
        total: Counter[int] = Counter()
        for path in all_files()[:: len(all_files()) // 25]:
            ids = tokenization.encode(read(path)[:20_000].encode())
            total.update(ids)
            for left, right in pairwise(ids):
                followers.setdefault(left, Counter())[right] += 1
        self.followers = followers
        counts = np.full(len(tokenization.vocabulary), 0.01)
        counts[list(total)] += list(total.values())
        self.usual = np.log(counts / counts.sum()).astype(np.float32)

    def __call__(self, path: tuple[int, ...]) -> np.ndarray:
        """The logits after a path: those of its last token's followers, else the usual ones."""
        followers = self.followers.get(path[-1] if path else -1, Counter())
        row = self.usual.copy()
        row[list(followers)] = np.log(list(followers.values()))
        return row


def judged(tree: CoveringTree, model: Bigrams) -> tuple[int, list[tuple[int, int | None]]]:
    """How many leaves and boundaries were judged, and which are not proven.

    These are (boundary, leaf), or (boundary, None) for a boundary without any leaf.
    """
    rows = {path: model(path) for path in exact.unscored(tree, {})}
    scored = exact.score(tree, rows, ())
    found: list[tuple[int, int | None]] = []
    count = 0
    served = {index for index, boundary in enumerate(tree.boundaries) if boundary.stop}
    for index in islice(scored.by_probability(), READ):
        owner, token = int(scored.owners[index]), int(scored.tokens[index])
        if scored.admits(index):
            served.add(owner)
            count += 1
            if not proven(tree, tree.boundaries[owner], token):
                found.append((owner, token))
    for owner in set(range(len(tree.boundaries))) - served:
        count += 1
        boundary = tree.boundaries[owner]
        if not any(proven(tree, boundary, token) for token in leaves_of(tree, boundary)):
            found.append((owner, None))
    return count, found


def leaves_of(tree: CoveringTree, boundary: Boundary) -> Iterator[int]:
    """All leaves of a boundary, frequent ones that can stand beside its last token first."""
    leaves = tree.tokenization.trie.extending(tree.typed[boundary.start :])
    frequent = np.sort(np.partition(leaves, 255)[:256] if len(leaves) > 256 else leaves).tolist()
    merges, path = tree.tokenization.merges, tree.path(boundary.node)
    if merges is not None and path:
        yield from (token for token in frequent if merges.separate(path[-1], token))
    yield from frequent
    yield from leaves.tolist()


@dataclass
class Findings:
    """What was found at some cuts."""

    sizes: Counter[int]
    """Nodes in a tree, and how many trees had so many."""
    judged: int
    """Leaves and boundaries that were looked at for `invented`."""
    missing: list[tuple[str, str, bytes, bytes]]
    """File, stratum and text around the cuts whose gold path is not in the tree."""
    invented: list[tuple[bytes, int, int | None]]
    """Text before the cuts, boundary and leaf, for what is not proven."""

    def __add__(self, other: "Findings") -> "Findings":
        return Findings(
            self.sizes + other.sizes,
            self.judged + other.judged,
            self.missing + other.missing,
            self.invented + other.invented,
        )

    @property
    def mean_size(self) -> float:
        """Nodes in a tree, on average."""
        total = sum(size * count for size, count in self.sizes.items())
        return total / self.sizes.total()


def examine(name: str, seed: int, count: int) -> Findings:
    """Try a vocabulary at random cuts, half of them anchored at the line's start."""
    found = Findings(Counter(), 0, [], [])
    with tokenization_of_file(file_of(name)) as tokenization:
        model = Bigrams(tokenization)
        for number, cut in enumerate(cuts(count, seed)):
            typed, gold = typed_and_gold(cut, number % 2 == 0, tokenization)
            tree = covering_tree(typed, tokenization)
            found.sizes[len(tree.nodes)] += 1
            if not holds(tree, gold):
                around = (typed[-40:], cut.text[cut.cursor :][:20])
                found.missing.append((cut.file, cut.stratum, *around))
            looked, wrong = judged(tree, model)
            found.judged += looked
            found.invented += [(typed[-40:], *which) for which in wrong]
    return found
