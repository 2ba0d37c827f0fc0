r"""How probable each of some names is, as what is typed goes on: all names in one tree of tokens.

A person has typed `ge`; which of the names `get`, `get_all`, `getattr` is it going to be? A name's
probability is that of all covers of the text with the whole name in it, as in `exact`, divided by
that of all covers of what is typed: P(text goes on with the rest of the name | what is typed).
After a name that ends with a letter the name has to end, too: what follows is a byte of no name, or
the text ends. Otherwise `get` would be more probable than `get_all`, whatever the model thinks.
(After a name like `get(` anything may follow, and its own tokens tell all.)

The paths of all names are one tree, whose trunk is that of the covering tree::

    typed: b"x = ge"    x, " =" ── " get" ── (no letter: the name `get`)
                           │         └────── "_all" ── (no letter: `get_all`)
                           └── " getattr" ── (no letter: `getattr`)

A node's row tells the probability of each node below it, so what a name has at most is known before
its nodes are evaluated: `wanted` names the paths that are worth it, most probable names first.
Where only the best names are asked for, others are left as soon as their bound shows that they are
none of these. What is left keeps its bound.

Paths are admissible ones (`covers.admissible`), and this is tested where it matters: for likely
leaves first. The others are taken to be admissible to the same share, once an error of that could
only change a small share of the name's probability (`UNCHECKED`). A node is evaluated only if some
continuation of a name goes through it: after `(sh` no `ould` can come, as `(should` is split
otherwise.

What is not here: which names there are, and evaluating anything.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from healing.covers import CoveringTree
from healing.exact import Path, Rows, score
from healing.merges import Merges, MergesAndAdditions
from healing.name_nodes import Leaves, NameNode, SearchedName, sorted_leaves
from healing.origins import Origin, common_start, inner_paths, reaches, whole
from healing.sampling import log_normaliser
from healing.spelled import Endings, parts_of
from healing.ways import Ways

UNCHECKED = 1e-3
"""The share of a name's probability that may be wrong, for what is not evaluated or checked."""

DOUBT = 0.005
"""The share of unchecked leaves that is taken to be inadmissible at least, to be on the safe side.

After names it was less than a thousandth (with Qwen's vocabulary), as what comes after a name is a
pretoken of its own; where more is found, more is checked. Without pretokens, all may be.
"""

LOOKS = 512
"""Names that are looked at before the paths that they asked for are evaluated, at most."""

LEAST = 1e-300
"""A probability that is as good as none: 64-bit numbers end there."""


@dataclass(frozen=True)
class NameScore:
    """What is known of a name."""

    probability: float
    """Given its origin's typed text; the most that it can be if not `settled`."""
    settled: bool
    """Whether it is known, but for `UNCHECKED` of it."""
    share: float
    """The same to compare names of all origins by: given the shortest typed text, and weighted."""


