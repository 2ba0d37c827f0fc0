"""The covering tree as a picture: every token over the characters that it spells.

Columns are characters of what was typed, so all ways to spell it stand under each other, and the
cursor is one line through all of them::

    you typed   i m p o r t   n u m p |
                [ import  ]           |                     kept
                          └[ n ]      |                     together 2.2 %
                               └[ump]─[er]                   1 in 400,000
                          └[ numpy    |y ]  ##########       97.8 %

What is not here: what is said about it (`sections`).
"""

from dataclasses import dataclass, field

from healing.covers import ROOT
from server.explain_page.facts import Facts, Token
from server.explain_page.markup import Child, Element, cells, code, cropped, element, likely, log_of
from server.explain_page.trace import SeenLeaf, SeenTree
from server.terminal import count

CELL, ROW, BOX = 10.5, 29, 22
"""The width of a character, and the heights of a row and of a token in it, in pixels."""

LEAVES, NODES = 10, 16
"""So many last tokens and inner tokens are drawn; of the others their number is told."""

KEPT_CELLS, AFTER_CELLS = 24, 18
"""So much is drawn of the tokens that are kept, and of what a token shows after the cursor."""

BAR = 150
"""The width of the bar for 100 %."""

LEFT, TOP = 8.0, 54.0

VERDICTS = {
    "counts": "",
    "refused": "refused by the grammar",
    "never": "no text is split like this",
}


@dataclass
class _Canvas:
    """What is drawn so far, row by row."""

    columns: dict[int, float]
    """The x of bytes of the typed text."""
    right: float
    """Where bars start."""
    taken: str
    """What is said of the way that won."""
    drawn: list[Element] = field(default_factory=list)
    rows: int = 0

    @property
    def y(self) -> float:
        """The top of the next row."""
        return TOP + self.rows * ROW


def tree_picture(facts: Facts) -> Element | None:
    """The picture; None where there is no tree."""
    tree = facts.tree
    if tree is None:
        return None
    leaves = _shown_leaves(tree)
    nodes = _shown_nodes(facts, tree, leaves)
    cursor = len(tree.typed)
    trunk = [facts.token(token) for token in tree.trunk]
    first = _first_shown(trunk)
    cuts = {cursor, first, *(leaf.start for leaf in leaves)}
    cuts |= {offset for node in nodes for offset in (tree.nodes[node].start, tree.nodes[node].end)}
    columns = _columns(tree.typed, first, cuts)
    after = max([4, *(_after_cells(leaf) for leaf in leaves)])
    against = facts.completion.ended == "other wishes" and not facts.written
    taken = "the best one, not written" if against else "taken"
    canvas = _Canvas(columns, columns[cursor] + after * CELL + 16, taken)

    kept, end = facts.typed_tokens, sum(len(token.text) for token in trunk)
    as_typed = {tuple(token.id for token in kept[:size]) for size in range(len(kept) + 1)}
    _draw_kept(canvas, trunk, first)
    _draw_below(canvas, facts, ROOT, (canvas.y - ROW, end), leaves, nodes, as_typed)
    bottom = canvas.y + 4
    more = tree.count - len(leaves)
    if more > 0:
        rest = max(0.0, 1 - sum(leaf.share for leaf in leaves))
        hidden = len(tree.nodes) - len(nodes)
        branches = f" and {count(hidden, 'inner token')}" if hidden else ""
        text = f"and {count(more, 'more last token')}{branches}, together {likely(rest)}"
        canvas.drawn.append(element("text", text, x=LEFT, y=bottom + 14, class_="muted"))

    width = max(canvas.right + BAR + 270, 560)
    x = columns[cursor]
    line = element("line", x1=x, x2=x, y1=TOP - ROW - 8, y2=bottom, class_="cursor")
    sign = element("text", "cursor", x=x, y=12, class_="muted middle")
    return element(
        "svg",
        element("title", "The ways in which tokens can spell what was typed, as a tree"),
        *_ruler(canvas, tree.typed, first, end),
        sign,
        *canvas.drawn,
        line,
        class_="tree",
        role="img",
        width=width,
        height=bottom + 24,
        viewBox=f"0 0 {width:g} {bottom + 24:g}",
    )


