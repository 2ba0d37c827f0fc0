"""Reading a scored covering tree: the model's distribution over what comes after the cursor.

The probability of a cover is the product of the model's probabilities along its path, and the
probability of a first visible text is the sum over the covers that show it. Leaves are checked for
admissibility in the order of their probability, and checking ends when what is left can't matter.
Exactness has three edges: what stays unchecked (`UNCHECKED` here, `CHECKS` in `best`), paths left
out because they can't matter (`negligible` in `unscored`), and splits that none of the witnesses of
`covers` shows.

With the natural-log probabilities of the next token after each inner path::

    log P(leaf) = sum of log P(token) along the path + log P(leaf token)

In use: `unscored` names the paths to evaluate, `score` takes the model's logits after them, and
`read`, `draw` or `best.most_probable` looks at the result.

The distribution is over admissible covers only, renormalised once, as a whole (ByteSampler, arXiv
2506.14123, section 3): mass that a model gives to impossible splits is dropped where it falls.

Sampling: temperature belongs to the model, so it is applied to every row before the sums.
Truncation (top-k, top-p, min-p) chooses among what may be shown, so it is applied to the leaves:
cutting the forced part of a path would refuse text that a person has already typed.

A grammar may stand beside the tokenizer: leaves count if it accepts what they show, too, and the
distribution is over these alone, renormalised. It is asked first, as it is quicker to answer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from healing.covers import CoveringTree
from healing.sampling import log_normaliser

Path = tuple[int, ...]
Rows = Mapping[Path, NDArray[np.floating]]
"""Token path from the start of the typed text to the logits after it, shape (vocabulary,)."""


@runtime_checkable
class KnownNormalisers(Protocol):
    """Rows that find out once what a row's normaliser is (`rows.RowCache`)."""

    def normaliser(self, path: Path, temperature: float) -> float:
        """What `log_normaliser` says of the row after a path."""


Accepts = Callable[[bytes], bool]
"""Whether a text may come first after the cursor; the empty text stands for the end of the text.

What starts with a text that it refuses must be refused as well. It may be asked about the same text
twice, and about any first bytes of a visible text.
"""

UNCHECKED = 1e-3
"""The share of probability that may stay unchecked (0 checks every leaf)."""

FIRST_SORT = 512
"""How many leaves are sorted at first; more are sorted only if these do not settle the matter."""


@dataclass(frozen=True)
class Leaf:
    """The last token of a cover, or the end of the text at the cursor."""

    path: Path
    """The tokens before it, from the start of the typed text."""
    node: int
    """The tree's node that the path ends in, or `ROOT`."""
    token: int
    """The id; for the end of the text the stop token that the model prefers."""
    logprob: float
    """Natural log of the probability of path and token after the trunk, before renormalisation."""
    visible: bytes
    """What it shows after the cursor; empty for the end of the text."""


@dataclass(frozen=True)
class Reading:
    """Admissible leaves, most probable first, and what is known of the rest."""

    leaves: tuple[Leaf, ...]
    unchecked: float
    """Share of the probability (of leaves and unchecked ones together) that was not checked."""
    logprob: float
    """Natural log of the probability of all leaves and unchecked ones after the trunk: log Z."""
    refused: float = 0.0
    """Share of the probability (of these and of the refused ones) that a grammar refused."""

    def visible(self) -> list[tuple[bytes, float, Leaf]]:
        """First visible texts with their summed probability and best leaf, most probable first."""
        sums: dict[bytes, float] = {}
        best: dict[bytes, Leaf] = {}
        for leaf in self.leaves:
            share = float(np.exp(leaf.logprob - self.logprob))
            sums[leaf.visible] = sums.get(leaf.visible, 0.0) + share
            best.setdefault(leaf.visible, leaf)
        ordered = sorted(sums, key=lambda text: -sums[text])
        return [(text, sums[text], best[text]) for text in ordered]

    def next_byte(self) -> NDArray[np.float64]:
        """Shape (257,): the probability of each next byte; index 256 is the end of the text."""
        result = np.zeros(257)
        for leaf in self.leaves:
            result[leaf.visible[0] if leaf.visible else 256] += np.exp(leaf.logprob - self.logprob)
        return result


