r"""Text for people on standard output: in colour on a terminal, plain where it is piped.

What comes from a document, a model or a file name is made visible first (`visible`), and rich takes
none of it for markup:

    >>> quoted("a\tb [red]\x1b[2J\u202e")
    '"a␉b [red]␛[2J<U+202E>"'

What is not here: what is said (`explain`, `doctor`, `demo`).
"""

import io
import os
import sys

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from server.visible import visible

LABEL_CELLS = 12
"""The width of the names on the left."""
MOST_CELLS = 100
"""Lines that are longer are hard to read, however wide the terminal is."""


def make_console() -> Console:
    """A console on standard output that prints what it is given and interprets nothing."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not _is_unicode(sys.stdout.encoding):
        # A terminal of another age: what it cannot show comes as an escape, not as an exception.
        sys.stdout.reconfigure(errors="backslashreplace")
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    console.width = min(console.width, MOST_CELLS)
    return console


def quoted(text: str) -> str:
    """A visible text in quotes, so that blanks at its ends can be seen."""
    return f'"{visible(text)}"'


def count(number: int, noun: str) -> str:
    """A number and its noun.

    >>> count(1, "token"), count(2, "forward pass")
    ('1 token', '2 forward passes')
    """
    plural = "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}{plural}"


def duration(milliseconds: float) -> str:
    """A time for people.

    >>> duration(3.14159), duration(42.4), duration(1234.5)
    ('3.1 ms', '42 ms', '1.23 s')
    """
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.2f} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"


def crop_left(text: str, cells: int) -> str:
    """The end of a visible text, at most so many cells wide, with `…` for what is missing."""
    return text if cell_len(text) <= cells else crop_right(text[::-1], cells)[::-1]


def crop_right(text: str, cells: int) -> str:
    """The start of a visible text, at most so many cells wide, with `…` for what is missing."""
    return text if cell_len(text) <= cells else set_cell_size(text, max(cells - 1, 0)) + "…"


def print_row(
    console: Console, label: str | Text, value: str | Text, cells: int = LABEL_CELLS
) -> None:
    """Print a name on the left and a value, wrapped, on the right of it.

    Args:
        console: Where to.
        label: At most `cells` wide; bold if it is a `str`.
        value: A `str` is made visible first; a `Text` must be so already.
        cells: The width that the left side takes.
    """
    left = Text(label, style="bold") if isinstance(label, str) else label
    text = Text(visible(value)) if isinstance(value, str) else value
    for line in text.wrap(console, max(console.width - cells, 20), overflow="fold"):
        line.rstrip()
        console.print(Text.assemble(left, " " * (cells - left.cell_len), line))
        left = Text()


def shown_path(path: str) -> str:
    """A path with `~` for the user's own folder."""
    home = os.path.expanduser("~")  # noqa: PTH111 - pathlib's own raises without a home
    return "~" + path[len(home) :] if path.startswith(home + os.sep) else path


def full_block(console: Console) -> str:
    """One cell of a bar: a block on a terminal that has it, `#` elsewhere."""
    return "█" if console.is_terminal and _is_unicode(console.encoding) else "#"


def _is_unicode(encoding: str | None) -> bool:
    return (encoding or "").lower().replace("-", "").startswith("utf")
