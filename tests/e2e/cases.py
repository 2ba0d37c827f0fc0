"""What is typed into the editors, and what may come of it: one list for all of them."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Case:
    """A document with a cursor, and what is typed there."""

    name: str
    before: str
    """The document up to where typing begins; line ends as LF, whatever the file has."""
    typed: str
    after: str
    line: str
    """A pattern for the cursor's line with the suggestion accepted."""
    newline: str = "\n"
    suffix: str = ".py"

    def write(self, folder: Path) -> Path:
        """The file without what is typed."""
        path = folder / (self.name.replace(" ", "_") + self.suffix)
        path.write_bytes(self.as_bytes(self.before + self.after))
        return path

    def as_bytes(self, text: str) -> bytes:
        """Text with the file's own line ends."""
        return text.replace("\n", self.newline).encode()

    def document(self, remainder: str, replaced: int) -> bytes:
        """The file after a remainder was accepted, in place of so many characters."""
        return self.as_bytes(self.before + self.typed + remainder + self.after[replaced:])

    def accepted_line(self, written: bytes) -> str:
        """The cursor's line in a file that was written with the suggestion accepted."""
        return written.decode().split(self.newline)[self.before.count("\n")]

    def fits(self, written: bytes) -> bool:
        """Whether the cursor's line came out as it must."""
        return re.fullmatch(self.line, self.accepted_line(written)) is not None


CASES = (
    Case(
        "identifier",
        "def fibonacci(n):\n    if n < 2:\n        return n\n",
        "    retu",
        "\n",
        r"    return fibonacci\(.*",
    ),
    # Four blanks are one token: two of them leave half of it to the model.
    Case(
        "indentation",
        "def mean(xs):\n    total = sum(xs)\n",
        "  ",
        "\n",
        r"    return total.*",
    ),
    Case(
        "closer",
        "rows = load_rows()\nfor row in rows:\n    print(",
        "ro",
        ")\n",
        r"    print\(row\)(  #.*)?",
    ),
    # Bytes, UTF-16 units and code points before the cursor all differ, by more than one character.
    Case(
        "emoji",
        'rows = load_rows()\nfor row in rows:\n    print("🎉👩‍💻 naïve", ',
        "ro",
        ")\n",
        r'    print\("🎉👩‍💻 naïve", row\)(  #.*)?',
    ),
    Case(
        "crlf",
        "def fibonacci(n):\n    if n < 2:\n        return n\n",
        "    retu",
        "\n\nprint(fibonacci(9))\n",
        r"    return fibonacci\(.*",
        "\r\n",
    ),
    # A line whose block follows: line ends are part of the suggestion.
    Case(
        "crlf block",
        "def fibonacci(n):\n",
        "    i",
        "\n\nprint(fibonacci(9))\n",
        r"    if n.*:",
        "\r\n",
    ),
)

NAMES = Case(
    "names",
    "total_weight = total_width = total_wages = total_waste = total_wins = 3\nprint(",
    "total_w",
    ")\n",
    r"print\(total_w\w+\)",
)
"""A word that more names of the file begin with than the model writes texts."""

MEANT = Case(
    "meant names",
    "@keyframes spin-slowly { to { rotate: 1turn } }\n.wheel { animation-name: ",
    "ss",
    " }\n",
    r"\.wheel { animation-name: spin-slowly }",
    suffix=".css",
)
"""Initials of a name."""

DASHED = Case(
    "dashed word",
    "body {\n  color: black;\n  ",
    "background-col",
    "\n}\n",
    r"  background-color: .*",
    suffix=".css",
)
"""A word that has a dash in some editors' eyes, and is two words in others'."""

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