class NameSearch:
    """Names whose probabilities become known, the most probable ones first."""

    def __init__(
        self, origins: Sequence[Origin], rows: Rows, stops: Iterable[int], word: frozenset[int]
    ) -> None:
        """Begin with what the covering trees' own rows tell.

        Args:
            origins: Typed texts of one prompt with their names, at least one. All start with the
                shortest of them.
            rows: Logits after the inner paths of all trees, and after all beginnings of these
                from the shortest trunk on (see `needed`).
            stops: Ids that end the text.
            word: The bytes that names are made of. Empty: names do not have to end.

        Raises:
            KeyError: A row is missing.
        """
        self._tokenization = origins[0].tree.tokenization
        self._stops = np.fromiter(stops, dtype=np.int64)
        self._word = word
        self._has_pretokens = isinstance(self._tokenization.merges, Merges | MergesAndAdditions)
        vocabulary, trie = self._tokenization.vocabulary, self._tokenization.trie
        self._endings = Endings(vocabulary, trie, word)
        self._ways = Ways(self._tokenization, self._endings)
        self._names: list[SearchedName] = []
        self._nodes: list[NameNode] = []
        self._by_path: dict[Path, list[int]] = {}
        self._places: list[list[int]] = []
        """For each origin, the search's name of each of its names."""
        self._low = np.empty(0)
        self._high = np.empty(0)
        self._settled = np.empty(0, dtype=bool)
        base = common_start([origin.tree.trunk for origin in origins])
        trees = {origin.tree.typed: origin.tree for origin in origins}
        self._reached = {typed: reaches(tree, base, rows) for typed, tree in trees.items()}
        """For each typed text, natural logs of the probabilities of its inner paths."""
        self._known_typed: dict[bytes, float] = {}
        shortest = min((origin.tree for origin in origins), key=lambda tree: len(tree.typed))
        # As shares of all covers of what is typed, so that numbers stay of a usual size.
        total = self._typed(shortest, rows)
        self._shares = [float(np.exp(self._typed(one.tree, rows) - total)) for one in origins]
        begun = [
            self._begin(origin, share, total)
            for origin, share in zip(origins, self._shares, strict=True)
        ]
        self._low, self._high = np.zeros(len(self._names)), np.zeros(len(self._names))
        self._settled = np.zeros(len(self._names), dtype=bool)
        for node in (node for nodes in begun for node in nodes):
            self._expand(node, rows[self._nodes[node].path])
        for name in range(len(self._names)):
            self._count(name)

    def wanted(self, most: int, best: int | None) -> list[Path]:
        """The paths to evaluate next, parents first; none if all that was asked for is known.

        Args:
            most: How many paths, about.
            best: How many of the best names are to be known; None for all.
        """
        asked: dict[Path, None] = {}
        while not asked:
            contenders = self._contenders(best)
            if not len(contenders):
                break
            # Many names may ask for the same few paths, and know more when these are known.
            for name in contenders[:LOOKS].tolist():
                self._look(name, asked, ahead=best is None)
                if len(asked) >= most:
                    break
        return sorted(asked, key=len)

    def add(self, path: Path, row: NDArray[np.floating]) -> None:
        """Take the logits after a path; those of a shorter path come before. Others are ignored."""
        for index in self._by_path.get(path, ()):
            node = self._nodes[index]
            if node.is_open and self._is_admissible(node):
                self._expand(index, row)
            for name in range(node.first, node.end):
                self._count(name)

    @property
    def shares(self) -> list[float]:
        """For each origin, the probability of its typed text, given the shortest one."""
        return self._shares

    def scores(self) -> list[list[NameScore]]:
        """What is known of every name, by origin, in the order in which they were given."""
        return [[self._score(name) for name in places] for places in self._places]

    def _score(self, name: int) -> NameScore:
        known, share = self._names[name], float(self._high[name])
        if self._settled[name]:
            share -= known.unchecked * (1 - known.admissible_share)
        probability = min(1.0, share / known.scale)
        return NameScore(probability, bool(self._settled[name]), share)

    # -- the beginning ---------------------------------------------------------------------------

    def _begin(self, origin: Origin, share: float, total: float) -> list[int]:
        """Note an origin's names, and nodes for its boundaries, which are given back."""
        tree, offset = origin.tree, len(self._names)
        masses = self._reached[tree.typed]
        scale = share * origin.weight
        ordered = sorted(set(origin.rests))
        self._names += [
            SearchedName(rest, self._has_to_end(tree.typed + rest), max(scale, LEAST))
            for rest in ordered
        ]
        numbers = {rest: offset + number for number, rest in enumerate(ordered)}
        self._places.append([numbers[rest] for rest in origin.rests])
        found = []
        for boundary in tree.boundaries:
            path = tree.path(boundary.node)
            mass = float(np.exp(masses[path] - total)) * origin.weight
            owed = tree.typed[boundary.start :]
            node = NameNode(
                path, boundary.path, owed, 0, offset, len(self._names), mass, boundary.stop
            )
            node.is_checked = True
            found.append(self._add(node))
        return found

    def _typed(self, tree: CoveringTree, rows: Rows) -> float:
        """Natural log of the probability of all covers of a typed text after the base."""
        if tree.typed not in self._known_typed:
            own = {path: rows[path] for path in inner_paths(tree)}
            scored = score(tree, own, self._stops.tolist())
            after = self._reached[tree.typed][tree.trunk]
            self._known_typed[tree.typed] = after + whole(scored)
        return self._known_typed[tree.typed]

    def _has_to_end(self, text: bytes) -> bool:
        return text[-1:] != b"" and text[-1] in self._word

    def _add(self, node: NameNode, parent: int | None = None) -> int:
        """Note a node for its names, but for those that do not go along its parent."""
        index = len(self._nodes)
        self._nodes.append(node)
        self._by_path.setdefault(node.path, []).append(index)
        for name in self._names[node.first : node.end]:
            if parent is None or parent in name.nodes:
                name.nodes.append(index)
        return index

    # -- one row ---------------------------------------------------------------------------------

    def _expand(self, index: int, row: NDArray[np.floating]) -> None:
        """Replace a node's mass by that of what follows it."""
        node = self._nodes[index]
        node.is_open = False
        normaliser = log_normaliser(row)

        def masses(tokens: NDArray[np.int64]) -> NDArray[np.float64]:
            return np.exp(row[tokens].astype(np.float64) - normaliser) * node.mass

        names = self._names[node.first : node.end]
        rests = [node.owed + name.rest[node.used :] for name in names]
        parts = list(parts_of(rests, self._tokenization.trie, len(node.owed)))
        probable = masses(np.array([part.token for part in parts], dtype=np.int64))
        for part, mass in zip(parts, probable.tolist(), strict=True):
            first = part.first
            if len(rests[first]) == part.length and not names[first].whole:
                if index in names[first].nodes:
                    leaf = Leaves(index, [part.token], [mass], [mass, 0.0])
                    names[first].leaves.append(leaf)
                first += 1
            if first < part.end and mass > 0:
                child = self._child(node, part.token, part.length, first, part.end, mass)
                self._add(child, index)
        for name, rest in zip(names, rests, strict=True):
            if index not in name.nodes:
                continue
            if name.whole:
                tokens = self._endings.after(rest)
            elif rest:
                tokens = self._tokenization.trie.extending(rest)
            else:
                name.low += node.mass
                continue
            found = sorted_leaves(index, tokens, masses(tokens))
            if not rest and node.may_stop and len(self._stops):
                stopping = float(masses(self._stops).sum())
                name.leaves.append(Leaves(index, [-1], [stopping], [stopping, 0.0]))
            if found is not None:
                name.leaves.append(found)

    def _child(
        self, node: NameNode, token: int, length: int, first: int, end: int, mass: float
    ) -> NameNode:
        used = node.used + length - len(node.owed)
        names = range(node.first + first, node.first + end)
        return NameNode(
            (*node.path, token),
            (*node.window, token),
            b"",
            used,
            names.start,
            names.stop,
            mass,
            may_stop=True,
        )

    # -- which row next --------------------------------------------------------------------------

    def _contenders(self, best: int | None) -> NDArray[np.int64]:
        """Names that are not settled and may be among the best, most probable ones first."""
        enough = LEAST
        if best is not None and best < len(self._low):
            enough = max(enough, float(np.partition(self._low, -best)[-best]))
        found = np.flatnonzero(~self._settled & (self._high >= enough))
        return found[np.argsort(-self._high[found], kind="stable")]

    def _look(self, number: int, asked: dict[Path, None], *, ahead: bool) -> None:
        """Check leaves of a name, and ask for rows, until the rest is a small share.

        It is settled if no row has to be asked for.
        """
        name = self._names[number]
        taken: dict[int, float] = {}
        while True:
            leaves, index = self._next(name, taken)
            doubt = max(DOUBT if self._has_pretokens else 1.0, 1 - name.admissible_share)
            leaf = doubt * name.unchecked if leaves else 0.0
            left = sum(self._nodes[n].mass for n in name.nodes if n not in taken)
            if leaf + left <= UNCHECKED * (name.low + sum(taken.values())):
                break
            node = None if index is None else self._nodes[index]
            if leaves and (node is None or doubt * leaves.masses[leaves.checked] >= node.mass):
                self._check(name, leaves)
            elif node is None or index is None:
                break
            elif not self._goes_along(name, index):
                name.nodes.remove(index)
            else:
                taken[index] = node.mass
                asked.setdefault(node.path)
                if ahead or node.end - node.first == 1:
                    asked.update(dict.fromkeys(self._ahead(node, name)))
        self._count(number)
        self._settled[number] = not taken

    def _next(self, name: SearchedName, taken: Container[int]) -> tuple[Leaves | None, int | None]:
        """The group with the most probable leaf to check, and the most probable node to ask for."""
        leaves = max(
            (group for group in name.leaves if group.checked < len(group.tokens)),
            key=lambda group: group.masses[group.checked],
            default=None,
        )
        nodes = (index for index in name.nodes if index not in taken)
        return leaves, max(nodes, key=lambda index: self._nodes[index].mass, default=None)

    def _goes_along(self, name: SearchedName, index: int) -> bool:
        """Whether some admissible path of a name begins with a node's."""
        if index not in name.going:
            node = self._nodes[index]
            rest = name.rest[node.used :]
            size = len(node.window)
            if self._split(name, node)[:size] == node.window or self._ways.lead_on(
                node.window, rest, whole=name.whole
            ):
                name.going.add(index)
        return index in name.going

    def _split(self, name: SearchedName, node: NameNode) -> Path:
        """How the encoder splits the window with the whole name, one of whose nodes is given."""
        if not name.split:
            text = self._tokenization.vocabulary.decode(node.window) + name.rest[node.used :]
            name.split = tuple(self._tokenization.encode(text))
        return name.split

    def _ahead(self, node: NameNode, name: SearchedName) -> Iterable[Path]:
        """The paths after a node along the encoder's own split of a name, which it likely takes."""
        split, size = self._split(name, node), len(node.window)
        if split[:size] == node.window:
            for count in range(size + 1, len(split) + (1 if name.whole else 0)):
                yield (*node.path, *split[size:count])

    def _check(self, name: SearchedName, leaves: Leaves) -> None:
        """Look at the most probable leaf that was not looked at."""
        token, mass = leaves.tokens[leaves.checked], leaves.masses[leaves.checked]
        leaves.checked += 1
        window = self._nodes[leaves.node].window
        if token < 0:
            text = self._tokenization.vocabulary.decode(window)
            admitted = tuple(self._tokenization.encode(text)) == window
        else:
            admitted = self._ways.admit(window, token)
        if admitted:
            name.low += mass
            name.admitted += mass
        else:
            name.refused += mass

    def _is_admissible(self, node: NameNode) -> bool:
        """Whether a node's path is admissible; if not, the node is closed."""
        if not node.is_checked:
            node.is_checked = True
            node.is_open = self._ways.admit(node.window[:-1], node.window[-1])
        return node.is_open

    def _count(self, number: int) -> None:
        """Add up what a name has at most: to subtract would leave rounding errors of what was."""
        name = self._names[number]
        name.nodes = [index for index in name.nodes if self._nodes[index].is_open]
        nodes = sum(self._nodes[index].mass for index in name.nodes)
        self._low[number], self._high[number] = name.low, name.low + nodes + name.unchecked