@dataclass(frozen=True)
class Scored:
    """All leaves of a tree with their probabilities, not yet checked; shapes (leaves,)."""

    tree: CoveringTree
    owners: NDArray[np.int64]
    """Index of the boundary at which each leaf starts."""
    tokens: NDArray[np.int64]
    """The leaf's id; `-1 - id` where it stands for the end of the text."""
    logprobs: NDArray[np.float64]
    """Natural log of the probability after the trunk."""
    logprob: float
    """The log of their sum."""
    unexpanded: Mapping[Path, float]
    """Paths without a row, and the log of the probability that their leaves have at most."""
    accepts: Accepts | None = None
    """What else must hold of a visible text; None if nothing."""

    def leaf(self, index: int) -> Leaf:
        """One leaf in full."""
        boundary = self.tree.boundaries[int(self.owners[index])]
        token = int(self.tokens[index])
        path = self.tree.path(boundary.node)
        logprob = float(self.logprobs[index])
        return Leaf(path, boundary.node, max(token, -1 - token), logprob, self.visible(index))

    def visible(self, index: int) -> bytes:
        """What a leaf shows after the cursor; empty for the end of the text."""
        token = int(self.tokens[index])
        if token < 0:
            return b""
        owed = len(self.tree.typed) - self.tree.boundaries[int(self.owners[index])].start
        return self.tree.tokenization.vocabulary[token][owed:]

    def accepted(self, index: int) -> bool:
        """Whether the grammar, if there is one, accepts what a leaf shows."""
        return self.accepts is None or self.accepts(self.visible(index))

    def admits(self, index: int) -> bool:
        """Whether a leaf is admissible."""
        token = int(self.tokens[index])
        return token < 0 or self.tree.admits(self.tree.boundaries[int(self.owners[index])], token)

    def bytes_at(self, indices: NDArray[np.int64], offset: int) -> NDArray[np.int64]:
        """The byte that each leaf shows at an offset after the cursor; 256 if it shows less.

        Args:
            indices: Leaves, shape (k,).
            offset: In bytes.
        """
        vocabulary = self.tree.tokenization.vocabulary
        owed = np.array([len(self.tree.typed) - one.start for one in self.tree.boundaries])
        tokens = self.tokens[indices]
        places = vocabulary.offsets[tokens] + (owed + offset)[self.owners[indices]]
        shown = (tokens >= 0) & (places < vocabulary.offsets[tokens + 1])
        found = np.full(len(indices), 256)
        found[shown] = np.frombuffer(vocabulary.blob, dtype=np.uint8)[places[shown]]
        return found

    def first_bytes(self) -> NDArray[np.int64]:
        """The first byte that each leaf shows, as `bytes_at` has it.

        Nearly all leaves start at the cursor: they are all tokens, in the order of the trie.
        """
        result = np.empty(len(self.tokens), dtype=np.int64)
        ends = np.searchsorted(self.owners, np.arange(len(self.tree.boundaries)), side="right")
        start = 0
        for boundary, end in zip(self.tree.boundaries, ends.tolist(), strict=True):
            if boundary.start == len(self.tree.typed) and end > start:
                known = self.tree.tokenization.trie.first_bytes
                result[start : start + len(known)] = known
                start += len(known)
            result[start:end] = self.bytes_at(np.arange(start, end), 0)
            start = end
        return result

    def by_probability(self) -> Iterator[int]:
        """Indices, most probable leaf first; the long tail is sorted only when it is reached."""
        count = len(self.logprobs)
        top = np.empty(0, dtype=np.int64)
        if count > 2 * FIRST_SORT:
            top = np.argpartition(-self.logprobs, FIRST_SORT)[:FIRST_SORT]
            yield from top[np.argsort(-self.logprobs[top], kind="stable")].tolist()
        tail = np.delete(np.arange(count), top)
        yield from tail[np.argsort(-self.logprobs[tail], kind="stable")].tolist()