def _shown_leaves(tree: SeenTree) -> list[SeenLeaf]:
    """The most probable ones, and the one that was taken."""
    shown = list(tree.leaves[:LEAVES])
    return shown + [leaf for leaf in tree.leaves[LEAVES:] if leaf.taken]


def _shown_nodes(facts: Facts, tree: SeenTree, leaves: list[SeenLeaf]) -> set[int]:
    """Nodes on the way to leaves that are shown, then those of the text as it was typed."""
    wanted: dict[int, None] = {}
    for leaf in leaves:
        node = leaf.node
        while node != ROOT:
            wanted[node] = None
            node = tree.nodes[node].parent
    node, ids = ROOT, [token.id for token in facts.typed_tokens[len(tree.trunk) :]]
    for token in ids:
        below = (n for n, at in enumerate(tree.nodes) if (at.parent, at.token) == (node, token))
        node = next(below, ROOT)
        if node == ROOT or len(wanted) >= NODES:
            break
        wanted[node] = None
    return set(wanted)


def _first_shown(trunk: list[Token]) -> int:
    """The byte offset from which kept tokens are drawn: whole tokens, if not too many."""
    offset = sum(len(token.text) for token in trunk)
    room = KEPT_CELLS
    for token in reversed(trunk):
        room -= cells(token.text)
        if room < 0:
            break
        offset -= len(token.text)
    return offset


def _columns(typed: bytes, first: int, cuts: set[int]) -> dict[int, float]:
    """The x of every byte from one on. A character that tokens share is as wide as its bytes."""
    found = {first: LEFT}
    offset, x = first, LEFT
    for character in typed[first:].decode("utf-8", "surrogateescape"):
        data = character.encode("utf-8", "surrogateescape")
        inside = any(offset + at in cuts for at in range(1, len(data)))
        width = (2 * len(data) if inside else max(1, cells(data))) * CELL
        for at in range(1, len(data) + 1):
            found[offset + at] = x + width * at / len(data)
        offset, x = offset + len(data), x + width
    return found


def _after_cells(leaf: SeenLeaf) -> int:
    return 4 if leaf.token is None else min(AFTER_CELLS, cells(leaf.visible)) + 1


def _text(x: float, y: float, text: bytes, width: float, class_: str) -> Element:
    """Text that takes exactly its columns, whatever the font."""
    length: dict[str, str | float] = {"textLength": round(width, 1), "lengthAdjust": "spacing"}
    return element("text", *code(text, tag="tspan"), x=x + 1, y=y + 15.5, class_=class_, **length)


def _box(canvas: _Canvas, start: int, end: int, typed: bytes, class_: str) -> None:
    """A token, or its part, over typed bytes."""
    x, width = canvas.columns[start], canvas.columns[end] - canvas.columns[start]
    rect = element(
        "rect", x=x + 0.8, y=canvas.y, width=width - 1.6, height=BOX, rx=3, class_=class_
    )
    canvas.drawn += [rect, _text(x, canvas.y, typed[start:end], width, "code")]


def _ruler(canvas: _Canvas, typed: bytes, first: int, end: int) -> list[Element]:
    """What was typed, at the top."""
    made, y = [], TOP - ROW - 8
    for start, stop, class_ in ((first, end, "code"), (end, len(typed), "code owed")):
        x, width = canvas.columns[start], canvas.columns[stop] - canvas.columns[start]
        if stop > start:
            made.append(_text(x, y, typed[start:stop], width, class_))
    return made


def _draw_kept(canvas: _Canvas, trunk: list[Token], first: int) -> None:
    """The row of the tokens that all ways have in common; a dot if there are none to draw."""
    offset = sum(len(token.text) for token in trunk)
    typed = b"".join(token.text for token in trunk)
    for token in reversed(trunk):
        start = offset - len(token.text)
        if start < first:
            break
        _box(canvas, start, offset, typed, "box kept")
        offset = start
    x = canvas.columns[len(typed)]
    if offset == len(typed):
        canvas.drawn.append(element("circle", cx=x, cy=canvas.y + BOX / 2, r=4, class_="dot"))
    canvas.drawn.append(_note(canvas, "stays as it is" if trunk else "the start of the answer"))
    canvas.rows += 1


def _note(canvas: _Canvas, *text: Child, class_: str = "muted", dx: float = 0) -> Element:
    return element("text", *text, x=canvas.right + dx, y=canvas.y + 15, class_=class_)


