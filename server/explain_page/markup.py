r"""HTML and SVG as trees of elements, so that no text can become markup; and text that is seen.

Whatever is put into an element as a string is text: it is escaped when the tree is written, and
characters without a sign of their own (controls, marks that turn the direction of writing, bytes
that are no UTF-8) get one. There is no way to put markup in as a string.

    >>> rendered(element("b", "<i>\x00", title='"'))
    '<b title="&quot;">&lt;i&gt;␀</b>'
"""

import math
import unicodedata
from collections.abc import Iterable
from typing import Protocol
from xml.etree import ElementTree as ET

from rich.cells import cell_len

from server.visible import visible

Element = ET.Element
Child = Element | str | None

SIGNS = {" ": "·", "\n": "↵", "\t": "⇥"}
"""How blanks are shown where they have to be seen."""


HARDLY_EVER = 1e-8
"""What is less probable than this is not worth a number."""


class Spelled(Protocol):
    """A token: what it spells, or the name of a mark."""

    @property
    def text(self) -> bytes:
        """The bytes."""

    @property
    def is_mark(self) -> bool:
        """Whether it is a mark of a prompt's structure."""


def element(tag: str, /, *children: Child, **attributes: str | float) -> Element:
    """An element; strings are text, None is nothing.

    An attribute's name is written with `_` for `-`, and with a `_` at its end where Python has a
    word like it (`class_`).
    """
    made = ET.Element(tag)
    for key, value in attributes.items():
        made.set(key.rstrip("_").replace("_", "-"), _attribute(value))
    for child in children:
        if isinstance(child, str):
            _append_text(made, "\n".join(map(visible, child.split("\n"))))
        elif child is not None:
            made.append(child)
    return made


def rendered(root: Element) -> str:
    """The HTML of a tree."""
    return ET.tostring(root, encoding="unicode", method="html")


def code(
    text: bytes, *, blanks: bool = True, lines: bool = False, tag: str = "span"
) -> list[Element | str]:
    r"""Text of a document, a model or a token, with signs for what can't be seen.

    Args:
        text: Any bytes.
        blanks: Whether blanks, too, are shown by signs.
        lines: Whether a line end is one, beside its sign.
        tag: The element that signs are in: `span`, or `tspan` within SVG.
    """
    found: list[Element | str] = []
    plain = ""
    for index, character in enumerate(text.decode("utf-8", "surrogateescape")):
        sign = sign_of(character, first=index == 0, blanks=blanks)
        if sign is None:
            plain += character
            continue
        if plain:
            found.append(plain)
        plain = "\n" if character == "\n" and lines else ""
        found.append(element(tag, sign, class_="sign"))
    if plain:
        found.append(plain)
    return found


def sign_of(character: str, *, first: bool, blanks: bool) -> str | None:
    """What is shown in place of a character; None for itself.

    A mark that would sit on the character before it has none there at the beginning of a text.
    """
    if character == " " and not blanks:
        return None
    if character in SIGNS:
        return SIGNS[character]
    if "\udc80" <= character <= "\udcff":
        return f"{ord(character) - 0xDC00:02X}"
    if not character.isprintable():
        return visible(character)
    if first and unicodedata.category(character).startswith("M"):
        return f"◌{character}"
    return None


def flat(text: bytes) -> str:
    """The same on one line, as a plain string."""
    characters = text.decode("utf-8", "surrogateescape")
    signs = (sign_of(c, first=not i, blanks=True) or c for i, c in enumerate(characters))
    return "".join(signs)


def cells(text: bytes) -> int:
    """How many columns of a fixed-width font that takes."""
    return cell_len(flat(text))


def cropped(text: bytes, most: int) -> tuple[bytes, bool]:
    """At most so many characters of a text, and whether there were more."""
    characters = text.decode("utf-8", "surrogateescape")
    return characters[:most].encode("utf-8", "surrogateescape"), len(characters) > most


def chip(token: Spelled, class_: str = "", most: int = 40) -> Element:
    """A token in a frame of its own: one that is a mark looks like nothing that is text."""
    kind = "mark" if token.is_mark else "token"
    text, more = cropped(token.text, most)
    return element("span", *code(text), "…" if more else None, class_=f"{kind} {class_}".strip())


def strip(
    tokens: Iterable[Spelled], class_: str = "", *, blanks: bool = False
) -> list[Element | str]:
    """Tokens as running text, every second one shaded."""
    made: list[Element | str] = []
    for index, token in enumerate(tokens):
        if token.is_mark:
            made.append(chip(token))
        else:
            shade = f"t{index % 2} {class_}".strip()
            made.append(element("span", *code(token.text, blanks=blanks, lines=True), class_=shade))
    return made


def bar(share: float, class_: str = "", width: int = 120) -> Element:
    """A share of 1 as a bar."""
    filled = round(width * min(max(share, 0.0), 1.0), 1)
    track = element("rect", class_="track", width=width, height=8, rx=4)
    fill = element("rect", class_="fill", width=max(filled, 1.5), height=8, rx=min(4.0, filled / 2))
    size: dict[str, str | float] = {"width": width, "height": 8, "viewBox": f"0 0 {width} 8"}
    return element("svg", track, fill, class_=f"bar {class_}".strip(), aria_hidden="true", **size)


def likely(share: float) -> str:
    """A probability for people.

    >>> likely(0.9784), likely(0.99962), likely(0.00042), likely(2.5e-6)
    ('97.8 %', '99.96 %', '0.04 %', '1 in 400,000')
    """
    if share >= 0.99995:
        return "100 %"
    if share >= 1e-4:
        return f"{100 * share:.1f} %" if 0.01 <= share < 0.999 else f"{100 * share:.2f} %"
    if share < HARDLY_EVER:
        return "hardly ever"
    times = 1 / share
    digits = 10 ** (len(str(int(times))) - 2)
    return f"1 in {round(times / digits) * digits:,}"


def log_of(share: float) -> str:
    """The natural log of a probability."""
    return f"log probability {math.log(share):.3f}" if share > 0 else "log probability -∞"


def _append_text(made: Element, text: str) -> None:
    if len(made):
        made[-1].tail = (made[-1].tail or "") + text
    else:
        made.text = (made.text or "") + text


def _attribute(value: str | float) -> str:
    return visible(value) if isinstance(value, str) else f"{value:g}"
