"""Reading a page of ours as a browser would, as far as its structure goes."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta"}

_TAGS = """
html head meta title style body main header section p h1 h2 b i code span div del ins dl dt dd
table thead tbody tr th td ul li details summary svg rect text tspan line path circle
"""
_ATTRIBUTES = """
charset http-equiv content name lang class title aria-hidden role width height viewbox
x y x1 x2 y1 y2 rx d cx cy r textlength lengthadjust
"""
TAGS, ATTRIBUTES = set(_TAGS.split()), set(_ATTRIBUTES.split())
"""All that may be in a page: nothing that runs, loads, links, or styles one element."""


@dataclass
class Node:
    """An element."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Node | str"] = field(default_factory=list)

    def walk(self):
        """This element and all in it, in order."""
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.walk()

    def find(self, tag, class_=""):
        """The elements of a kind in it."""
        wanted = set(class_.split())
        return [
            node
            for node in self.walk()
            if node.tag == tag and wanted <= set(node.attributes.get("class", "").split())
        ]

    @property
    def text(self) -> str:
        """All text in it."""
        return "".join(c if isinstance(c, str) else c.text for c in self.children)

    @property
    def plain(self) -> str:
        """All text in it but signs."""
        return "".join(
            child if isinstance(child, str) else child.plain
            for child in self.children
            if isinstance(child, str) or "sign" not in child.attributes.get("class", "").split()
        )


class Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Node("")
        self.open = [self.root]
        self.declarations: list[str] = []

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs)
        node = Node(tag, dict(attrs))
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag):
        assert self.open.pop().tag == tag

    def handle_data(self, data):
        self.open[-1].children.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data!r}")

    def handle_decl(self, decl):
        self.declarations.append(decl)

    def handle_pi(self, data):
        raise AssertionError(f"an instruction: {data!r}")

    def unknown_decl(self, data):
        raise AssertionError(f"a declaration: {data!r}")


def parsed(html: str) -> Node:
    """The page's root; asserts that it is well formed and that only what is allowed is in it."""
    builder = Builder()
    builder.feed(html)
    builder.close()
    assert builder.open == [builder.root]
    assert builder.declarations == ["DOCTYPE html"]
    [root] = [child for child in builder.root.children if isinstance(child, Node)]
    for node in root.walk():
        assert node.tag in TAGS
        assert set(node.attributes) <= ATTRIBUTES
    assert all(c.isprintable() or c == "\n" for c in html)
    return root