def _draw_below(
    canvas: _Canvas,
    facts: Facts,
    node: int,
    above: tuple[float, int],
    leaves: list[SeenLeaf],
    nodes: set[int],
    as_typed: set[tuple[int, ...]],
) -> None:
    """All that comes after a node, likeliest first.

    Args:
        canvas: Is added to.
        facts: Of the suggestion.
        node: The node, or `ROOT`.
        above: The y of its row, and the byte offset at which it ends.
        leaves: All leaves that are drawn.
        nodes: All nodes that are drawn.
        as_typed: Paths of the text as it was typed.
    """
    tree = facts.tree
    assert tree is not None
    y, end = above
    below = [child for child in nodes if tree.nodes[child].parent == node]
    entries: list[tuple[float, SeenLeaf | int]] = [
        *((leaf.share, leaf) for leaf in leaves if leaf.node == node),
        *((tree.nodes[child].share, child) for child in below),
    ]
    x = canvas.columns[end] - CELL / 2
    for _, entry in sorted(entries, key=lambda pair: -pair[0]):
        middle = canvas.y + BOX / 2
        path = f"M{x:g} {y + BOX:g} V{middle:g} H{canvas.columns[end]:g}"
        canvas.drawn.append(element("path", d=path, class_="edge"))
        if isinstance(entry, SeenLeaf):
            _draw_leaf(canvas, tree, entry, facts.token(entry.token))
            continue
        seen, row = tree.nodes[entry], canvas.y
        typed = _path(tree, entry) in as_typed
        _box(canvas, seen.start, seen.end, tree.typed, "box again typed" if typed else "box again")
        step = "" if seen.step is None else f": {log_of(seen.step)} after what is before it"
        title = element("title", f"token {seen.token}{step}")
        said = (
            f"together {likely(seen.share)}" if seen.share else "too improbable to be asked about"
        )
        said += " · as it was typed" if typed else ""
        canvas.drawn.append(_note(canvas, title, said))
        canvas.rows += 1
        _draw_below(canvas, facts, entry, (row, seen.end), leaves, nodes, as_typed)


def _draw_leaf(canvas: _Canvas, tree: SeenTree, leaf: SeenLeaf, token: Token) -> None:
    """A last token: what it types again, what it shows after the cursor, and its probability."""
    cursor = len(tree.typed)
    state = "taken" if leaf.taken else leaf.verdict
    if leaf.start < cursor:
        _box(canvas, leaf.start, cursor, tree.typed, f"box again {state}")
    x = canvas.columns[cursor]
    text, more = (b"end", False) if leaf.token is None else cropped(leaf.visible, AFTER_CELLS)
    width = cells(text) * CELL
    kind = "end" if leaf.token is None else "new"
    size = {"width": width - 1.6, "height": BOX, "rx": 3}
    canvas.drawn.append(
        element("rect", x=x + 0.8, y=canvas.y, class_=f"box {kind} {state}", **size)
    )
    canvas.drawn.append(_text(x, canvas.y, text, width, f"code {state}"))
    if more:
        canvas.drawn.append(element("text", "…", x=x + width + 2, y=canvas.y + 15, class_="muted"))
    filled = max(1.5, BAR * min(leaf.share, 1.0))
    track = {"y": canvas.y + 7, "height": 8, "rx": 4}
    canvas.drawn += [
        element("rect", x=canvas.right, width=BAR, class_="track", **track),
        element(
            "rect",
            element("title", f"token {token.id}: {log_of(leaf.share)}"),
            x=canvas.right,
            width=filled,
            class_=f"fill {state}",
            **track,
        ),
        _note(canvas, likely(leaf.share), dx=BAR + 8, class_=f"number {state}"),
    ]
    said = canvas.taken if leaf.taken else VERDICTS[leaf.verdict]
    if said:
        canvas.drawn.append(_note(canvas, said, dx=BAR + 122, class_=f"said {state}"))
    canvas.rows += 1


def _path(tree: SeenTree, node: int) -> tuple[int, ...]:
    """The tokens from the start of the typed text to the end of a node."""
    tail: list[int] = []
    while node != ROOT:
        tail.append(tree.nodes[node].token)
        node = tree.nodes[node].parent
    return (*tree.trunk, *reversed(tail))