def unscored(tree: CoveringTree, rows: Rows, negligible: float = 0.0) -> list[Path]:
    """The inner paths whose rows are needed and not known, parents first; the trunk may be one.

    Args:
        tree: A covering tree.
        rows: The rows that are known already, by path.
        negligible: A path whose leaves together have less than this share of what is known is
            left out: its own probability, which its parent's row tells, bounds theirs.
    """
    inner = sorted({tree.trunk, *map(tree.path, range(len(tree.nodes)))}, key=lambda p: (len(p), p))
    missing = [path for path in inner if path not in rows]
    if not missing or not negligible or tree.trunk not in rows:
        return missing
    scored = score(tree, rows, ())
    needed: list[Path] = []
    for path in missing:
        reach = scored.unexpanded.get(path)
        if reach is None:  # below a path that is unknown itself
            if path[:-1] in needed:
                needed.append(path)
        elif reach - np.logaddexp(scored.logprob, reach) >= np.log(negligible):
            needed.append(path)
    return needed


def score(
    tree: CoveringTree,
    rows: Rows,
    stops: Iterable[int],
    temperature: float = 1.0,
    accepts: Accepts | None = None,
) -> Scored:
    """The probability of every leaf.

    Args:
        tree: A covering tree.
        rows: Logits after the trunk and after the nodes of the tree. A node without a row has no
            leaves in the result; `unexpanded` tells what they have at most.
        stops: Ids that end the text; as one leaf they compete with the others at the cursor.
        temperature: Divides all logits (above 0).
        accepts: What else must hold of a visible text for its leaves to count.
    """
    ends = np.fromiter(stops, dtype=np.int64)
    normalisers = {
        path: _normaliser(rows, path, temperature)
        for path in {tree.trunk, *map(tree.path, range(len(tree.nodes)))}
        if path in rows
    }

    def logprob(path: Path, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        values = np.take(rows[path], ids).astype(np.float64)  # half the time of `[ids]`
        if temperature != 1:
            values /= temperature
        values -= normalisers[path]
        return values

    reach: dict[Path, float] = {tree.trunk: 0.0}
    for index, node in enumerate(tree.nodes):
        parent = tree.path(node.parent)
        if parent in normalisers and parent in reach:
            step = float(logprob(parent, np.array([node.token]))[0])
            reach[tree.path(index)] = reach[parent] + step

    owners, tokens, logprobs = [], [], []
    for index, boundary in enumerate(tree.boundaries):
        path = tree.path(boundary.node)
        if path not in normalisers or path not in reach:
            continue
        ids = tree.tokenization.trie.extending(tree.typed[boundary.start :])
        own = logprob(path, ids)
        own += reach[path]
        if boundary.stop and len(ends):
            stopping = reach[path] + logprob(path, ends)
            ids = np.append(ids, -1 - ends[int(np.argmax(stopping))])
            own = np.append(own, np.logaddexp.reduce(stopping))
        owners.append(np.full(len(ids), index))
        tokens.append(ids)
        logprobs.append(own)
    joined = np.concatenate(logprobs) if logprobs else np.empty(0)
    return Scored(
        tree,
        np.concatenate(owners) if owners else np.empty(0, dtype=np.int64),
        np.concatenate(tokens) if tokens else np.empty(0, dtype=np.int64),
        joined,
        log_normaliser(joined) if len(joined) else -np.inf,
        {path: mass for path, mass in reach.items() if path not in normalisers},
        accepts,
    )


def _normaliser(rows: Rows, path: Path, temperature: float) -> float:
    if isinstance(rows, KnownNormalisers):
        return rows.normaliser(path, temperature)
    return log_normaliser(rows[path], temperature)


def read(scored: Scored, unchecked: float = UNCHECKED) -> Reading:
    """The distribution over leaves, until at most this share of the probability is unchecked."""
    leaves: list[Leaf] = []
    admitted, refused, rest = 0.0, 0.0, 1.0
    for index in scored.by_probability():
        share = float(np.exp(scored.logprobs[index] - scored.logprob))
        rest = max(0.0, rest - share)
        if not scored.accepted(index):
            refused += share
        elif scored.admits(index):
            leaves.append(scored.leaf(index))
            admitted += share
        if unchecked and rest <= unchecked * (admitted + rest) and leaves:
            break
    else:
        rest = 0.0  # not what rounding left of it: little may be admissible
    total = max(admitted + rest, 1e-300)
    return Reading(
        tuple(leaves),
        rest / total,
        scored.logprob + float(np.log(total)),
        refused / (refused + total),
    )
